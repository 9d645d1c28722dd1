"""What an installation puts into a host's files, and how it is put in and taken out again.

Whatever else a file holds stays as it is: comments, order, indentation, line ends. A file that can't be read is left
alone.
"""

from __future__ import annotations

import json
import tomllib

from tildone.errors import Refused
from tildone.integrations.settings import jsonc
from tildone.integrations.settings.jsonc_scanner import Unreadable
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

NAME = "tildone"
BEGIN, BEGIN_JOINED, END = "# >>> tildone", "# >>> tildone, joined", "# <<< tildone"
LEFTOVERS: tuple[dict[str, Any], ...] = ({}, {"version": 1})
"""What a file of ours is when everything of ours is gone from it."""


@value
class Member:
    """A member of a JSON file. One that yields leaves what somebody else has put there."""

    file: str
    path: tuple[str, ...]
    held: Any
    yields: bool = False


@value
class Item:
    """An item of an array in a JSON file."""

    file: str
    path: tuple[str, ...]
    held: Any


@value
class Block:
    """Lines at the end of a TOML file."""

    file: str
    lines: str


@value
class Whole:
    """A file of our own."""

    file: str
    text: str


Edit = Member | Item | Block | Whole


def put_in(text: str | None, edit: Edit) -> str:
    """A file's text with the edit in it; None is a file that is not there yet.

    Raises:
        Refused: the file can't be read, or something of somebody else stands in the way.
    """
    try:
        match edit:
            case Member(_, path, held, yields):
                return _with_member(text, path, held, yields=yields)
            case Item(_, path, held):
                return _with_item(_json(text), path, held)
            case Block(_, lines):
                return _with_block(text or "", lines)
            case Whole(file, ours):
                if text is not None and text != ours and NAME not in text:
                    raise Refused(f"{file} is not ours; move it away first")
                return ours
    except (Unreadable, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{edit.file} can't be read ({error}); nothing was changed") from error


def take_out(text: str, edit: Edit, before: str | None) -> str | None:
    """A file's text without what such an edit put in; None when nothing of the file is left.

    `before` is the text from before the installation, None if there was no file.

    Raises:
        Refused: the file can't be read.
    """
    try:
        match edit:
            case Member(_, path, held, yields=True) if not is_ours(held):
                was = jsonc.found(_json(before), path)
                ours = was is None and jsonc.found(text, path) == held
                return _left(jsonc.prune(jsonc.drop(text, path), path[:-1], _json(before)) if ours else text)
            case Member(_, path):
                return _left(jsonc.prune(jsonc.drop(text, path, is_ours), path[:-1], _json(before)))
            case Item(_, path):
                return _left(jsonc.prune(jsonc.drop(text, path, is_ours), path, _json(before)))
            case Block():
                return _without_block(text) or None
            case Whole():
                return None if NAME in text else text
    except Unreadable as error:
        raise Refused(f"{edit.file} can't be read ({error}); nothing was changed") from error


def is_ours(held: Any) -> bool:
    """Whether an entry was put in by an installation: it runs tildone, or lets it be run."""
    said = json.dumps(held)
    return NAME in said and ("mcp" in said or " hook " in said)


def _with_member(text: str | None, path: tuple[str, ...], held: object, *, yields: bool) -> str:
    source = _json(text)
    there = jsonc.found(source, path)
    if there is not None and there != held and not is_ours(there):
        if yields:
            return source if text is not None else ""
        raise Refused(f"{'.'.join(path)} is there already, and not ours")
    return jsonc.put(source, path, held)


def _with_item(text: str, path: tuple[str, ...], held: object) -> str:
    there = jsonc.found(text, path)
    if isinstance(there, list):
        if held in there:
            return text
        text = jsonc.drop(text, path, is_ours)
    return jsonc.append(text, path, held)


def _json(text: str | None) -> str:
    return text if text is not None and text.strip("\ufeff \t\r\n") else "{}\n"


def _left(text: str) -> str | None:
    return None if jsonc.found(text, ()) in LEFTOVERS and not _has_comments(text) else text


def _has_comments(text: str) -> bool:
    return "//" in text or "/*" in text


def _with_block(text: str, lines: str) -> str:
    before = _without_block(text)
    held = tomllib.loads(before)
    newline = "\r\n" if "\r\n" in before else "\n"
    joined = before != "" and not before.endswith("\n")
    first = f"{newline}{newline}{BEGIN_JOINED}" if joined else f"{newline if before else ''}{BEGIN}"
    block = f"{first}\n{lines.strip()}\n{END}\n".replace("\r\n", "\n").replace("\n", newline)
    after = before + block
    added = tomllib.loads(after)
    for key, there in held.items():
        if key not in added or (not isinstance(there, dict) and added[key] != there):
            raise Refused(f"{key} would change")
    return after


def _without_block(text: str) -> str:
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return text
    joined = text.startswith(BEGIN_JOINED, start)
    begin = start
    for _ in range(2 if joined else 1):
        if text[:begin].endswith("\r\n"):
            begin -= 2
        elif text[:begin].endswith("\n"):
            begin -= 1
    rest = text[end + len(END) :]
    return text[:begin] + rest.removeprefix("\r\n").removeprefix("\n")
