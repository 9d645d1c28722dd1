"""The parts of a shell line: words, simple commands and redirections."""

from __future__ import annotations

import re
from enum import Enum

from tildone.value import value

_GLOB = re.compile(r"[*?\[]")


class WordKind(Enum):
    """What the shell makes of a word: the word itself, names of files, or a value that is not known in advance."""

    LITERAL = "literal"
    GLOB = "glob"
    UNKNOWN = "unknown"


@value
class Word:
    """A word as it is written, and its value without the quotes; expansions stand in the value as they are written."""

    text: str
    value: str
    kind: WordKind = WordKind.LITERAL


@value
class Command:
    """A simple command: its words, with any assignments in front, and without redirections."""

    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        """The command as it is written, without redirections."""
        return " ".join(word.text for word in self.words)


@value
class Redirection:
    """A redirection from (`<`) or to (`>`) a file."""

    sign: str
    target: Word

    @property
    def text(self) -> str:
        """The redirection as it is shown, and as a pattern for it is written."""
        return f"{self.sign} {self.target.text}"


Part = Command | Redirection


class WordBuilder:
    """The pieces of a word that is being read."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._values: list[str] = []
        self._unquoted: list[str] = []
        self._known = True

    def add(self, text: str, value: str, unquoted: str = "", *, known: bool = True) -> None:
        """Add a piece: as written, without its quotes, and the part of it that was not quoted."""
        self.texts.append(text)
        self._values.append(value)
        self._unquoted.append(unquoted)
        self._known = self._known and known

    def word(self) -> Word:
        unquoted = "".join(self._unquoted)
        kind = WordKind.GLOB if _GLOB.search(unquoted) else WordKind.LITERAL
        if not self._known or _has_braces(unquoted):
            kind = WordKind.UNKNOWN
        return Word("".join(self.texts), "".join(self._values), kind)


def _has_braces(unquoted: str) -> bool:
    """Return whether some shells replace the word by several, as in `{a,b}` or `{1..3}`."""
    _, brace, rest = unquoted.partition("{")
    return bool(brace) and ("," in rest or ".." in rest)
