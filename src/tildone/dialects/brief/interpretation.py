"""Interprets the arguments of a call, in whatever form a model gave them, as one normal form.

A call comes out as `{"ops": [["add", TEXT…], ["done", ID…], ["note", ID, TEXT], …], "hints": [WORDS…]}`. An id is a
number, or a task's exact text. Ambiguous arguments are refused.
"""

from __future__ import annotations

import re

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
    "done": "done complete completed finish finished check close",
    "drop": "drop cancel cancelled canceled abandon abandoned remove delete deleted skip rm",
    "move": "move reorder before",
    "note": "note notes comment",
    "block": "block blocked wait waiting",
}
WORDS |= {verb: f"{verb} {status.value}" for verb, status in MARKS.items() if verb not in WORDS}
OPS = {word: op for op, words in WORDS.items() for word in words.split()}
READING = frozenset({"list", "show", "read", "view", "get"})
ID_KEYS = ("id", "task", "taskId", "task_id", "number", "index")
TEXT_KEYS = ("text", "content", "subject", "title", "description", "task", "name", "step", "note", "reason", "why")
WHY_KEYS = ("reason", "why")
OPS_KEYS = ("ops", "operations", "actions")
WORD_KEYS = ("op", "action", "command", "status", "state")
NUMBERS_ONLY = "IDs are numbers"

_NUMBER = "#?([0-9]{1,9})"
_NUMBERS = f"{_NUMBER}(?:[ ,;]+{_NUMBER})*"
_LED = rf"\s*{_NUMBER}(?![0-9.])[\s:,)\-–—]*(.*)"
_BULLET = r"(?:[-*+•]|[0-9]{1,3}[.)])\s+(?:\[[ xX/-]?\]\s*)?"
_ORDER = r"\s*([a-z_]+)\b[:\s]*(.*)"


class Unclear(ValueError):
    """The arguments have no meaning, or more than one."""


def interpret(arguments: object) -> tuple[dict[str, Any], list[SchemaProblem]]:
    """The call in its normal form, or the problem with it."""
    hints: list[str] = []
    try:
        ops = list(_ops(arguments, hints))
    except Unclear as unclear:
        return {"ops": [], "hints": []}, [SchemaProblem("", str(unclear))]
    return {"ops": ops, "hints": list(dict.fromkeys(hints))}, []


def _ops(given: object, hints: list[str]) -> Iterator[Op]:
    match given:
        case None:
            return
        case str(text):
            for line in text.splitlines():
                yield from _order(line)
        case list(entries):
            for entry in entries:
                yield from _ops(entry, hints)
        case dict(fields):
            yield from _object(dict(fields), hints)
        case _:
            raise Unclear(f"what is {given!r:.40}?")


def _object(fields: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    ops = _taken(fields, OPS_KEYS)
    if ops is not None and not fields:
        hints.append('{"done":3} will do')
        yield from _ops(ops, hints)
        return
    word = _taken(fields, WORD_KEYS)
    if not isinstance(word, str):
        yield from _fields(fields, hints)
        return
    hints.append(f'{{"{_op(word) or "done"}":…}} will do')
    yield from _named(word, fields, hints)


def _taken(fields: dict[str, Any], keys: tuple[str, ...]) -> object:
    """What is under the first of these keys, taken out."""
    return next((fields.pop(key) for key in keys if key in fields), None)


def _fields(fields: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    """The usual form: a field for each op, in their order."""
    why = _taken(fields, WHY_KEYS)
    for word, given in fields.items():
        if word.lower() in READING or given is None or given == []:
            continue
        op = _op(word)
        if op is None:
            raise Unclear(f"no op {word!r:.40}; ops are {', '.join(WORDS)}")
        if op != word:
            hints.append(f"{op}, not {word:.20}")
        if op == "block" and why is not None and not isinstance(given, dict):
            yield ["block", _id(given, hints), _text(why)]
        else:
            yield from _one(op, given, hints)


def _named(word: str, rest: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    """An op whose name is a value, with what it needs in fields beside it."""
    op = _op(word)
    if word.lower() in READING:
        return
    if op is None:
        raise Unclear(f"no op {word!r:.40}; ops are {', '.join(WORDS)}")
    values = [held for key, held in rest.items() if held is not None]
    if op in ("note", "block", "move") or len(values) != 1:
        yield from _one(op, rest, hints)
    else:
        yield from _one(op, values[0], hints)


def _order(line: str) -> Iterator[Op]:
    """An op in words: `done 3`."""
    found = re.fullmatch(_ORDER, line.strip(), re.DOTALL)
    op = _op(found[1]) if found else None
    if found is None or op is None or not found[2]:
        raise Unclear(f"what is {line!r:.40}?")
    yield from _one(op, found[2], [])


def _one(op: str, given: object, hints: list[str]) -> Iterator[Op]:
    match op:
        case "add":
            texts = list(_texts(given))
            if not texts:
                raise Unclear("add needs texts")
            yield ["add", *texts]
        case "note" | "block":
            for task, text in _pairs(op, given):
                yield [op, _id(task, hints), text]
        case "move":
            task, before = _places(given)
            yield ["move", _id(task, hints), None if before is None else _id(before, hints)]
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
            raise Unclear("add needs texts")


def _ids(given: object, hints: list[str]) -> Iterator[int | str]:
    match given:
        case list(items) if items:
            for item in items:
                yield from _ids(item, hints)
        case str(text) if re.fullmatch(_NUMBERS, text.strip()):
            hints.append(NUMBERS_ONLY)
            yield from map(int, re.findall("[0-9]+", text))
        case _:
            yield _id(given, hints)


def _id(given: object, hints: list[str]) -> int | str:
    match given:
        case bool():
            raise Unclear("which task?")
        case int(number):
            return number
        case float(number) if number.is_integer():
            return int(number)
        case str(text) if re.fullmatch(_NUMBER, text.strip()):
            hints.append(NUMBERS_ONLY)
            return int(text.strip().lstrip("#"))
        case str(text) if text.strip():
            return text
        case [one]:
            return _id(one, hints)
        case dict(fields):
            return _id(next((fields[key] for key in ID_KEYS if key in fields), None), hints)
        case _:
            raise Unclear("which task?")


def _pairs(op: str, given: object) -> Iterator[tuple[object, str]]:
    """Tasks, each with a text."""
    match given:
        case str(text) if (led := re.fullmatch(_LED, text, re.DOTALL)) and led[2].strip():
            yield int(led[1]), led[2].strip()
        case [int() | str() as task, str(text)] if not _is_pair(task):
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
            raise Unclear(f'{op} takes "ID {"WHY" if op == "block" else "TEXT"}"')


def _is_pair(given: object) -> bool:
    """Whether this is a task with its text already."""
    led = re.fullmatch(_LED, given, re.DOTALL) if isinstance(given, str) else None
    return led is not None and led[2].strip() != ""


def _places(given: object) -> tuple[object, object]:
    """A task, and the one it goes before; None for the end."""
    match given:
        case str(text) if found := re.fullmatch(rf"\s*{_NUMBER}(?:[\s,>]|before|to)*(?:{_NUMBER})?\s*", text):
            return int(found[1]), None if found[2] is None else int(found[2])
        case [task, before]:
            return task, before
        case {"before": before, **rest}:
            return rest, before
        case int(task):
            return task, None
        case _:
            raise Unclear('move takes "ID BEFORE"')


def _text(given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise Unclear("some text is missing")
    return given
