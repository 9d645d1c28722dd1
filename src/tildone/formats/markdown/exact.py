"""The visible text of an element, and the comment with its exact value where the two differ."""

from __future__ import annotations

import re

from tildone.formats.whitespace import JS_WHITESPACE
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

OPENING = "<!--tildone"
# Patterns are strings, compiled by `re` on first use: hooks read no Markdown and skip the cost.
COMMENT = f"(.*){OPENING} ([^<>]*)-->"
_BETWEEN_SURROGATES = "(?<=[\ud800-\udbff])(?=[\udc00-\udfff])"


def visible_text(text: str) -> str:
    """Return the visible form of a phase name or task text before its comment."""
    return visible_note_line(text).lstrip(JS_WHITESPACE)


def visible_note_line(line: str) -> str:
    return printable(line).replace(OPENING, f"‹{OPENING[1:]}").rstrip(JS_WHITESPACE)


def text_comment(text: str) -> str:
    return _comment(_pieces(text))


def notes_comment(notes: Sequence[str]) -> str:
    return _comment([_pieces(note) for note in notes])


def data_comment(data: object) -> str:
    return _comment(data)


def comment_data(line: str) -> object:
    """Return the data in a line that is a comment; None if it has none."""
    found = re.fullmatch(COMMENT, line)
    return _parsed(found[2]) if found else None


def restore_text(written: str) -> str | None:
    """Return the phase name or task text of a line; None if it is empty."""
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
    """Return the lines of all notes, separated by empty lines."""
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
