"""The URL of a database as libpq parameters, and as a description for messages without secrets."""

import os
from collections.abc import Mapping
from configparser import Error, RawConfigParser
from ipaddress import ip_address
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tildone.base import UsageError, value

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


DEFAULT_PORT = "5432"
MAX_CONNECT_SECONDS = 10

# Defaults that the URL may override. With these, a dead peer is detected within a minute instead of hours.
DEFAULTS = {
    "fallback_application_name": "tildone",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

ENVIRONMENT = {
    "service": "PGSERVICE",
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
}


@value
class Address:
    """The address of a database: `conninfo` for libpq, `where` for messages, which contains no secret."""

    conninfo: str
    where: str


def address_of(url: str, timeout: float) -> Address:
    """Parse a libpq URL. Parameters that it omits come from libpq's environment variables.

    A connection attempt takes at most `timeout` seconds. It is encrypted as `missing_sslmode` says. Raises UsageError
    if it is not such a URL.
    """
    try:
        given = conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        given = None
    # The driver's message is dropped: it may quote a part of the password.
    if given is None or _is_misparsed(given):
        raise UsageError(
            "the store's address is not a valid URL; its form is postgresql://USER:PASSWORD@HOST/DATABASE, "
            "with @ in a name or password written as %40, / as %2F, : as %3A and % as %25"
        ) from None
    parameters: dict[str, Any] = DEFAULTS | given
    if not os.environ.get("PGCONNECT_TIMEOUT"):
        parameters.setdefault("connect_timeout", int(min(MAX_CONNECT_SECONDS, max(1, timeout))))
    sslmode = missing_sslmode(given)
    if sslmode:
        parameters["sslmode"] = sslmode
    # Overrides the environment: names are sent as UTF-8.
    parameters["client_encoding"] = "utf8"
    return Address(make_conninfo("", **parameters), _where(given))


def _is_misparsed(given: dict[str, Any]) -> bool:
    """Return whether an unescaped character of the password was parsed as the separator before the host."""
    host, port, database = (given.get(name) or "" for name in ("host", "port", "dbname"))
    return "@" in host or "@" in database or not f"0{port}".replace(",", "").isdecimal()


def _where(given: dict[str, Any]) -> str:
    parameters = {name: given.get(name) or os.environ.get(variable) for name, variable in ENVIRONMENT.items()}
    if parameters["service"]:
        return f"service {parameters['service']}"
    database = parameters["dbname"] or parameters["user"] or "the user's own database"
    host = parameters["host"] or parameters["hostaddr"] or "the local server"
    port = parameters["port"]
    return f"{database} at {host}" if port in (None, DEFAULT_PORT) else f"{database} at {host}:{port}"
