"""Ops, the changes that can be requested, and selectors, which name the tasks that an op affects."""

from __future__ import annotations

from tildone.core.check import Check
from tildone.core.plan import Phase, Status, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet


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

    `others` returns the numbers of the tasks in progress that other agents started, which do not count.
    """

    others: Callable[[], AbstractSet[int]] = frozenset


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
    """Say which files, as globs, tasks will change, in place of those before.

    With another `field` of `WORD_FIELDS`, its words are set.
    """

    target: Selector
    globs: tuple[str, ...]
    field: str = "touches"


Op = Write | Append | Insert | Mark | Move | Rename | Remove | Note | StartNext | SetCheck | Order | Touch
