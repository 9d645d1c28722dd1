"""Edits of settings files: the entries that an installation adds to them, and how they are added and removed.

The files belong to other programs and are often written by hand. Three rules protect them: everything else in a file
keeps its bytes (comments, order, indentation, line ends); a file that can't be parsed is refused and not changed; and
an entry that is not ours is never replaced or removed. An entry is ours if it runs tildone (`is_ours`).
"""

from __future__ import annotations

import json
import tomllib

from tildone.errors import Refused
from tildone.integrations.settings import jsonc
from tildone.integrations.settings.jsonc_scanner import InvalidJson
from tildone.integrations.settings.toml_block import with_block, without_block
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

NAME = "tildone"
EMPTY_FILES: tuple[dict[str, Any], ...] = ({}, {"version": 1})
"""What a settings file contains once our entries are removed, if it had no others."""


@value
class ObjectMember:
    """A member of an object in a JSON file. If it `yields`, a value that another program or a person set stays."""

    file: str
    path: tuple[str, ...]
    entry: Any
    yields: bool = False


@value
class ArrayItem:
    """An item of an array in a JSON file."""

    file: str
    path: tuple[str, ...]
    entry: Any


@value
class TomlBlock:
    """Lines at the end of a TOML file, between markers."""

    file: str
    lines: str


@value
class WholeFile:
    """A file that is ours alone."""

    file: str
    text: str


Edit = ObjectMember | ArrayItem | TomlBlock | WholeFile


def put_in(text: str | None, edit: Edit) -> str:
    """Return the text of a file with the edit applied; a `text` of None means that the file does not exist yet.

    Raises:
        Refused: the file can't be parsed, or contains an entry in the same place that is not ours.
    """
    try:
        match edit:
            case ObjectMember(_, path, entry, yields):
                return _with_member(text, path, entry, yields=yields)
            case ArrayItem(_, path, entry):
                return _with_item(_json(text), path, entry)
            case TomlBlock(_, lines):
                return with_block(text or "", lines)
            case WholeFile(file, ours):
                if text is not None and text != ours and NAME not in text:
                    raise Refused(f"{file} was not written by tildone; move it away first")
                return ours
    except (InvalidJson, tomllib.TOMLDecodeError) as error:
        raise _unparsable(edit, error) from error


def take_out(text: str, edit: Edit, before: str | None) -> str | None:
    """Return the text of a file with the edit undone; None if the file is to be deleted.

    `before` is the text before the installation, None if there was no file.

    Raises:
        Refused: the file can't be parsed.
    """
    try:
        match edit:
            case ObjectMember(_, path, entry, yields=True) if not is_ours(entry):
                was = jsonc.get(_json(before), path)
                ours = was is None and jsonc.get(text, path) == entry
                return _unless_empty(jsonc.prune(jsonc.remove(text, path), path[:-1], _json(before)) if ours else text)
            case ObjectMember(_, path):
                return _unless_empty(jsonc.prune(jsonc.remove(text, path, is_ours), path[:-1], _json(before)))
            case ArrayItem(_, path):
                return _unless_empty(jsonc.prune(jsonc.remove(text, path, is_ours), path, _json(before)))
            case TomlBlock():
                return without_block(text) or None
            case WholeFile():
                return None if NAME in text else text
    except InvalidJson as error:
        raise _unparsable(edit, error) from error


def is_ours(entry: Any) -> bool:
    """Return whether an installation added this entry: it runs tildone, or permits it to run."""
    dumped = json.dumps(entry)
    return NAME in dumped and ("mcp" in dumped or " hook " in dumped)


def _unparsable(edit: Edit, error: ValueError) -> Refused:
    return Refused(f"{edit.file} can't be parsed ({error}); nothing was changed")


def _with_member(text: str | None, path: tuple[str, ...], entry: object, *, yields: bool) -> str:
    source = _json(text)
    present = jsonc.get(source, path)
    if present is not None and present != entry and not is_ours(present):
        if yields:
            return source if text is not None else ""
        raise Refused(f"{'.'.join(path)} is already set, and not by tildone")
    return jsonc.put(source, path, entry)


def _with_item(text: str, path: tuple[str, ...], entry: object) -> str:
    present = jsonc.get(text, path)
    if isinstance(present, list):
        if entry in present:
            return text
        text = jsonc.remove(text, path, is_ours)
    return jsonc.append(text, path, entry)


def _json(text: str | None) -> str:
    return text if text is not None and text.strip("\ufeff \t\r\n") else "{}\n"


def _unless_empty(text: str) -> str | None:
    has_comments = "//" in text or "/*" in text
    return None if jsonc.get(text, ()) in EMPTY_FILES and not has_comments else text
