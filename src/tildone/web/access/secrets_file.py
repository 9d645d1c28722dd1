"""The two secrets of the boards of this user: one signs logins, the other makes addresses unguessable."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from tildone.web.access.private_json import PrivateJson

FILE = "keys.json"
LOGIN, ADDRESS = "login", "address"
SECRET_BYTES = 32


class BoardSecrets:
    """The secrets in the file `keys.json`, which is created when it is missing."""

    def __init__(self, folder: str) -> None:
        self._file = PrivateJson(folder, FILE)

    def sign(self, message: str) -> str:
        """Return the signature of a text about a login: 64 hexadecimal digits."""
        return _mac(self._secret(LOGIN), message)

    def is_signed(self, message: str, signature: str) -> bool:
        """Return whether `sign` returned this signature for the text, compared in constant time."""
        return hmac.compare_digest(self.sign(message).encode(), signature.encode("utf-8", "replace"))

    def digest(self, text: str) -> str:
        """Return hexadecimal digits that tell nothing about the text to those who have not got the secret."""
        return _mac(self._secret(ADDRESS), text)

    def renew(self) -> None:
        """Replace the secret that signs logins: all logins end."""
        self._file.update(lambda data: data | {LOGIN: secrets.token_hex(SECRET_BYTES)})

    def _secret(self, name: str) -> bytes:
        found = self._file.read().get(name)
        if not isinstance(found, str):
            found = self._file.update(_completed)[name]
        return bytes.fromhex(found)


def _completed(data: dict[str, Any]) -> dict[str, Any]:
    return {name: secrets.token_hex(SECRET_BYTES) for name in (LOGIN, ADDRESS)} | data


def _mac(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
