"""A block of our own at the end of a TOML file, between two marker lines.

The block is appended to the file: a TOML table can be defined in one place only, so a block of whole tables at the end
can't change the meaning of the text before it. `with_block` verifies this by parsing the result.
"""

from __future__ import annotations

import tomllib

from tildone.errors import Refused

BEGIN, BEGIN_JOINED, END = "# >>> tildone", "# >>> tildone, joined", "# <<< tildone"
"""The markers. BEGIN_JOINED means that the text before the block had no final newline, so removal takes ours off."""


def with_block(text: str, lines: str) -> str:
    """Return the text with these lines as our block, replacing an earlier block.

    Raises:
        TOMLDecodeError: the text, or the text with the block, is not TOML.
        Refused: the block would change a value that is set elsewhere in the text.
    """
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
    """Return the text without our block, byte for byte as it was before `with_block`."""
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
    rest = text[end + len(END) :]
    return text[:begin] + rest.removeprefix("\r\n").removeprefix("\n")
