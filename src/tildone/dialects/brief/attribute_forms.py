"""The arguments of `check`, `after` and the fields that are words: a task, and its command, predecessors or words."""

from __future__ import annotations

import re

from tildone.core.command_line import split_command
from tildone.core.plan import WORD_FIELDS
from tildone.dialects.brief.forms import ID_KEYS, NUMBER, NUMBERS, AmbiguousArguments, number_and_text
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Op = list[Any]

FORMS = {
    "check": '"ID command"',
    "after": '"ID IDs"',
    **{name: f'"ID {field.words}"' for name, field in WORD_FIELDS.items()},
}
NONE = "none"
"""Removes the order or the files of a task. Only people remove checks."""


def attribute_op(op: str, given: object) -> Iterator[Op]:
    """Yield the op for each task: its name, the task as it was given, and the words of the value.

    A check without a command is `done`.
    """
    if op == "check" and _is_ids(given):
        yield from (["done", each] for each in _flat(given))
        return
    for task, value in _pairs(op, given):
        yield [op, task, *_words(op, value)]


def _is_ids(given: object) -> bool:
    match given:
        case bool():
            return False
        case int() | float():
            return True
        case str(text):
            return re.fullmatch(NUMBERS, text.strip()) is not None
        case [_, *_]:
            return all(map(_is_ids, given))
        case {**fields}:
            return len(fields) == 1 and any(key in fields for key in ID_KEYS)
        case _:
            return False


def _flat(given: object) -> Iterator[object]:
    match given:
        case list(items):
            for item in items:
                yield from _flat(item)
        case str(text):
            yield from map(int, re.findall("[0-9]+", text))
        case _:
            yield given


def _pairs(op: str, given: object) -> Iterator[tuple[object, object]]:
    match given:
        case str(text) if parsed := number_and_text(text):
            yield parsed
        case [int() | str() as task, value] if not number_and_text(task) and not isinstance(value, dict):
            yield task, value
        case [_, *_]:
            for entry in given:
                yield from _pairs(op, entry)
        case {**fields} if any(key in fields for key in ID_KEYS) and len(fields) > 1:
            key = next(key for key in ID_KEYS if key in fields)
            yield fields[key], next(value for name, value in fields.items() if name != key)
        case {**fields} if fields and not any(key in fields for key in ID_KEYS):
            yield from fields.items()
        case _:
            raise AmbiguousArguments(f"{op} takes {FORMS[op]}")


def _words(op: str, value: object) -> list[Any]:
    """The words of a command, the numbers of tasks, or globs."""
    words = [str(each) for each in value] if isinstance(value, list) else None
    text = " ".join(words) if words is not None else str(value)
    is_none = text.strip().lower() == NONE
    if op == "check" and is_none:
        raise AmbiguousArguments("only a person removes a check")
    if op == "check":
        return _command(words, text)
    if is_none:
        return []
    if op == "after":
        text = re.sub(r"(?i)\b(after|and)\b", " ", text).strip(" ,;")
        if not re.fullmatch(NUMBERS.replace("[ ,;]", "[\\s,;]"), text):
            raise AmbiguousArguments(f"after takes {FORMS[op]}, in numbers")
        return [*map(int, re.findall(NUMBER, text))]
    return words if words is not None else re.split(r"[\s,]+", text.strip())


def _command(words: list[str] | None, text: str) -> list[str]:
    if words is not None and len(words) > 1:
        return words
    try:
        return list(split_command(text))
    except ValueError as problem:
        raise AmbiguousArguments(f"check: {problem}") from None
