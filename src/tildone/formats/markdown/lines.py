"""Properties of single Markdown lines: kind, indentation, comments."""

from __future__ import annotations

import re

from tildone.formats.whitespace import JS_WHITESPACE

TAB_COLUMNS = 4
NESTED_INDENT = 2
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


def has_box(line: str) -> bool:
    item = re.fullmatch(ITEM, line.strip(JS_WHITESPACE))
    return bool(item and re.fullmatch(BOX, item[2] or ""))


def is_foreign(line: str) -> bool:
    """Return whether tildone reads but never writes such a line: a nested task or a heading below level 1."""
    return line.startswith("##") or (line[:1] in {" ", "\t"} and has_box(line))


def front_matter_length(lines: list[str]) -> int:
    if lines[0].rstrip() != "---":
        return 0
    for count, line in enumerate(lines[1:], start=2):
        if has_box(line):
            return 0
        if line.rstrip() in {"---", "..."}:
            return count
    return 0


def without_comments(line: str) -> str:
    """Return the line without comments that end on it. Code spans and tildone's own comments are rest."""
    rest, at, last = "", 0, line.rfind("-->")
    for found in re.finditer(_CODE_OR_COMMENT, line):
        if found.start() >= at and found[0] != "<!--":
            closing = re.compile(f"(?<!`){found[0]}(?!`)").search(line, found.end())
            rest, at = (rest + line[at : closing.end()], closing.end()) if closing else (rest, at)
        elif at <= found.start() < found.end() <= last:
            rest += line[at : found.start()]
            at = line.index("-->", found.end()) + 3
    return rest + line[at:]


def indentation(line: str) -> int:
    expanded = line.expandtabs(TAB_COLUMNS)
    return len(expanded) - len(expanded.lstrip(" "))


def dedented(line: str, columns: int) -> str:
    """Return a line of a note without the first `columns` columns, the indentation of its task's content."""
    return line.expandtabs(TAB_COLUMNS)[columns:].rstrip(JS_WHITESPACE)
