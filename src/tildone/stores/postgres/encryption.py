"""Whether a connection has to be encrypted: to another machine, unless the person asked for something else.

libpq's own default, `prefer`, falls back to a connection in clear text, over which it sends the password.
"""

from __future__ import annotations

import os
from configparser import Error, RawConfigParser
from ipaddress import ip_address

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ENCRYPTED, VERIFIED = "require", "verify-full"

_VARIABLES = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "service": "PGSERVICE",
}
_SERVICE_FILES = ("~/.pg_service.conf", "/etc/postgresql-common/pg_service.conf", "/etc/pg_service.conf")


def missing_sslmode(given: Mapping[str, Any]) -> str:
    """Return the `sslmode` for the parameters of an address; empty if it is given, or if the server is local.

    With a root certificate, the server has to prove who it is.
    """
    known = {name: given.get(name) or "" for name in _VARIABLES}
    service = known["service"] or os.environ.get(_VARIABLES["service"], "")
    defaults = _service(service) if service else {}
    for name, variable in _VARIABLES.items():
        known[name] = known[name] or defaults.get(name, "") or os.environ.get(variable, "")
    if known["sslmode"] or all(map(_is_local, (known["hostaddr"] or known["host"]).split(","))):
        return ""
    has_root = known["sslrootcert"] or os.path.exists(os.path.expanduser("~/.postgresql/root.crt"))
    return VERIFIED if has_root else ENCRYPTED


def _is_local(host: str) -> bool:
    """Return whether a host is this machine: a Unix socket, `localhost` or a loopback address."""
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _service(name: str) -> dict[str, str]:
    """Return the parameters of a service; none if it is not found."""
    files = os.environ.get("PGSERVICEFILE"), *map(os.path.expanduser, _SERVICE_FILES)
    for path in filter(None, files):
        parser = RawConfigParser(strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (Error, OSError, UnicodeDecodeError):
            continue
        if parser.has_section(name):
            return dict(parser[name])
    return {}
