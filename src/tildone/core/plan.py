"""Plans: ordered phases of ordered tasks, each with a status."""

from __future__ import annotations

from enum import Enum

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Self

    from tildone.core.check import Check, Proof


@value
class _Facts:
    """The attributes of a status; see `Status`."""

    icon: str = ""
    checkbox: str = ""
    verb: str = ""
    is_open: bool = True
    is_actionable: bool = True


class Status(Enum):
    """The status of a task. Its attributes hold for every dialect; dialects add their own vocabulary.

    `value` is the name of the status in stored events. `icon` precedes the task in lists; `checkbox` is the character
    between the brackets in a Markdown checklist. `verb` is the command that sets the status; it is empty if there is
    none. An open task is not finished. An actionable task can be worked on now; a blocked one waits for someone else.

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

    def __new__(cls, name: str, facts: _Facts | None = None) -> Self:
        """Create a member whose value is `name`, so that `Status("pending")` finds it."""
        member = object.__new__(cls)
        member._value_ = name
        for attribute in _Facts.__match_args__:
            setattr(member, attribute, getattr(facts, attribute))
        return member

    @property
    def basic(self) -> Status:
        """The closest of the four statuses that other programs support."""
        if self in _BASIC:
            return self
        return Status.PENDING if self.is_open else Status.ABANDONED

    # Members are singletons, so hashing by identity is correct, and faster; views use statuses as keys everywhere.
    __hash__ = object.__hash__


_BASIC = (Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.ABANDONED)


@value
class Task:
    """One thing to do. `number` never changes once it is assigned; 0 means none.

    The newest note of a blocked task says what it waits for. `from_user` means that a person added the task. `source`
    says where its text came from, such as "the file PLAN.md", unless it was written here. Tasks that differ in nothing
    else are equal, because files and tools that lists come from record neither.

    A task with a `check` is completed only if its `proof` says that the check has passed. It is worked on `after` the
    tasks with these numbers, or these positions, counted from 1, if it has no number yet. `touches` are globs of the
    files that it will change.
    """

    text: str
    status: Status = Status.PENDING
    notes: tuple[str, ...] = ()
    number: int = 0
    from_user: bool = False
    source: str = ""
    check: Check | None = None
    proof: Proof | None = None
    after: tuple[int, ...] = ()
    touches: tuple[str, ...] = ()

    __uncompared__ = ("from_user", "source")

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The fields of `WORD_FIELDS` that are not empty, by name."""
        return {name: words for name in WORD_FIELDS if (words := getattr(self, name))}


@value
class WordField:
    """What a field of a task that is words without a rule is called; `Task` and JSON, Markdown and tools have its name.

    `thing` is what is set ("the files"), `words` what is given ("globs"). `shown` stands before the words where a task
    is shown, and `none` says that there are none. `op`, `key` and the last three are those of the board.
    """

    thing: str
    words: str
    shown: str
    none: str
    op: str
    key: str
    question: str
    hint: str
    example: str = ""


WORD_FIELDS = {
    "touches": WordField(
        thing="files",
        words="globs",
        shown="changes",
        none="Names no files",
        op="touch",
        key="f",
        question="Which files does it change?",
        hint="Globs, separated by spaces. Agents do not work on tasks that change the same files at the same time.",
        example="src/parser/** tests/parser/**",
    ),
}
"""The fields of `Task` that are stored, shown and set in one way. A new one is a field above and a row here."""

ATTRIBUTES = ("check", "after", *WORD_FIELDS)
"""What a task may have that lists of models do not name."""


def has_attributes(task: Task) -> bool:
    """Return whether the task has anything that lists of models do not name."""
    return any(getattr(task, name) for name in ATTRIBUTES)


@value
class Phase:
    """A named group of tasks. A flat list is a single phase with an empty name."""

    name: str
    tasks: tuple[Task, ...] = ()


@value
class Plan:
    """Phases in order. `last_number` is the highest task number that was ever assigned.

    A plan with a `check` of its own is finished when all tasks are closed and its `proof` says that the check passed.
    """

    phases: tuple[Phase, ...] = ()
    last_number: int = 0
    check: Check | None = None
    proof: Proof | None = None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks of all phases, in order."""
        if len(self.phases) == 1:
            return self.phases[0].tasks
        return tuple(task for phase in self.phases for task in phase.tasks)


def flat(*tasks: Task) -> Plan:
    """Return a plan that is a flat list. Without tasks, the plan has no phase."""
    return Plan((Phase("", tasks),)) if tasks else Plan()
