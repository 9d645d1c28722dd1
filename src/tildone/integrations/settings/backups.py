"""Backups of settings files: what each contained without our entries, and what the last installation wrote.

They are in a folder of tildone's own, never beside the file, which may be in a repository. A backup consists of the
text before the installation and a hash of the text after it. If a file still has that hash, nobody else has changed it,
and removal writes back the old bytes; otherwise the backup tells which empty objects and line ends were there before. A
file that did not exist before has no backup.

Earlier versions kept the text beside the file, with another suffix. It is read from there if there is nothing else, and
deleted by the next installation or removal.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256

from tildone.errors import Refused
from tildone.files.atomic import remove_if_there, replace_file
from tildone.files.private import PRIVATE_FILE, make_private_folder
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from typing import Any

FOLDER = "settings-backups"
LEGACY_SUFFIX = ".tildone-backup"


@value
class Backup:
    """The text of a file without our entries, and the hash of what we wrote."""

    text: str
    written: str = ""

    def matches(self, text: str | None) -> bool:
        """Return whether a text is what the last installation wrote."""
        return text is not None and self.written == _digest(text)


class Backups:
    """The backups in a folder below tildone's data."""

    def __init__(self, data: str) -> None:
        self.folder = os.path.join(data, FOLDER)

    def get(self, file: str) -> Backup | None:
        """Return the backup of a file; None if there is none."""
        try:
            with open(self.path(file), encoding="utf-8", newline="") as opened:
                saved: dict[str, Any] = json.load(opened)
            return Backup(str(saved["before"]), str(saved["written"]))
        except (OSError, ValueError, KeyError, TypeError):
            return _legacy(file)

    def put(self, file: str, before: str, after: str) -> None:
        """Record what a file contained without our entries, and what it contains now.

        Raises:
            Refused: the folder cannot be written.
        """
        saved = {"file": file, "before": before, "written": _digest(after)}
        try:
            make_private_folder(self.folder)
            replace_file(self.path(file), (json.dumps(saved, indent=1) + "\n").encode(), mode=PRIVATE_FILE)
            remove_if_there(file + LEGACY_SUFFIX)
        except OSError as error:
            raise Refused(f"cannot write a backup to {self.folder}: {error.strerror}") from error

    def drop(self, file: str) -> None:
        """Delete the backup of a file, and the folder if it is empty then."""
        try:
            remove_if_there(self.path(file))
            remove_if_there(file + LEGACY_SUFFIX)
            os.rmdir(self.folder)
        except OSError:
            return

    def path(self, file: str) -> str:
        """Return where the backup of a file is."""
        return os.path.join(self.folder, f"{os.path.basename(file)}-{_digest(file)[:12]}.json")


def _legacy(file: str) -> Backup | None:
    try:
        with open(file + LEGACY_SUFFIX, "rb") as opened:
            return Backup(opened.read().decode())
    except (OSError, UnicodeDecodeError):
        return None


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
