"""A parser for JSON with comments and trailing commas that records the position of every value."""

from __future__ import annotations

import json
from functools import lru_cache

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

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
    """Return the value in a text, with the positions of its parts. Callers do not change the data.

    Raises:
        InvalidJson: the text contains no value, or more than one; the message gives the position.
    """
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
        """Return the exception for a position."""
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
        """Return the value that begins at a position."""
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
