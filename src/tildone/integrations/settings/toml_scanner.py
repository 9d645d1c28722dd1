"""A scanner for TOML that records the position of every statement and, inside inline values, of every part.

It reads texts that `tomllib` has accepted, so it does not validate: it finds where keys and values begin and end. A
statement occupies whole lines. White space and comments between statements belong to none.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n\ufeff]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
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
        """Whether this begins a table."""
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
        """Return the parts of a dotted key, and its end."""
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
                return self._array(at)
            case "{":
                return self._inline_table(at)
            case _:
                end = self._skip(_BARE_VALUE, at)
                return InlineValue(at, at + len(self._text[at:end].rstrip()))

    def _array(self, start: int) -> InlineValue:
        children: list[tuple[Path, int, InlineValue]] = []
        at = self._skip(_GAP, start + 1)
        while self._text[at] != "]":
            node = self._value(at)
            children.append(((len(children),), at, node))
            at = self._next(node.end)
        return InlineValue(start, at + 1, tuple(children), is_container=True)

    def _inline_table(self, start: int) -> InlineValue:
        children: list[tuple[Path, int, InlineValue]] = []
        at = self._skip(_GAP, start + 1)
        while self._text[at] != "}":
            keys, end = self._key(at)
            node = self._value(self._skip(_BLANK, self._text.index("=", end) + 1))
            children.append((keys, at, node))
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
