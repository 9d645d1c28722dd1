"""One-time links: each lets one browser in, once, within five minutes.

The links are in a private file as hashes, so that a second `tildone board` can make one for a board that runs already,
and so that a link that was used is recognized after a restart: somebody else may have used it.
"""

from __future__ import annotations

import hashlib
import secrets
from enum import Enum
from typing import Any

from tildone.web.access.private_json import PrivateJson

FILE = "links.json"
TOKEN_BYTES = 16
VALID_MS = 5 * 60_000
REMEMBERED_MS = 24 * 3_600_000
"""For how long it is remembered that a link was used."""


class Redeemed(Enum):
    """What became of a link that a browser presented."""

    VALID = "valid"
    USED = "used"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


class OneTimeLinks:
    """The one-time links of this user's boards."""

    def __init__(self, folder: str) -> None:
        self._file = PrivateJson(folder, FILE)

    def create(self, now: int) -> str:
        """Return the token of a new link."""
        token = secrets.token_urlsafe(TOKEN_BYTES)

        def change(data: dict[str, Any]) -> dict[str, Any]:
            kept = {key: entry for key, entry in data.items() if entry["made"] > now - REMEMBERED_MS}
            return kept | {_hash(token): {"made": now, "used": False}}

        self._file.update(change)
        return token

    def redeem(self, token: str, now: int) -> Redeemed:
        """Use a link. Of several browsers that present it, one is let in."""
        result = Redeemed.UNKNOWN

        def change(data: dict[str, Any]) -> dict[str, Any]:
            nonlocal result
            entry = data.get(_hash(token))
            if entry is None:
                return data
            if entry["used"]:
                result = Redeemed.USED
                return data
            result = Redeemed.VALID if now - entry["made"] < VALID_MS else Redeemed.EXPIRED
            return data | {_hash(token): entry | {"used": result is Redeemed.VALID}}

        self._file.update(change)
        return result

    def discard(self) -> None:
        """Forget all links that were not used: they are no longer valid."""
        self._file.update(lambda data: {key: entry for key, entry in data.items() if entry["used"]})


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
