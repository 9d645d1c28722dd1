"""The address of a database: what libpq is told to reach it, and what people are told of it."""

from __future__ import annotations

import os

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tildone.errors import UsageError
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

USUAL_PORT = "5432"
MOST_SECONDS = 10

# Said where the address does not say otherwise. A server that has gone without a word is noticed within a minute
# rather than within hours.
USUAL = {
    "fallback_application_name": "tildone",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

SAID = {
    "service": "PGSERVICE",
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
}


@value
class Address:
    """Where a database is."""

    conninfo: str
    where: str
    """In words that name the database and its host, and give no secret away."""


def address_of(url: str, timeout: float) -> Address:
    """The address that a URL of libpq's form stands for; what it leaves out comes from libpq's environment.

    A server that does not answer at all is not waited for longer than there is timeout.

    Raises:
        UsageError: it is no such URL.
    """
    try:
        given = conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        given = None
    # What the driver says of a URL it can't read, or reads wrongly, may hold a part of the password: so it is not said.
    if given is None or _misread(given):
        raise UsageError(
            "the store's address can't be read; its form is postgresql://USER:PASSWORD@HOST/DATABASE, "
            "and in a name or a password @ is written %40, / is %2F, : is %3A and % is %25"
        ) from None
    settled: dict[str, Any] = USUAL | given
    if not os.environ.get("PGCONNECT_TIMEOUT"):
        settled.setdefault("connect_timeout", int(min(MOST_SECONDS, max(1, timeout))))
    # Whatever the environment says of it: names are sent as UTF-8.
    settled["client_encoding"] = "utf8"
    return Address(make_conninfo("", **settled), _where(given))


def _misread(given: dict[str, Any]) -> bool:
    """Whether a sign in a password was taken for one that parts it from the host."""
    host, port, database = (given.get(name) or "" for name in ("host", "port", "dbname"))
    return "@" in host or "@" in database or not f"0{port}".replace(",", "").isdecimal()


def _where(given: dict[str, Any]) -> str:
    said = {name: given.get(name) or os.environ.get(variable) for name, variable in SAID.items()}
    if said["service"]:
        return f"service {said['service']}"
    database = said["dbname"] or said["user"] or "the user's own database"
    host = said["host"] or said["hostaddr"] or "the local server"
    port = said["port"]
    return f"{database} at {host}" if port in (None, USUAL_PORT) else f"{database} at {host}:{port}"
