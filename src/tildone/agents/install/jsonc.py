"""Editing JSON with comments in place: an entry is added or removed, and every other byte stays the same.

Settings files are written by hand, so serializing the parsed data would lose comments and layout. Instead the text is
scanned for the positions of its values (`Scanner`) and spliced at those positions. An inserted entry is indented
like its siblings, and `_without` is the exact inverse of `_inserted`.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from tildone.base import value

Path = tuple[str | int, ...]


MAX_DEPTH = 200

_SPACE = " \t\r\n\ufeff"
_ENDS = frozenset(",]}/ \t\r\n")


class InvalidJson(ValueError):
    """The text is not JSON, even with comments and trailing commas allowed."""


@value
class Node:
    """A value and its position. Each child comes with its key (None in an array) and the position where it begins."""

    start: int
    end: int
    data: Any
    children: tuple[tuple[str | None, int, Node], ...] = ()

    def child(self, key: str | int) -> Node | None:
        """Return the member of that name, the last one of duplicates, as in `json`; or the item at an index."""
        if isinstance(key, int):
            return self.children[key][2] if isinstance(self.data, list) and key < len(self.children) else None
        return next((node for name, _, node in reversed(self.children) if name == key), None)


# An installation makes a dozen edits, each of which looks at the text several times.
@lru_cache(maxsize=4)
def scan(text: str) -> Node:
    """Return the value in a text, with the positions of its parts. Callers do not change the data."""
    scanner = Scanner(text)
    node = scanner.value(scanner.skip_blank(0), 0)
    rest = scanner.skip_blank(node.end)
    if rest < len(text):
        raise scanner.error(rest, "unexpected text after the end")
    return node


class Scanner:
    """Parses one text. Methods take a position and return the value there, or the next position."""

    def __init__(self, text: str) -> None:
        self._text = text

    def error(self, at: int, why: str) -> InvalidJson:
        line = self._text.count("\n", 0, at) + 1
        column = at - self._text.rfind("\n", 0, at)
        return InvalidJson(f"line {line}, column {column}: {why}")

    def skip_blank(self, at: int) -> int:
        """Return the position after white space and comments."""
        text = self._text
        while at < len(text):
            if text[at] in _SPACE:
                at += 1
            elif text.startswith("//", at):
                end = text.find("\n", at)
                at = len(text) if end < 0 else end
            elif text.startswith("/*", at):
                end = text.find("*/", at + 2)
                if end < 0:
                    raise self.error(at, "unterminated comment")
                at = end + 2
            else:
                break
        return at

    def value(self, at: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise self.error(at, "nested too deeply")
        match self._text[at : at + 1]:
            case "{":
                return self._object(at, depth)
            case "[":
                return self._array(at, depth)
            case '"':
                return self._string(at)
            case _:
                return self._word(at)

    def _object(self, start: int, depth: int) -> Node:
        children: list[tuple[str | None, int, Node]] = []
        at = self.skip_blank(start + 1)
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise self.error(at, "expected a name in double quotes")
            name = self._string(at)
            colon = self.skip_blank(name.end)
            if self._text[colon : colon + 1] != ":":
                raise self.error(colon, "expected a colon")
            node = self.value(self.skip_blank(colon + 1), depth + 1)
            children.append((name.data, at, node))
            at = self._next(node.end, "}")
        return Node(start, at + 1, {name: node.data for name, _, node in children}, tuple(children))

    def _array(self, start: int, depth: int) -> Node:
        children: list[tuple[str | None, int, Node]] = []
        at = self.skip_blank(start + 1)
        while self._text[at : at + 1] != "]":
            node = self.value(at, depth + 1)
            children.append((None, at, node))
            at = self._next(node.end, "]")
        return Node(start, at + 1, [node.data for _, _, node in children], tuple(children))

    def _next(self, at: int, close: str) -> int:
        """Return the position of the next child, or of the end; a comma before the end is allowed."""
        at = self.skip_blank(at)
        if self._text[at : at + 1] == ",":
            return self.skip_blank(at + 1)
        if self._text[at : at + 1] != close:
            raise self.error(at, f"expected a comma or {close}")
        return at

    def _string(self, start: int) -> Node:
        try:
            data, length = json.JSONDecoder().raw_decode(self._text[start:])
        except ValueError as error:
            raise self.error(start, "invalid or unterminated string") from error
        return Node(start, start + length, data)

    def _word(self, start: int) -> Node:
        end = start
        while end < len(self._text) and self._text[end] not in _ENDS:
            end += 1
        try:
            data = json.loads(self._text[start:end])
        except ValueError as error:
            raise self.error(start, "expected a value") from error
        return Node(start, end, data)


def get(text: str, path: Path) -> Any:
    node = _at(text, path)
    return None if node is None else node.data


def put(text: str, path: Path, data: object) -> str:
    """Return the text with `data` at a path. Missing objects are created; an equal value keeps its bytes."""
    node = scan(text)
    for depth, key in enumerate(path):
        if not isinstance(node.data, dict) and node.child(key) is None:
            raise InvalidJson(f"{shown_path(path[:depth]) or 'the file'} is not an object")
        child = node.child(key)
        if child is None:
            for name in reversed(path[depth + 1 :]):
                data = {name: data}
            return _inserted(text, node, str(key), data)
        node = child
    return (
        text
        if node.data == data
        else text[: node.start] + _laid_out(text, data, _indent(text, node.start)) + text[node.end :]
    )


def append(text: str, path: Path, item: object) -> str:
    """Return the text with one more item in the array at a path, which is created if it is missing."""
    node = _at(text, path)
    if node is None:
        return put(text, path, [item])
    if not isinstance(node.data, list):
        raise InvalidJson(f"{shown_path(path)} is not an array")
    return _inserted(text, node, None, item)


def merge(text: str, path: Path, data: object) -> str:
    """Return the text with `data` at a path; if both are objects, what `data` does not name stays."""
    present = get(text, path)
    if not isinstance(present, dict) or not isinstance(data, dict):
        return put(text, path, data)
    for key, item in data.items():
        if key not in present or present[key] != item:
            text = put(text, (*path, key), item)
    return text


def remove(text: str, path: Path) -> str:
    parent = _at(text, path[:-1])
    if parent is None or parent.child(path[-1]) is None:
        return text
    return _without(text, parent, _index(parent, path[-1]))


def emptied_as(text: str, path: Path, before: str) -> str:
    """Return the text with the empty objects and arrays on a path written as in the text `before`."""
    for length in range(len(path) + 1):
        node, was = _at(text, path[:length]), _at(before, path[:length])
        if node is not None and was is not None and node.data == was.data and node.data in ({}, []):
            empty = before[was.start : was.end].replace("\r\n", "\n").replace("\n", "\r\n" if "\r\n" in text else "\n")
            text = text[: node.start] + empty + text[node.end :]
    return text


def prune(text: str, path: Path, before: str = "{}") -> str:
    """Return the text without the empty objects and arrays on a path, innermost first, that are not in `before`."""
    for length in range(len(path), 0, -1):
        if get(before, path[:length]) is not None:
            break
        parent = _at(text, path[: length - 1])
        target = parent.child(path[length - 1]) if parent is not None else None
        if parent is None or target is None:
            continue
        if target.data not in ({}, []):
            break
        text = _without(text, parent, _index(parent, path[length - 1]))
    return text


def _at(text: str, path: Path) -> Node | None:
    node: Node | None = scan(text)
    for key in path:
        node = node.child(key) if node is not None else None
    return node


def _index(parent: Node, key: str | int) -> int:
    if isinstance(key, int):
        return key
    return max(index for index, (name, _, _) in enumerate(parent.children) if name == key)


def _inserted(text: str, parent: Node, key: str | None, data: object) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lead = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    if not parent.children:
        outer = _indent(text, parent.start)
        inner = outer + _unit(text)
        entry = f"{newline}{inner}{lead}{_laid_out(text, data, inner)}"
        inside = text[parent.start + 1 : parent.end - 1]
        close = "" if "\n" in inside else f"{newline}{outer}"
        return (
            f"{text[: parent.start + 1]}{entry}{inside.rstrip(' ') if close else inside}{close}{text[parent.end - 1 :]}"
        )
    _, start, last = parent.children[-1]
    comma = _comma(text, last.end)
    if "\n" not in text[parent.start : start]:
        entry = f" {lead}{json.dumps(data, ensure_ascii=False)}"
        if comma is None:
            return f"{text[: last.end]},{entry}{text[last.end :]}"
        return f"{text[: comma + 1]}{entry},{text[comma + 1 :]}"
    inner = _indent(text, start)
    at = _line_end(text, last.end if comma is None else comma + 1, parent.end - 1)
    entry = f"{newline}{inner}{lead}{_laid_out(text, data, inner)}"
    if comma is None:
        return f"{text[: last.end]},{text[last.end : at]}{entry}{text[at:]}"
    return f"{text[:at]}{entry},{text[at:]}"


def _without(text: str, parent: Node, index: int) -> str:
    """Return the text without one child: the inverse of `_inserted`."""
    _, start, node = parent.children[index]
    comma = _comma(text, node.end)
    if len(parent.children) == 1 and not text[parent.start + 1 : start].strip():
        rest = text[(node.end if comma is None else comma + 1) : parent.end - 1]
        if not rest.strip():
            return f"{text[: parent.start + 1]}{text[parent.end - 1 :]}"
    begin = start
    while text[begin - 1] in " \t":
        begin -= 1
    end = node.end if comma is None else comma + 1
    if text[begin - 1] == "\n" and not _ends_comment(text, begin - 1, end):
        begin -= 2 if text[begin - 2] == "\r" else 1
    if comma is None and index:
        before = _comma(text, parent.children[index - 1][2].end)
        if before is not None:
            return text[:before] + text[before + 1 : begin] + text[end:]
    return text[:begin] + text[end:]


def _ends_comment(text: str, newline: int, end: int) -> bool:
    """Return whether a line comment ends at `newline` and text that must not become part of it follows `end`."""
    line = text[text.rfind("\n", 0, newline) + 1 : newline]
    return "//" in line and not text[end:].lstrip(" \t").startswith(("\r", "\n"))


def _comma(text: str, at: int) -> int | None:
    at = Scanner(text).skip_blank(at)
    return at if text[at : at + 1] == "," else None


def _line_end(text: str, at: int, limit: int) -> int:
    """Return the end of the line if only comments that end on it follow `at`; otherwise `at`."""
    rest = re.compile(r"(?:[ \t]|/\*(?:[^*\n]|\*(?!/))*\*/)*(?://[^\n]*)?").match(text, at, limit)
    end = rest.end() if rest else at
    if text[end - 1 : end] == "\r":
        end -= 1
    return end if text[end : end + 1] in ("\r", "\n") or end == limit else at


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line that contains a position."""
    begin = text.rfind("\n", 0, at) + 1
    line = text[begin:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one level of indentation, taken from the first indented line."""
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if indent and line.strip():
            return indent
    return "  "


def _laid_out(text: str, data: object, indent: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(data, indent=_unit(text), ensure_ascii=False).replace("\n", f"{newline}{indent}")


def shown_path(path: Path) -> str:
    return ".".join(map(str, path))
