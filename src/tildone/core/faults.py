"""Why a change was refused, as data. Dialects phrase it."""

from __future__ import annotations

from tildone.value import value


@value
class NoTasks:
    """Tasks were named by position, and the plan has no task."""


@value
class OutOfRange:
    """Positions that no task has; `last` is the highest position."""

    indices: tuple[int, ...]
    last: int


@value
class NoSuchNumber:
    """Numbers that no task has."""

    numbers: tuple[int, ...]


@value
class BadPosition:
    """A position to insert at that is not between 0 and `last`."""

    at: int
    last: int


@value
class TextTooLong:
    """The new task at `index` of the request is longer than allowed."""

    index: int
    limit: int


@value
class TooManyTasks:
    """Adding `adding` tasks to the `current` ones would exceed the limit."""

    adding: int
    limit: int
    current: int


@value
class TooManyActive:
    """More tasks are in progress than the rules allow."""

    count: int


@value
class TaskMissing:
    """No task has this text; `empty` if the plan has no task."""

    text: str
    empty: bool


@value
class PhaseMissing:
    """No phase has this name."""

    name: str


@value
class AlreadyThere:
    """A task with this text exists."""

    text: str


@value
class EmptyNote:
    """A note without text."""


@value
class Missing:
    """A field that this operation requires."""

    field: str
    operation: str


@value
class UnknownWord:
    """A value that is not among those of the field."""

    field: str
    word: str


Fault = (
    NoTasks
    | OutOfRange
    | NoSuchNumber
    | BadPosition
    | TextTooLong
    | TooManyTasks
    | TooManyActive
    | TaskMissing
    | PhaseMissing
    | AlreadyThere
    | EmptyNote
    | Missing
    | UnknownWord
)
