"""Editing TOML in place: an entry is set, added or removed, and every other byte stays the same.

The text is scanned for the positions of its statements (`scan`) and spliced there. An entry is found by its
path, in whatever form it is written: a table with a header, dotted keys, or part of an inline value. A new entry is
written as a table at the end of the file, one blank line below the text before it, unless an inline value contains its
path. Removal takes that blank line away again, and is otherwise limited to the statements of the entry: comments stay.

Every edit is verified: the new text is parsed, and has to contain exactly what the edit says.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

from tildone.agents.install.jsonc import Path, shown_path
from tildone.base import Refused, value

_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n\ufeff]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LAST_PART = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)$""")
_BARE_VALUE = re.compile(r"[^,\]}#\r\n]*")
_STRINGS = (
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


@value
class InlineValue:
    """An inline value. Each child comes with its path below this value and the position where it begins."""

    start: int
    end: int
    children: tuple[tuple[Path, int, InlineValue], ...] = ()
    is_container: bool = False


@value
class Statement:
    """A table header, or a key and its value (`node`).

    `path` is absolute: each array of tables on it is followed by an index. `start` and `end` include the whole lines,
    and `key_end` is the end of the key or header.
    """

    path: Path
    start: int
    end: int
    key_start: int
    key_end: int
    node: InlineValue | None = None

    @property
    def is_header(self) -> bool:
        return self.node is None


# An installation makes a dozen edits, each of which looks at the text several times.
@lru_cache(maxsize=4)
def scan(text: str) -> tuple[Statement, ...]:
    """Return the statements of a text that is valid TOML, in their order."""
    return tuple(_Scanner(text).statements())


class _Scanner:
    """Reads one text. Methods take a position and return what begins there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counts: dict[Path, int] = {}

    def statements(self) -> list[Statement]:
        found: list[Statement] = []
        table: Path = ()
        at = self._skip(_GAP, 0)
        while at < len(self._text):
            statement = self._header(at) if self._text[at] == "[" else self._pair(at, table)
            if statement.is_header:
                table = statement.path
            found.append(statement)
            at = self._skip(_GAP, statement.end)
        return found

    def _header(self, at: int) -> Statement:
        brackets = 2 if self._text.startswith("[[", at) else 1
        keys, end = self._key(self._skip(_BLANK, at + brackets))
        end = self._skip(_BLANK, end) + brackets
        path: Path = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        path = (*path, keys[-1])
        if brackets == 2:  # noqa: PLR2004  the brackets of an array of tables
            count = self._counts[path] = self._counts.get(path, 0) + 1
            path = (*path, count - 1)
        return Statement(path, self._line_start(at), self._line_end(end), at, end)

    def _pair(self, at: int, table: Path) -> Statement:
        keys, key_end = self._key(at)
        node = self._value(self._skip(_BLANK, self._text.index("=", key_end) + 1))
        return Statement((*table, *keys), self._line_start(at), self._line_end(node.end), at, key_end, node)

    def _key(self, at: int) -> tuple[tuple[str, ...], int]:
        keys: list[str] = []
        while True:
            end = self._string_end(at)
            if end is None:
                end = self._skip(_BARE_KEY, at)
                keys.append(self._text[at:end])
            else:
                keys.append(str(tomllib.loads(f"k = {self._text[at:end]}")["k"]))
            dot = self._skip(_BLANK, end)
            if self._text[dot : dot + 1] != ".":
                return tuple(keys), end
            at = self._skip(_BLANK, dot + 1)

    def _value(self, at: int) -> InlineValue:
        end = self._string_end(at)
        if end is not None:
            return InlineValue(at, end)
        match self._text[at]:
            case "[":
                return self._container(at, "]")
            case "{":
                return self._container(at, "}")
            case _:
                end = self._skip(_BARE_VALUE, at)
                return InlineValue(at, at + len(self._text[at:end].rstrip()))

    def _container(self, start: int, close: str) -> InlineValue:
        children: list[tuple[Path, int, InlineValue]] = []
        at = self._skip(_GAP, start + 1)
        while self._text[at] != close:
            path: Path = (len(children),)
            begin = at
            if close == "}":
                path, end = self._key(at)
                begin = self._skip(_BLANK, self._text.index("=", end) + 1)
            node = self._value(begin)
            children.append((path, at, node))
            at = self._next(node.end)
        return InlineValue(start, at + 1, tuple(children), is_container=True)

    def _next(self, at: int) -> int:
        at = self._skip(_GAP, at)
        return self._skip(_GAP, at + 1) if self._text[at] == "," else at

    def _string_end(self, at: int) -> int | None:
        for pattern in _STRINGS:
            match = pattern.match(self._text, at)
            if match:
                return match.end()
        return None

    def _skip(self, pattern: re.Pattern[str], at: int) -> int:
        match = pattern.match(self._text, at)
        return match.end() if match else at

    def _line_start(self, at: int) -> int:
        start = self._text.rfind("\n", 0, at) + 1
        # A byte order mark is not part of the first line.
        return start + 1 if self._text.startswith("\ufeff", start) else start

    def _line_end(self, at: int) -> int:
        end = self._text.find("\n", at)
        return len(self._text) if end < 0 else end + 1


def key_text(key: str) -> str:
    """Return a key, quoted if it has to be."""
    return key if _BARE_KEY.fullmatch(key) else value_text(key)


def value_text(data: Any) -> str:
    match data:
        case bool():
            return "true" if data else "false"
        case str():
            # TOML's basic strings have the same escapes as JSON's strings, and do not allow DEL.
            return json.dumps(data, ensure_ascii=False).replace("\x7f", "\\u007f")
        case dict():
            pairs = ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in data.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case list() | tuple():
            return f"[{', '.join(map(value_text, data))}]"
        case _:
            return str(data)


def table_lines(path: Sequence[str], data: Mapping[str, Any], brackets: int = 1) -> Iterator[str]:
    """Yield the lines of a table and of those inside it. Two brackets make it an item of an array of tables."""
    yield f"{'[' * brackets}{'.'.join(map(key_text, path))}{']' * brackets}"
    inner = {key: item for key, item in data.items() if _has_header(item)}
    for key, item in data.items():
        if key not in inner:
            yield f"{key_text(key)} = {value_text(item)}"
    for key, item in inner.items():
        for each in item if isinstance(item, list) else [item]:
            yield from table_lines((*path, key), each, 2 if isinstance(item, list) else 1)


def _has_header(data: object) -> bool:
    """Return whether data is written as a table of its own, or as an array of tables."""
    tables = data if isinstance(data, list) else [data]
    return bool(tables) and all(isinstance(item, dict) for item in tables)


def holder_of(text: str, path: Path) -> tuple[InlineValue, Path] | None:
    """Return the innermost inline value that contains a path to be created, and the rest of the path; None if none."""
    for statement in scan(text):
        node = statement.node
        if node is not None and node.is_container and statement.path == path[: len(statement.path)]:
            rest = path[len(statement.path) :]
            while inner := [
                (child, rest[len(names) :])
                for names, _, child in node.children
                if child.is_container and names == rest[: len(names)]
            ]:
                node, rest = inner[0]
            return node, rest
    return None


def with_entry(text: str, holder: tuple[InlineValue, Path], data: object, *, as_item: bool = False) -> str:
    node, rest = holder
    if as_item:
        data = data if not rest else [data]
    for key in reversed(rest[1:]):
        data = {key: data}
    entry = f"{key_text(str(rest[0]))} = {value_text(data)}" if rest else value_text(data)
    if not node.children:
        return f"{text[: node.start + 1]} {entry}{text[node.start + 1 :]}"
    end = node.children[-1][2].end
    return f"{text[:end]}, {entry}{text[end:]}"


def value_at(text: str, path: Path) -> InlineValue | None:
    """Return the inline value at a path, if it is written as one."""
    for statement in scan(text):
        if statement.node is not None and statement.path == path:
            return statement.node
    found = located(text, path)
    if found is None:
        return None
    parent, index = found
    return parent.children[index][2] if parent.children[index][0] == path[-1:] else None


def located(text: str, path: Path) -> tuple[InlineValue, int] | None:
    """Return the inline value that contains an entry or a part of it, and the index of that; None if none does."""
    for statement in scan(text):
        length = len(statement.path)
        if statement.node is not None and length < len(path) and statement.path == path[:length]:
            return _inside(statement.node, path[length:])
    return None


def _inside(node: InlineValue, rest: Path) -> tuple[InlineValue, int] | None:
    for index, (names, _, _) in enumerate(node.children):
        if names[: len(rest)] == rest:
            return node, index
    for names, _, child in node.children:
        if names == rest[: len(names)]:
            return _inside(child, rest[len(names) :])
    return None


def without_child(text: str, node: InlineValue, index: int) -> str:
    """Return the text without a child of an inline value, and without its comma."""
    _, start, child = node.children[index]
    if index:
        before = node.children[index - 1][2].end
        gap = text[before:start]
        # A comment in front of the comma or after it is not part of the entry.
        kept = re.sub(r"(^(?:[ \t\r\n]|#[^\n]*\n)*),", r"\1", gap) if "#" in gap else ""
        return text[:before] + kept + text[child.end :]
    if len(node.children) > 1:
        return text[:start] + text[node.children[1][1] :]
    return text[: node.start + 1] + text[child.end :]


_MARKERS = re.compile(r"^# (?:>>> tildone(?:, joined)?|<<< tildone)[ \t]*\r?\n?", re.MULTILINE)
"""Lines that earlier versions wrote around their entries."""


@lru_cache(maxsize=4)
def parse(text: str) -> dict[str, Any]:
    """Return the data of a text, which may begin with a byte order mark. Callers do not change it."""
    # Some editors put the mark in front, which TOML does not allow.
    return tomllib.loads(text.removeprefix("\ufeff"))


def get(text: str, path: Path) -> Any:
    return _at(parse(text), path)


def merge(text: str, path: Path, data: Mapping[str, Any]) -> str:
    """Return the text with the members of `data` in the table at a path; its other members stay."""
    before = get(text, path)
    if before is None:
        holder = holder_of(text, path)
        created = with_entry(text, holder, data) if holder else _at_end(text, table_lines(_names(path), data))
        return _verified(created, _with(parse(text), path, data))
    if not isinstance(before, dict):
        raise Refused(f"{shown_path(path)} is not a table")
    for key, item in data.items():
        if before.get(key) != item:
            expected = _with(parse(text), (*path, key), item)
            text = _verified(_member_set(text, (*path, key), item), expected)
    return text


def append(text: str, path: Path, item: Mapping[str, Any]) -> str:
    """Return the text with one more item in the array at a path, which is created if it is missing."""
    present = get(text, path)
    if present is not None and not isinstance(present, list):
        raise Refused(f"{shown_path(path)} is not an array")
    expected = _with(parse(text), path, [*(present or []), item])
    holder = holder_of(text, path)
    if holder is not None:
        return _verified(with_entry(text, holder, item, as_item=True), expected)
    return _verified(_at_end(text, table_lines(_names(path), item, 2)), expected)


def remove(text: str, path: Path) -> str:
    """Return the text without the entry at a path, with everything inside it; comments between its lines stay."""
    if get(text, path) is None:
        return text
    expected = deepcopy(parse(text))
    del _at(expected, path[:-1])[path[-1]]
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
    """Return the text without the lines that earlier versions wrote around their entries."""
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
    """Return the text if it contains what it should, else refuse. Empty tables on the path may be missing."""
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
    """Return a copy of the data with an entry at a path."""
    data = deepcopy(data)
    at = data
    for key in path[:-1]:
        at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
        if not isinstance(at, dict | list):
            raise Refused(f"{key} is not a table")
    if isinstance(at, list) and not isinstance(path[-1], int):
        raise Refused(f"{shown_path(path[:-1])} is an array")
    at[path[-1]] = entry
    return data


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
        return _at_end(text, table_lines(_names(path[:-1]), {str(path[-1]): item}))
    last = (siblings or headers)[-1]
    # A sibling's key may be dotted, or indented; what precedes its last part is repeated.
    lead = text[last.start : last.key_start]
    key = text[last.key_start : last.key_end]
    prefix = _LAST_PART.sub("", key) if siblings else ""
    newline = _newline(text)
    gap = "" if text[: last.end].endswith("\n") else newline
    line = f"{lead}{prefix}{key_text(str(path[-1]))} = {value_text(item)}{newline if not gap else ''}"
    return f"{text[: last.end]}{gap}{line}{text[last.end :]}"


def _at_end(text: str, lines: Iterable[str]) -> str:
    newline = _newline(text)
    bare = text.removeprefix("\ufeff")
    lead = "" if not bare else newline if bare.endswith("\n") else newline * 2
    return text + lead + "".join(f"{line}{newline}" for line in lines)


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
