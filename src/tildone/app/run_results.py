"""What has become of runs: how each stands, or how it was when it ended, read from the log of its plan.

A plan may be run again, with other statuses. What a run that has ended was is therefore read as of its end.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby

from tildone.app.answering import CONFLICT, OpenQuestion, open_questions
from tildone.app.runs import replaced_runs, schedule_of
from tildone.base import StoreDamaged, replace, value
from tildone.log.store import Store
from tildone.plan.command_line import words_and_command
from tildone.plan.events import UNKNOWN, AgentUsage, Event, latest_state, since
from tildone.plan.formats.detection import format_of_name
from tildone.plan.history.usage import UsageCounter
from tildone.plan.lists import RunView
from tildone.plan.model import Plan
from tildone.plan.runs import (
    ADDED,
    OTHERS_HAVE_IT,
    CommandRefused,
    Lease,
    LeaseState,
    RunEnded,
    RunFact,
    RunLost,
    RunQueued,
    RunReleased,
    RunTaken,
)
from tildone.plan.text.runs import state_of
from tildone.stores.leasing import RunLeases

NEEDS, DONE, RUNNING, QUEUED, OVER = GROUPS = ("needs", "done", "running", "queued", "over")
"""What the results are grouped by. What is over was cancelled, or has failed and was run again since."""

_GROUPS = {
    "asking": NEEDS,
    LeaseState.WAITING.value: NEEDS,
    CONFLICT: NEEDS,
    LeaseState.FAILED.value: NEEDS,
    LeaseState.DONE.value: DONE,
    LeaseState.CANCELLED.value: OVER,
    "delayed": QUEUED,
    "queued": QUEUED,
    LeaseState.PAUSED.value: QUEUED,
}
_STRONGEST = (CONFLICT, LeaseState.WAITING.value, "asking", LeaseState.FAILED.value)
"""Of several hands, the state that a person has to know first."""


@value
class RunResult:
    """How a run stands, or how it was at its end.

    `leases` are those of its hands, `state` is that of the hand that a person has to know of first, and `why` says how
    it came about. `worked` is for how many milliseconds a worker has had the run, `end` the fact of its end. `again` is
    how often its schedule has queued it before. `group` is one of `GROUPS`.
    """

    leases: tuple[Lease, ...]
    title: str
    plan: Plan
    state: str = ""
    group: str = ""
    why: str = ""
    worked: int = 0
    usage: AgentUsage = UNKNOWN
    end: RunEnded | None = None
    refused: tuple[CommandRefused, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    again: int = 0

    @property
    def run(self) -> str:
        return self.leases[0].run

    @property
    def since(self) -> int:
        return max(lease.since for lease in self.leases)

    @property
    def is_over(self) -> bool:
        return not any(lease.state.is_active for lease in self.leases)


def read_result(events: Sequence[Event], leases: Sequence[Lease], now: int) -> RunResult:
    """Return the result of a run, given the events of its plan, the oldest first, and the leases of its hands."""
    run = leases[0].run
    facts = [(at, event.fact) for at, event in enumerate(events) if is_about(event.fact, run)]
    queued = [(at, fact) for at, fact in facts if isinstance(fact, RunQueued) and fact.why == ADDED]
    ends = [(at, fact) for at, fact in facts if isinstance(fact, RunEnded)]
    is_over = not any(lease.state.is_active for lease in leases)
    start, stop = queued[0][0] if queued else 0, ends[-1][0] + 1 if ends and is_over else len(events)
    counter, before = UsageCounter(), UNKNOWN
    for at, event in enumerate(events[:stop]):
        before = counter.total if at == start else before
        counter.add(event)
    plan = latest_state(reversed(events[:stop])).plan
    return RunResult(
        tuple(leases),
        next((fact.title for _, fact in queued if fact.title), "") or title_of_plan(plan, leases[0].session),
        plan,
        why=_why(fact for _, fact in facts),
        worked=_worked(((events[at].at, fact) for at, fact in facts), now),
        usage=since(before, counter.total),
        # The hand that ended last has the branch with what all have done.
        end=next((fact for _, fact in reversed(ends) if fact.commit), ends[-1][1]) if ends and is_over else None,
        refused=tuple(fact for _, fact in facts if isinstance(fact, CommandRefused)),
    )


def is_about(fact: object, run: str) -> bool:
    return isinstance(fact, RunFact) and fact.run == run


def title_of_plan(plan: Plan, session: str) -> str:
    """Return a title for a plan without one: its only phase or task, else the name of its file or session."""
    named = [phase.name for phase in plan.phases if phase.tasks]
    if len(named) == 1 and named[0]:
        return named[0]
    if len(plan.tasks) == 1:
        return next(filter(None, words_and_command(plan.tasks[0].text)), "")
    name = session.replace("\\", "/").rstrip("/").rpartition("/")[2]
    stem = name.rpartition(".")[0] if format_of_name(name) else name
    words = stem.replace("-", " ").replace("_", " ").strip() or session
    return words[:1].upper() + words[1:]


def _why(facts: Iterable[object]) -> str:
    """Return why a run stands as it does, by what has become of each of its hands: of one that has failed, first."""
    moves = (fact for fact in facts if isinstance(fact, RunQueued | RunTaken | RunReleased | RunLost | RunEnded))
    newest = {fact.hand: fact for fact in moves}.values()
    ended = [fact for fact in newest if isinstance(fact, RunEnded)]
    given_back = [fact for fact in newest if isinstance(fact, RunReleased | RunLost)]
    ended.sort(key=lambda fact: fact.state is not LeaseState.FAILED)
    return next((fact.why for fact in (*ended, *given_back) if fact.why not in ("", OTHERS_HAVE_IT)), "")


def _worked(facts: Iterable[tuple[int, object]], now: int) -> int:
    """Return for how long a worker has had at least one of the hands, in milliseconds."""
    held: set[int] = set()
    total = begun = 0
    for at, fact in facts:
        was_held = bool(held)
        if isinstance(fact, RunTaken):
            held.add(fact.hand)
        elif isinstance(fact, RunEnded | RunReleased | RunLost):
            held.discard(fact.hand)
        if held and not was_held:
            begun = at
        elif was_held and not held:
            total += at - begun
    return total + (now - begun if held else 0)


class RunResults:
    """The results of the runs of a store. What was read of runs that have ended is kept for the next time."""

    def __init__(self, store: Store, now: Callable[[], int]) -> None:
        self._store, self._now = store, now
        self._known: dict[str, tuple[Sequence[Lease], RunResult]] = {}
        self.left_out: dict[str, str] = {}
        """The sessions whose logs are damaged, and why."""

    def of(self, views: Iterable[RunView], questions: Iterable[OpenQuestion], since: int) -> list[RunResult]:
        """Return the results of the runs that have changed since a time, and of all that need a person.

        They are given by the leases of their hands and what they ask; the newest change is the first. Logs of other
        runs are not read.
        """
        runs: dict[str, list[RunView]] = {}
        for view in views:
            runs.setdefault(view.lease.run, []).append(view)
        asked: dict[str, list[OpenQuestion]] = {}
        for question in questions:
            asked.setdefault(question.run, []).append(question)
        replaced = replaced_runs(view.lease for found in runs.values() for view in found)

        def is_meant(lease: Lease) -> bool:
            has_failed = lease.state is LeaseState.FAILED and lease.run not in replaced
            return lease.state.is_active or has_failed or lease.since >= since

        self.left_out.clear()
        meant = [run for run, found in runs.items() if any(is_meant(view.lease) for view in found)]
        read = (self.of_run(runs[run], asked.get(run, ())) for run in meant)
        found = sorted((each for each in read if each is not None), key=lambda each: -each.since)
        self._known = {run: known for run, known in self._known.items() if run in runs}
        failed = LeaseState.FAILED.value
        stated = (
            replace(each, group=OVER) if each.state == failed and each.run in replaced else each for each in found
        )
        return _folded(stated)

    def read(self, leases: Sequence[Lease]) -> RunResult | None:
        """Return the result of one run, without its state; None if the log of its plan is damaged."""
        run, session = leases[0].run, leases[0].session
        known = self._known.get(run)
        if known is not None and known[0] == leases and known[1].is_over:
            return known[1]
        try:
            found = read_result([*self._store.history(session)][::-1], leases, self._now())
        except StoreDamaged as error:
            self.left_out[session] = str(error)
            return None
        self._known[run] = leases, found
        return found

    def of_run(self, views: Sequence[RunView], asked: Sequence[OpenQuestion]) -> RunResult | None:
        """Return the result of one run, given the leases of its hands and what they ask; None as `read`."""
        found = self.read([view.lease for view in sorted(views, key=lambda view: view.lease.hand)])
        if found is None:
            return None
        state = state_of_run([state_of(view, self._now()) for view in views], asked)
        return replace(found, state=state, group=_GROUPS.get(state, RUNNING), questions=tuple(asked))


def state_of_run(states: Sequence[str], asked: Collection[OpenQuestion]) -> str:
    """Return the state of a run, given those of its hands and its open questions."""
    if any(question.kind == CONFLICT for question in asked):
        return CONFLICT
    if asked and LeaseState.WAITING.value not in states:
        return "asking"
    active = [state for state in states if state not in (LeaseState.DONE.value, LeaseState.CANCELLED.value)]
    strongest = (state for state in _STRONGEST if state in states)
    return next(strongest, None) or next(iter(sorted(active, key=lambda state: state != "running")), states[0])


def _folded(results: Iterable[RunResult]) -> list[RunResult]:
    """Return the results, the newest first; those of a schedule in its newest one, except for what needs a person."""
    found: dict[str, RunResult] = {}
    for result in results:
        name = schedule_of(result.run)
        key = f"{name} " if name else result.run
        if key in found and result.group != NEEDS:
            found[key] = replace(found[key], again=found[key].again + 1)
        else:
            found[key if key not in found else result.run] = result
    return list(found.values())


def current_results(reader: RunResults, leases: RunLeases, store: Store, since: int) -> dict[str, list[RunResult]]:
    """Return the results of the runs that have changed since a time, and of all that need a person, by group."""
    views = leases.look()
    return grouped(reader.of(views, open_questions(store, (view.lease for view in views)), since))


def grouped(results: Iterable[RunResult]) -> dict[str, list[RunResult]]:
    """Return the results by group, in the order of `GROUPS`."""
    order = sorted(results, key=lambda result: GROUPS.index(result.group))
    found = {group: list(members) for group, members in groupby(order, key=lambda result: result.group)}
    return {group: found.get(group, []) for group in GROUPS}
