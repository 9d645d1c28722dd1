"""The SQL in this folder: queries by name, migrations in order."""

from __future__ import annotations

import os
import re
from functools import cache

FOLDER = os.path.dirname(__file__)

_NAMED = re.compile(rb"^-- name: (\w+)$", re.MULTILINE)
_NUMBERED = re.compile(r"(\d{4})_(\w+)\.sql")


def query(name: str) -> bytes:
    """Return one of the queries in `queries.sql`."""
    return _queries()[name]


@cache
def migrations() -> tuple[tuple[int, str, bytes], ...]:
    """Return every migration in order: number, name, statements."""
    folder = os.path.join(FOLDER, "migrations")
    names = [_NUMBERED.fullmatch(file) for file in sorted(os.listdir(folder))]
    return tuple((int(name[1]), name[2], _read("migrations", name[0])) for name in names if name)


@cache
def _queries() -> dict[str, bytes]:
    _, *pieces = _NAMED.split(_read("queries.sql"))
    return {name.decode(): text.strip() for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _read(*names: str) -> bytes:
    with open(os.path.join(FOLDER, *names), "rb") as file:
        return file.read().replace(b"\r\n", b"\n")
