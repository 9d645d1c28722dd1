"""Markdown as rows: the subset that models use in results. Every source line stays a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tildone.kit.components.row import Row, Spans
from tildone.kit.theme import Role, Span

_BAR = Span("│ ", Role.DIM)
_INDENT = Span("  ")
_RULE = Span("─" * 8, Role.DIM)
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_MIN_RULE_LENGTH = 3
_MAX_DEPTH = 3

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*)")
_QUOTE = re.compile(r" {0,3}> ?(?P<text>.*)")
_BULLET = re.compile(r"(?P<indent>[ \t]*)[-*+][ \t]+(?P<box>\[[ xX]\] )?(?P<text>.*)")
_NUMBER = re.compile(r"(?P<indent>[ \t]*)(?P<number>[0-9]{1,9}[.)])[ \t]+(?P<text>.*)")

# The text between two delimiters is bounded, so that unpaired delimiters stay cheap on long lines.
_INLINE = re.compile(
    r"(?<!`)(?P<ticks>`{1,2})(?!`)(?P<code>.{1,500}?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>.{1,500}?)(?<=\S)\*\*"
    r"|(?<![\w*/])\*(?=[^\s*])(?P<italic>.{1,500}?)(?<=[^\s*])\*(?![\w*/])"
    r"|(?<!\w)__(?=\S)(?P<bold_>.{1,500}?)(?<=\S)__(?!\w)"
    r"|(?<![\w_])_(?=[^\s_])(?P<italic_>.{1,500}?)(?<=[^\s_])_(?![\w_])"
    r"|~~(?=\S)(?P<strike>.{1,500}?)(?<=\S)~~"
    r"|\[(?P<label>[^\[\]]{1,500})\]\((?P<url>[^()\s]{1,500})\)"
    r"|\\(?P<literal>[\\`*_~\[\]()#>+.!-])"
)


def markdown_rows(text: str, role: Role) -> Iterator[Row]:
    """Yield the rows of a text, with `role` as the default style."""
    fence = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = _FENCE.fullmatch(line)
        if fence and mark and mark["mark"].startswith(fence) and not mark["info"].strip():
            fence = ""
        elif fence:
            yield Row((Span(line, role),), (_INDENT,))
        elif mark:
            fence = mark["mark"]
        else:
            yield _row(line, role)


def _row(line: str, role: Role) -> Row:
    if found := _HEADING.fullmatch(line):
        return Row((Span(_inline(found["text"]), Role.ACCENT, bold=True),))
    if _is_rule(line):
        return Row((_RULE,))
    if found := _QUOTE.fullmatch(line):
        return Row((Span(_inline(found["text"]), role, italic=True),), (_BAR,), repeats=True)
    if found := _BULLET.fullmatch(line):
        sign = _BOXES.get(found["box"], "• ")
        return Row((Span(_inline(found["text"]), role),), (Span(found["indent"]), Span(sign, Role.ACCENT)))
    if found := _NUMBER.fullmatch(line):
        number = Span(f"{found['number']} ", Role.ACCENT)
        return Row((Span(_inline(found["text"]), role),), (Span(found["indent"]), number))
    return Row((Span(_inline(line), role),))


def _is_rule(line: str) -> bool:
    marks = line.replace(" ", "")
    return len(marks) >= _MIN_RULE_LENGTH and marks[0] in "-*_" and not marks.strip(marks[0])


def _inline(text: str, depth: int = 0) -> Spans:
    """The text with its inline markup; delimiters nested deeper than `_MAX_DEPTH` are shown literally."""
    if depth == _MAX_DEPTH:
        return (Span(text),)
    spans: list[Span] = []
    end = 0
    for found in _INLINE.finditer(text):
        if found.start() > end:
            spans.append(Span(text[end : found.start()]))
        spans += _marked(found, depth + 1)
        end = found.end()
    if end < len(text):
        spans.append(Span(text[end:]))
    return tuple(spans)


def _marked(found: re.Match[str], depth: int) -> Spans:
    match found.lastgroup:
        case "code":
            return (Span(found["code"], Role.ACCENT),)
        case "bold" | "bold_" as name:
            return (Span(_inline(found[name], depth), bold=True),)
        case "italic" | "italic_" as name:
            return (Span(_inline(found[name], depth), italic=True),)
        case "strike":
            return (Span(_inline(found["strike"], depth), strike=True),)
        case "url":
            return Span(_inline(found["label"], depth)), Span(f" ({found['url']})", Role.MUTED)
        case _:
            return (Span(found["literal"]),)
