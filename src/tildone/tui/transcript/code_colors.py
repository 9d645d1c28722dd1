"""The colours of code, by Pygments. It is imported when the first block of code is coloured."""

from __future__ import annotations

from functools import cache
from typing import Any

from tildone.kit.theme import Role, Span

MAX_AT_ONCE = 4_096
"""Characters of code that are coloured at once; more than that, in a thread."""

MAX_CODE = 262_144
"""Characters of a block of code that is coloured."""

MAX_KNOWN = 512
"""Blocks of code whose colours are kept for another width."""

CodeLine = tuple[Span, ...]

# The first that a kind of token is part of: few colours, which can be told apart in every theme.
_ROLES = (
    ("Token.Comment", Role.DIM),
    ("Token.Keyword.Constant", Role.WARNING),
    ("Token.Keyword", Role.ACCENT),
    ("Token.Operator.Word", Role.ACCENT),
    ("Token.Name.Tag", Role.ACCENT),
    ("Token.Name.Decorator", Role.WARNING),
    ("Token.Literal.String", Role.SUCCESS),
    ("Token.Literal.Number", Role.WARNING),
    ("Token.Generic.Deleted", Role.ERROR),
    ("Token.Generic.Inserted", Role.SUCCESS),
    ("Token.Generic.Heading", Role.ACCENT),
    ("Token.Generic.Subheading", Role.ACCENT),
    ("Token.Generic.Prompt", Role.DIM),
    ("Token.Generic.Output", Role.MUTED),
)


class CodeColors:
    """The lines of blocks of code with their colours, by language and text. None is a block without colours."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[CodeLine, ...] | None] = {}
        self._loaded: set[str] = set()

    def is_loaded(self, language: str) -> bool:
        """Return whether code of a language has been coloured: the first time, much has to be imported."""
        return language in self._loaded

    def is_known(self, language: str, code: str) -> bool:
        return (language, code) in self._known

    def lines(self, language: str, code: str) -> tuple[CodeLine, ...] | None:
        """Return the lines of some code, which is printable. It may be called in a thread."""
        if (language, code) not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known = {}
            self._known[language, code] = _colored(language, code) if len(code) <= MAX_CODE else None
            self._loaded.add(language)
        return self._known.get((language, code))


def _colored(language: str, code: str) -> tuple[CodeLine, ...] | None:
    lines: list[list[Span]] = [[]]
    text = f"{code}\n"  # lexers expect that each line ends
    try:
        lexer = _lexer(language)
        # Not `get_tokens`, which changes the text.
        tokens = [(_role(kind), part) for _, kind, part in lexer.get_tokens_unprocessed(text)] if lexer else []
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None  # a lexer may fail on text that it was not made for
    if "".join(part for _, part in tokens) != text:
        return None
    for role, token in tokens:
        for number, part in enumerate(token.split("\n")):
            if number:
                lines.append([])
            if part and lines[-1] and lines[-1][-1].role is role:
                lines[-1][-1] = Span(f"{lines[-1][-1].text}{part}", role)
            elif part:
                lines[-1].append(Span(part, role))
    return tuple(map(tuple, lines[:-1]))


@cache
def _lexer(language: str) -> Any:
    """The lexer of a language; None if there is none. Plugins, which are code of others, are not looked for."""
    from pygments.lexers import find_lexer_class, get_all_lexers  # type: ignore[import-untyped]  # noqa: PLC0415  see the module

    wanted = language.lower()
    for name, aliases, _, _ in get_all_lexers(plugins=False):
        if wanted in aliases:
            found = find_lexer_class(name)
            return found() if found else None
    return None


@cache
def _role(kind: Any) -> Role:
    name = f"{kind}."
    return next((role for prefix, role in _ROLES if name.startswith(f"{prefix}.")), Role.TEXT)
