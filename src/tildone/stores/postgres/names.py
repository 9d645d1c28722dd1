"""Names and ids as PostgreSQL text can hold them: no NUL, no lone surrogate, short enough for an index entry.

Characters that PostgreSQL refuses are escaped with a backslash; all others stay readable in `psql`.
"""

from __future__ import annotations

import re
from hashlib import sha256

MAX_KEY_BYTES = 1000
"""An index entry holds 2700 bytes, the payload of NOTIFY 8000."""

SHORTENED = "\\#"
"""Prefix of a shortened name; no other name begins so."""

_READABLE_CHARACTERS = 60

_UNFIT = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


def to_sql(text: str) -> str:
    """Escape a text for PostgreSQL; different texts stay different."""
    return _UNFIT.sub(_escaped, text)


def from_sql(written: str) -> str:
    """The text that `to_sql` was given."""
    return _ESCAPE.sub(_unescaped, written) if "\\" in written else written


def key(text: str) -> str:
    """A text as it is looked up by: escaped and, if it is long, shortened to a digest and its beginning."""
    written = to_sql(text)
    if len(written) <= MAX_KEY_BYTES // 4:
        return written
    octets = written.encode()
    if len(octets) <= MAX_KEY_BYTES:
        return written
    return f"{SHORTENED}{sha256(octets).hexdigest()} {written[:_READABLE_CHARACTERS]}"


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
