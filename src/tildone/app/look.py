"""A plan as JSON: the one table of what is told of a task, from which each surface takes its shape.

The command line prints a list of tasks (`docs/reference/json.md`); the board and the resource of MCP tell of phases.
"""

from collections.abc import Callable, Container, Iterable

from tildone.app.check_states import NO_FACTS, CheckFacts
from tildone.plan.check_codec import attributes_to_json
from tildone.plan.claims import Claim
from tildone.plan.guard import PLAN
from tildone.plan.history.changes import longest_increasing
from tildone.plan.model import ATTRIBUTES, Plan, Task, TaskInPhase, next_task, tasks_with_phase, waiting_tasks
from tildone.plan.reduce import Outcome

Data = dict[str, object]

_FIELDS: dict[str, Callable[[Task], object]] = {
    "number": lambda task: task.number,
    "text": lambda task: task.text,
    "status": lambda task: task.status.value,
    "notes": lambda task: list(task.notes),
    "from_user": lambda task: task.from_user,
    "source": lambda task: task.source,
}


def task_data(task: Task, names: Iterable[str]) -> Data:
    return {name: _FIELDS[name](task) for name in names}


def phases_data(plan: Plan, data: Callable[[Task], Data]) -> list[Data]:
    return [{"name": phase.name, "tasks": [data(task) for task in phase.tasks]} for phase in plan.phases]


def plan_data(
    plan: Plan,
    session: str,
    *,
    only: Container[int] | None = None,
    positions: bool = False,
    checks: CheckFacts = NO_FACTS,
) -> Data:
    """Return a plan, or those of its tasks whose numbers are in `only`."""
    upcoming = next_task(plan)
    return {
        "session": session,
        "next": upcoming[1].number if upcoming else None,
        "phases": [phase.name for phase in plan.phases],
        "tasks": [
            _listed_data(item, place if positions else None, checks)
            for place, item in enumerate(tasks_with_phase(plan))
            if only is None or item.task.number in only
        ],
        **attribute_data(plan, PLAN, checks),
    }


def change_data(outcome: Outcome, session: str, *, positions: bool = False, checks: CheckFacts = NO_FACTS) -> Data:
    """Return the plan after a change, and the numbers of the tasks that were added, changed, moved or removed.

    Those that were to be completed, but whose checks have not passed, are `unproved`.
    """
    plan = plan_data(outcome.after, session, positions=positions, checks=checks)
    unproved = {"unproved": list(outcome.unproved)} if outcome.unproved else {}
    return {**plan, "changed": changed_numbers(outcome), **unproved}


def next_data(
    plan: Plan,
    session: str,
    upcoming: tuple[int, Task] | None,
    *,
    claims: Iterable[Claim] = (),
    positions: bool = False,
    checks: CheckFacts = NO_FACTS,
) -> Data:
    """Return the task to work on now, or None, which tasks wait for which others, and which ones agents hold."""
    task = None
    if upcoming:
        place = upcoming[0]
        task = _listed_data(tasks_with_phase(plan)[place], place if positions else None, checks)
    waiting = [{"number": each.number, "after": list(others)} for each, others in waiting_tasks(plan)]
    claimed = [{"number": claim.task, "agent": claim.agent} for claim in claims]
    data: Data = {"session": session, "task": task}
    return data | ({"waiting": waiting} if waiting else {}) | ({"claimed": claimed} if claimed else {})


def attribute_data(owner: Task | Plan, number: int, checks: CheckFacts) -> Data:
    """Return the check of a task or of the plan, its proof and state, and the order and the files of a task."""
    if not any(getattr(owner, name, ()) for name in ATTRIBUTES):
        return {}

    data = attributes_to_json(owner)
    if owner.check is not None:
        data["approved"] = number not in checks.proposed
    if number in checks.stale:
        data["stale"] = True
    return data


def changed_numbers(outcome: Outcome) -> list[int]:
    """Return the numbers of the tasks that a change affected, in ascending order."""
    before = {item.task.number: item for item in tasks_with_phase(outcome.before)}
    after = {item.task.number: item for item in tasks_with_phase(outcome.after)}
    changed = {number for number in before.keys() | after.keys() if before.get(number) != after.get(number)}
    places = {number: place for place, number in enumerate(before)}
    in_order = [places[number] for number in after if number in places]
    stayed = longest_increasing(in_order)
    return sorted(changed | {number for number in after if number in places and places[number] not in stayed})


def _listed_data(item: TaskInPhase, position: int | None, checks: CheckFacts) -> Data:
    task = item.task
    place: Data = {} if position is None else {"position": position}
    return {
        **task_data(task, ("number",)),
        **place,
        **task_data(task, ("text", "status")),
        "phase": item.phase,
        **task_data(task, ("notes",)),
        **attribute_data(task, task.number, checks),
    }
