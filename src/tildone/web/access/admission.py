"""Who is let in: by a one-time link, by a token of their own, or because a trusted proxy names them."""

from __future__ import annotations

import ipaddress

from starlette.datastructures import Headers
from starlette.requests import Request

from tildone.agents.person import clean_name
from tildone.ids import now
from tildone.value import value
from tildone.web.access.links import OneTimeLinks, Redeemed
from tildone.web.access.logins import Login, Logins, Visitor
from tildone.web.access.people import METRICS_FILE, People
from tildone.web.access.secrets_file import BoardSecrets
from tildone.web.http.answers import Problem

KEY_HEADER = "x-tildone-key"
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
        self.cookie = "tildone"

    def serve_port(self, port: int) -> None:
        """Name the cookie after the port: a browser has one set of cookies for all ports of a host."""
        self.cookie = f"tildone-{port}"

    @property
    def by_proxy(self) -> bool:
        """Whether people come in because a proxy names them."""
        return bool(self._trust.user_header)

    def enter(self, request: Request, token: str) -> tuple[Login, str]:
        """Let in who presents a token, or whom a proxy names. Return the login and the person's name.

        Raises:
            Problem: neither is so.
        """
        proxied = self.proxied(request)
        if not token:
            if not proxied:
                raise Problem(401, "This link is not complete.", "Open the board from a terminal: tildone board")
            return self._logins.of_proxy(proxied, now()), proxied
        identity = self.people.holder(token)
        if identity is not None:
            return self._logins.of_token(identity, now()), self.people.named(identity) or ""
        match self.links.redeem(token, now()) if self._with_links else Redeemed.UNKNOWN:
            case Redeemed.VALID:
                return self._logins.of_owner(now()), ""
            case Redeemed.USED:
                raise Problem(401, "This link was used.", NEW_KEY_HINT)
            case Redeemed.EXPIRED:
                raise Problem(401, "This link is too old.", "For a new one: tildone board")
            case Redeemed.UNKNOWN:
                raise Problem(401, "This link or token is not known here.", "For a new link: tildone board")

    def visitor(self, request: Request) -> Visitor:
        """Return who sent a request.

        Raises:
            Problem: its cookie and its key are not valid together.
        """
        cookie, key = request.cookies.get(self.cookie, ""), request.headers.get(KEY_HEADER, "")
        found = self._logins.visitor(cookie, key, self.proxied(request), now()) if cookie and key else None
        if found is None:
            raise Problem(401, "Sign in again: tildone board", "Open the link that it prints.")
        return found

    def check_scraper(self, request: Request) -> None:
        """Check that a request may read the figures: it has a token for them, or comes from a person who was let in.

        Raises:
            Problem: neither is so.
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
        """Return whether a request comes from a trusted proxy."""
        try:
            client = ipaddress.ip_address(request.client.host if request.client else "")
        except ValueError:
            return False
        return any(client in network for network in self._proxies)

    def is_secure(self, request: Request) -> bool:
        """Return whether a trusted proxy says that the person's connection is encrypted."""
        return self.is_proxy(request) and _last(request.headers, "x-forwarded-proto") == "https"


def _decoded(header: str) -> str:
    """Headers are read as Latin-1; proxies write UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


def _last(headers: Headers, name: str) -> str:
    return headers.get(name, "").rpartition(",")[2].strip().lower()
