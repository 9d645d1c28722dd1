"""Logins: a cookie and a key, which every request to the API needs together.

A browser sends cookies to every port of a host, so that any other program on 127.0.0.1 that the person visits gets
ours; what a page has stored stays with its origin. And a page of another origin can make a browser send the cookie, but
not the header with the key. Neither alone is enough.

Both follow from the secret in the private file: a login needs no storage, and it outlives a restart. The cookie is
signed, and names who was let in and until when; the key is another signature of the cookie.
"""

from __future__ import annotations

import hashlib
import secrets

from tildone.value import value
from tildone.web.access.people import People
from tildone.web.access.secrets_file import BoardSecrets

LIFETIME_SECONDS = 30 * 24 * 3600
OWNER, TOKEN, PROXY = "o", "t", "p"
ID_BYTES = 16


@value
class Login:
    """A browser that was let in: its cookie and its key."""

    cookie: str
    key: str


@value
class Visitor:
    """Who sent a request. `name` is empty for the person who started the board. `login` tells logins apart."""

    name: str
    login: str


class Logins:
    """Makes logins and checks them."""

    def __init__(self, board_secrets: BoardSecrets, people: People) -> None:
        self._secrets, self._people = board_secrets, people

    def of_owner(self, now: int) -> Login:
        """Let in the person who started the board."""
        return self._login(OWNER, "", now)

    def of_token(self, identity: str, now: int) -> Login:
        """Let in a person who has a token."""
        return self._login(TOKEN, identity, now)

    def of_proxy(self, name: str, now: int) -> Login:
        """Let in a person whom a trusted proxy names."""
        return self._login(PROXY, _name_digest(name), now)

    def visitor(self, cookie: str, key: str, proxied: str, now: int) -> Visitor | None:
        """Return who sent a request with this cookie and key; None if they are not valid together.

        `proxied` is the person whom a trusted proxy names in the request; empty if none does.
        """
        message, _, signature = cookie.rpartition(".")
        parts = message.split(".")
        if not self._secrets.is_signed(f"cookie {message}", signature) or len(parts) != 4:  # noqa: PLR2004  as written
            return None
        if not self._secrets.is_signed(f"key {cookie}", key) or int(parts[3]) * 1000 < now:
            return None
        name = self._name(parts[0], parts[1], proxied)
        return None if name is None else Visitor(name, parts[2])

    def _name(self, kind: str, who: str, proxied: str) -> str | None:
        match kind:
            case "o":
                return ""
            case "t":
                return self._people.named(who)
            case _:
                return proxied if proxied and _name_digest(proxied) == who else None

    def _login(self, kind: str, who: str, now: int) -> Login:
        message = f"{kind}.{who}.{secrets.token_hex(ID_BYTES)}.{now // 1000 + LIFETIME_SECONDS}"
        cookie = f"{message}.{self._secrets.sign(f'cookie {message}')}"
        return Login(cookie, self._secrets.sign(f"key {cookie}"))


def _name_digest(name: str) -> str:
    """The cookie names nobody: it is a header, and headers are logged by proxies."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
