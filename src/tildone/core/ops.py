"""Changes one can ask for, and how they name the tasks they mean."""

from __future__ import annotations

from tildone.core.plan import Phase, Status, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable


@value
class At:
    """Tasks by their positions in the whole plan, counted from 0."""

    indices: tuple[int, ...]


@value
class Numbered:
    """Tasks by the numbers that stay with them."""

    numbers: tuple[int, ...]


@value
class Named:
    """One task by its exact text or, if none has it, by its text as it is `shown` to whoever names it."""

    text: str
    shown: Callable[[str], str] = str


@value
class InPhase:
    """Every task of the first phase of that name or, if none has it, of the first that is `shown` so."""

    name: str
    shown: Callable[[str], str] = str


@value
class Everything:
    """Every task of the plan."""


Selector = At | Numbered | Named | InPhase | Everything


@value
class Write:
    """Put these phases in place of the whole plan."""

    phases: tuple[Phase, ...]


@value
class Append:
    """Add tasks at the end of a phase, which is made if it is missing; no name means the last phase.

    `anew` means that they take the place of a plan of which nothing is left to do.
    """

    tasks: tuple[Task, ...]
    phase: str | None = None
    anew: bool = False


@value
class Insert:
    """Add tasks so that the first of them gets position `at` in the whole plan."""

    tasks: tuple[Task, ...]
    at: int


@value
class Mark:
    """Give tasks a status."""

    target: Selector
    status: Status


@value
class Move:
    """Put tasks before another, in its phase, or at the end of the plan."""

    target: Selector
    before: Selector | None = None


@value
class Remove:
    """Take tasks out; a phase that loses its last task stays."""

    target: Selector


@value
class Note:
    """Add a note to a task."""

    target: Named | At | Numbered
    text: str


Op = Write | Append | Insert | Mark | Move | Remove | Note
