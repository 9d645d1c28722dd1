"""Which task starts when the one before it is finished."""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.core.query import is_ready
from tildone.core.selection import Spot, spots_where, task_at
from tildone.core.touches import conflicting
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from tildone.core.plan import Task


def finished_spots(before: Plan, after: Plan) -> list[Spot]:
    """Return the spots in `after` of the tasks with which an agent is finished, in order.

    They are the tasks that were open and are completed, and those that were in progress and are abandoned or blocked.
    """
    earlier = {task.number: task.status for task in before.tasks}
    return [
        spot
        for spot in spots_where(after, lambda task: not task.status.is_actionable)
        if _is_finished(earlier.get(task_at(after, spot).number, Status.PENDING), task_at(after, spot).status)
    ]


def successor(before: Plan, after: Plan, others: Callable[[], AbstractSet[int]]) -> Spot | None:
    """Return the spot of the task to start after a change that finished tasks; None if none is to be started.

    It is the first pending task after the last finished one that waits for no other, or else the first such task of the
    plan. None is started while a task is in progress. Tasks whose numbers `others` returns do not count, because other
    agents started them, and no task is started that may change the same files; `others` is called only if a task is in
    progress.
    """
    finished = finished_spots(before, after)
    if not finished:
        return None
    active = {task.number for task in after.tasks if task.status is Status.IN_PROGRESS}
    taken = frozenset(others()) if active else frozenset[int]()
    if not active <= taken:
        return None

    def can_start(task: Task) -> bool:
        return task.status is Status.PENDING and is_ready(after, task) and not conflicting(after, task, taken)

    pending = spots_where(after, can_start)
    return next((spot for spot in pending if spot > finished[-1]), pending[0] if pending else None)


def _is_finished(was: Status, now: Status) -> bool:
    return was is Status.IN_PROGRESS or (now is Status.COMPLETED and was.is_open)
