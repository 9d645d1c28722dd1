"""JSON with comments and trailing commas, read with where everything stands."""

from __future__ import annotations

import json

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

DEEPEST = 200

_SPACE = " \t\r\n\ufeff"
_ENDS = frozenset(",]}/ \t\r\n")


class Unreadable(ValueError):
    """The text is not JSON, with or without comments."""


@value
class Node:
    """A value and where it stands. An object's children have keys and where those begin; an array's have none."""

    start: int
    end: int
    data: Any
    children: tuple[tuple[str | None, int, Node], ...] = ()

    def child(self, key: str) -> Node | None:
        """The member of that name; of several, the last, as every reader of JSON has it."""
        return next((node for name, _, node in reversed(self.children) if name == key), None)


def scan(text: str) -> Node:
    """The value in a text, with where its parts stand.

    Raises:
        Unreadable: there is none, or more than one; the message says where.
    """
    scanner = Scanner(text)
    node = scanner.value(scanner.blank(0), 0)
    rest = scanner.blank(node.end)
    if rest < len(text):
        raise scanner.wrong(rest, "something after the end")
    return node


class Scanner:
    """Goes through a text, place by place."""

    def __init__(self, text: str) -> None:
        self._text = text

    def wrong(self, at: int, why: str) -> Unreadable:
        """What to raise at a place."""
        return Unreadable(f"line {self._text.count(chr(10), 0, at) + 1}: {why}")

    def blank(self, at: int) -> int:
        """The place after white space and comments."""
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
                    raise self.wrong(at, "a comment that does not end")
                at = end + 2
            else:
                break
        return at

    def value(self, at: int, depth: int) -> Node:
        """The value that begins at a place."""
        if depth > DEEPEST:
            raise self.wrong(at, "nested too deeply")
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
        at = self.blank(start + 1)
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise self.wrong(at, "a name in quotes is missing")
            name = self._string(at)
            colon = self.blank(name.end)
            if self._text[colon : colon + 1] != ":":
                raise self.wrong(colon, "a colon is missing")
            node = self.value(self.blank(colon + 1), depth + 1)
            children.append((name.data, at, node))
            at = self._next(node.end, "}")
        return Node(start, at + 1, {name: node.data for name, _, node in children}, tuple(children))

    def _array(self, start: int, depth: int) -> Node:
        children: list[tuple[str | None, int, Node]] = []
        at = self.blank(start + 1)
        while self._text[at : at + 1] != "]":
            node = self.value(at, depth + 1)
            children.append((None, at, node))
            at = self._next(node.end, "]")
        return Node(start, at + 1, [node.data for _, _, node in children], tuple(children))

    def _next(self, at: int, close: str) -> int:
        """The place of the next child, or of the end; a comma before the end is let pass."""
        at = self.blank(at)
        if self._text[at : at + 1] == ",":
            return self.blank(at + 1)
        if self._text[at : at + 1] != close:
            raise self.wrong(at, f"a comma or {close} is missing")
        return at

    def _string(self, start: int) -> Node:
        try:
            data, length = json.JSONDecoder().raw_decode(self._text[start:])
        except ValueError as error:
            raise self.wrong(start, "text in quotes that does not end, or holds what it may not") from error
        return Node(start, start + length, data)

    def _word(self, start: int) -> Node:
        end = start
        while end < len(self._text) and self._text[end] not in _ENDS:
            end += 1
        try:
            data = json.loads(self._text[start:end])
        except ValueError as error:
            raise self.wrong(start, "a value is missing") from error
        return Node(start, end, data)
