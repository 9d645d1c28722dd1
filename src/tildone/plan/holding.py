"""What an agent is held to: its plan without the tasks of others, and the counts that it shares with its parent.

An agent is held to the tasks of its own conversation, and to those that belong to nobody: a person wrote or changed
them, or it is not known who did. What an agent of another conversation left holds nobody until it is taken up.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.plan.events import DirectiveSet, Nudged
from tildone.plan.faults import NotYours
from tildone.plan.model import Status, conflicting, held_back, numbered, waits_for, with_status

if TYPE_CHECKING:
    from tildone.plan.events import State
    from tildone.plan.model import Phase, Plan, Task


def left_over(plan: Plan, own: frozenset[str] | None) -> frozenset[int]:
    """Return the numbers of the tasks that agents of other conversations left; `own` are the names of this one.

    None means that the agent adopts the whole plan. A process of the same coding agent does not tell which conversation
    it had.
    """
    if own is None:
        return frozenset()
    products = ("", *(name.partition(":")[0] for name in own))
    unknown = tuple(f"{product}:pid:".removeprefix(":") for product in products)
    strangers = {task.owner for task in plan.tasks if not task.from_user} - own
    strangers = {owner for owner in strangers if owner and not owner.startswith(unknown)}
    return frozenset(task.number for task in plan.tasks if task.owner in strangers and not task.from_user)


def without_left(state: State, left: frozenset[int], *, keeps_positions: bool) -> State:
    """Return the state without tasks that earlier conversations left; they count as closed if positions are to stay.

    The check of the plan is that of those who worked on it.
    """
    if not left:
        return state
    if keeps_positions:
        return replace(state, plan=with_status(state.plan, left, Status.COMPLETED))
    plan = without_tasks(state.plan, left)
    return replace(state, plan=plan if plan.phases else replace(plan, check=None, proof=None))


def without_tasks(plan: Plan, numbers: frozenset[int]) -> Plan:
    """Return the plan without these tasks, and without phases that have no others."""
    kept = (tuple(task for task in phase.tasks if task.number not in numbers) for phase in plan.phases)
    phases = (replace(phase, tasks=tasks) for phase, tasks in zip(plan.phases, kept, strict=True) if tasks)
    return replace(plan, phases=tuple(phases))


def without_taken(state: State, taken: frozenset[int], *, sends_whole_list: bool) -> State:
    """Return the state in which tasks that others work on need not be done; those after or beside them are blocked."""
    if not taken:
        return state
    # Who sends the whole list back must not learn that a task is done which is not.
    status = Status.BLOCKED if sends_whole_list else Status.COMPLETED
    plan = with_status(state.plan, _waiting(numbered(state.plan), taken), Status.BLOCKED)
    return replace(state, plan=with_status(plan, taken, status))


def _waiting(plan: Plan, taken: frozenset[int]) -> frozenset[int]:
    """Return the pending tasks that cannot be started before other agents have finished theirs."""
    pending = [task for task in plan.tasks if task.status is Status.PENDING]
    waiting = {task.number for task in pending if conflicting(plan, task, taken)} - taken
    while True:
        blockers = taken | waiting
        later = {task.number for task in pending if not blockers.isdisjoint(waits_for(plan, task))} - blockers
        if not later:
            return frozenset(waiting)
        waiting |= later


def in_order(before: Plan, after: Plan, *, atomic: bool, with_numbers: bool) -> tuple[Plan, tuple[NotYours, ...]]:
    """Return the plan after a change without what it begins behind a blocked task; nothing remains of an `atomic` one.

    The faults say why.
    """
    waiting = {task.number for task in before.tasks if task.status in (Status.PENDING, Status.BLOCKED)}
    known = {task.number for task in before.tasks}
    begun = {
        task.number
        for task in after.tasks
        if task.status in (Status.IN_PROGRESS, Status.COMPLETED)
        and (task.number in waiting or task.number not in known)
    }
    early = begun & held_back(with_status(after, begun, Status.PENDING))
    if not early:
        return after, ()

    def fault(phase: Phase, task: Task) -> NotYours:
        behind = next(each for each in phase.tasks if each.status is Status.BLOCKED)
        return NotYours(task.number if with_numbers else 0, task.text, behind=behind)

    faults = tuple(fault(phase, task) for phase in after.phases for task in phase.tasks if task.number in early)
    return before if atomic else with_status(after, early, Status.PENDING), faults


def with_counts_of(state: State, parent: State) -> State:
    """Return the state of a subagent with the nudges that its parent and all of its subagents have had.

    Otherwise, an agent that starts one subagent after another would be continued for ever, in parts.
    """
    own, shared = state.ledger, parent.ledger
    began = min(filter(None, (own.began, shared.began)), default=0)
    return replace(state, ledger=replace(own, continued=max(own.continued, shared.continued), began=began))


def subagent_nudge(parent: State) -> Nudged | None:
    """Return the fact that a subagent was told to go on; None if its parent has no plan to be held to."""
    return Nudged(parent.nudges, parent.drift, of_subagent=True) if parent.plan.tasks else None


def fact_of_reset(state: State, *, by_person: bool, always: bool = False) -> DirectiveSet | None:
    """Return the fact that resets the counts since the last change, and by a person also those since they last spoke.

    The directive stays. None means that there is nothing to reset; with `always`, a person resets budgets in any case.
    """
    if by_person:
        return DirectiveSet(state.directive) if state.has_counts or always else None
    is_new = state.tripped is not None or state.drift > 0
    return DirectiveSet(state.directive, ledger=state.ledger) if is_new else None
