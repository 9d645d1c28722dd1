"""Properties of single Markdown lines: kind, indentation, comments."""

from __future__ import annotations

import re

from tildone.formats.whitespace import JS_WHITESPACE

TAB = 4
DEEPER = 2
"""The extra indentation, in columns, of content that belongs to a list item."""

# Patterns are strings, compiled by `re` on first use.
ITEM = "(?s)([-*+]|[0-9]{1,9}[.)])(?:[ \t]+(.*)|$)"
BOX = f"(?s)\\[(.?)\\][{JS_WHITESPACE}]+(.*)"
HEADING = f"(?s)#{{1,6}}[{JS_WHITESPACE}]+(.*?)(?:[{JS_WHITESPACE}]#+)?"
UNDERLINE = "=+|-{2,}"
RULE = "(?:-[ \t]*){3,}|(?:\\*[ \t]*){3,}|(?:_[ \t]*){3,}"
FENCE = "(?s)(`{3,})([^`]*)|(~{3,})(.*)"
QUOTE = "(?s)>[ \t]?(.*)"
_CODE_OR_COMMENT = "`+|<!--(?!tildone )"


def boxed(line: str) -> bool:
    """Whether the line is a list item with a check box."""
    item = re.fullmatch(ITEM, line.strip(JS_WHITESPACE))
    return bool(item and re.fullmatch(BOX, item[2] or ""))


def is_foreign(line: str) -> bool:
    """Whether tildone reads but never writes such a line: a nested task or a heading below level 1."""
    return line.startswith("##") or (line[:1] in {" ", "\t"} and boxed(line))


def front_matter(lines: list[str]) -> int:
    """The number of lines of YAML front matter."""
    if lines[0].rstrip() != "---":
        return 0
    for count, line in enumerate(lines[1:], start=2):
        if boxed(line):
            return 0
        if line.rstrip() in {"---", "..."}:
            return count
    return 0


def without_comments(line: str) -> str:
    """The line without comments that end on it. Code spans and tildone's own comments are kept."""
    kept, at, last = "", 0, line.rfind("-->")
    for found in re.finditer(_CODE_OR_COMMENT, line):
        if found.start() >= at and found[0] != "<!--":
            closing = re.compile(f"(?<!`){found[0]}(?!`)").search(line, found.end())
            kept, at = (kept + line[at : closing.end()], closing.end()) if closing else (kept, at)
        elif at <= found.start() < found.end() <= last:
            kept += line[at : found.start()]
            at = line.index("-->", found.end()) + 3
    return kept + line[at:]


def width(line: str) -> int:
    """The indentation of a line in columns."""
    expanded = line.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip(" "))


def dedented(line: str, inside: int) -> str:
    """A line of a note without the indentation of its task's content."""
    return line.expandtabs(TAB)[inside:].rstrip(JS_WHITESPACE)
