"""Commands that destroy what cannot be brought back: a question about one is answered with a capital letter."""

from __future__ import annotations

import re

_PATTERNS = (
    r"\brm\s+(?:\S+\s+)*?-\w*[rR]",
    r"\brm\s+(?:\S+\s+)*?--recursive",
    r"\bgit\s+(?:\S+\s+)*?push\s+(?:\S+\s+)*?(?:--force|-\w*f|\+\S)",
    r"\bgit\s+(?:\S+\s+)*?reset\s+(?:\S+\s+)*?--hard",
    r"\bgit\s+(?:\S+\s+)*?clean\s+(?:\S+\s+)*?-\w*[fxd]",
    r">\s*/dev/(?!null\b|stdout\b|stderr\b|tty\b|fd/)",
    r"\bdd\s+(?:\S+\s+)*?of=",
    r"\b(?:mkfs|wipefs|shred|blkdiscard)\b",
    r"\b(?:sudo|doas)\s",
    r"\bfind\s.*\s-delete\b",
    r"\b(?:DROP|TRUNCATE)\s+(?:TABLE|DATABASE|SCHEMA)\b",
)
_DESTRUCTIVE = re.compile("|".join(_PATTERNS), re.IGNORECASE)


def is_destructive(command: str) -> bool:
    """Return whether a command line contains one of the patterns. That it contains none proves nothing."""
    return _DESTRUCTIVE.search(command) is not None
