"""The URL of a database as libpq parameters, and as a description for messages without secrets."""

from __future__ import annotations

import os

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tildone.errors import UsageError
from tildone.stores.postgres.encryption import missing_sslmode
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

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

    A connection attempt takes at most `timeout` seconds. It is encrypted as `missing_sslmode` says.

    Raises:
        UsageError: it is not such a URL.
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
