"""Commands as one line of text: split by the rules of a POSIX shell, without running one."""

from __future__ import annotations

import re

# Patterns are strings, compiled by `re` on first use.
_OPERATOR = r"&&|\|\||[|;&<>`]|\$\("
_ASSIGNMENT = "[A-Za-z_][A-Za-z0-9_]*=.*"
_AT_THE_END = r"(?s)(?P<words>.*)(?<!`)(?P<ticks>`+)(?!`)(?P<command>.+?)(?<!`)(?P=ticks)"
_BETWEEN = " \t:–—-"
_ESCAPED_IN_QUOTES = '"\\$`'


def words_and_command(text: str) -> tuple[str, str]:
    """Return the words of a task, and the command in backticks with which its text ends; empty if there is none."""
    found = re.fullmatch(_AT_THE_END, text)
    return (found["words"].rstrip(_BETWEEN), found["command"].strip()) if found else (text, "")


def split_command(text: str) -> tuple[str, ...]:
    """Return the words of a command as in a shell, without expansion. Raises ValueError where a shell would do more."""
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(text):
        character = text[at]
        if character in " \t\r\n":
            words += ["".join(word)] if word is not None else []
            word, at = None, at + 1
            continue
        operator = re.compile(_OPERATOR).match(text, at)
        if operator:
            message = f"{operator[0]} needs a shell: sh -c '…'"
            raise ValueError(message)
        part, at = _part(text, at)
        word = [*(word or ()), part]
    words += ["".join(word)] if word is not None else []
    if words and re.fullmatch(_ASSIGNMENT, words[0]):
        message = f"{words[0]} needs a program before it: env {words[0]} …"
        raise ValueError(message)
    return tuple(words)


def _part(text: str, at: int) -> tuple[str, int]:
    """The quotation, the escaped character or the plain character at a position, and the position after it."""
    match text[at]:
        case "'":
            end = text.find("'", at + 1)
            return text[at + 1 : _found(end)], end + 1
        case '"':
            return _double_quoted(text, at + 1)
        case "\\":
            return text[at + 1 : at + 2] or "\\", at + 2
        case character:
            return character, at + 1


def _double_quoted(text: str, at: int) -> tuple[str, int]:
    part = []
    while at < len(text) and text[at] != '"':
        at += text[at] == "\\" and text[at + 1 : at + 2] in tuple(_ESCAPED_IN_QUOTES)
        part.append(text[at])
        at += 1
    _found(at if at < len(text) else -1)
    return "".join(part), at + 1


def _found(end: int) -> int:
    if end < 0:
        message = "a quotation mark is not closed"
        raise ValueError(message)
    return end
