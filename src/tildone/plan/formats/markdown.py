"""Plans as Markdown checklists: in the form of other tools, and in one from which the same plan is restored.

Texts that would not be restored have a comment with the exact text. The check, the order and the files of a task are
lines below it. A check is a line `$ command`, each option and every other attribute a line `(name words)`. Commands and
words are quoted as in a shell. Tasks that another comes after are counted from 1 in the text. Notes begin with `>` and
texts are on the line of their task, so neither can be mistaken for one of these lines.
"""

from __future__ import annotations

import re

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan import codec
from tildone.plan.check_codec import check_from_json, check_to_json
from tildone.plan.command_line import split_command
from tildone.plan.formats import JS_WHITESPACE
from tildone.plan.model import DEFAULT_SECONDS, WORD_FIELDS, Check, has_attributes, leaves_tree, proves_nothing
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import bounded_plan, printable, safe_text, single_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from tildone.plan.model import Phase, Plan, Task


OPENING = "<!--tildone"
# Patterns are strings, compiled by `re` on first use: hooks read no Markdown and skip the cost.
COMMENT = f"(.*){OPENING} ([^<>]*)-->"
_BETWEEN_SURROGATES = "(?<=[\ud800-\udbff])(?=[\udc00-\udfff])"


def visible_text(text: str) -> str:
    """Return the visible form of a phase name or task text before its comment."""
    return visible_note_line(text).lstrip(JS_WHITESPACE)


def visible_note_line(line: str) -> str:
    return printable(line).replace(OPENING, f"‹{OPENING[1:]}").rstrip(JS_WHITESPACE)


def restore_text(written: str) -> str | None:
    found = re.fullmatch(COMMENT, written)
    if found is None:
        return written
    visible = found[1].rstrip(JS_WHITESPACE)
    exact = _whole(_parsed(found[2]))
    return exact if exact is not None and visible_text(exact) == visible else visible or None


def restore_notes(lines: list[str], json: str) -> list[str]:
    """Return the notes in these lines, which are followed by a comment with this JSON."""
    pieces = _parsed(json)
    exact = [_whole(note) for note in pieces] if isinstance(pieces, list) else []
    notes = tuple(note for note in exact if note is not None)
    if len(notes) == len(exact) and note_lines(notes, visible_note_line) == lines:
        return list(notes)
    return split_notes(lines)


def note_lines(notes: Iterable[str], format_line: Callable[[str], str]) -> list[str]:
    lines: list[str] = []
    for index, note in enumerate(notes):
        lines += [""] if index else []
        lines += map(format_line, note.split("\n"))
    return lines


def split_notes(lines: Iterable[str]) -> list[str]:
    """Return the notes in these lines, which are separated by empty lines."""
    notes: list[list[str]] = [[]]
    for line in lines:
        if line:
            notes[-1].append(line)
        else:
            notes.append([])
    return ["\n".join(note) for note in notes if note]


def _comment(exact: object) -> str:
    """A comment that its content cannot close."""
    json = codec.dump(exact).replace("--", "\\u002d\\u002d").replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{OPENING} {json}-->"


def _pieces(text: str) -> str | list[str]:
    """The text for JSON, split between surrogates that JSON would join into one character."""
    pieces = re.split(_BETWEEN_SURROGATES, text)
    return text if len(pieces) == 1 else pieces


def _whole(pieces: object) -> str | None:
    """The inverse of `_pieces`; None for other data."""
    match pieces:
        case str(text):
            return text
        case [*parts] if all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
        case _:
            return None


def _parsed(json: str) -> object:
    try:
        return codec.parse_strictly(json)
    except ValueError:
        return None


_COMMAND = "(?s)\\$[ \t]+(.*)"
_WORDS = f"(?s)\\((folder|seconds|retries|watch|after|{'|'.join(WORD_FIELDS)})[ \t]+(.*)\\)"


NO_WORDS: Mapping[str, tuple[str, ...]] = {}


@value
class Attributes:
    """What the lines below a task, or above all tasks, say. `after` are positions, counted from 1; `words` by field."""

    check: Check | None = None
    after: tuple[int, ...] = ()
    words: Mapping[str, tuple[str, ...]] = NO_WORDS


def is_attribute(line: str) -> bool:
    """Return whether the line, without its indentation, has the form of an attribute."""
    return any(re.fullmatch(pattern, line) for pattern in (_COMMAND, _WORDS))


def attribute_lines(attributes: Attributes, is_literal: Callable[[str], bool]) -> list[str]:
    """Return the lines, with a comment if they would not be restored without one."""
    lines = _lines(attributes)
    if all(map(is_literal, lines)) and _is_restored(lines, attributes):
        return lines
    return [*map(visible_note_line, lines), _comment(_data(attributes))]


def restore_attributes(lines: Sequence[str]) -> Attributes:
    """Return what the lines say; raise `ValueError` if one has no meaning."""
    if lines and lines[-1].startswith(OPENING):
        comment, lines = re.fullmatch(COMMENT, lines[-1]), lines[:-1]
        exact = _from_data(_parsed(comment[2])) if comment else None
        if exact is not None and [visible_note_line(line) for line in _lines(exact)] == list(lines):
            return exact
    attributes = Attributes()
    for line in lines:
        attributes = with_line(attributes, line)
    return attributes


def with_line(attributes: Attributes, line: str) -> Attributes:
    """Return the attributes with what one more line says; raise `ValueError` if it has no meaning."""
    command, named = re.fullmatch(_COMMAND, line), re.fullmatch(_WORDS, line)
    if command:
        words = split_command(command[1])
        if attributes.check is not None:
            raise ValueError("a second check ($ command) of the same task")
        if proves_nothing(words):
            raise ValueError("a check ($ command) that can't fail")
        return replace(attributes, check=Check(words))
    if named is None:
        raise ValueError("not a check ($ command) or an attribute such as (after 2)")
    name, words = named[1], split_command(named[2])
    match name:
        case "after":
            return replace(attributes, after=tuple(_number(name, word.strip(",")) for word in words))
        case _ if name in WORD_FIELDS:
            return replace(attributes, words={**attributes.words, name: words})
        case _:
            return _with_option(attributes, name, words)


def _with_option(attributes: Attributes, name: str, words: tuple[str, ...]) -> Attributes:
    check = attributes.check
    if check is None:
        raise ValueError(f"({name} …) without a check ($ command) above it")
    match name:
        case "folder":
            if leaves_tree(" ".join(words)):
                raise ValueError("a check (folder …) outside of the working tree")
            return replace(attributes, check=replace(check, folder=" ".join(words)))
        case "watch":
            return replace(attributes, check=replace(check, watches=words))
        case _:
            return replace(attributes, check=replace(check, **{name: _number(name, " ".join(words))}))


def _lines(attributes: Attributes) -> list[str]:
    check = attributes.check
    lines = []
    if check is not None:
        lines.append(f"$ {check_text(check)}")
        lines += [f"(folder {_quoted([check.folder])})"] if check.folder else []
        lines += [f"(seconds {check.seconds})"] if check.seconds != DEFAULT_SECONDS else []
        lines += [f"(retries {check.retries})"] if check.retries else []
        lines += [f"(watch {_quoted(check.watches)})"] if check.watches else []
    lines += [f"(after {', '.join(map(str, attributes.after))})"] if attributes.after else []
    lines += [f"({name} {_quoted(attributes.words[name])})" for name in WORD_FIELDS if attributes.words.get(name)]
    return lines


def _is_restored(lines: list[str], attributes: Attributes) -> bool:
    try:
        return [line.strip(JS_WHITESPACE) for line in lines] == lines and restore_attributes(lines) == attributes
    except ValueError:
        return False


def _data(attributes: Attributes) -> dict[str, Any]:
    words = {name: list(attributes.words.get(name, ())) for name in WORD_FIELDS}
    data: dict[str, Any] = {"after": list(attributes.after), **words}
    return data if attributes.check is None else data | {"check": check_to_json(attributes.check)}


def _from_data(data: object) -> Attributes | None:
    if not isinstance(data, dict):
        return None
    try:
        check = check_from_json(data["check"]) if "check" in data else None
        words = {name: tuple(map(str, data[name])) for name in WORD_FIELDS if data.get(name)}
        return Attributes(check, tuple(map(int, data["after"])), words)
    except (KeyError, TypeError, ValueError):
        return None


def _quoted(words: Iterable[str]) -> str:
    return check_text(Check(tuple(words)))


def _number(name: str, word: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", word):
        raise ValueError(f"({name} …) takes numbers")
    return int(word)


EMPTY = "# Todos\n"
_SURROGATES = "[\ud800-\udfff]"


def portable_checklist(plan: Plan) -> str:
    """Return the plan in the form that other tools write and read; line breaks within an element become a symbol."""
    return _joined([_portable_lines(phase) for phase in plan.phases]) or EMPTY


def bounded_checklist(plan: Plan, max_characters: int) -> str:
    """Return `portable_checklist` of the part of a plan that fits, and what is missing."""
    part = bounded_plan(plan, max_characters)
    return portable_checklist(part.plan) + "".join(f"{line}\n" for line in part.omissions)


def lossless_checklist(plan: Plan, *, escaped: bool = False, all_headings: bool = False) -> str:
    """Return the plan in a form from which `read_checklist` restores the same plan, whatever its texts contain.

    Equal to `portable_checklist` where that is lossless. A flat list has no heading, except with `all_headings`, for
    readers that give a name to tasks without one. If `escaped`, texts that are not harmless are in comments too, for a
    reader that may be a model or a terminal.
    """

    def is_literal(line: str) -> bool:
        return line == _portable(line) and OPENING not in line and (not escaped or line == safe_text(line))

    positions = {task.number: position for position, task in enumerate(plan.tasks, 1) if task.number}
    blocks = [
        _lossless_lines(phase, is_literal, positions, flat=not index and not phase.name and not all_headings)
        for index, phase in enumerate(plan.phases)
    ]
    if plan.check is None:
        return _joined(blocks)
    return _joined([attribute_lines(Attributes(plan.check), is_literal), *blocks])


def _joined(blocks: list[list[str]]) -> str:
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in blocks)


def _portable_lines(phase: Phase) -> list[str]:
    lines = [f"# {_portable(phase.name)}"]
    for task in phase.tasks:
        lines.append(f"- [{task.status.checkbox}] {_portable(task.text)}")
        lines += _quotation(note_lines(task.notes, _portable_note_line))
    return lines


def _lossless_lines(
    phase: Phase, is_literal: Callable[[str], bool], positions: Mapping[int, int], *, flat: bool
) -> list[str]:
    lines = [] if flat and phase.tasks else [f"# {_exact_text(phase.name, is_literal)}"]
    for task in phase.tasks:
        lines.append(f"- [{task.status.checkbox}] {_exact_text(task.text, is_literal)}")
        if has_attributes(task):
            lines += [f"  {line}" for line in attribute_lines(_attributes(task, positions), is_literal)]
        lines += _quotation(_exact_notes(task.notes, is_literal))
    return lines


def _attributes(task: Task, positions: Mapping[int, int]) -> Attributes:
    after = tuple(positions[other] for other in task.after if other in positions) if task.number else task.after
    return Attributes(task.check, after, task.words)


def _exact_text(text: str, is_literal: Callable[[str], bool]) -> str:
    """A phase name or task text, with a comment if it would not be restored without one."""
    if text and text == text.strip(JS_WHITESPACE) and is_literal(text):
        return text
    return f"{visible_text(text)} {_comment(_pieces(text))}".lstrip(" ")


def _exact_notes(notes: tuple[str, ...], is_literal: Callable[[str], bool]) -> list[str]:
    """The lines of a task's notes, with one comment for all if they would not be restored without one."""
    lines = note_lines(notes, str)
    if split_notes(lines) == list(notes) and all(map(is_literal, lines)):
        return lines
    return [*note_lines(notes, visible_note_line), _comment([*map(_pieces, notes)])]


def _quotation(lines: list[str]) -> list[str]:
    return [f"  > {line}" if line else "  >" for line in lines]


def _portable(text: str) -> str:
    return re.sub(_SURROGATES, "\ufffd", single_line(text))


def _portable_note_line(line: str) -> str:
    # A final carriage return is part of a CRLF.
    return f"{_portable(line[:-1])}\r" if line.endswith("\r") else _portable(line)
