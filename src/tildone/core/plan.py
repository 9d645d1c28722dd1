"""Plans: ordered phases of ordered tasks, each with a status."""

from __future__ import annotations

from enum import Enum

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Self


@value
class _Facts:
    """What a status carries beside its word; `Status` documents it."""

    icon: str = ""
    checkbox: str = ""
    verb: str = ""
    is_open: bool = True
    is_actionable: bool = True


class Status(Enum):
    """Where a task stands. Each status carries what holds for it everywhere; dialects add their own vocabulary.

    `value` is its word in stored events. `icon` stands before the task in lists, `checkbox` between the brackets of a
    Markdown checklist. `verb` is what people and models call the change to it; a status without one is set otherwise.
    An open task is not done yet; an actionable one can be worked on now, while a blocked one waits for somebody else.

    To add a status, add a member. Help and schemas list statuses in the order of the members.
    """

    PENDING = "pending", _Facts(icon="–", checkbox=" ")
    IN_PROGRESS = "in_progress", _Facts(icon="●", checkbox="/", verb="start")
    COMPLETED = "completed", _Facts(icon="✓", checkbox="x", verb="done", is_open=False, is_actionable=False)
    ABANDONED = "abandoned", _Facts(icon="✗", checkbox="-", verb="drop", is_open=False, is_actionable=False)
    BLOCKED = "blocked", _Facts(icon="!", checkbox="!", is_actionable=False)

    _value_: str
    icon: str
    checkbox: str
    verb: str
    is_open: bool
    is_actionable: bool

    def __new__(cls, word: str, facts: _Facts | None = None) -> Self:
        """A member whose value is its word, so that `Status("pending")` finds it."""
        member = object.__new__(cls)
        member._value_ = word
        for name in _Facts.__match_args__:
            setattr(member, name, getattr(facts, name))
        return member

    @property
    def basic(self) -> Status:
        """The nearest of the four statuses that other programs know."""
        if self in _BASIC:
            return self
        return Status.PENDING if self.is_open else Status.ABANDONED

    # There is one object of each status, so identity is enough; views look up by status more than anything else.
    __hash__ = object.__hash__


_BASIC = (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.ABANDONED)


@value
class Task:
    """One thing to do. A number stays with its task through every edit; 0 means none.

    The newest note of a blocked task says what it waits for.
    """

    text: str
    status: Status = Status.PENDING
    notes: tuple[str, ...] = ()
    number: int = 0


@value
class Phase:
    """A named group of tasks. A flat list is a single phase with an empty name."""

    name: str
    tasks: tuple[Task, ...] = ()


@value
class Plan:
    """Phases in order. `counted` is the highest task number that was ever assigned."""

    phases: tuple[Phase, ...] = ()
    counted: int = 0

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all phases, in order."""
        if len(self.phases) == 1:
            return self.phases[0].tasks
        return tuple(task for phase in self.phases for task in phase.tasks)


def flat(*tasks: Task) -> Plan:
    """A plan that is a flat list; an empty list has no phase."""
    return Plan((Phase("", tasks),)) if tasks else Plan()
