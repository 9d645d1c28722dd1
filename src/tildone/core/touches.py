"""The files that tasks will change: tasks whose globs could match the same file are not worked on at the same time."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.core.plan import Plan, Task


def conflicting(plan: Plan, task: Task, active: Iterable[int]) -> tuple[int, ...]:
    """Return which of the tasks with these numbers are in progress and may change the same files as a task."""
    if not task.touches:
        return ()
    wanted = set(active) - {task.number}
    return tuple(
        other.number
        for other in plan.tasks
        if other.number in wanted and other.status is Status.IN_PROGRESS and may_conflict(task.touches, other.touches)
    )


def in_the_way(plan: Plan, task: Task) -> tuple[int, ...]:
    """Return the numbers of the tasks in progress because of whose files an open task is not started."""
    if not task.status.is_open or task.status is Status.IN_PROGRESS:
        return ()
    return conflicting(plan, task, [each.number for each in plan.tasks])


def may_conflict(one: Iterable[str], other: Iterable[str]) -> bool:
    """Return whether a path could match a glob of both. A folder stands for everything in it."""
    others = [glob for each in other for glob in _with_contents(each)]
    return any(globs_meet(first, second) for each in one for first in _with_contents(each) for second in others)


def globs_meet(one: str, other: str) -> bool:
    """Return whether a text matches both globs: `*` is any text, `?` and a set in brackets any one character."""
    first, second = _parts(one), _parts(other)
    # reachable[j]: what precedes position i of `first` and position j of `second` can be the same text.
    reachable = [all(part == "*" for part in second[:j]) for j in range(len(second) + 1)]
    for part in first:
        following = [reachable[0] and part == "*"]
        for j, against in enumerate(second, 1):
            if part == "*" or against == "*":
                # A star ends before the other's part, or takes it.
                follows = reachable[j] or following[j - 1]
            else:
                follows = reachable[j - 1] and ("?" in (part, against) or part == against)
            following.append(follows)
        reachable = following
    return reachable[-1]


def _with_contents(glob: str) -> tuple[str, str]:
    return glob, f"{glob.rstrip('/')}/*"


def _parts(glob: str) -> list[str]:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        end = glob.find("]", at + 2) if glob[at] == "[" else -1
        parts.append("?" if end > 0 else glob[at])
        at = end + 1 if end > 0 else at + 1
    return parts
