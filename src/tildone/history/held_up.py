"""The tasks with checks that an agent has set aside: it blocked them, or ordered them after others that are blocked.

An agent may really be blocked, so this is not refused. But the check would then hold it no longer, so it needs the
person until they act on the task: unblock it, remove it, order it otherwise, or leave a note.
"""

from __future__ import annotations

from itertools import islice

from tildone.core.numbers import numbered
from tildone.core.order import held_up
from tildone.log.events import PlanChanged
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tildone.core.plan import Plan, Task
    from tildone.log.events import Event

    Holding = dict[int, object]

MAX_EVENTS_READ = 500
"""Among how many events, the newest first, is looked for who set a task aside. Beyond them, it was an agent."""


def held_up_by_agents(plan: Plan, history: Callable[[], Iterable[Event]]) -> list[Task]:
    """Return the tasks of a plan that an agent has set aside although they have checks.

    The newest change of a task, or of those that it waits for, decides. `history` returns the events of the plan, the
    newest first; it is called only if tasks are set aside.
    """
    found = held_up(plan)
    if not found:
        return []
    undecided = {task.number: numbers for task, numbers in found}
    by_persons: set[int] = set()
    newer: tuple[Event, Holding] | None = None
    is_root = False
    for event in islice(history(), MAX_EVENTS_READ):
        is_root = event.parent is None
        if not isinstance(event.fact, PlanChanged):
            continue
        holding = _holding(event.fact.plan)
        if newer is not None:
            by_persons |= _decided(undecided, *newer, holding)
        newer = event, holding
    if newer is not None and is_root:
        by_persons |= _decided(undecided, *newer, {})
    return [task for task, _ in found if task.number not in by_persons]


def describe_held_up(tasks: Iterable[Task]) -> str:
    """Return what a person is told of the first of these tasks; empty without any."""
    for task in tasks:
        check = "" if task.check is None else f" (check: {printable(check_text(task.check))})"
        return f"the agent set aside #{task.number}{check}"
    return ""


def _decided(undecided: dict[int, frozenset[int]], event: Event, after: Holding, before: Holding) -> set[int]:
    """Take out the tasks that an event decides about; return those that a person has set aside."""
    touched = {number for number in after if after[number] != before.get(number)}
    decided = {number for number, deciding in undecided.items() if deciding & touched}
    for number in decided:
        del undecided[number]
    return decided if event.by_person else set()


def _holding(plan: Plan) -> Holding:
    """What holds tasks up, and what is said about it, by their numbers."""
    return {task.number: (task.status, task.after, task.notes) for task in numbered(plan).tasks}
