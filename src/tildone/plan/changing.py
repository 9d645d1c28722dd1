"""What a change of a plan leads to: its fact, what counts as progress, which checks are run, which tasks are cleared.

A change that completes a task with a check is computed twice: first to learn which checks it needs, then, after they
were run, with their proofs. Nothing is locked while a check runs. If the plan changes meanwhile, the change is decided
on the new state: the proofs that it needs there are those of the same checks, and what is missing is run.

An agent that makes progress may be continued for longer. So that nobody can be continued for ever by doing and undoing
the same thing, every task counts as closed once in its life, whatever its text, and a text counts as new once. What a
person says starts a new `Ledger`. Only what could count a second time is remembered: the numbers of tasks that were
reopened, and the checksums of texts that were removed. Both are short for an agent that works through its plan, and
bounded for any other.
"""

from __future__ import annotations

from zlib import crc32

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.claims import named_active
from tildone.plan.events import DirectiveSet, PlanChanged
from tildone.plan.guard import PLAN, is_unproved, reopened
from tildone.plan.model import (
    Phase,
    Plan,
    Result,
    Status,
    Task,
    TaskInPhase,
    completed_in,
    has_checks,
    is_passed,
    with_tasks,
)
from tildone.plan.ops import Origin, StartNext, keep_origins
from tildone.plan.reduce import NO_PROOFS, Outcome, reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from collections.abc import Set as AbstractSet
    from typing import Protocol

    from tildone.plan.events import Call, Fact, Ledger, State
    from tildone.plan.faults import NotYours
    from tildone.plan.guard import ByModel
    from tildone.plan.model import Check, Proof, Rules
    from tildone.plan.reduce import Step

    class Prover(Protocol):
        """Runs checks. The results are by task number; PLAN stands for the plan itself."""

        def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
            """Run these checks, one after the other."""

        def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
            """Return for which of these proofs the watched files have changed since."""

        def is_allowed(self, check: Check) -> bool:
            """Return whether a person has approved the check, so that it may be run."""

    Change = Callable[[State, Mapping[int, Proof]], tuple[Outcome, Fact | None]]


DEFAULT_DELAY_MS = 60_000

TaskKey = tuple[str, str]
"""A task's phase and text."""


@value
class Schedule:
    """Finished tasks, and the time (in milliseconds) at which each is due to be cleared."""

    due: tuple[tuple[TaskKey, int], ...] = ()


@value
class ClearResult:
    plan: Plan
    schedule: Schedule
    removed: tuple[TaskInPhase, ...] = ()


def schedule(plan: Plan, previous: Schedule, now: int, delay_ms: int = DEFAULT_DELAY_MS) -> Schedule:
    """Return the schedule for the finished tasks of `plan`.

    Tasks that were in the `previous` schedule keep their due times; reopened tasks are dropped from it. With a delay of
    0, tasks are cleared in the next iteration of the host's event loop; with a negative delay, never.
    """
    if delay_ms < 0:
        return Schedule()
    due_times = dict(previous.due)
    finished = dict.fromkeys(
        (phase.name, task.text) for phase in plan.phases for task in phase.tasks if not task.status.is_open
    )
    return Schedule(tuple((key, due_times.get(key, now + delay_ms)) for key in finished))


def next_due(scheduled: Schedule) -> int | None:
    return min((due for _, due in scheduled.due), default=None)


def without_unproved(scheduled: Schedule, plan: Plan, stale: AbstractSet[int]) -> Schedule:
    """Return the schedule without the done tasks whose checks have to pass again, whose numbers are `stale`.

    It is empty if the check of the plan has to pass: without tasks, nobody would be held to it.
    """
    if is_unproved(reopened(plan, stale & {PLAN})):
        return Schedule()
    kept = {(phase.name, task.text) for phase in plan.phases for task in phase.tasks if task.number in stale}
    return Schedule(tuple((key, at) for key, at in scheduled.due if key not in kept))


def clear_due(plan: Plan, scheduled: Schedule, now: int) -> ClearResult:
    """Remove the tasks that are due and, if any was removed, every phase without tasks.

    If several tasks have the same phase and text, only the first is removed; if the first is open, none is.
    """
    due = {key for key, at in scheduled.due if at <= now}
    later = Schedule(tuple((key, at) for key, at in scheduled.due if at > now))
    removed: list[TaskInPhase] = []
    phases = []
    for phase in plan.phases:
        remaining = []
        for task in phase.tasks:
            if (phase.name, task.text) in due and not task.status.is_open:
                removed.append(TaskInPhase(phase.name, task))
            else:
                remaining.append(task)
            due.discard((phase.name, task.text))
        phases.append(replace(phase, tasks=tuple(remaining)))
    if not removed:
        return ClearResult(plan, later)
    return ClearResult(Plan(tuple(phase for phase in phases if phase.tasks)), later, tuple(removed))


MAX_ADDED = 20
"""How many changes that only add tasks count as progress before one completes a task."""

MAX_DROPPED = 200
"""How many changes that only drop tasks count as progress until a person speaks."""

MAX_REMEMBERED = 200
"""How many reopened tasks and how many removed texts are remembered: the newest."""


def progress_of(before: Plan, after: Plan, ledger: Ledger) -> tuple[bool, Ledger]:
    """Return whether a change is progress, and the ledger after it.

    Progress closes a task that was never closed, or adds tasks with new texts to the existing ones. Replacing texts is
    not progress, because an agent could reword its list for ever. Adding and dropping count within budgets, because
    an agent could split its tasks for ever. Completing a task renews the budget for adding.
    """
    earlier = {task.number: task for task in before.tasks}
    texts, former = {task.text for task in after.tasks}, {task.text for task in before.tasks}
    numbers = {task.number for task in after.tasks}
    newly_open = {task.number for task in after.tasks if task.status.is_open}
    reopened = {
        *ledger.reopened,
        *(number for number, task in earlier.items() if number in newly_open and not task.status.is_open),
    }
    changed = [task for task in after.tasks if earlier.get(task.number) is not task]
    closed = [task for task in changed if _counts_as_closed(task, earlier, reopened, ledger)]
    completes = any(task.status is not Status.ABANDONED for task in closed)
    adds = texts > former and any(checksum(text) not in ledger.gone for text in texts - former)
    drops = bool(closed) and not completes and ledger.dropped < MAX_DROPPED
    adds = adds and ledger.added < MAX_ADDED
    gone = [text for text in map(checksum, sorted(former - texts)) if text not in ledger.gone]
    return completes or drops or adds, replace(
        ledger,
        added=0 if completes else ledger.added + adds,
        dropped=ledger.dropped + drops,
        reopened=tuple(sorted(reopened & numbers)[-MAX_REMEMBERED:]),
        gone=(*ledger.gone, *gone)[-MAX_REMEMBERED:],
    )


def checksum(text: str) -> str:
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _counts_as_closed(task: Task, earlier: dict[int, Task], reopened: set[int], ledger: Ledger) -> bool:
    """Return whether a task is closed that was open, and neither it nor its text was closed before."""
    was = earlier.get(task.number)
    if task.status.is_open or was is None or not was.status.is_open or task.number in reopened:
        return False
    return not ledger.gone or checksum(was.text) not in ledger.gone


def change_plan(  # noqa: PLR0913, PLR0917  of one caller
    state: State,
    steps: Iterable[Step],
    rules: Rules,
    call: Call | None,
    origin: Callable[[], Origin],
    taken: Callable[[], frozenset[int]],
    proofs: Mapping[int, Proof] = NO_PROOFS,
    settle: Callable[[Plan, Plan], Plan] = lambda _, after: after,
    model: ByModel | None = None,
    left: Callable[[Plan], frozenset[int]] = lambda _: frozenset(),
    order: Callable[[Plan, Plan], tuple[Plan, tuple[NotYours, ...]]] | None = None,
) -> tuple[Outcome, PlanChanged | None]:
    """Return the outcome of `steps`, and the fact if they change the plan.

    `origin` returns that of new tasks. `taken` returns the numbers of the tasks that other agents work on, and `left`
    those that earlier conversations left, which `StartNext` needs. An agent that starts a task, or writes it anew,
    takes it up, also if nothing else changes. `proofs` are those of checks that were run for this change. A `model`
    that makes it is kept from what only a person can do. `settle` returns the plan after the change, given the one
    before, without what the agent must not do; so does `order`, which also says what of it waits for a person.
    The fact has the directive and the counts of the state; progress resets the counts.
    """
    following = StartNext(taken, left(state.plan), in_order=order is not None)
    steps = [following if isinstance(step, StartNext) else step for step in steps]
    reduced = reduce(state.plan, steps, rules, proofs, model)
    started, rewritten = named_active(reduced.before, steps)[0], _rewritten(reduced.before, reduced.after)
    new = origin() if reduced.changed or started or rewritten else Origin()
    again = started | rewritten if new.agent else started
    after = keep_origins(reduced.before, reduced.after, new)
    taken_up = {task.number for task in reduced.before.tasks if task.number in again and task.owner != new.agent}
    if taken_up:
        after = with_tasks(after, lambda task: replace(task, owner=new.agent) if task.number in taken_up else task)
    after = settle(reduced.before, after)
    after, late = order(reduced.before, after) if order else (after, ())
    outcome = replace(reduced, after=after, faults=(*reduced.faults, *late))
    if not outcome.changed and not any(task.number in taken_up and task.owner == new.agent for task in after.tasks):
        return outcome, None
    counts, ledger = progress_of(outcome.before, after, state.ledger)
    if not state.ledger.continued:
        # Nothing counts a second time until the agent has been told to go on.
        ledger = state.ledger
    drift, since = (0, 0) if counts else (state.drift, state.since)
    return outcome, PlanChanged(after, call, drift, since, state.directive, ledger)


def _rewritten(before: Plan, after: Plan) -> frozenset[int]:
    """Return the numbers of the tasks that a list written anew has without their owners."""
    owned = {task.number for task in before.tasks if task.owner}
    return frozenset(task.number for task in after.tasks if task.number in owned and not task.owner)


def fact_after_move(before: State, after: State, *, by_agent: bool) -> DirectiveSet | None:
    """Return the fact that keeps what a move of the head must not change: the directive and, for an agent, the counts.

    An agent that undoes a change in its shell must not undo what was counted, too: a task that the move reopens does
    not count as closed a second time.
    """
    if by_agent and (before.has_counts or after.has_counts):
        _, ledger = progress_of(before.plan, after.plan, before.ledger)
        return DirectiveSet(before.directive, before.drift, before.since, ledger)
    return DirectiveSet(before.directive) if after.directive is not before.directive else None


PLAN_CHECK = "Make the check of the plan pass"
"""The text of the task that stands for the check of a plan whose tasks are all closed."""


class CheckRuns:
    """The runs of the checks that a change needs, in whichever state it is decided: each check is run once."""

    def __init__(self, change: Change, prover: Callable[[], Prover], *, whole_list: bool) -> None:
        self._change, self._make_prover, self._whole_list = change, prover, whole_list
        self._prover: Prover | None = None
        self._results: dict[Check, Proof | None] = {}
        self._proofs: tuple[State | None, Mapping[int, Proof]] = None, NO_PROOFS

    def proofs_in(self, state: State) -> Mapping[int, Proof]:
        """Run the checks that the change needs in a state and that were not run before, and return their proofs.

        They are those of the tasks that it completes, also of tasks whose proofs are stale, done or not, and that of
        the plan if no task is open afterwards. With `whole_list`, the change names every task each time: stale proofs
        are then renewed only if no task is open.
        """
        if self._proofs[0] is not state:
            self._proofs = state, self._found(state) if has_checks(state.plan) else NO_PROOFS
        return self._proofs[1]

    def _found(self, state: State) -> Mapping[int, Proof]:
        prover = self._prover = self._prover or self._make_prover()
        stale = stale_numbers(state.plan, lambda: prover, also_open=True)
        outcome, _ = self._change(replace(state, plan=reopened(state.plan, stale)), {})
        needed = list(outcome.unproved)
        if self._whole_list and _has_open(outcome.after, needed):
            done = completed_in(state.plan)
            needed = [number for number in needed if number not in stale & done]
        checks = {task.number: task.check for task in outcome.after.tasks if task.check and task.number in needed}
        proofs = self._run(checks, prover)
        after = self._change(state, proofs)[0].after
        if after.check is not None and (is_unproved(after) or (PLAN in stale and not _has_open(after))):
            proofs |= self._run({PLAN: after.check}, prover)
        return proofs

    def _run(self, checks: Mapping[int, Check], prover: Prover) -> dict[int, Proof]:
        """Return the proofs of checks; one that was refused is tried again once a person has approved it."""
        missing = {number: check for number, check in checks.items() if not self._is_known(check, prover)}
        found = prover.prove(missing) if missing else {}
        self._results |= {check: found.get(number) for number, check in missing.items()}
        return {number: proof for number, check in checks.items() if (proof := self._results[check]) is not None}

    def _is_known(self, check: Check, prover: Prover) -> bool:
        if check not in self._results:
            return False
        proof = self._results[check]
        return proof is None or proof.result is not Result.REFUSED or not prover.is_allowed(check)


def stale_numbers(plan: Plan, prover: Callable[[], Prover] | None, *, also_open: bool = False) -> frozenset[int]:
    """Return the numbers of done tasks, or `also_open` ones, whose passed proofs are stale; PLAN for the plan's."""
    passed = {
        task.number: (task.check, task.proof)
        for task in plan.tasks
        if (also_open or task.status is Status.COMPLETED)
        if task.check and task.proof and is_passed(task.check, task.proof)
    }
    if plan.check and plan.proof and is_passed(plan.check, plan.proof):
        passed[PLAN] = plan.check, plan.proof
    imported = frozenset(number for number, (_, proof) in passed.items() if proof.imported)
    own = {number: each for number, each in passed.items() if number not in imported}
    return imported | (prover().stale(own) if own and prover is not None else frozenset())


def held_to_proofs(state: State, stale: frozenset[int]) -> State:
    """Return the state in which done tasks with stale proofs are in progress.

    If all tasks are closed but the check of the plan has not passed, it has one more task, with the number of the last
    one: the check is run again when that is marked done. An inconclusive check of the plan is for a person.
    """
    plan = reopened(state.plan, stale)
    if is_unproved(plan):
        waits = plan.proof is not None and plan.proof.result.blocks
        status = Status.BLOCKED if waits else Status.IN_PROGRESS
        task = Task(PLAN_CHECK, status, number=plan.tasks[-1].number)
        plan = replace(plan, phases=(*plan.phases, Phase("", (task,))))
    return state if plan is state.plan else replace(state, plan=plan)


def _has_open(plan: Plan, besides: list[int] | None = None) -> bool:
    return any(task.status.is_open and task.number not in (besides or ()) for task in plan.tasks)
