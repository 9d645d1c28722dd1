"""Names and ids as PostgreSQL text: without NUL and lone surrogates, and short enough for an index entry.

Characters that PostgreSQL rejects are escaped with a backslash; all others stay readable in `psql`.
"""

from __future__ import annotations

import re
from hashlib import sha256

MAX_KEY_BYTES = 1000
"""PostgreSQL limits an index entry to about 2700 bytes, and the payload of NOTIFY to 8000."""

SHORTENED = "\\#"
"""Prefix of a shortened name; no other name begins with it."""

_READABLE_CHARACTERS = 60

_REJECTED = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(\\|0|u[0-9a-f]{4})")


def to_sql(text: str) -> str:
    """Escape a text for PostgreSQL; different texts stay different."""
    return _REJECTED.sub(_escaped, text)


def from_sql(stored: str) -> str:
    """Reverse `to_sql`."""
    return _ESCAPE.sub(_unescaped, stored) if "\\" in stored else stored


def key(text: str) -> str:
    """Return the key under which a text is indexed: escaped, and if long, shortened to a digest and its beginning."""
    escaped = to_sql(text)
    if len(escaped) <= MAX_KEY_BYTES // 4:
        return escaped
    encoded = escaped.encode()
    if len(encoded) <= MAX_KEY_BYTES:
        return escaped
    return f"{SHORTENED}{sha256(encoded).hexdigest()} {escaped[:_READABLE_CHARACTERS]}"


def _escaped(found: re.Match[str]) -> str:
    match found[0]:
        case "\\":
            return "\\\\"
        case "\0":
            return "\\0"
        case surrogate:
            return f"\\u{ord(surrogate):04x}"


def _unescaped(found: re.Match[str]) -> str:
    match found[1]:
        case "\\":
            return "\\"
        case "0":
            return "\0"
        case code:
            return chr(int(code[1:], 16))
