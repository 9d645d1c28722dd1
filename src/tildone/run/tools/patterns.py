"""Patterns for commands: what `--allow` and the answer "always" permit.

Theory of operation. A pattern is written like a command and split into words as a shell does. Each word of it matches
one argument, with `*`, `?` and `[…]` as wildcards; a last word `*` matches any number of arguments, and the pattern `*`
alone matches every line. A pattern for a redirection is `> file` or `< file`. Every part of a line needs a pattern.

A wildcard is not a permission to run other programs. It never covers an assignment before the command, a word with a
substitution or a variable, the subscript of a variable that a word names (`printf -v 'a[$(id)]' x`), or the words that
`plan.shell.danger` lists, such as `-exec` of find. A pattern that names such a word literally (`find . -exec *`)
covers it, with everything that it can be used for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

from tildone.base import UsageError, replace
from tildone.plan.shell.danger import (
    BUNDLED,
    NAMES_VARIABLES,
    POWERFUL,
    RULES,
    RUNS_PROJECT_CODE,
    Rule,
    has_subscript,
    is_assignment,
    is_refused,
    program_name,
)
from tildone.plan.shell.syntax import Command, Part, Redirection, Word, WordKind, split_line

WINDOWS = sys.platform == "win32"

EVERYTHING = "*"
"""The pattern that allows any line, even one that cannot be split."""

_WILDCARDS = re.compile(r"[*?\[]")


def parse_pattern(text: str, *, windows: bool = WINDOWS) -> Part:
    """Return the command or redirection of a pattern; its wildcards are words of the kind `GLOB`.

    Raises:
        UsageError: it is not a single command or redirection.
    """
    parts = split_line(text, windows=windows)
    if parts is None or len(parts) != 1:
        raise UsageError(f"{text!r} is not a pattern for one command: give --allow once for each, such as 'git diff *'")
    [part] = parts
    if windows and isinstance(part, Command):
        return replace(part, words=tuple(map(_with_wildcards, part.words)))
    return part


def is_pattern(text: str) -> bool:
    """Return whether a text is a pattern; older conversations may contain others."""
    try:
        parse_pattern(text)
    except UsageError:
        return False
    return True


def not_allowed(line: str, allow: Sequence[str], *, windows: bool = WINDOWS) -> tuple[Part, ...] | None:
    """Return the parts of a line that no pattern covers; None if it cannot be split, and only `*` would cover it."""
    if EVERYTHING in allow:
        return ()
    parts = split_line(line, windows=windows)
    if parts is None:
        return None
    patterns = [parse_pattern(text, windows=windows) for text in allow]
    return tuple(part for part in parts if not any(covers(pattern, part) for pattern in patterns))


def covers(pattern: Part, part: Part) -> bool:
    """Return whether a pattern covers a part of a line."""
    if isinstance(pattern, Command) and isinstance(part, Command):
        return _covers_command(pattern.words, part.words)
    if isinstance(pattern, Redirection) and isinstance(part, Redirection):
        # Through `..` a wildcard for one folder would lead into others.
        inside = not _is_wildcard(pattern.target) or ".." not in part.target.value.split("/")
        return pattern.sign == part.sign and inside and _matches(pattern.target, part.target)
    return False


def describe_pattern(text: str) -> str:
    """Return what a pattern covers, for the person who gives it."""
    if text == EVERYTHING:
        return "every command"
    part = parse_pattern(text)
    if isinstance(part, Redirection):
        verb = "writing to" if part.sign == ">" else "reading from"
        return f"{verb} {part.target.text} in redirections"
    program = next((word for word in part.words if not is_assignment(word.text)), part.words[-1])
    name = program_name(program.value)
    exact = not any(map(_is_wildcard, part.words))
    notes = [f"which {POWERFUL[name]}"] if name in POWERFUL else []
    if name in RUNS_PROJECT_CODE:
        notes.append("which runs code of the project")
    if not exact and (name in RULES or _is_wildcard(program)):
        notes.append("without arguments that run other programs or write other files, unless the pattern names them")
    scope = "exactly this command" if exact else "this command with any arguments in place of *"
    return ", ".join([scope, *notes])


def _with_wildcards(word: Word) -> Word:
    return replace(word, kind=WordKind.GLOB) if _WILDCARDS.search(word.value) else word


def _is_wildcard(word: Word) -> bool:
    return word.kind is WordKind.GLOB


def _matches(pattern: Word, word: Word) -> bool:
    if _is_wildcard(pattern):
        return word.kind is not WordKind.UNKNOWN and fnmatchcase(word.value, pattern.value)
    if word.kind is WordKind.LITERAL:
        return pattern.kind is WordKind.LITERAL and pattern.value == word.value
    return pattern.kind is word.kind and pattern.text == word.text


def _covers_command(patterns: tuple[Word, ...], words: tuple[Word, ...]) -> bool:
    any_more = _is_wildcard(patterns[-1]) and patterns[-1].value == EVERYTHING
    fixed = patterns[:-1] if any_more else patterns
    more = words[len(fixed) :]
    if len(words) < len(fixed) or (more and not any_more) or any(word.kind is WordKind.UNKNOWN for word in more):
        return False
    if not all(map(_matches, fixed, words)):
        return False
    if not any(map(_is_wildcard, patterns)):
        return True
    named = [not _is_wildcard(word) for word in fixed] + [False] * len(more)
    start = next((at for at, word in enumerate(words) if not is_assignment(word.text)), len(words))
    if not all(named[:start]) or start == len(words):
        return False
    name = program_name(words[start].value)
    if not named[start] and (name in POWERFUL or words[start].kind is not WordKind.LITERAL):
        return False
    arguments, are_named = words[start + 1 :], named[start + 1 :]
    if name in NAMES_VARIABLES and any(
        has_subscript(word.value) for word, is_named in zip(arguments, are_named, strict=True) if not is_named
    ):
        return False
    return name not in RULES or _covers_arguments(name, arguments, are_named)


def _covers_arguments(name: str, words: tuple[Word, ...], named: list[bool]) -> bool:
    """Return whether the wildcards cover only harmless arguments, or the pattern names a word that is not."""
    rule = RULES[name]
    operand = next((at for at, word in enumerate(words) if not _is_option(word)), len(words))
    inner = RULES.get(f"{name} {words[operand].value}", Rule()) if operand < len(words) else Rule()
    ordered = rule.subcommands or rule.script

    def is_harmful(at: int) -> bool:
        text = words[at].value
        if name in BUNDLED and at == 0 and not text.startswith("-"):
            text = f"-{text}"
        before = bool(ordered) and at < operand and not rule.before.fullmatch(text)
        return before or is_refused(text, rule) or is_refused(text, inner)

    harmful = [at for at in range(len(words)) if is_harmful(at)]
    if any(named[at] for at in harmful):
        return True
    if harmful or any(_may_be_option(word) for word, is_named in zip(words, named, strict=True) if not is_named):
        return False
    operands = [word for word in words if not _is_option(word)]
    if rule.operands is not None and (len(operands) > rule.operands or any(map(_is_wildcard, operands))):
        return False
    return (operand < len(words) and named[operand]) or _allows_operand(rule, words[operand : operand + 1])


def _is_option(word: Word) -> bool:
    return word.value.startswith("-") and word.value != "-"


def _may_be_option(word: Word) -> bool:
    """Return whether the shell may replace a wildcard of the command by a file that is named like an option."""
    if not _is_wildcard(word):
        return False
    start = _WILDCARDS.split(word.value)[0]
    return "/" not in start or start.startswith("-")


def _allows_operand(rule: Rule, operand: tuple[Word, ...]) -> bool:
    text = operand[0].value if operand else ""
    if any(word.kind is not WordKind.LITERAL for word in operand) and (rule.subcommands or rule.script):
        return False
    if rule.subcommands:
        return not text or text in rule.subcommands
    return rule.script is None or rule.script.fullmatch(text) is not None
