"""When the checks of tasks are run, and what an agent with unproved tasks is held to.

A change that completes a task with a check is computed twice: first to learn which checks it needs, then, after they
were run, with their proofs. Nothing is locked while a check runs. If the plan changes meanwhile, the change is decided
on the new state with the same proofs: a task whose check was edited stays open.
"""

from __future__ import annotations

from tildone.core.check import is_passed
from tildone.core.guard import PLAN, is_unproved, reopened
from tildone.core.plan import Phase, Status, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Protocol

    from tildone.core.check import Check, Proof
    from tildone.core.plan import Plan
    from tildone.core.reduce import Outcome
    from tildone.log.events import Fact
    from tildone.log.state import State

    class Prover(Protocol):
        """Runs checks. The results are by task number; PLAN stands for the plan itself."""

        def prove(self, checks: Mapping[int, Check]) -> Mapping[int, Proof]:
            """Run these checks, one after the other."""

        def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
            """Return for which of these proofs the watched files have changed since."""

        def is_allowed(self, check: Check) -> bool:
            """Return whether a person has approved the check, so that it may be run."""

    Change = Callable[[State, Mapping[int, Proof]], tuple[Outcome, Fact | None]]

PLAN_CHECK = "Make the check of the plan pass"
"""The text of the task that stands for the check of a plan whose tasks are all closed."""


def proofs_for(state: State, change: Change, prover: Prover, *, whole_list: bool) -> Mapping[int, Proof]:
    """Run the checks that a change needs, and return their proofs.

    They are those of the tasks that it completes, also of tasks whose proofs are stale, done or not, and that of the
    plan if no task is open afterwards. With `whole_list`, the change names every task each time: stale proofs are then
    renewed only if no task is open.
    """
    stale = stale_numbers(state.plan, lambda: prover, also_open=True)
    outcome, _ = change(replace(state, plan=reopened(state.plan, stale)), {})
    needed = list(outcome.unproved)
    if whole_list and _has_open(outcome.after, needed):
        done = {task.number for task in state.plan.tasks if task.status is Status.COMPLETED}
        needed = [number for number in needed if number not in stale & done]
    checks = {task.number: task.check for task in outcome.after.tasks if task.check and task.number in needed}
    proofs = dict(prover.prove(checks)) if checks else {}
    after, _ = change(state, proofs)
    if after.after.check is not None and (is_unproved(after.after) or (PLAN in stale and not _has_open(after.after))):
        proofs |= prover.prove({PLAN: after.after.check})
    return proofs


def stale_numbers(plan: Plan, prover: Callable[[], Prover] | None, *, also_open: bool = False) -> frozenset[int]:
    """Return the numbers of the done tasks whose proofs are stale; PLAN if that of the plan is.

    With `also_open`, also those of open tasks whose checks have passed, for example before they were reopened.
    """
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
