"""A block of our own at the end of a TOML file, between two marker lines.

The block is appended to the file: a TOML table can be defined in one place only, so a block of whole tables at the end
can't change the meaning of the text before it. `with_block` verifies this by parsing the result.

The program that the file belongs to does not know the markers. Codex adds its own tables (trusted hooks, projects)
after the last table, which puts them inside the block, in front of the end marker. Such tables are kept.
"""

from __future__ import annotations

import re
import tomllib

from tildone.errors import Refused

BEGIN, BEGIN_JOINED, END = "# >>> tildone", "# >>> tildone, joined", "# <<< tildone"
"""The markers. BEGIN_JOINED means that the text before the block had no final newline, so removal takes ours off."""

_TABLE = re.compile(r"^(?=\[)", re.MULTILINE)


def with_block(text: str, lines: str) -> str:
    """Return the text with these lines as our block, replacing an earlier block.

    Raises:
        TOMLDecodeError: the text, or the text with the block, is not TOML.
        Refused: the block would change a value that is set elsewhere in the text.
    """
    if _contains(text, lines):
        return text
    before = without_block(text)
    values_before = tomllib.loads(before)
    newline = "\r\n" if "\r\n" in before else "\n"
    joined = before != "" and not before.endswith("\n")
    first = f"{newline}{newline}{BEGIN_JOINED}" if joined else f"{newline if before else ''}{BEGIN}"
    block = f"{first}\n{lines.strip()}\n{END}\n".replace("\r\n", "\n").replace("\n", newline)
    after = before + block
    values_after = tomllib.loads(after)
    for key, value in values_before.items():
        if key not in values_after or (not isinstance(value, dict) and values_after[key] != value):
            raise Refused(f"{key} would change")
    return after


def without_block(text: str) -> str:
    """Return the text without our block, byte for byte as it was before `with_block`; tables of others stay."""
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return text
    joined = text.startswith(BEGIN_JOINED, start)
    begin = start
    for _ in range(2 if joined else 1):
        if text[:begin].endswith("\r\n"):
            begin -= 2
        elif text[:begin].endswith("\n"):
            begin -= 1
    theirs = _foreign_tables(text[start:end])
    rest = text[end + len(END) :].removeprefix("\r\n").removeprefix("\n")
    if not theirs:
        return text[:begin] + rest
    newline = "\r\n" if "\r\n" in text else "\n"
    return text[:begin] + (newline * (2 if joined else 1) if begin else "") + theirs + rest


def _contains(text: str, lines: str) -> bool:
    """Return whether the text has our block with these lines, perhaps followed by tables of others."""
    start = text.find(BEGIN)
    end = text.find(END, start)
    if start < 0 or end < 0:
        return False
    inside = text[start:end].replace("\r\n", "\n").partition("\n")[2]
    ours = lines.strip()
    return inside.startswith(ours) and _foreign_tables(inside).strip() == inside.removeprefix(ours).strip()


def _foreign_tables(block: str) -> str:
    """Return the tables in a block that are not ours, with their text as it is."""
    tables = _TABLE.split(block)[1:]
    ours = [_is_ours(table) for table in tables]
    for index, table in enumerate(tables[:-1]):
        # An array of groups: what a group runs is in the table after it.
        if table.startswith("[[hooks.") and tables[index + 1].startswith(table.partition("]]")[0] + ".hooks]]"):
            ours[index] = ours[index + 1]
    return "".join(table for table, own in zip(tables, ours, strict=True) if not own)


def _is_ours(table: str) -> bool:
    return table.startswith("[mcp_servers.tildone") or (table.startswith("[[hooks.") and "tildone" in table)
