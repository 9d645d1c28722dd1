"""Progress: what counts as a step towards the end of a plan, at most once.

An agent that makes progress may be continued for longer. So that nobody can be continued for ever by doing and undoing
the same thing, every task counts as closed once in its life, whatever its text, and a text counts as new once. What a
person says starts a new `Ledger`.

Only what could count a second time is remembered: the numbers of tasks that were reopened, and the checksums of texts
that were removed. Both are short for an agent that works through its plan, and bounded for any other.
"""

from __future__ import annotations

from zlib import crc32

from tildone.core.plan import Status
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.core.plan import Plan, Task
    from tildone.log.events import Ledger

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
    reopened = {*ledger.reopened, *_reopened(earlier, after)}
    closed = [task for task in after.tasks if _counts_as_closed(task, earlier, reopened, ledger)]
    completes = any(task.status is not Status.ABANDONED for task in closed)
    adds = texts > former and any(checksum(text) not in ledger.gone for text in texts - former)
    drops = bool(closed) and not completes and ledger.dropped < MAX_DROPPED
    adds = adds and ledger.added < MAX_ADDED
    gone = [text for text in map(checksum, sorted(former - texts)) if text not in ledger.gone]
    numbers = {task.number for task in after.tasks}
    return completes or drops or adds, replace(
        ledger,
        added=0 if completes else ledger.added + adds,
        dropped=ledger.dropped + drops,
        reopened=tuple(sorted(reopened & numbers)[-MAX_REMEMBERED:]),
        gone=(*ledger.gone, *gone)[-MAX_REMEMBERED:],
    )


def checksum(text: str) -> str:
    """Return a short text that stands for a longer one."""
    return f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _reopened(earlier: dict[int, Task], after: Plan) -> list[int]:
    """The numbers of the tasks that a change reopens."""
    return [
        task.number
        for task in after.tasks
        if task.status.is_open and task.number in earlier and not earlier[task.number].status.is_open
    ]


def _counts_as_closed(task: Task, earlier: dict[int, Task], reopened: set[int], ledger: Ledger) -> bool:
    """Return whether a task is closed that was open, and neither it nor its text was closed before."""
    was = earlier.get(task.number)
    if task.status.is_open or was is None or not was.status.is_open or task.number in reopened:
        return False
    return not ledger.gone or checksum(was.text) not in ledger.gone
