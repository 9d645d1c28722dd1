"""Names and ids as PostgreSQL can keep them: no NUL, no half of a surrogate pair, short enough for an index.

What its text can't hold is written as an escape, so that every other name reads in `psql` as it is.
"""

from __future__ import annotations

import re
from hashlib import sha256

MAX_KEY_BYTES = 1000
"""Bytes. An entry of an index has room for 2700, the word that wakes a waiter for 8000."""

SHORTENED = "\\#"
"""How a shortened name begins, and none that is written out."""

_BEGINNING = 60

_UNFIT = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


def to_sql(text: str) -> str:
    """A text as PostgreSQL can hold it; no two texts are kept alike."""
    return _UNFIT.sub(_escaped, text)


def from_sql(written: str) -> str:
    """The text that is kept in these words."""
    return _ESCAPE.sub(_unescaped, written) if "\\" in written else written


def key(text: str) -> str:
    """A text as it is kept where it is looked up: a long one as its beginning and a digest."""
    written = to_sql(text)
    if len(written) <= MAX_KEY_BYTES // 4:
        return written
    octets = written.encode()
    if len(octets) <= MAX_KEY_BYTES:
        return written
    return f"{SHORTENED}{sha256(octets).hexdigest()} {written[:_BEGINNING]}"


def _escaped(found: re.Match[str]) -> str:
    match found[0]:
        case "\\":
            return "\\\\"
        case "\0":
            return "\\0"
        case half:
            return f"\\u{ord(half):04x}"


def _unescaped(found: re.Match[str]) -> str:
    match found[1]:
        case "\\":
            return "\\"
        case "0":
            return "\0"
        case code:
            return chr(int(code[1:], 16))
