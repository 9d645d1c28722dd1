"""The small files in a folder of session files that hold a line of JSON for each record."""

from __future__ import annotations

import os

from tildone.files.atomic import replace_file
from tildone.files.durable import store_error
from tildone.files.private import PRIVATE_FILE
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_lines(folder: str, name: str) -> list[str]:
    """Return the lines of a file; none if there is no such file, or if it cannot be read."""
    try:
        with open(os.path.join(folder, name), encoding="ascii") as file:
            return file.read().splitlines()
    except (OSError, ValueError):
        return []


def write_lines(folder: str, name: str, lines: Sequence[str]) -> None:
    """Replace a file. The caller holds the folder's lock.

    Raises:
        StoreError: it cannot be written.
    """
    path = os.path.join(folder, name)
    try:
        replace_file(path, "".join(f"{line}\n" for line in lines).encode(), mode=PRIVATE_FILE, durable=False)
    except OSError as error:
        raise store_error(path, error) from error
