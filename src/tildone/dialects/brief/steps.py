"""Translates the calls of `todo` into changes to a plan."""

from __future__ import annotations

from tildone.core.check import Check
from tildone.core.ops import Append, Mark, Move, Named, Note, Numbered, Order, SetCheck, StartNext, Touch
from tildone.core.plan import WORD_FIELDS, Status, Task
from tildone.dialects.brief.params import FINISHING, MARKS
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tildone.core.ops import Selector
    from tildone.core.reduce import Step

    Id = int | str


def steps(params: Mapping[str, Any]) -> list[Step]:
    """Return the changes that a call requests, in order, and the start of the next task if one may be finished.

    A call that only reads requests none.
    """
    ops = params["ops"]
    finishing = [StartNext()] if any(op in FINISHING for op, *_ in ops) else []
    return [step for op, *rest in ops for step in _steps(op, rest)] + finishing


def _steps(op: str, given: Sequence[Any]) -> Iterator[Step]:
    match op:
        case "add":
            yield Append(tuple(map(Task, given)), clear_finished=True)
        case "move":
            task, before = given
            yield Move(_selector(task), None if before is None else _selector(before))
        case "note":
            task, text = given
            yield Note(_selector(task), text)
        case "block":
            task, why = given
            yield Mark(_selector(task), Status.BLOCKED)
            yield Note(_selector(task), why)
        case "check":
            task, *command = given
            yield SetCheck(_selector(task), Check(tuple(command)))
        case "after":
            task, *numbers = given
            yield Order(_selector(task), tuple(numbers))
        case _ if op in WORD_FIELDS:
            task, *words = given
            yield Touch(_selector(task), tuple(words), op)
        case _:
            yield from (Mark(target, MARKS[op]) for target in _selectors(given))


def _selectors(ids: Sequence[Id]) -> Iterator[Selector]:
    numbers = tuple(number for number in ids if isinstance(number, int))
    if numbers:
        yield Numbered(numbers)
    yield from (_selector(text) for text in ids if isinstance(text, str))


def _selector(task: Id) -> Named | Numbered:
    return Numbered((task,)) if isinstance(task, int) else Named(task, shown_text)
