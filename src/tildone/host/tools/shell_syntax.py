"""Splits a shell line into its simple commands, so that each can be checked against the allowed patterns.

Theory of operation. A pattern like `git *` must not allow anything that is chained to, substituted into or redirected
by a git command. So the parser accepts only the part of the grammar on which all shells agree; on any doubt
(here-documents, compound commands, arithmetic, unbalanced quotes) it gives up, and the line is allowed or refused as a
whole. It may give up on a harmless line, but never splits a line incorrectly.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatchcase

WINDOWS = sys.platform == "win32"

EVERYTHING = ("*", "bash")
"""Patterns that allow any line, even one that cannot be split."""

_MAX_DEPTH = 20
_BLANK = " \t"
_ENDS = ";&|\n"
_WORD_ENDS = f"{_BLANK}{_ENDS}()<>"
_REDIRECTIONS = re.compile(r"&>>|&>|<<|<>|<&|>>|>\||>&|<|>")
_DESCRIPTOR = re.compile(r"(?:^|(?<=[ \t]))[0-9]+$")
_DUPLICATE = re.compile("[0-9]+-?|-")
_INPUT = ("<", "<&")
_NOWHERE = "/dev/null"

# Expansions that can contain neither quotes nor commands.
_PARAMETER = re.compile(r"\$\{[^'\"`\\${}();&|<>\s]*\}")
_BACKTICKS = re.compile("`([^`\\\\'\"]*)`")

# Reserved words: what follows them is not a simple command.
_BLOCKS = ("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "in")
_RESERVED = {*_BLOCKS, "function", "coproc", "time", "{", "}", "!", "[[", "]]"}
_CMD_SIGNS = frozenset("&|<>^%!()'\"\r\n")


def simple_commands(line: str, *, windows: bool = False) -> tuple[str, ...] | None:
    """Return every command that the line runs, and every redirection, as `> file` or `< file`.

    Redirections to /dev/null and between streams are left out. The result is None if the line cannot be split.
    """
    if windows:
        return None if _CMD_SIGNS.intersection(line) else (line.strip(),)
    parser = _CommandParser(line)
    try:
        parser.commands("")
    except _Unclear:
        return None
    return tuple(parser.parts)


def not_allowed(line: str, allow: tuple[str, ...], *, windows: bool = False) -> tuple[str, ...]:
    """Return the commands of the line that no pattern allows; the line itself if it cannot be split."""
    if any(pattern in EVERYTHING for pattern in allow):
        return ()
    parts = simple_commands(line, windows=windows)
    if parts is None:
        return (line,)
    return tuple(part for part in parts if not any(_fits(part, pattern) for pattern in allow))


def _fits(command: str, pattern: str) -> bool:
    """Return whether a pattern matches a command; `git *` also matches `git` alone."""
    return fnmatchcase(command, pattern) or (pattern.endswith(" *") and command == pattern[:-2])


class _Unclear(Exception):
    """The line cannot be split with certainty."""


class _CommandParser:
    """A recursive-descent parser: `parts` are the commands before position `at`. It raises `_Unclear` on any doubt."""

    def __init__(self, line: str, depth: int = 0) -> None:
        self.line = line
        self.at = 0
        self.depth = depth
        self.parts: list[str] = []

    def commands(self, closing: str) -> None:
        """Parse commands up to the closing character, or to the end of the line if `closing` is empty."""
        command = ""
        while (char := self._peek()) != closing:
            if not char:
                raise _Unclear
            if char in _ENDS:
                self._add_command(command)
                command = ""
                # Some shells do not know the operator `&>`: to them `&` ends a command and `>` begins a redirection.
                if self._starts_with("&>"):
                    self._redirection()
                else:
                    self.at += 1
            elif char in "<>":
                command = _DESCRIPTOR.sub("", command)
                self._redirection()
            elif char == "(":
                self._subshell(command)
            elif char == "#" and (not command or command[-1] in _BLANK):
                raise _Unclear  # a comment may contain an unbalanced quote
            else:
                command += self._piece()
        self._add_command(command)

    def _add_command(self, command: str) -> None:
        command = command.strip(_BLANK)
        if not command:
            return
        if re.split("[ \t]", command)[0] in _RESERVED:
            raise _Unclear
        self.parts.append(command)

    def _subshell(self, command: str) -> None:
        """Parse a subshell; after a word, a parenthesis starts something else, and `((` starts arithmetic."""
        if command.strip(_BLANK) or self._starts_with("(("):
            raise _Unclear
        self._nested(1)

    def _nested(self, opening: int) -> str:
        """Parse commands in parentheses, and return the text with its delimiters."""
        if self.depth == _MAX_DEPTH:
            raise _Unclear
        start = self.at
        self.at += opening
        self.depth += 1
        self.commands(")")
        self.depth -= 1
        self.at += 1
        return self.line[start : self.at]

    def _redirection(self) -> None:
        if self._starts_with("<(") or self._starts_with(">("):
            self._nested(2)
            return
        matched = _REDIRECTIONS.match(self.line, self.at)
        if matched is None or matched[0] == "<<":
            raise _Unclear  # a here-document may contain an unbalanced quote
        self.at = matched.end()
        while self._peek() in tuple(_BLANK):
            self.at += 1
        target = ""
        while (char := self._peek()) and char not in _WORD_ENDS:
            target += self._piece()
        if not target:
            raise _Unclear
        duplicates = matched[0] in {">&", "<&"} and _DUPLICATE.fullmatch(target)
        if not duplicates and target != _NOWHERE:
            self.parts.append(f"{'<' if matched[0] in _INPUT else '>'} {target}")

    def _piece(self) -> str:
        """Parse the next character, quoted string or expansion, and return it verbatim."""
        match self._peek():
            case "'":
                return self._take_to(self.line.find("'", self.at + 1) + 1)
            case '"':
                return self._quoted()
            case "\\":
                return self._escaped()
            case "`":
                return self._backticks()
            case "$":
                if self._starts_with("$'"):
                    raise _Unclear  # not every shell supports this quote
                return self._expansion()
            case "" | ")":
                raise _Unclear
            case _:
                return self._take_to(self.at + 1)

    def _quoted(self) -> str:
        text = self._take_to(self.at + 1)
        while (char := self._peek()) != '"':
            match char:
                case "\\":
                    text += self._escaped()
                case "`":
                    text += self._backticks()
                case "$":
                    text += self._expansion()
                case "":
                    raise _Unclear
                case _:
                    text += self._take_to(self.at + 1)
        return text + self._take_to(self.at + 1)

    def _escaped(self) -> str:
        """Parse a backslash and the next character; accept a line continuation only between words."""
        if self.line.startswith("\n", self.at + 1):
            if self.at == 0 or self.line[self.at - 1] not in _BLANK:
                raise _Unclear
            self.at += 2
            return ""
        return self._take_to(self.at + 2)

    def _expansion(self) -> str:
        if self._starts_with("$((") or self._starts_with("$["):
            raise _Unclear
        if self._starts_with("$("):
            return self._nested(2)
        if self._starts_with("${"):
            matched = _PARAMETER.match(self.line, self.at)
            return self._take_to(matched.end() if matched else 0)
        return self._take_to(self.at + 1)

    def _backticks(self) -> str:
        matched = _BACKTICKS.match(self.line, self.at)
        if matched is None or self.depth == _MAX_DEPTH:
            raise _Unclear
        inner = _CommandParser(matched[1], self.depth + 1)
        inner.commands("")
        self.parts += inner.parts
        return self._take_to(matched.end())

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
