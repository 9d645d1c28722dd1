"""Which host names a server answers to, and from which origins it takes requests.

A web page in a browser on this machine can also send requests here: by DNS rebinding (its own host name resolves to
this machine), or across origins, such as that of a development server on another port. The checks of `Host` and
`Origin` prevent both, even if the page knows a token or the server has none.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence

from tildone.serving.authority import SCHEME_PORTS, Authority, is_ip_address, parse_host, parse_origin

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ALL_INTERFACES = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  to recognise, not to bind


class ServedNames:
    """The names of a server that listens on `host`, and of the proxies in front of it."""

    def __init__(self, host: str, public: Iterable[str] = ()) -> None:
        self._all_interfaces = host in ALL_INTERFACES
        self._names = server_names(host).union(public)

    def host_of(self, hosts: Sequence[str]) -> Authority | None:
        """Return the host of a request from its `Host` headers; None if it is not one of this server."""
        host = parse_host(hosts[0]) if len(hosts) == 1 else None
        return host if host and self._is_served(host.host) else None

    def is_same_origin(self, origins: Sequence[str], host: Authority, port: int | None) -> bool:
        """Return whether a page of that origin was served where the request was sent to, or there is no origin.

        That is here, under any name of the server, or at the address that the client used: a proxy's may differ. `port`
        is the one served.
        """
        if not origins:
            return True
        origin = parse_origin(origins[0]) if len(origins) == 1 else None
        if origin is None:
            return False
        if origin.host == host.host and origin.port in ((host.port,) if host.port else SCHEME_PORTS.values()):
            return True
        return self._is_served(origin.host) and origin.port == port

    def _is_served(self, name: str) -> bool:
        return name in self._names or (self._all_interfaces and is_ip_address(name))


def is_loopback(host: str) -> bool:
    """Return whether a server on that host can be reached from this machine only."""
    return host.lower() == "localhost" or (is_ip_address(host) and ipaddress.ip_address(host).is_loopback)


def server_names(host: str) -> frozenset[str]:
    """Return the host names by which clients may address a server that listens on `host`."""
    if is_loopback(host):
        return LOOPBACK_NAMES | {host.lower()}
    if host in ALL_INTERFACES:
        return LOOPBACK_NAMES | {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset({host.lower()})
