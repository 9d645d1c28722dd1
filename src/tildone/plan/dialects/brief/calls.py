r"""Normalizes the arguments of a call, which models write in many forms, and translates them into changes of a plan.

The declared form is `{"add": [TEXT…], "do": "done 1,2\nnote 3 TEXT"}`. Fields that are named after ops are read as
well, with any ids: `{"done": [1, 2]}`.

The normal form is `{"ops": [["add", TEXT…], ["done", ID…], ["note", ID, TEXT], …], "hints": [WORDS…]}`. An id is a
number or a task's exact text. Ambiguous arguments are refused. A check without a command completes its task, because
"check" is also a word for that.
"""

from __future__ import annotations

import re

from tildone.base import TYPE_CHECKING
from tildone.base.schema import SchemaProblem
from tildone.plan.command_line import split_command
from tildone.plan.model import ATTRIBUTES, BY_VERB, WORD_FIELDS, Check, Status, Task
from tildone.plan.ops import Append, Mark, Move, Named, Note, Numbered, Order, SetCheck, StartNext, Touch
from tildone.plan.text.safe import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tildone.plan.reduce import Step

    Op = list[Any]
    Id = int | str


ID_KEYS = ("id", "task", "taskId", "task_id", "number", "index")
NUMBER = "#?([0-9]{1,9})"
NUMBERS = f"{NUMBER}(?:(?:[ ,;]+(?:and )?| ?[-–] ?){NUMBER})*"
MAX_RANGE = 1_000
_NUMBER_AND_TEXT = rf"\s*{NUMBER}(?![0-9.])[\s:,)\-–—]*(.*)"


class AmbiguousArguments(ValueError):
    """The arguments have no interpretation, or several."""


def number_and_text(given: object) -> tuple[int, str] | None:
    """Return the task number and the text that follows it; None if this is no text with both."""
    parsed = re.fullmatch(_NUMBER_AND_TEXT, given, re.DOTALL) if isinstance(given, str) else None
    return (int(parsed[1]), parsed[2].strip()) if parsed is not None and parsed[2].strip() else None


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
    for task, value in _attribute_pairs(op, given):
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
            yield from _numbers(text)
        case _:
            yield given


def _numbers(text: str) -> Iterator[int]:
    """Yield the numbers in a text of numbers, with those of ranges."""
    for first, last in re.findall("([0-9]+)(?: ?[-–] ?#?([0-9]+))?", text):
        start, end = int(first), int(last or first)
        yield from range(start, min(end, start + MAX_RANGE) + 1) if start <= end else (start, end)


def _attribute_pairs(op: str, given: object) -> Iterator[tuple[object, object]]:
    match given:
        case str(text) if parsed := number_and_text(text):
            yield parsed
        case [int() | str() as task, value] if not number_and_text(task) and not isinstance(value, dict):
            yield task, value
        case [_, *_]:
            for entry in given:
                yield from _attribute_pairs(op, entry)
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
    if op == "check" and words is not None and len(words) > 1:
        return words
    if op == "check":
        try:
            return list(split_command(text))
        except ValueError as problem:
            raise AmbiguousArguments(f"check: {problem}") from None
    if is_none:
        return []
    if op == "after":
        text = re.sub(r"(?i)\b(after|and)\b", " ", text).strip(" ,;")
        if not re.fullmatch(NUMBERS.replace("[ ,;]", "[\\s,;]"), text):
            raise AmbiguousArguments(f"after takes {FORMS[op]}, in numbers")
        return [*_numbers(text)]
    return words if words is not None else re.split(r"[\s,]+", text.strip())


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
WORDS |= {verb: f"{verb} {status.value}" for verb, status in BY_VERB.items() if verb not in WORDS}
OPS = {word: op for op, words in WORDS.items() for word in words.split()}
READ_WORDS = frozenset({"list", "show", "read", "view", "get"})
TEXT_KEYS = ("text", "content", "subject", "title", "description", "task", "name", "step", "note", "reason", "why")
WHY_KEYS = ("reason", "why")
DO = "do"
OPS_KEYS = (DO, "ops", "operations", "actions")
OP_NAME_KEYS = ("op", "action", "command", "status", "state")
WILL_DO = '{"do":"done 3"} will do'
FINISHING = ("done", "drop", "block")
"""Ops after which an agent may be finished with the task in progress."""

_BULLET = r"(?:[-*+•]|[0-9]{1,3}[.)])\s+(?:\[[ xX/-]?\]\s*)?"
_COMMAND = r"\s*([a-z_]+)\b[:\s]*(.*)"
_WITH_TEXT = ("add", "note", "block")
"""Ops whose text may have several lines, and semicolons."""


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
            for command in _commands(text):
                yield from _command(command)
        case list(entries):
            for entry in entries:
                yield from _ops(entry, hints)
        case dict(fields):
            yield from _object(dict(fields), hints)
        case _:
            raise AmbiguousArguments(f"what is {given!r:.40}?")


def _object(fields: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    key = next((key for key in OPS_KEYS if key in fields), DO)
    if key != DO and len(fields) == 1:
        hints.append(WILL_DO)
        yield from _ops(fields[key], hints)
        return
    word = _pop_first(fields, OP_NAME_KEYS)
    if not isinstance(word, str):
        yield from _ops_by_field(fields, hints)
        return
    op = _op(word)
    hints.append(WILL_DO)
    if word.lower() in READ_WORDS:
        return
    if op is None:
        raise AmbiguousArguments(f"no op {word!r:.40}; ops are {', '.join(WORDS)}")
    values = [given for given in fields.values() if given is not None]
    is_whole = op in ("note", "block", "move") or len(values) != 1
    yield from _single_op(op, fields if is_whole else values[0], hints)


def _pop_first(fields: dict[str, Any], keys: tuple[str, ...]) -> object:
    return next((fields.pop(key) for key in keys if key in fields), None)


def _ops_by_field(fields: dict[str, Any], hints: list[str]) -> Iterator[Op]:
    """Interpret an object with one field for each op, the usual form."""
    why = _pop_first(fields, WHY_KEYS)
    for word, given in fields.items():
        if word.lower() in READ_WORDS or given is None or given in ([], ""):
            continue
        if word.lower() == DO:
            yield from _ops(given, hints)
            continue
        op = _op(word)
        if op is None:
            raise AmbiguousArguments(f"no op {word!r:.40}; ops are {', '.join(WORDS)}")
        if op != word:
            hints.append(f"{op}, not {word:.20}")
        if op == "block" and why is not None and not isinstance(given, dict):
            yield ["block", _id(given), _text(why)]
        else:
            yield from _single_op(op, given, hints)


def _commands(text: str) -> Iterator[str]:
    """Split commands at the ends of lines; a line that begins with no op goes on with the text of the one before."""
    pending = ""
    for line in text.splitlines():
        op = _op_of(line)
        if pending and op is None and _op_of(pending) in _WITH_TEXT:
            pending += f"\n{line}"
            continue
        yield from _separate(pending)
        pending = line
    yield from _separate(pending)


def _separate(line: str) -> Iterator[str]:
    """Split one line at semicolons before ops, unless it has a text or a command, and leave out empty parts."""
    parts = [line]
    if _op_of(line) not in (*_WITH_TEXT, "check"):
        parts = re.split(f";\\s*(?=(?:{'|'.join(OPS)})\\b)", line)
    yield from (part for part in parts if part.strip())


def _op_of(line: str) -> str | None:
    parsed = re.match(_COMMAND, line)
    return _op(parsed[1]) if parsed else None


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
                yield [op, _id(task), text]
        case "move":
            task, before = _move_arguments(given)
            yield ["move", _id(task), None if before is None else _id(before)]
        case _ if op in ATTRIBUTES:
            for name, task, *rest in attribute_op(op, given):
                yield [name, _id(task), *rest]
                hints += ["done, not check"] if name == "done" else []
        case _:
            yield [op, *_ids(given)]


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


def _ids(given: object) -> Iterator[int | str]:
    match given:
        case list(items) if items:
            for item in items:
                yield from _ids(item)
        case str(text) if re.fullmatch(NUMBERS, text.strip()):
            yield from _numbers(text)
        case _:
            yield _id(given)


def _id(given: object) -> int | str:
    match given:
        case bool():
            raise AmbiguousArguments("which task?")
        case int(number):
            return number
        case float(number) if number.is_integer():
            return int(number)
        case str(text) if re.fullmatch(NUMBER, text.strip()):
            return int(text.strip().lstrip("#"))
        case str(text) if text.strip():
            return text
        case [one]:
            return _id(one)
        case dict(fields):
            return _id(next((fields[key] for key in ID_KEYS if key in fields), None))
        case _:
            raise AmbiguousArguments("which task?")


def _pairs(op: str, given: object) -> Iterator[tuple[object, str]]:
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


def steps(params: Mapping[str, Any]) -> list[Step]:
    """Return the changes of a call and, if one may be finished, the start of the next task; none if it only reads."""
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
            ids = tuple(number for number in given if isinstance(number, int))
            yield from [Mark(Numbered(ids), BY_VERB[op])] if ids else []
            yield from (Mark(_selector(text), BY_VERB[op]) for text in given if isinstance(text, str))


def _selector(task: Id) -> Named | Numbered:
    return Numbered((task,)) if isinstance(task, int) else Named(task, shown_text)
