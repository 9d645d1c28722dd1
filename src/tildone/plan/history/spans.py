"""The spans of runs of a fleet, of their waits for a worker, attempts, tasks and checks, from the events in the log.

A task has a span from when it was started until it is done, dropped, blocked, put back or removed. A task that was
never started has one without a duration. Each run of a check has a span within that of its task. Events are given one
after the other; each snapshot is compared to the one before, so a branch that was left does no harm.

A run is one trace, on however many machines it is worked. The root of the trace is the run, from when it was queued
until it ended. A run that is retried after its end gets another root in the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise

from tildone.base import value
from tildone.plan.events import Event, PlanChanged
from tildone.plan.model import Check, Plan, Proof, Result, Status, Task, numbered
from tildone.plan.runs import LeaseState, RunEnded, RunFence, RunLost, RunQueued, RunReleased, RunTaken, Work, worker_of

Attribute = str | int | float | bool | Sequence[str]
ShownText = Callable[[str], str] | None
"""Makes a text of a plan fit to leave the machine; None if such texts stay here."""
Boundary = RunQueued | RunTaken | RunLost | RunReleased | RunEnded


TRACE_BYTES, SPAN_BYTES = 16, 8

INTERRUPTED = "interrupted"
"""The status of a task whose agent ended while it was in progress."""


@value
class TraceSpan:
    """An interval of a trace, in ms since 1970. `parent` is 0 for the root; `is_client` is a request elsewhere."""

    name: str
    trace: int
    id: int
    parent: int
    start: int
    end: int
    attributes: Mapping[str, Attribute]
    error: str = ""
    is_client: bool = False


@value
class SpanPlace:
    """Where spans belong: a trace, and the span that is their parent."""

    trace: int
    parent: int

    @property
    def traceparent(self) -> str:
        """The place in the form of the header and the environment variable `traceparent` of W3C Trace Context."""
        return f"00-{self.trace:032x}-{self.parent:016x}-01"


def trace_id(*about: object) -> int:
    return _digest(TRACE_BYTES, about)


def span_id(*about: object) -> int:
    return _digest(SPAN_BYTES, about)


def place_in(text: str) -> SpanPlace | None:
    parts = text.strip().split("-")
    sizes = (1, TRACE_BYTES, SPAN_BYTES, 1)
    if [len(part) for part in parts[: len(sizes)]] != [2 * size for size in sizes]:
        return None
    if not set("".join(parts[: len(sizes)])) <= set("0123456789abcdef"):
        return None
    trace, parent = int(parts[1], 16), int(parts[2], 16)
    return SpanPlace(trace, parent) if trace and parent and parts[0] != "ff" else None


def _digest(size: int, about: tuple[object, ...]) -> int:
    # Length and separator, so that different parts never make the same text.
    text = "".join(f"{len(str(part))}:{part}" for part in about)
    # An id of 0 is not valid; this digest is one with a probability of 2 to the power of -64.
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:size], "big") or 1


TASK, CHECK = "tildone.task", "tildone.check"


class TaskSpans:
    """Follows the tasks of a plan. What is in progress at the beginning counts as started then.

    `key` tells this beginning from others. `shown` makes texts fit to be told; without it, none is.
    """

    def __init__(self, place: SpanPlace, plan: Plan, at: int, key: str, shown: ShownText = None) -> None:
        self._place, self._shown = place, shown
        self._plan = numbered(plan)
        self._begun: dict[int, tuple[int, int]] = {}
        """By number, the id of the span of a task in progress, and since when it is."""
        for task in self._plan.tasks:
            if task.status is Status.IN_PROGRESS:
                self._begin(task, at, key)

    @property
    def current(self) -> SpanPlace:
        """Where something belongs that happens now: in the only task in progress, else beside the tasks."""
        begun = [id_ for id_, _ in self._begun.values()]
        return SpanPlace(self._place.trace, begun[0] if len(begun) == 1 else self._place.parent)

    def add(self, event: Event) -> list[TraceSpan]:
        """Take one more event into account, and return the spans that end with it."""
        if not isinstance(event.fact, PlanChanged):
            return []
        before, plan = self._plan, numbered(event.fact.plan)
        self._plan = plan
        known = {task.number: task for task in before.tasks}
        agent = event.author.agent.partition(":")[0]
        spans: list[TraceSpan] = []
        for task in plan.tasks:
            spans += self._changed(known.pop(task.number, None), task, event, agent)
        for gone in known.values():
            if gone.number in self._begun:
                spans.append(self._ended(gone, "removed", event.at, agent))
        if plan.check and plan.proof and _is_new(before.proof, plan.proof):
            spans.append(self._checked(0, plan.check, plan.proof, event.at, self._place.parent))
        return spans

    def close(self, at: int) -> list[TraceSpan]:
        tasks = [task for task in self._plan.tasks if task.number in self._begun]
        return [self._ended(task, INTERRUPTED, at, "") for task in tasks]

    def _changed(self, before: Task | None, task: Task, event: Event, agent: str) -> list[TraceSpan]:
        number, spans = task.number, []
        if task.status is Status.IN_PROGRESS and number not in self._begun:
            self._begin(task, event.at, event.id)
        was_open = before is None or before.status.is_open
        # A plan that is imported with closed tasks tells nothing of when they were worked on.
        closes = before is not None and was_open and not task.status.is_open
        if closes and number not in self._begun:
            self._begin(task, event.at, event.id)
        if task.check and task.proof and _is_new(before.proof if before else None, task.proof):
            parent, _ = self._begun.get(number, (self._place.parent, 0))
            spans.append(self._checked(number, task.check, task.proof, event.at, parent))
        if number in self._begun and task.status is not Status.IN_PROGRESS:
            spans.append(self._ended(task, str(task.status.value), event.at, agent))
        return spans

    def _begin(self, task: Task, at: int, key: str) -> None:
        self._begun[task.number] = span_id(self._place.trace, task.number, key), at

    def _ended(self, task: Task, status: str, at: int, agent: str) -> TraceSpan:
        own, start = self._begun.pop(task.number)
        attributes: dict[str, Attribute] = {"tildone.task.number": task.number, "tildone.task.status": status}
        if task.check:
            attributes["tildone.task.check"] = str(task.proof.result.value) if task.proof else "not run"
        if agent:
            attributes["tildone.agent"] = agent
        if self._shown:
            attributes["tildone.task.text"] = self._shown(task.text)
        place = self._place
        return TraceSpan(TASK, place.trace, own, place.parent, start, max(start, at), attributes)

    def _checked(self, number: int, check: Check, proof: Proof, at: int, parent: int) -> TraceSpan:
        end = proof.at or at
        attributes: dict[str, Attribute] = {"tildone.check.result": str(proof.result.value)}
        if number:
            attributes["tildone.task.number"] = number
        if proof.exit_code is not None:
            attributes["process.exit.code"] = proof.exit_code
        if self._shown:
            attributes["tildone.check.command"] = self._shown(" ".join(check.command))
        error = "" if proof.result is Result.PASSED else str(proof.result.value)
        own = span_id(self._place.trace, "check", number, end, proof.result.value)
        return TraceSpan(CHECK, self._place.trace, own, parent, end - proof.milliseconds, end, attributes, error)


def _is_new(before: Proof | None, proof: Proof) -> bool:
    """Return whether the check was run since. Proofs that say the same are equal whenever they were made."""
    return before is None or (before, before.at) != (proof, proof.at)


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
    """An attempt of a hand: when and by whom it was taken, since when it was queued, and how it ended or `failed`."""

    id: str
    at: int
    taken: RunTaken
    queued: RunEvent
    ended: RunEvent | None = None
    failed: bool = False

    @property
    def outcome(self) -> str:
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
        newest = {event.fact.hand: event.fact for event in self._events}
        return bool(newest) and all(isinstance(fact, RunEnded) for fact in newest.values())

    @property
    def lowest_held(self) -> int | None:
        """The lowest hand that a worker has; None if there is none."""
        newest = {event.fact.hand: event.fact for event in self._events}
        return min((hand for hand, fact in newest.items() if isinstance(fact, RunTaken)), default=None)

    def attempt(self, fence: RunFence) -> Attempt | None:
        return next((each for each in self.attempts(fence.hand) if each.taken.epoch == fence.epoch), None)

    def attempts(self, hand: int) -> list[Attempt]:
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
        """The first of the events (one for each hand) with which a person last queued the run, `until` an event."""
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
