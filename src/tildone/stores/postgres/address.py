"""The URL of a database as libpq parameters, and as a name for messages that contains no secret."""

from __future__ import annotations

import os

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tildone.errors import UsageError
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

DEFAULT_PORT = "5432"
MAX_CONNECT_SECONDS = 10

# Defaults where the URL says nothing. With these, a peer that vanished is noticed within a minute instead of hours.
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
    """Where a database is: for libpq, and in words that name database and host and reveal no secret."""

    conninfo: str
    where: str


def address_of(url: str, timeout: float) -> Address:
    """Parse a libpq URL. What it leaves out comes from libpq's environment variables.

    A connection attempt takes at most `timeout` seconds.

    Raises:
        UsageError: it is no such URL.
    """
    try:
        given = conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        given = None
    # The driver's message is dropped: it may quote a part of the password.
    if given is None or _misread(given):
        raise UsageError(
            "the store's address can't be read; its form is postgresql://USER:PASSWORD@HOST/DATABASE, "
            "and in a name or a password @ is written %40, / is %2F, : is %3A and % is %25"
        ) from None
    settled: dict[str, Any] = DEFAULTS | given
    if not os.environ.get("PGCONNECT_TIMEOUT"):
        settled.setdefault("connect_timeout", int(min(MAX_CONNECT_SECONDS, max(1, timeout))))
    # Overrides the environment: names are sent as UTF-8.
    settled["client_encoding"] = "utf8"
    return Address(make_conninfo("", **settled), _where(given))


def _misread(given: dict[str, Any]) -> bool:
    """Whether an unescaped character of the password was taken for the separator before the host."""
    host, port, database = (given.get(name) or "" for name in ("host", "port", "dbname"))
    return "@" in host or "@" in database or not f"0{port}".replace(",", "").isdecimal()


def _where(given: dict[str, Any]) -> str:
    said = {name: given.get(name) or os.environ.get(variable) for name, variable in ENVIRONMENT.items()}
    if said["service"]:
        return f"service {said['service']}"
    database = said["dbname"] or said["user"] or "the user's own database"
    host = said["host"] or said["hostaddr"] or "the local server"
    port = said["port"]
    return f"{database} at {host}" if port in (None, DEFAULT_PORT) else f"{database} at {host}:{port}"
