"""Addresses of sessions: `SLUG-DIGEST`.

Names of sessions are often paths. They belong neither into addresses nor into logs, so an address has the last part of
the name and a keyed digest of all of it. The digest alone finds the session; the key of the digest is secret, so that
nobody can find out by guessing whether a path is in the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock

DIGEST_DIGITS = 10
MAX_SLUG = 40

_ADDRESS = re.compile(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*-)?([0-9a-f]{10,64})", re.ASCII)


class SessionKeys:
    """The keys of the sessions of one store. `digest` is a keyed hash, as hexadecimal digits. Safe for threads."""

    def __init__(self, store: str, digest: Callable[[str], str]) -> None:
        self._store, self._digest = store, digest
        self._lock = Lock()
        self._keys: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def key(self, name: str) -> str:
        """Return the key of a session."""
        known = self._keys.get(name)
        if known is not None:
            return known
        digits = self._digest(f"{self._store}\0{name}")
        with self._lock:
            length = DIGEST_DIGITS
            while self._names.setdefault(digits[:length], name) != name:
                length += 1
            return self._keys.setdefault(name, f"{slug(name)}-{digits[:length]}")

    def name(self, key: str) -> str | None:
        """Return the name of the session with a key, whatever its slug; None if no key was made with this digest."""
        found = _ADDRESS.fullmatch(key)
        return self._names.get(found[1]) if found else None


def slug(name: str) -> str:
    """Return the last part of a name, in characters that an address needs not escape."""
    last = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    words = re.findall(r"[a-z0-9]+", last.lower(), re.ASCII)
    return "-".join(words)[:MAX_SLUG].strip("-") or "session"
