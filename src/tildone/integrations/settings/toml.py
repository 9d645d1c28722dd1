"""Editing TOML in place: an entry is set, added or removed, and every other byte stays the same.

The text is scanned for the positions of its statements (`toml_scanner`) and spliced there. An entry is found by its
path, in whatever form it is written: a table with a header, dotted keys, or part of an inline value. A new entry is
written as a table at the end of the file, one blank line below the text before it, unless an inline value contains its
path. Removal takes that blank line away again, and is otherwise limited to the statements of the entry: comments stay.

Every edit is verified: the new text is parsed, and has to contain exactly what the edit says.
"""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from functools import lru_cache

from tildone.errors import Refused
from tildone.integrations.settings.toml_inline import holder_of, located, value_at, with_entry, without_child
from tildone.integrations.settings.toml_scanner import scan
from tildone.integrations.settings.toml_writer import key_text, table_lines, value_text
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.integrations.settings.toml_scanner import Path

_MARKERS = re.compile(r"^# (?:>>> tildone(?:, joined)?|<<< tildone)[ \t]*\r?\n?", re.MULTILINE)
"""Lines that earlier versions wrote around their entries."""


@lru_cache(maxsize=4)
def parse(text: str) -> dict[str, Any]:
    """Return the data of a text, which may begin with a byte order mark. Callers do not change it.

    Raises:
        TOMLDecodeError: the text is not TOML.
    """
    # Some editors put the mark in front, which TOML does not allow.
    return tomllib.loads(text.removeprefix("\ufeff"))


def get(text: str, path: Path) -> Any:
    """Return the value at a path; None if there is none."""
    return _at(parse(text), path)


def merge(text: str, path: Path, data: Mapping[str, Any]) -> str:
    """Return the text with the members of `data` in the table at a path; its other members stay.

    Raises:
        TOMLDecodeError: the text is not TOML.
        Refused: a value on the path is not a table.
    """
    before = get(text, path)
    if before is None:
        return _verified(_created(text, path, data), _with(parse(text), path, data))
    if not isinstance(before, dict):
        raise Refused(f"{_shown(path)} is not a table")
    for key, item in data.items():
        if before.get(key) != item:
            expected = _with(parse(text), (*path, key), item)
            text = _verified(_member_set(text, (*path, key), item), expected)
    return text


def append(text: str, path: Path, item: Mapping[str, Any]) -> str:
    """Return the text with one more item in the array at a path, which is created if it is missing.

    Raises:
        TOMLDecodeError: the text is not TOML.
        Refused: the value there is not an array, or a value on the path is not a table.
    """
    present = get(text, path)
    if present is not None and not isinstance(present, list):
        raise Refused(f"{_shown(path)} is not an array")
    expected = _with(parse(text), path, [*(present or []), item])
    holder = holder_of(text, path)
    if holder is not None:
        return _verified(with_entry(text, holder, item, as_item=True), expected)
    return _verified(_at_end(text, "\n".join(table_lines(_names(path), item, 2))), expected)


def remove(text: str, path: Path) -> str:
    """Return the text without the entry at a path, with everything inside it; comments between its lines stay."""
    if get(text, path) is None:
        return text
    expected = _without_entry(parse(text), path)
    after = text
    while (found := located(after, path)) is not None:
        after = without_child(after, *found)
        if isinstance(path[-1], int):
            break
    for statement in reversed(scan(text) if after == text else ()):
        if statement.path[: len(path)] == path:
            blank = _blank_line_above(after, statement.start) if statement.is_header else None
            after = after[: statement.start] + after[statement.end :]
            if blank is not None:
                after = after[: blank[0]] + after[blank[1] :]
    return _verified(after, expected, path)


def prune(text: str, path: Path, before: str) -> str:
    """Return the text without the empty inline values on a path that are not in the text `before`."""
    for length in range(len(path), 0, -1):
        if get(before, path[:length]) is not None or get(text, path[:length]) not in ({}, []):
            break
        if value_at(text, path[:length]) is None:
            break
        text = remove(text, path[:length])
    return text


def without_markers(text: str) -> str:
    """Return the text without the lines that earlier versions wrote around their entries.

    Raises:
        TOMLDecodeError: the text is not TOML.
    """
    if not _MARKERS.search(text):
        return text
    parse(text)
    statements = scan(text)
    for marker in reversed([*_MARKERS.finditer(text)]):
        # In a string of several lines, what looks like a marker is content.
        if not any(each.start <= marker.start() < each.end for each in statements):
            text = text[: marker.start()] + text[marker.end() :]
    return text


def _verified(text: str, expected: Any, path: Path = ()) -> str:
    """Return the edited text if it contains what it should; tables on the path that are empty may be missing.

    Raises:
        Refused: it does not, because the file is written in a way that the edit does not handle.
    """
    try:
        if _pruned(parse(text), path) == _pruned(expected, path):
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise Refused("its tables are written in a way that can't be edited safely")


def _pruned(data: Any, path: Path) -> Any:
    """Return a copy of the data without the empty tables and arrays on a path."""
    data = deepcopy(data) if path else data
    for length in range(len(path) - 1, 0, -1):
        if _at(data, path[:length]) in ({}, []) and isinstance(path[length - 1], str):
            del _at(data, path[: length - 1])[path[length - 1]]
    return data


def _at(data: Any, path: Path) -> Any:
    for key in path:
        if isinstance(data, dict):
            data = data.get(str(key))
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


def _with(data: Any, path: Path, entry: object) -> Any:
    """Return a copy of the data with an entry at a path.

    Raises:
        Refused: a value on the path is not a table.
    """
    data = deepcopy(data)
    at = data
    for key in path[:-1]:
        at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
        if not isinstance(at, dict | list):
            raise Refused(f"{key} is not a table")
    if isinstance(at, list) and not isinstance(path[-1], int):
        raise Refused(f"{_shown(path[:-1])} is an array")
    at[path[-1]] = entry
    return data


def _without_entry(data: Any, path: Path) -> Any:
    """Return a copy of the data without an entry."""
    data = deepcopy(data)
    del _at(data, path[:-1])[path[-1]]
    return data


def _created(text: str, path: Path, data: Mapping[str, Any]) -> str:
    holder = holder_of(text, path)
    if holder is not None:
        return with_entry(text, holder, data)
    return _at_end(text, "\n".join(table_lines(_names(path), data)))


def _member_set(text: str, path: Path, item: object) -> str:
    """Return the text with one member of an existing table set."""
    node = value_at(text, path)
    if node is not None:
        return text[: node.start] + value_text(item) + text[node.end :]
    if get(text, path) is not None:
        text = remove(text, path)
    holder = holder_of(text, path)
    if holder is not None:
        return with_entry(text, holder, item)
    return _line_added(text, path, item)


def _line_added(text: str, path: Path, item: object) -> str:
    """Return the text with a member of a table on a line of its own, after the table's last one."""
    siblings = [each for each in scan(text) if each.path[:-1] == path[:-1] and not each.is_header]
    headers = [each for each in scan(text) if each.path == path[:-1] and each.is_header]
    if not siblings and not headers:
        return _at_end(text, "\n".join(table_lines(_names(path[:-1]), {str(path[-1]): item})))
    last = (siblings or headers)[-1]
    # A sibling's key may be dotted, or indented; what precedes its last part is repeated.
    lead = text[last.start : last.key_start]
    key = text[last.key_start : last.key_end]
    prefix = key[: len(key) - len(_last_part(key))] if siblings else ""
    newline = _newline(text)
    gap = "" if text[: last.end].endswith("\n") else newline
    line = f"{lead}{prefix}{key_text(str(path[-1]))} = {value_text(item)}{newline if not gap else ''}"
    return f"{text[: last.end]}{gap}{line}{text[last.end :]}"


def _last_part(key: str) -> str:
    """Return the last part of a dotted key, with its quotes."""
    quoted = re.search(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)$""", key)
    return quoted.group() if quoted else key


def _at_end(text: str, lines: str) -> str:
    newline = _newline(text)
    bare = text.removeprefix("\ufeff")
    lead = "" if not bare else newline if bare.endswith("\n") else newline * 2
    return text + lead + (lines + "\n").replace("\n", newline)


def _blank_line_above(text: str, at: int) -> tuple[int, int] | None:
    """Return the blank line above a header; comment lines between the two are passed over."""
    first = 1 if text.startswith("\ufeff") else 0
    end = at
    while end > first:
        begin = max(text.rfind("\n", 0, end - 1) + 1, first)
        line = text[begin:end].strip()
        if not line:
            return begin, end
        if not line.startswith("#"):
            return None
        end = begin
    return None


def _names(path: Path) -> list[str]:
    return [str(key) for key in path]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _shown(path: Path) -> str:
    return ".".join(map(str, path))
