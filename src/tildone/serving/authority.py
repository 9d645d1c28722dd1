"""Hosts and origins as headers name them, parsed exactly: whatever else is in a header makes it invalid."""

from __future__ import annotations

import ipaddress
import re

from tildone.value import value

MAX_PORT = 65_535
SCHEME_PORTS = {"http": 80, "https": 443}

_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_-]+(?:\.[a-z0-9_-]+)*))(?::([0-9]{1,5}))?", re.ASCII)
_ORIGIN = re.compile(r"(https?)://([^/?#@\s\\]+)", re.ASCII)


@value
class Authority:
    """A host name or IP address without brackets, in lower case, and a port if there is one."""

    host: str
    port: int | None = None


def parse_host(header: str) -> Authority | None:
    """Return the host and port of a `Host` header; None if it is anything but a host and perhaps a port."""
    found = _AUTHORITY.fullmatch(header.lower())
    if found is None:
        return None
    port = None if found[3] is None else int(found[3])
    if (port is not None and not 0 < port <= MAX_PORT) or (found[1] is not None and not is_ip_address(found[1])):
        return None
    return Authority(found[1] or found[2], port)


def parse_origin(header: str) -> Authority | None:
    """Return the host and port of an `Origin` header, with the default port of its scheme; None if it has none."""
    found = _ORIGIN.fullmatch(header.lower())
    authority = parse_host(found[2]) if found else None
    if found is None or authority is None:
        return None
    return Authority(authority.host, authority.port or SCHEME_PORTS[found[1]])


def is_ip_address(name: str) -> bool:
    """Return whether the name is an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
