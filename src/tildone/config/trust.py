"""Trust: which settings files of projects a person has approved, each with its exact content.

A settings file in a project comes with the repository, so somebody else may have written it. Only after `tildone trust`
do all of its settings apply, and only for as long as its content stays the same. A record is a file in the data folder
that holds the path of the settings file and the approved content, which is compared byte by byte.
"""

from __future__ import annotations

import os
from binascii import crc32

from tildone.files.atomic import remove_if_there, replace_file
from tildone.files.private import make_private_folder

FOLDER = "trusted"
MAX_NAME = 80


def is_trusted(data: str, path: str, content: bytes) -> bool:
    """Return whether a person has approved this content of the file at `path`. `data` is the data folder."""
    return trusted_content(data, path) == content


def trusted_content(data: str, path: str) -> bytes | None:
    """Return the content that a person approved for the file at `path`; None if there is none."""
    try:
        with open(_record(data, path), "rb") as file:
            record = file.read()
    except OSError:
        return None
    heading = _heading(path)
    return record[len(heading) :] if record.startswith(heading) else None


def set_trusted(data: str, path: str, content: bytes) -> None:
    """Record that a person approves this content of the file at `path`.

    Raises:
        OSError: the record cannot be written.
    """
    make_private_folder(os.path.join(data, FOLDER))
    replace_file(_record(data, path), _heading(path) + content, mode=0o600)


def revoke(data: str, path: str) -> bool:
    """Remove the approval of the file at `path`; return whether there was one."""
    was_trusted = trusted_content(data, path) is not None
    remove_if_there(_record(data, path))
    return was_trusted


def _record(data: str, path: str) -> str:
    """Return the path of the record. Two files whose records have the same name can't both be trusted."""
    encoded = os.fsencode(path)
    name = "".join(letter if letter.isalnum() else "-" for letter in path)[-MAX_NAME:]
    return os.path.join(data, FOLDER, f"{name}-{crc32(encoded):08x}")


def _heading(path: str) -> bytes:
    return os.fsencode(path) + b"\0"
