"""Who is let in: by a one-time link, by a token of their own, or because a trusted proxy names them.

The tokens of links and people are kept as hashes, and the secrets as they are, in private files of JSON.
"""

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
from collections.abc import Callable
from enum import Enum
from typing import Any

from starlette.requests import Request

from tildone.app.person import clean_name
from tildone.base import NotFound, Refused, TildoneError, UsageError, value
from tildone.base.durable import FolderLock
from tildone.base.files import replace_file
from tildone.base.ids import now
from tildone.base.private import PRIVATE_FILE, make_private_folder
from tildone.screens.board.http import Problem

LOCK_SECONDS = 5.0


class PrivateJson:
    """A JSON object in a file with mode 0600. It is read again when another process has replaced the file."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self.path = os.path.join(folder, name)
        self._stamp: tuple[int, ...] = ()
        self._data: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Return the object; empty if there is no file.

        Raises TildoneError if the file cannot be read, or holds no JSON object.
        """
        try:
            info = os.stat(self.path)
            stamp = (info.st_mtime_ns, info.st_ino, info.st_size)
            if stamp != self._stamp:
                with open(self.path, encoding="utf-8") as file:
                    data = json.load(file)
                if not isinstance(data, dict):
                    raise TildoneError(f"{self.path} is damaged; remove it")
                self._data, self._stamp = data, stamp
        except FileNotFoundError:
            self._data, self._stamp = {}, ()
        except OSError as error:
            raise TildoneError(f"{self.path}: {error.strerror}") from error
        except ValueError as error:
            raise TildoneError(f"{self.path} is damaged; remove it") from error
        return self._data

    def update(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replace the object by what `change` returns for it, while no other process does, and return it.

        Raises TildoneError if the file cannot be read or written.
        """
        try:
            make_private_folder(self._folder)
            with FolderLock(self._folder, LOCK_SECONDS):
                data = change(dict(self.read()))
                if data != self._data or not self._stamp:
                    replace_file(self.path, json.dumps(data, indent=1).encode(), mode=PRIVATE_FILE)
        except OSError as error:
            raise TildoneError(f"{self.path}: {error.strerror}") from error
        return self.read()


LINKS_FILE = "links.json"
LINK_BYTES = 16
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
        self._file = PrivateJson(folder, LINKS_FILE)

    def create(self, now: int) -> str:
        token = secrets.token_urlsafe(LINK_BYTES)

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


FILE = "people.json"
METRICS_FILE = "metrics.json"
"""The tokens that may read `/metrics`, and nothing else."""

TOKEN_BYTES = 32
TOKEN_ID_BYTES = 6


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

        Raises UsageError if the name has no visible character, Refused if there is a token of this name.
        """
        name = clean_name(name)
        if not name:
            raise UsageError("a token needs the name of a person")
        token, identity = secrets.token_urlsafe(TOKEN_BYTES), secrets.token_hex(TOKEN_ID_BYTES)

        def change(data: dict[str, Any]) -> dict[str, Any]:
            if any(entry["name"] == name for entry in data.values()):
                raise Refused(f"there is a token of {name!r} already; to replace it: tildone board token remove NAME")
            return data | {identity: {"name": name, "added": now, "hash": _hash(token)}}

        self._file.update(change)
        return token

    def remove(self, name: str) -> None:
        """Remove a person's token. All logins with it end. Raises NotFound if there is no token of this name."""

        def change(data: dict[str, Any]) -> dict[str, Any]:
            kept = {key: entry for key, entry in data.items() if entry["name"] != clean_name(name)}
            if len(kept) == len(data):
                raise NotFound(f"there is no token of {name!r}; to list them: tildone board token")
            return kept

        self._file.update(change)

    def all(self) -> list[PersonToken]:
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


SECRETS_FILE = "keys.json"
LOGIN, ADDRESS = "login", "address"
SECRET_BYTES = 32


class BoardSecrets:
    """The secrets in the file `keys.json`, which is created when it is missing."""

    def __init__(self, folder: str) -> None:
        self._file = PrivateJson(folder, SECRETS_FILE)

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


LIFETIME_SECONDS = 30 * 24 * 3600
OWNER, TOKEN, PROXY = "o", "t", "p"
LOGIN_ID_BYTES = 16


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
    """Makes logins, of a cookie and a key, and checks them: every request to the API needs both.

    A browser sends cookies to every port of a host, so that any other program on 127.0.0.1 that the person visits gets
    ours; what a page has stored stays with its origin. And a page of another origin can make a browser send the cookie,
    but not the header with the key. Neither alone is enough.

    Both follow from the secret in the private file: a login needs no storage, and it outlives a restart. The cookie is
    signed, and names who was let in and until when; the key is another signature of the cookie.
    """

    def __init__(self, board_secrets: BoardSecrets, people: People) -> None:
        self._secrets, self._people = board_secrets, people

    def create(self, kind: str, who: str, now: int) -> Login:
        """Let in the OWNER, whoever has the TOKEN with the id `who`, or the person of this name at a PROXY."""
        who = _name_digest(who) if kind == PROXY else who
        message = f"{kind}.{who}.{secrets.token_hex(LOGIN_ID_BYTES)}.{now // 1000 + LIFETIME_SECONDS}"
        cookie = f"{message}.{self._secrets.sign(f'cookie {message}')}"
        return Login(cookie, self._secrets.sign(f"key {cookie}"))

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
        kind, who, login, _ = parts
        if kind == OWNER:
            return Visitor("", login)
        named = self._people.named(who) if kind == TOKEN else proxied if _name_digest(proxied) == who else None
        return Visitor(named, login) if named else None


def _name_digest(name: str) -> str:
    """The cookie names nobody: it is a header, and headers are logged by proxies."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


KEY_HEADER = "x-tildone-key"
NEW_LINK_HINT = "For a new link: tildone board"
NEW_KEY_HINT = "If that was not you: tildone board --new-key"


@value
class ProxyTrust:
    """The proxies whose word counts, and the header in which they name the person; empty if there are none."""

    addresses: tuple[str, ...] = ()
    user_header: str = ""


class Admission:
    """Lets people in, and recognizes those who were. `folder` holds the private files; `port` is the one served."""

    def __init__(self, folder: str, trust: ProxyTrust, *, with_links: bool) -> None:
        self.secrets, self.links, self.people = BoardSecrets(folder), OneTimeLinks(folder), People(folder)
        self._logins = Logins(self.secrets, self.people)
        self._scrapers = People(folder, METRICS_FILE)
        self._trust, self._with_links = trust, with_links
        self._proxies = [ipaddress.ip_network(address, strict=False) for address in trust.addresses]
        self.cookie = ""
        """It is named after the port: a browser has one set of cookies for all ports of a host."""

    @property
    def by_proxy(self) -> bool:
        return bool(self._trust.user_header)

    def enter(self, request: Request, token: str) -> tuple[Login, str]:
        """Let in who presents a token, or whom a proxy names; return login and name. Raises Problem otherwise."""
        proxied = self.proxied(request)
        if not token:
            if not proxied:
                if self.by_proxy:
                    raise Problem(401, "The proxy does not say who you are.", "Sign in there first.")
                raise Problem(401, "This link is not complete.", NEW_LINK_HINT)
            return self._logins.create(PROXY, proxied, now()), proxied
        identity = self.people.holder(token)
        if identity is not None:
            return self._logins.create(TOKEN, identity, now()), self.people.named(identity) or ""
        match self.links.redeem(token, now()) if self._with_links else Redeemed.UNKNOWN:
            case Redeemed.VALID:
                return self._logins.create(OWNER, "", now()), ""
            case Redeemed.USED:
                raise Problem(401, "This link was used.", NEW_KEY_HINT)
            case Redeemed.EXPIRED:
                raise Problem(401, "This link is too old.", NEW_LINK_HINT)
            case Redeemed.UNKNOWN:
                raise Problem(401, "This link or token is not known here.", NEW_LINK_HINT)

    def visitor(self, request: Request) -> Visitor:
        """Return who sent a request. Raises Problem if its cookie and its key are not valid together."""
        cookie, key = request.cookies.get(self.cookie, ""), request.headers.get(KEY_HEADER, "")
        found = self._logins.visitor(cookie, key, self.proxied(request), now()) if cookie and key else None
        if found is None:
            raise Problem(401, "Sign in again: tildone board", "Open the link that it prints.")
        return found

    def check_scraper(self, request: Request) -> None:
        """Check that a request may read the figures: it has a token for them, or comes from a person who was let in.

        Raises Problem if neither is so.
        """
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            self.visitor(request)
        elif self._scrapers.holder(token.strip()) is None:
            raise Problem(401, "This token is not known here.", "To make one: tildone board token add NAME --metrics")

    def proxied(self, request: Request) -> str:
        """Return the person whom a trusted proxy names; empty if there is none."""
        if not self.by_proxy or not self.is_proxy(request):
            return ""
        named = request.headers.getlist(self._trust.user_header)
        return clean_name(_decoded(named[0])) if len(named) == 1 else ""

    def is_proxy(self, request: Request) -> bool:
        try:
            client = ipaddress.ip_address(request.client.host if request.client else "")
        except ValueError:
            return False
        return any(client in network for network in self._proxies)

    def is_secure(self, request: Request) -> bool:
        """Return whether a trusted proxy says that the person's connection is encrypted."""
        proto = request.headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        return self.is_proxy(request) and proto == "https"


def _decoded(header: str) -> str:
    """Headers are read as Latin-1; proxies write UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header
