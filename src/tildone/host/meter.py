"""Measures a run from the host's events: what the model is doing and since when, tokens and cost."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from time import monotonic

from tildone.host.compaction import COMPACTION_END, COMPACTION_START
from tildone.host.content import Usage, add_usage
from tildone.host.content_codec import decode_usage
from tildone.host.events import (
    AgentEnd,
    AgentStart,
    CustomEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    PublicEvent,
    RetryStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from tildone.host.messages import AssistantMessage
from tildone.host.stream_events import BlockDelta, BlockKind
from tildone.host.subagents import SUBAGENT_USAGE
from tildone.views.amounts import dollars, duration, token_count

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
