"""The spans of runs of a fleet, from the facts in the log: the run, its waits for a worker, and its attempts.

A run is one trace, on however many machines it is worked. The root of the trace is the run, from when it was queued
until it ended. A run that is retried after its end gets another root in the same trace.
"""

from __future__ import annotations

from itertools import pairwise

from tildone.core.plan import Plan
from tildone.history.spans import SpanPlace, TraceSpan, span_id, trace_id
from tildone.history.task_spans import TaskSpans
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import RunEnded, RunLost, RunQueued, RunReleased, RunTaken
from tildone.log.fleet.lease import LeaseState, Work, worker_of
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.history.spans import Attribute, ShownText
    from tildone.log.events import Event
    from tildone.log.fleet.lease import RunFence

    Boundary = RunQueued | RunTaken | RunLost | RunReleased | RunEnded

RUN, QUEUE, ATTEMPT = "tildone.run", "tildone.queue", "tildone.attempt"
LOST, FAILED, RELEASED = "lost", "failed", "released"

BEGINNINGS = ("added", "retried")
"""Why a run is queued that was not queued before, or had ended."""

WORST_FIRST = (LeaseState.FAILED, LeaseState.CANCELLED, LeaseState.DONE)


@value
class RunEvent:
    """A fact about a run, with the id and the time of its event."""

    id: str
    at: int
    fact: Boundary


@value
class Beginning:
    """When a person queued a run, by the first of the events about it, and what is to be run."""

    id: str
    at: int
    work: Work


@value
class Attempt:
    """An attempt of a hand: when and by whom it was taken, since when it was queued, and how it ended, if it has.

    `failed` means that the agent failed.
    """

    id: str
    at: int
    taken: RunTaken
    queued: RunEvent
    ended: RunEvent | None = None
    failed: bool = False

    @property
    def outcome(self) -> str:
        """How it ended, in a word; empty if it has not."""
        match self.ended.fact if self.ended else None:
            case None:
                return ""
            case RunLost():
                return LOST
            case RunReleased(state=LeaseState.OPEN):
                return FAILED if self.failed else RELEASED
            case RunReleased(state=state) | RunEnded(state=state):
                return str(state.value)
            case _:
                return RELEASED


def attempt_place(session: str, held: RunFence) -> SpanPlace:
    """Return where belongs what an agent does that works under a fence: in its attempt."""
    trace = trace_id("run", session, held.run)
    return SpanPlace(trace, _attempt_id(trace, held.hand, held.epoch))


class RunTimeline:
    """The facts about one run, from the events of its plan, in the order they were written."""

    def __init__(self, session: str, run: str, events: Iterable[Event] = ()) -> None:
        self.run, self.trace = run, trace_id("run", session, run)
        self._events: list[RunEvent] = []
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one more event of the plan into account."""
        fact = event.fact
        if isinstance(fact, RunQueued | RunTaken | RunLost | RunReleased | RunEnded) and fact.run == self.run:
            self._events.append(RunEvent(event.id, event.at, fact))

    @property
    def hands(self) -> int:
        return len({event.fact.hand for event in self._events})

    @property
    def is_over(self) -> bool:
        """Whether all hands have ended."""
        newest = {event.fact.hand: event.fact for event in self._events}
        return bool(newest) and all(isinstance(fact, RunEnded) for fact in newest.values())

    @property
    def lowest_held(self) -> int | None:
        """The lowest hand that a worker has; None if there is none."""
        newest = {event.fact.hand: event.fact for event in self._events}
        return min((hand for hand, fact in newest.items() if isinstance(fact, RunTaken)), default=None)

    def attempt(self, fence: RunFence) -> Attempt | None:
        """Return the attempt under a fence; None if it is not recorded."""
        return next((each for each in self.attempts(fence.hand) if each.taken.epoch == fence.epoch), None)

    def attempts(self, hand: int) -> list[Attempt]:
        """Return the attempts of a hand, the oldest first."""
        own = [event for event in self._events if event.fact.hand == hand]
        found, fails = [], 0
        for index, (before, event) in enumerate(pairwise(own), 2):
            if isinstance(before.fact, RunQueued):
                fails = 0
            if isinstance(event.fact, RunTaken):
                ended = own[index] if index < len(own) else None
                now = ended.fact.fails if ended and isinstance(ended.fact, RunReleased | RunEnded) else fails
                found.append(Attempt(event.id, event.at, event.fact, before, ended, now > fails))
                fails = now
        return found

    def task_place(self, attempt: Attempt) -> SpanPlace:
        """Return where tasks belong: in the attempt, or in the run if several hands share them."""
        shared = self.hands > 1
        return SpanPlace(self.trace, self._root(self._beginning(attempt.id)) if shared else self._attempt_id(attempt))

    def queue_span(self, attempt: Attempt) -> TraceSpan:
        """Return the span of the wait before an attempt. A delay that was set is not a part of it."""
        fact, end = attempt.queued.fact, attempt.at
        not_before = fact.not_before if isinstance(fact, RunQueued | RunReleased) else 0
        start = min(max(attempt.queued.at, not_before), end)
        own, root = span_id(self.trace, "queue", attempt.id), self._root(self._beginning(attempt.id))
        return TraceSpan(QUEUE, self.trace, own, root, start, end, self._attributes(attempt))

    def attempt_span(self, attempt: Attempt, shown: ShownText = None) -> TraceSpan | None:
        """Return the span of an attempt; None if it has not ended."""
        if attempt.ended is None:
            return None
        attributes = self._attributes(attempt) | {"tildone.outcome": attempt.outcome}
        attributes["tildone.worker"] = worker_of(attempt.taken.owner)
        _add_reason(attributes, attempt.ended.fact, shown)
        end, own = max(attempt.at, attempt.ended.at), self._attempt_id(attempt)
        error = attempt.outcome if attempt.outcome in (LOST, FAILED) else ""
        root = self._root(self._beginning(attempt.id))
        return TraceSpan(ATTEMPT, self.trace, own, root, attempt.at, end, attributes, error)

    def run_span(self, shown: ShownText = None) -> TraceSpan | None:
        """Return the span of the run; None if it is not over."""
        beginning = self._beginning()
        if beginning is None or not self.is_over:
            return None
        last, ids = self._events[-1], [event.id for event in self._events]
        since = self._events[ids.index(beginning.id) :]
        states = {event.fact.state for event in since if isinstance(event.fact, RunEnded)}
        state = next(each for each in WORST_FIRST if each in states)
        attributes: dict[str, Attribute] = {"tildone.run": self.run, "tildone.outcome": str(state.value)}
        known = {"tildone.agent": beginning.work.agent, "tildone.model": beginning.work.model}
        attributes |= {name: text for name, text in known.items() if text}
        _add_reason(attributes, last.fact, shown)
        error = "" if state is LeaseState.DONE else str(state.value)
        end = max(beginning.at, last.at)
        return TraceSpan(RUN, self.trace, self._root(beginning), 0, beginning.at, end, attributes, error)

    def _beginning(self, until: str = "") -> Beginning | None:
        """Return the first of the events with which a person last queued the run: there is one for each hand.

        With `until`, what comes after the event of that id does not count.
        """
        found, was_beginning = None, False
        for event in self._events:
            match event.fact:
                case RunQueued(why=why, work=work) if why in BEGINNINGS:
                    found = found if was_beginning else Beginning(event.id, event.at, work)
                    was_beginning = True
                case _:
                    was_beginning = False
            if event.id == until:
                break
        return found

    def _attempt_id(self, attempt: Attempt) -> int:
        return _attempt_id(self.trace, attempt.taken.hand, attempt.taken.epoch)

    def _root(self, beginning: Beginning | None) -> int:
        return span_id(self.trace, "run", beginning.id if beginning else "")

    def _attributes(self, attempt: Attempt) -> dict[str, Attribute]:
        taken = attempt.taken
        return {"tildone.run": self.run, "tildone.hand": taken.hand, "tildone.epoch": taken.epoch}


def attempt_tasks(timeline: RunTimeline, attempt: Attempt, plan: Plan, shown: ShownText = None) -> TaskSpans:
    """Return what follows the tasks during an attempt, given the plan when it was taken."""
    key = attempt_key(attempt.taken.hand, attempt.taken.epoch)
    return TaskSpans(timeline.task_place(attempt), plan, attempt.at, key, shown)


def attempt_key(hand: int, epoch: int) -> str:
    return f"{hand}/{epoch}"


def ended_attempt_spans(
    timeline: RunTimeline, attempt: Attempt, events: Iterable[Event], shown: ShownText = None
) -> list[TraceSpan]:
    """Return the spans of an attempt that has ended, of its tasks and of the wait before, from all events of the plan.

    If several hands share the tasks, another one tells of them.
    """
    tasks: TaskSpans | None = None
    plan, spans = Plan(), []
    for event in events:
        if attempt.ended and event.id == attempt.ended.id:
            break
        if tasks is not None:
            spans += tasks.add(event)
        elif isinstance(event.fact, PlanChanged):
            plan = event.fact.plan
        elif event.id == attempt.id:
            tasks = attempt_tasks(timeline, attempt, plan, shown)
    if tasks and attempt.ended:
        spans += tasks.close(attempt.ended.at)
    own = timeline.attempt_span(attempt, shown)
    return [timeline.queue_span(attempt), *(spans if timeline.hands == 1 else []), *([own] if own else [])]


def _attempt_id(trace: int, hand: int, epoch: int) -> int:
    return span_id(trace, "attempt", hand, epoch)


def _add_reason(attributes: dict[str, Attribute], fact: Boundary, shown: ShownText) -> None:
    if shown and isinstance(fact, RunLost | RunReleased | RunEnded) and fact.why:
        attributes["tildone.why"] = shown(fact.why)
