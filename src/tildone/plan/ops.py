"""Ops, the changes that can be requested, and selectors, which name the tasks that an op affects."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.model import Phase, Status, with_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from tildone.plan.model import Check, Plan, Task


@value
class At:
    """Tasks by their positions in the whole plan, counted from 0."""

    indices: tuple[int, ...]


@value
class Numbered:
    """Tasks by their numbers."""

    numbers: tuple[int, ...]


@value
class Named:
    """One task by its exact text or, if no task has it, by its text as `display` renders it."""

    text: str
    display: Callable[[str], str] = str


@value
class InPhase:
    """Every task of the first phase with that name or, if there is none, with that name as `display` renders it."""

    name: str
    display: Callable[[str], str] = str


@value
class Everything:
    """Every task of the plan."""


Selector = At | Numbered | Named | InPhase | Everything


@value
class Write:
    """Replace the whole plan with these phases."""

    phases: tuple[Phase, ...]


@value
class Append:
    """Add tasks at the end of a phase, which is created if it is missing; None means the last phase.

    With `clear_finished`, a plan without open tasks is cleared first.
    """

    tasks: tuple[Task, ...]
    phase: str | None = None
    clear_finished: bool = False


@value
class Insert:
    """Add tasks so that the first of them gets position `at` in the whole plan."""

    tasks: tuple[Task, ...]
    at: int


@value
class Mark:
    """Set the status of tasks."""

    target: Selector
    status: Status


@value
class Move:
    """Move tasks in front of the task `before`, into its phase.

    Without `before`, they move to the end of the phase of that name, which is created if it is missing; None means the
    last phase.
    """

    target: Selector
    before: Selector | None = None
    phase: str | None = None


@value
class Rename:
    """Change the text of a task. Its number, status and notes stay."""

    target: Named | At | Numbered
    text: str


@value
class Remove:
    """Remove tasks. Phases that become empty stay."""

    target: Selector


@value
class Note:
    """Add a note to a task."""

    target: Named | At | Numbered
    text: str


@value
class StartNext:
    """Start the next pending task if the earlier steps of the batch finished one and none is in progress.

    `others` returns the numbers of the tasks in progress that other agents started. They do not count, and neither do
    those that are `left` by agents of earlier conversations. With `in_order`, nothing behind a blocked task is started.
    """

    others: Callable[[], AbstractSet[int]] = frozenset
    left: frozenset[int] = frozenset()
    in_order: bool = False


@value
class SetCheck:
    """Set the check of a task, or of the plan if `target` is None; None removes it. The task is open afterwards."""

    target: Named | At | Numbered | None
    check: Check | None


@value
class Order:
    """Say after which tasks, by number, a task is worked on, in place of those before."""

    target: Named | At | Numbered
    after: tuple[int, ...]


@value
class Touch:
    """Say which files, as globs, tasks will change, or set the words of another `field` of `WORD_FIELDS`."""

    target: Selector
    globs: tuple[str, ...]
    field: str = "touches"


Op = Write | Append | Insert | Mark | Move | Rename | Remove | Note | StartNext | SetCheck | Order | Touch


@value
class Origin:
    """Who changes a plan: a person, or an `agent`; and the `source` of the tasks that have none of their own."""

    by_user: bool = False
    source: str = ""
    agent: str = ""


def keep_origins(before: Plan, after: Plan, new: Origin) -> Plan:
    """Return the plan `after` a change with the origin of each of its tasks.

    `new` is that of new tasks. A task is the same as before if it has the same number or, as in a list that was written
    anew, the same text. A task whose text has changed no longer has the source of the old text. A task whose text or
    status has changed, or that an agent has written anew, belongs to that agent; after a person's change, to none.
    """
    if new == Origin() and not any(task.from_user or task.source or task.owner for task in before.tasks):
        return after
    earlier = _finder(before, after)
    unchanged = {task.number: task for task in before.tasks if task.number}

    def with_origin(task: Task) -> Task:
        # Nearly all tasks are the same as before.
        if unchanged.get(task.number) is task:
            return task
        same = earlier(task)
        if same is None:
            from_user = task.from_user or (new.by_user and not task.source)
            source, owner = task.source or new.source, new.agent
        else:
            is_same_text, is_rewritten = same.text == task.text, same.owner != task.owner and new.agent != ""
            # A task that is put back, because another one is started, is not taken from its owner.
            is_put_back = same.status is Status.IN_PROGRESS and task.status is Status.PENDING
            is_untouched = is_same_text and (is_put_back or same.status is task.status) and not is_rewritten
            from_user = task.from_user or same.from_user
            source, owner = same.source if is_same_text else new.source, same.owner if is_untouched else new.agent
        is_kept = task.from_user is from_user and task.source == source and task.owner == owner
        return task if is_kept else replace(task, from_user=from_user, source=source, owner=owner)

    return with_tasks(after, with_origin)


def _finder(before: Plan, after: Plan) -> Callable[[Task], Task | None]:
    """Return a function that finds the earlier version of a task, each at most once."""
    numbered = {task.number: task for task in before.tasks if task.number}
    taken = {task.number for task in after.tasks}
    by_text: dict[str, list[Task]] = {}
    for task in before.tasks:
        if not task.number or task.number not in taken:
            by_text.setdefault(task.text, []).append(task)

    def find(task: Task) -> Task | None:
        same = numbered.get(task.number)
        if same is not None:
            return same
        candidates = by_text.get(task.text)
        return candidates.pop(0) if candidates else None

    return find
