"""The tokens of people: each has a name, which the log shows, and a secret, of which only the hash is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from tildone.agents.person import clean_name
from tildone.errors import NotFound, Refused, UsageError
from tildone.value import value
from tildone.web.access.private_json import PrivateJson

FILE = "people.json"
METRICS_FILE = "metrics.json"
"""The tokens that may read `/metrics`, and nothing else."""

TOKEN_BYTES = 32
ID_BYTES = 6


@value
class PersonToken:
    """A person's token. `id` is in the person's logins; `added` is in milliseconds since 1970."""

    id: str
    name: str
    added: int


class People:
    """The people who have a token. `file` is the name of the file of the tokens."""

    def __init__(self, folder: str, file: str = FILE) -> None:
        self._file = PrivateJson(folder, file)

    def add(self, name: str, now: int) -> str:
        """Make a token for a person, and return it. It cannot be shown again.

        Raises:
            UsageError: the name has no visible character.
            Refused: there is a token of this name.
        """
        name = clean_name(name)
        if not name:
            raise UsageError("a token needs the name of a person")
        token, identity = secrets.token_urlsafe(TOKEN_BYTES), secrets.token_hex(ID_BYTES)

        def change(data: dict[str, Any]) -> dict[str, Any]:
            if any(entry["name"] == name for entry in data.values()):
                raise Refused(f"there is a token of {name!r} already; to replace it: tildone board token remove NAME")
            return data | {identity: {"name": name, "added": now, "hash": _hash(token)}}

        self._file.update(change)
        return token

    def remove(self, name: str) -> None:
        """Remove a person's token. All logins with it end.

        Raises:
            NotFound: there is no token of this name.
        """

        def change(data: dict[str, Any]) -> dict[str, Any]:
            kept = {key: entry for key, entry in data.items() if entry["name"] != clean_name(name)}
            if len(kept) == len(data):
                raise NotFound(f"there is no token of {name!r}; to list them: tildone board token")
            return kept

        self._file.update(change)

    def all(self) -> list[PersonToken]:
        """Return all tokens, in the order in which they were added."""
        return [PersonToken(key, entry["name"], entry["added"]) for key, entry in self._file.read().items()]

    def named(self, identity: str) -> str | None:
        """Return the name of the person whose token has this id; None if it was removed."""
        entry = self._file.read().get(identity)
        return None if entry is None else str(entry["name"])

    def holder(self, token: str) -> str | None:
        """Return the id of a token; None if there is none like it."""
        given = _hash(token)
        found = [key for key, entry in self._file.read().items() if hmac.compare_digest(entry["hash"], given)]
        return found[0] if found else None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
