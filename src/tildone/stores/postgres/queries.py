"""The SQL in this folder: queries by name, migrations in order."""

from __future__ import annotations

import os
import re
from functools import cache

FOLDER = os.path.dirname(__file__)

CONTEXT = r"""
    tildone.clock(), s.head, CASE WHEN starts_with(s.head, '\#') THEN
        (SELECT e.body FROM tildone.events e WHERE e.session = s.id AND e.id = s.head)
    END
"""
"""What a change of a lease needs besides the lease."""

_NAMED = re.compile(rb"^-- name: (\w+)$", re.MULTILINE)
_NUMBERED = re.compile(r"(\d{4})_(\w+)\.sql")


def query(name: str) -> bytes:
    """Return one of the queries in `queries.sql` or `fleet.sql`."""
    return _queries().get(name) or _fleet_queries()[name]


@cache
def migrations() -> tuple[tuple[int, str, bytes], ...]:
    """Return every migration in order: number, name, statements."""
    folder = os.path.join(FOLDER, "migrations")
    names = [_NUMBERED.fullmatch(file) for file in sorted(os.listdir(folder))]
    return tuple((int(name[1]), name[2], _read("migrations", name[0])) for name in names if name)


@cache
def _queries() -> dict[str, bytes]:
    return _split(_read("queries.sql"))


@cache
def _fleet_queries() -> dict[str, bytes]:
    # Late, because few processes ask for leases.
    from tildone.stores.lease_rows import CHANGING_COLUMNS, COLUMNS  # noqa: PLC0415  see above

    words = {
        "COLUMNS": ", ".join(
            "coalesce(s.long_name, l.session)" if name == "session" else f"l.{name}" for name in COLUMNS
        ),
        "CONTEXT": CONTEXT,
        "NAMES": ", ".join(COLUMNS),
        "PARAMETERS": ", ".join(f"%({name})s" for name in COLUMNS),
        "CHANGES": ", ".join(f"{name} = %({name})s" for name in CHANGING_COLUMNS),
    }
    text = _read("fleet.sql")
    for word, names in words.items():
        text = text.replace(word.encode(), names.encode())
    return _split(text)


def _split(text: bytes) -> dict[str, bytes]:
    """Return the queries of a file by name."""
    _, *pieces = _NAMED.split(text)
    return {name.decode(): text.strip() for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _read(*names: str) -> bytes:
    with open(os.path.join(FOLDER, *names), "rb") as file:
        return file.read().replace(b"\r\n", b"\n")
