"""Splits a shell line into its simple commands and their words, so that each can be checked against patterns.

Theory of operation. A pattern like `git diff *` must not allow anything that is chained to, substituted into or
redirected by a git command. So the parser accepts only the part of the grammar on which all shells agree; on any doubt
(here-documents, compound commands, arithmetic, unbalanced quotes) it gives up, and the line is allowed or refused as a
whole. It may give up on a harmless line, but never splits a line incorrectly.

Every character is consumed once, and pieces are joined once, so the time is proportional to the length of the line. A
line that is too long to be run is not split at all.
"""

from __future__ import annotations

import re
from enum import Enum

from tildone.base import value

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
        _, brace, rest = unquoted.partition("{")
        # Some shells replace the word by several, as in `{a,b}` or `{1..3}`.
        if not self._known or (brace and ("," in rest or ".." in rest)):
            kind = WordKind.UNKNOWN
        return Word("".join(self.texts), "".join(self._values), kind)


MAX_CHARACTERS = 131_072
"""The longest line that is split. Linux starts no program with a longer argument, so no shell would run it."""

_MAX_DEPTH = 20
_BLANK = " \t"
_ENDS = ";&|\n"
_WORD_ENDS = f"{_BLANK}{_ENDS}()<>"
_REDIRECTIONS = re.compile(r"&>>|&>|<<|<>|<&|>>|>\||>&|<|>")
_DUPLICATE = re.compile("[0-9]+-?|-")
_INPUT = ("<", "<&")
_NOWHERE = "/dev/null"
_DESCRIPTOR = re.compile("[0-9]+")

_BLANKS = re.compile(f"[{_BLANK}]+")
_SIMPLE_WORD = re.compile(r"[A-Za-z0-9_./:=@%+,~^-]+(?=[ \t;&|\n)]|\Z)")
_PLAIN = re.compile(r"[^'\"\\`$ \t;&|\n()<>#]+|#")
_PLAIN_IN_QUOTES = re.compile(r"[^\"\\`$]+")

# Expansions that can contain neither quotes nor commands.
_PARAMETER = re.compile(r"\$\{[^'\"`\\${}();&|<>\s]*\}")
_VARIABLE = re.compile(r"\$[A-Za-z0-9_@*#?$!-]")
_BACKTICKS = re.compile("`([^`\\\\'\"]*)`")

# Reserved words: what follows them is not a simple command.
_BLOCKS = ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "in")
_RESERVED = {*_BLOCKS, "function", "coproc", "{", "}", "!", "[[", "]]"}
_CMD_SIGNS = frozenset("&|<>^%!()'\"\r\n")


def split_line(line: str, *, windows: bool = False) -> tuple[Part, ...] | None:
    """Return every command and redirection of a line but those to /dev/null and between streams; None if unclear."""
    if len(line) > MAX_CHARACTERS:
        return None
    if windows:
        words = tuple(Word(text, text) for text in line.split())
        return None if _CMD_SIGNS.intersection(line) or not words else (Command(words),)
    parser = _CommandParser(line)
    try:
        parser.commands("")
    except _Unclear:
        return None
    return tuple(parser.parts)


class _Unclear(Exception):
    """The line cannot be split with certainty."""


class _CommandParser:
    """A recursive-descent parser: `parts` are the commands before position `at`. It raises `_Unclear` on any doubt."""

    def __init__(self, line: str, depth: int = 0) -> None:
        self.line = line
        self.at = 0
        self.depth = depth
        self.parts: list[Part] = []

    def commands(self, closing: str) -> None:
        """Parse commands up to the closing character, or to the end of the line if `closing` is empty."""
        words: list[Word] = []
        while (char := self._peek()) != closing:
            if not char:
                raise _Unclear
            if char in _BLANK:
                self._skip_blanks()
            elif char in _ENDS:
                self._add_command(words)
                words = []
                # Some shells do not know the operator `&>`: to them `&` ends a command and `>` begins a redirection.
                if self._starts_with("&>"):
                    self._redirection()
                else:
                    self.at += 1
            elif char in "<>":
                self._redirection()
            elif char == "(":
                if words or self._starts_with("(("):
                    raise _Unclear  # after a word, it starts something else; `((` starts arithmetic
                self._nested(1)
            elif simple := _SIMPLE_WORD.match(self.line, self.at):
                self.at = simple.end()
                words.append(Word(simple[0], simple[0]))
            elif char in "#)":
                raise _Unclear  # a comment may contain an unbalanced quote
            elif word := self._word():
                words.append(word)
        self._add_command(words)

    def _add_command(self, words: list[Word]) -> None:
        if not words:
            return
        if words[0].text in _RESERVED:
            raise _Unclear
        self.parts.append(Command(tuple(words)))

    def _word(self) -> Word | None:
        """Parse a word; None if it was a line continuation, or the descriptor of the redirection that follows."""
        builder = WordBuilder()
        while (char := self._peek()) and char not in _WORD_ENDS:
            self._piece(builder)
            if not builder.texts:
                return None
        word = builder.word()
        if char and char in "<>":
            if word.text.endswith("}"):
                raise _Unclear  # `{name}>file` names a descriptor in some shells, and is an argument in others
            if _DESCRIPTOR.fullmatch(word.text):
                return None
        return word

    def _nested(self, opening: int) -> None:
        if self.depth == _MAX_DEPTH:
            raise _Unclear
        self.at += opening
        self.depth += 1
        self.commands(")")
        self.depth -= 1
        self.at += 1

    def _redirection(self) -> None:
        if self._starts_with("<(") or self._starts_with(">("):
            raise _Unclear  # the command is given the name of a pipe, and not every shell supports it
        matched = _REDIRECTIONS.match(self.line, self.at)
        if matched is None or matched[0] == "<<":
            raise _Unclear  # a here-document may contain an unbalanced quote
        self.at = matched.end()
        self._skip_blanks()
        target = None if self._peek() in (*_WORD_ENDS, "#", "") else self._word()
        if target is None:
            raise _Unclear
        duplicates = matched[0] in {">&", "<&"} and _DUPLICATE.fullmatch(target.text)
        if not duplicates and target.text != _NOWHERE:
            self.parts.append(Redirection("<" if matched[0] in _INPUT else ">", target))

    def _piece(self, builder: WordBuilder) -> None:
        match self._peek():
            case "'":
                text = self._take_to(self.line.find("'", self.at + 1) + 1)
                builder.add(text, text[1:-1])
            case '"':
                self._quoted(builder)
            case "\\":
                self._escaped(builder)
            case "`":
                self._backticks(builder)
            case "$":
                if self._starts_with("$'") or self._starts_with('$"'):
                    raise _Unclear  # not every shell supports these quotes
                self._expansion(builder)
            case _:
                text = self._take(_PLAIN)
                builder.add(text, text, text)

    def _quoted(self, builder: WordBuilder) -> None:
        builder.add(self._take_to(self.at + 1), "")
        while (char := self._peek()) != '"':
            match char:
                case "\\":
                    self._escaped(builder, special='$`"\\')
                case "`":
                    self._backticks(builder)
                case "$":
                    self._expansion(builder)
                case "":
                    raise _Unclear
                case _:
                    text = self._take(_PLAIN_IN_QUOTES)
                    builder.add(text, text)
        builder.add(self._take_to(self.at + 1), "")

    def _escaped(self, builder: WordBuilder, special: str = "") -> None:
        """Parse a backslash and the next character; accept a line continuation only between words.

        In double quotes, the backslash escapes only the `special` characters, and stands for itself before others.
        """
        if self.line.startswith("\n", self.at + 1):
            if self.at == 0 or self.line[self.at - 1] not in _BLANK:
                raise _Unclear
            self.at += 2
            return
        text = self._take_to(self.at + 2)
        builder.add(text, text if special and text[1] not in special else text[1])

    def _expansion(self, builder: WordBuilder) -> None:
        start = self.at
        if self._starts_with("$((") or self._starts_with("$["):
            raise _Unclear
        if self._starts_with("$("):
            self._nested(2)
        elif self._starts_with("${"):
            self._take(_PARAMETER)
        elif _VARIABLE.match(self.line, self.at):
            self.at += 1
        else:
            builder.add("$", "$")
            self.at += 1
            return
        text = self.line[start : self.at]
        builder.add(text, text, known=False)

    def _backticks(self, builder: WordBuilder) -> None:
        matched = _BACKTICKS.match(self.line, self.at)
        if matched is None or self.depth == _MAX_DEPTH:
            raise _Unclear
        inner = _CommandParser(matched[1], self.depth + 1)
        inner.commands("")
        self.parts += inner.parts
        text = self._take_to(matched.end())
        builder.add(text, text, known=False)

    def _skip_blanks(self) -> None:
        if blanks := _BLANKS.match(self.line, self.at):
            self.at = blanks.end()

    def _take(self, pattern: re.Pattern[str]) -> str:
        matched = pattern.match(self.line, self.at)
        return self._take_to(matched.end() if matched else 0)

    def _take_to(self, end: int) -> str:
        """Consume and return the text up to `end`, which must be after the current position and within the line."""
        if not self.at < end <= len(self.line):
            raise _Unclear
        text, self.at = self.line[self.at : end], end
        return text

    def _peek(self) -> str:
        return self.line[self.at : self.at + 1]

    def _starts_with(self, sign: str) -> bool:
        return self.line.startswith(sign, self.at)
