"""Lines of Markdown, each by itself: what they are, how far in they stand, what of them is no text."""

from __future__ import annotations

import re

from tildone.formats.whitespace import JS_WHITESPACE

TAB = 4
DEEPER = 2
"""How many columns further in something stands that belongs to an item of a list."""

# Patterns are text that `re` compiles when it first needs them.
ITEM = "(?s)([-*+]|[0-9]{1,9}[.)])(?:[ \t]+(.*)|$)"
BOX = f"(?s)\\[(.?)\\][{JS_WHITESPACE}]+(.*)"
HEADING = f"(?s)#{{1,6}}[{JS_WHITESPACE}]+(.*?)(?:[{JS_WHITESPACE}]#+)?"
UNDERLINE = "=+|-{2,}"
RULE = "(?:-[ \t]*){3,}|(?:\\*[ \t]*){3,}|(?:_[ \t]*){3,}"
FENCE = "(?s)(`{3,})([^`]*)|(~{3,})(.*)"
QUOTE = "(?s)>[ \t]?(.*)"
_CODE_OR_COMMENT = "`+|<!--(?!tildone )"


def boxed(line: str) -> bool:
    """Whether the line is an item with a box to tick."""
    item = re.fullmatch(ITEM, line.strip(JS_WHITESPACE))
    return bool(item and re.fullmatch(BOX, item[2] or ""))


def is_foreign(line: str) -> bool:
    """Whether a line is one that tildone reads but never writes: a task within another, a lesser heading."""
    return line.startswith("##") or (line[:1] in {" ", "\t"} and boxed(line))


def front_matter(lines: list[str]) -> int:
    """How many lines at the beginning are data about the text."""
    if lines[0].rstrip() != "---":
        return 0
    for count, line in enumerate(lines[1:], start=2):
        if boxed(line):
            return 0
        if line.rstrip() in {"---", "..."}:
            return count
    return 0


def without_comments(line: str) -> str:
    """The line, but for comments that end on it. In code there is none, and tildone's own are for `markdown.read`."""
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
    """How far in a line stands, in columns."""
    expanded = line.expandtabs(TAB)
    return len(expanded) - len(expanded.lstrip(" "))


def dedented(line: str, inside: int) -> str:
    """A line of a note, without the columns before its task's content."""
    return line.expandtabs(TAB)[inside:].rstrip(JS_WHITESPACE)
