"""What the agent of a host has used so far in its conversation, for the events that it causes.

The host's own events tell it: every answer, its subagents' answers, and the summaries of compaction. A conversation
that is continued in a new process continues at the amount that the plan's history has of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from tildone.host.content import Usage as RequestUsage
from tildone.host.events import PublicEvent
from tildone.host.host import Host
from tildone.host.meter import RunMeter
from tildone.log.events import Event
from tildone.log.usage import UNKNOWN, AgentUsage, added

MAX_EVENTS_SEARCHED = 1000
"""How many of the newest events are searched for the usage of a conversation that is continued."""

DECIMALS = 6
"""Of an amount in dollars."""


class HostUsage:
    """The usage of the agent that `agent` returns, which changes with the host's conversation.

    `history` returns the plan's events, the newest first.
    """

    def __init__(self, host: Host, agent: Callable[[], str], history: Callable[[], Iterator[Event]]) -> None:
        self._agent = agent
        self._history = history
        self._known = ""
        self._before = UNKNOWN
        self._meter = RunMeter()
        host.listen(self._feed)

    def of(self, agent: str) -> AgentUsage | None:
        """Return what an agent has used; None if it is not the host's, or if nothing is known."""
        if agent != self._agent():
            return None
        self._follow_conversation()
        usage = added(self._before, log_usage(self._meter.usage))
        return usage if usage.is_known else None

    def _feed(self, event: PublicEvent) -> None:
        self._follow_conversation()
        self._meter.feed(event)

    def _follow_conversation(self) -> None:
        agent = self._agent()
        if agent == self._known:
            return
        self._known, self._meter = agent, RunMeter()
        found = (event.usage for event in islice(self._history(), MAX_EVENTS_SEARCHED) if event.author.agent == agent)
        self._before = next((usage for usage in found if usage is not None), UNKNOWN)


def log_usage(usage: RequestUsage) -> AgentUsage:
    """Return the usage of requests as events have it. What is 0 is not known: every request has tokens."""
    tokens_in = sum(count or 0 for count in (usage.input, usage.cache_read, usage.cache_write))
    tokens_out = usage.output or 0
    cost = round((usage.cost.total if usage.cost else None) or 0, DECIMALS)
    # Some providers report the sum alone.
    tokens_in = max(tokens_in, (usage.total_tokens or 0) - tokens_out)
    return AgentUsage(tokens_in or None, tokens_out or None, cost or None)
