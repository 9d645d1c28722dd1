"""The check, the order and the files of a task as lines below it.

A check is a line `$ command`, each option and every other attribute a line `(name words)`. Commands and words are
quoted as in a shell. Tasks that another comes after are counted from 1 in the text. Notes begin with `>` and texts are
on the line of their task, so neither can be mistaken for one of these lines.
"""

from __future__ import annotations

import re

from tildone.core.check import DEFAULT_SECONDS, Check, leaves_tree, proves_nothing
from tildone.core.command_line import split_command
from tildone.core.plan import WORD_FIELDS
from tildone.formats.markdown.exact import OPENING, comment_data, data_comment, visible_note_line
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.log.check_codec import check_from_json, check_to_json
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.views.proofs import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

# Patterns are strings, compiled by `re` on first use.
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
    return [*map(visible_note_line, lines), data_comment(_data(attributes))]


def restore_attributes(lines: Sequence[str]) -> Attributes:
    """Return what the lines say.

    Raises:
        ValueError: a line has no meaning.
    """
    if lines and lines[-1].startswith(OPENING):
        exact, lines = _from_data(comment_data(lines[-1])), lines[:-1]
        if exact is not None and [visible_note_line(line) for line in _lines(exact)] == list(lines):
            return exact
    attributes = Attributes()
    for line in lines:
        attributes = with_line(attributes, line)
    return attributes


def with_line(attributes: Attributes, line: str) -> Attributes:
    """Return the attributes with what one more line says.

    Raises:
        ValueError: the line has no meaning.
    """
    command, named = re.fullmatch(_COMMAND, line), re.fullmatch(_WORDS, line)
    if command:
        return _with_command(attributes, split_command(command[1]))
    if named is None:
        raise _problem("not a check ($ command) or an attribute such as (after 2)")
    name, words = named[1], split_command(named[2])
    match name:
        case "after":
            return replace(attributes, after=tuple(_number(name, word.strip(",")) for word in words))
        case _ if name in WORD_FIELDS:
            return replace(attributes, words={**attributes.words, name: words})
        case _:
            return _with_option(attributes, name, words)


def _with_command(attributes: Attributes, command: tuple[str, ...]) -> Attributes:
    if attributes.check is not None:
        raise _problem("a second check ($ command) of the same task")
    if proves_nothing(command):
        raise _problem("a check ($ command) that can't fail")
    return replace(attributes, check=Check(command))


def _with_option(attributes: Attributes, name: str, words: tuple[str, ...]) -> Attributes:
    check = attributes.check
    if check is None:
        raise _problem(f"({name} …) without a check ($ command) above it")
    match name:
        case "folder":
            if leaves_tree(" ".join(words)):
                raise _problem("a check (folder …) outside of the working tree")
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
    """Return the attributes in the data; None if it is of another form."""
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
        raise _problem(f"({name} …) takes numbers")
    return int(word)


def _problem(message: str) -> ValueError:
    return ValueError(message)
