"""Normalizes the arguments of a call, which models write in many forms.

The normal form is `{"ops": [["add", TEXT…], ["done", ID…], ["note", ID, TEXT], …], "hints": [WORDS…]}`. An id is a
number or a task's exact text. Ambiguous arguments are refused. A check without a command completes its task, because
"check" is also a word for that.
"""

from __future__ import annotations

import re

from tildone.core.plan import ATTRIBUTES, WORD_FIELDS
from tildone.dialects.brief.attribute_forms import attribute_op
from tildone.dialects.brief.forms import ID_KEYS, NUMBER, NUMBERS, AmbiguousArguments, number_and_text
from tildone.dialects.brief.params import MARKS
from tildone.kit.schema import SchemaProblem
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Op = list[Any]

WORDS = {
    "add": "add append create new insert items todos tasks plan",
    "start": "start begin doing in_progress active resume reopen unblock",
    "done": "done complete completed finish finished close",
    "drop": "drop cancel cancelled canceled abandon abandoned remove delete deleted skip rm",
    "move": "move reorder before",
    "note": "note notes comment",
    "block": "block blocked wait waiting",
    "check": "check",
    "after": "after",
    **{name: f"{name} {field.op}" for name, field in WORD_FIELDS.items()},
}
WORDS |= {verb: f"{verb} {status.value}" for verb, status in MARKS.items() if verb not in WORDS}
OPS = {word: op for op, words in WORDS.items() for word in words.split()}
READ_WORDS = frozenset({"list", "show", "read", "view", "get"})
TEXT_KEYS = ("text", "content", "subject", "title", "description", "task", "name", "step", "note", "reason", "why")
WHY_KEYS = ("reason", "why")
OPS_KEYS = ("ops", "operations", "actions")
OP_NAME_KEYS = ("op", "action", "command", "status", "state")
NUMBERS_ONLY = "IDs are numbers"

_BULLET = r"(?:[-*+•]|[0-9]{1,3}[.)])\s+(?:\[[ xX/-]?\]\s*)?"
_COMMAND = r"\s*([a-z_]+)\b[:\s]*(.*)"


def interpret(arguments: object) -> tuple[dict[str, Any], list[SchemaProblem]]:
    """Return the call in its normal form, and the problem if it has none."""
    hints: list[str] = []
    try:
        ops = list(_ops(arguments, hints))
    except AmbiguousArguments as problem:
        return {"ops": [], "hints": []}, [SchemaProblem("", str(problem))]
    return {"ops": ops, "hints": list(dict.fromkeys(hints))}, []


def _ops(given: object, hints: list[str]) -> Iterator[Op]:
    match given:
        case None:
            return
        case str(text):
            for line in text.splitlines():
                yield from _command(line)
        case list(entries):
            for entry in entries:
                yield from _ops(entry, hints)
        case dict(fields):
            yield from _object(dict(fields), hints)
        case _:
            raise AmbiguousArguments(f"what is {given!r:.40}?")


def _object(fields: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    ops = _pop_first(fields, OPS_KEYS)
    if ops is not None and not fields:
        hints.append('{"done":3} will do')
        yield from _ops(ops, hints)
        return
    word = _pop_first(fields, OP_NAME_KEYS)
    if not isinstance(word, str):
        yield from _ops_by_field(fields, hints)
        return
    hints.append(f'{{"{_op(word) or "done"}":…}} will do')
    yield from _op_by_name(word, fields, hints)


def _pop_first(fields: dict[str, Any], keys: tuple[str, ...]) -> object:
    """Remove the first of these keys that is present, and return its value."""
    return next((fields.pop(key) for key in keys if key in fields), None)


def _ops_by_field(fields: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    """Interpret an object with one field for each op, the usual form."""
    why = _pop_first(fields, WHY_KEYS)
    for word, given in fields.items():
        if word.lower() in READ_WORDS or given is None or given == []:
            continue
        op = _op(word)
        if op is None:
            raise AmbiguousArguments(f"no op {word!r:.40}; ops are {', '.join(WORDS)}")
        if op != word:
            hints.append(f"{op}, not {word:.20}")
        if op == "block" and why is not None and not isinstance(given, dict):
            yield ["block", _id(given, hints), _text(why)]
        else:
            yield from _single_op(op, given, hints)


def _op_by_name(word: str, rest: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    """Interpret an op whose name is a value, with its arguments in the other fields."""
    op = _op(word)
    if word.lower() in READ_WORDS:
        return
    if op is None:
        raise AmbiguousArguments(f"no op {word!r:.40}; ops are {', '.join(WORDS)}")
    values = [given for given in rest.values() if given is not None]
    if op in ("note", "block", "move") or len(values) != 1:
        yield from _single_op(op, rest, hints)
    else:
        yield from _single_op(op, values[0], hints)


def _command(line: str) -> Iterator[Op]:
    """Interpret an op that is written as text: `done 3`."""
    parsed = re.fullmatch(_COMMAND, line.strip(), re.DOTALL)
    op = _op(parsed[1]) if parsed else None
    if parsed is None or op is None or not parsed[2]:
        raise AmbiguousArguments(f"what is {line!r:.40}?")
    yield from _single_op(op, parsed[2], [])


def _single_op(op: str, given: object, hints: list[str]) -> Iterator[Op]:
    match op:
        case "add":
            texts = list(_texts(given))
            if not texts:
                raise AmbiguousArguments("add needs texts")
            yield ["add", *texts]
        case "note" | "block":
            for task, text in _pairs(op, given):
                yield [op, _id(task, hints), text]
        case "move":
            task, before = _move_arguments(given)
            yield ["move", _id(task, hints), None if before is None else _id(before, hints)]
        case _ if op in ATTRIBUTES:
            for name, task, *rest in attribute_op(op, given):
                yield [name, _id(task, hints), *rest]
                hints += ["done, not check"] if name == "done" else []
        case _:
            yield [op, *_ids(given, hints)]


def _op(word: str) -> str | None:
    return OPS.get(word.lower())


def _texts(given: object) -> Iterator[str]:
    match given:
        case str(text):
            lines = [re.sub(f"^{_BULLET}", "", line.strip()) for line in text.splitlines()]
            yield from (line for line in lines if line)
        case list(items):
            for item in items:
                yield from [item] if isinstance(item, str) and item.strip() else _texts(item)
        case dict(fields):
            yield _text(next((fields[key] for key in TEXT_KEYS if key in fields), None))
        case int() | float() if not isinstance(given, bool):
            yield str(given)
        case _:
            raise AmbiguousArguments("add needs texts")


def _ids(given: object, hints: list[str]) -> Iterator[int | str]:
    match given:
        case list(items) if items:
            for item in items:
                yield from _ids(item, hints)
        case str(text) if re.fullmatch(NUMBERS, text.strip()):
            hints.append(NUMBERS_ONLY)
            yield from map(int, re.findall("[0-9]+", text))
        case _:
            yield _id(given, hints)


def _id(given: object, hints: list[str]) -> int | str:
    match given:
        case bool():
            raise AmbiguousArguments("which task?")
        case int(number):
            return number
        case float(number) if number.is_integer():
            return int(number)
        case str(text) if re.fullmatch(NUMBER, text.strip()):
            hints.append(NUMBERS_ONLY)
            return int(text.strip().lstrip("#"))
        case str(text) if text.strip():
            return text
        case [one]:
            return _id(one, hints)
        case dict(fields):
            return _id(next((fields[key] for key in ID_KEYS if key in fields), None), hints)
        case _:
            raise AmbiguousArguments("which task?")


def _pairs(op: str, given: object) -> Iterator[tuple[object, str]]:
    """Return pairs of a task and a text."""
    match given:
        case str(text) if parsed := number_and_text(text):
            yield parsed
        case [int() | str() as task, str(text)] if not number_and_text(task):
            yield task, _text(text)
        case list(entries):
            for entry in entries:
                yield from _pairs(op, entry)
        case dict(fields) if any(key in fields for key in ID_KEYS):
            task = next(fields[key] for key in ID_KEYS if key in fields)
            texts = [fields[key] for key in TEXT_KEYS if key in fields and fields[key] is not task]
            yield task, _text(texts[0] if texts else None)
        case dict(fields) if fields:
            for task, text in fields.items():
                yield task, _text(text)
        case _:
            raise AmbiguousArguments(f'{op} takes "ID {"why it waits" if op == "block" else "text"}"')


def _move_arguments(given: object) -> tuple[object, object]:
    """Return the task to move, and the task to move it before; None means the end."""
    match given:
        case str(text) if parsed := re.fullmatch(rf"\s*{NUMBER}(?:[\s,>]|before|to)*(?:{NUMBER})?\s*", text):
            return int(parsed[1]), None if parsed[2] is None else int(parsed[2])
        case [task, before]:
            return task, before
        case {"before": before, **rest}:
            return rest, before
        case int(task):
            return task, None
        case _:
            raise AmbiguousArguments('move takes "ID before ID"')


def _text(given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise AmbiguousArguments("some text is missing")
    return given
