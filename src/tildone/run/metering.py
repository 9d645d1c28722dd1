"""Measures a run from the host's events: what the model is doing and since when, tokens and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from itertools import islice
from time import monotonic

from tildone.plan.events import UNKNOWN, AgentUsage, Event, added
from tildone.plan.text.amounts import dollars, duration, token_count
from tildone.run.codec import decode_usage
from tildone.run.events import (
    AgentEnd,
    AgentStart,
    BlockDelta,
    BlockKind,
    CustomEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    PublicEvent,
    RetryStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from tildone.run.host import Host
from tildone.run.messages import AssistantMessage, Usage, add_usage
from tildone.run.messages import Usage as RequestUsage
from tildone.run.subagents import SUBAGENT_USAGE
from tildone.run.turn_loop import COMPACTION_END, COMPACTION_START

CHARACTERS_PER_TOKEN = 4
"""For the estimate of an answer's tokens until the provider reports them."""


class Activity(Enum):
    """What happens right now."""

    IDLE = ""
    THINKING = "thinking"
    WRITING = "writing"
    RUNNING = "running"
    PAUSING = "trying again soon"
    COMPACTING = "summarising"


class RunMeter:
    """Time, tokens and cost of one run."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.activity = Activity.IDLE
        self._clock = clock
        self._since = clock()
        self._work_began: float | None = None
        self._worked = 0.0
        self._is_paused = False
        self._finished = Usage()
        self._current = Usage()
        self._characters = 0
        self._running: set[str] = set()
        self._unpriced = False

    def feed(self, event: PublicEvent) -> None:
        """Update the figures."""
        match event:
            case AgentStart():
                self._begin_work()
            case MessageStart(AssistantMessage()):
                self._change_to(Activity.THINKING)
            case MessageUpdate(usage, progress):
                self._current = usage
                if isinstance(progress, BlockDelta):
                    self._characters += len(progress.delta)
                    self.activity = Activity.THINKING if progress.kind is BlockKind.THINKING else Activity.WRITING
            case MessageEnd(AssistantMessage() as message):
                self._add(message.usage)
                self._change_to(Activity.IDLE)
            case ToolExecutionStart(call_id):
                self._running.add(call_id)
                self._change_to(Activity.RUNNING)
            case ToolExecutionEnd(call_id):
                self._running.discard(call_id)
                self._change_to(Activity.RUNNING if self._running else Activity.IDLE)
            case RetryStart():
                self._change_to(Activity.PAUSING)
            case CustomEvent(type=kind) if kind == COMPACTION_START:
                self._begin_work()
                self._change_to(Activity.COMPACTING)
            case CustomEvent(type=kind, fields=fields) if kind == COMPACTION_END:
                used = fields.get("usage")
                self._add(decode_usage(used) if isinstance(used, dict) else None)
                self._end_work()
            case CustomEvent(type=kind, fields=fields) if kind == SUBAGENT_USAGE:
                used = fields.get("usage")
                self._add(decode_usage(used) if isinstance(used, dict) else None)
            case AgentEnd():
                self._end_work()
            case _:
                pass

    def pause(self) -> None:
        """Stop the clock, because the person is asked."""
        self._is_paused = self._work_began is not None
        self._worked, self._work_began = self.worked_seconds, None

    def resume(self) -> None:
        """Start the clock again if it ran before, and measure the activity from now on."""
        if self._is_paused:
            self._begin_work()
        self._since = self._clock()

    @property
    def seconds(self) -> int:
        """How long the activity has taken."""
        return int(self._clock() - self._since)

    @property
    def worked_seconds(self) -> float:
        """How long the model and its tools have worked."""
        return self._worked + (self._clock() - self._work_began if self._work_began is not None else 0)

    @property
    def usage(self) -> Usage:
        """The tokens and the cost of everything that has been answered."""
        return self._finished

    def figures(self) -> list[str]:
        """Return the tokens and the cost so far, as far as they are known; an estimate is marked with `~`."""
        usage = add_usage(self._finished, self._current)
        read = sum(count or 0 for count in (usage.input, usage.cache_read, usage.cache_write))
        written, estimated = usage.output or 0, self._characters // CHARACTERS_PER_TOKEN
        reported = (self._current.output or 0) >= estimated
        shown = token_count(written if reported else (self._finished.output or 0) + estimated)
        tokens = [f"{token_count(read)} in"] if read else []
        tokens += [f"{'' if reported else '~'}{shown} out"] if written or estimated else []
        cost = usage.cost.total if usage.cost else 0
        return [*tokens, f"{'≥ ' if self._unpriced else ''}{dollars(cost)}"] if cost else tokens

    def summary(self) -> str:
        """Return the figures of the whole run in one line."""
        return " · ".join([f"Took {duration(self.worked_seconds)}", *self.figures()])

    def _add(self, usage: Usage | None) -> None:
        self._finished = add_usage(self._finished, usage)
        cost = usage.cost.total if usage and usage.cost else 0
        self._unpriced |= bool(usage and usage.total_tokens and not cost)
        self._current, self._characters = Usage(), 0

    def _begin_work(self) -> None:
        self._is_paused = False
        if self._work_began is None:
            self._work_began = self._clock()

    def _end_work(self) -> None:
        self._worked, self._work_began = self.worked_seconds, None
        self._is_paused = False
        self._change_to(Activity.IDLE)

    def _change_to(self, activity: Activity) -> None:
        self.activity = activity
        self._since = self._clock()


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
