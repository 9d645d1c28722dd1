"""JSON files in the data folder that only their owner can read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from tildone.errors import TildoneError
from tildone.files.atomic import replace_file
from tildone.files.lock import FolderLock
from tildone.files.private import PRIVATE_FILE, make_private_folder

LOCK_SECONDS = 5.0


class PrivateJson:
    """A JSON object in a file with mode 0600. It is read again when another process has replaced the file."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder = folder
        self.path = os.path.join(folder, name)
        self._stamp: tuple[int, ...] = ()
        self._data: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Return the object; empty if there is no file.

        Raises:
            TildoneError: the file cannot be read, or holds no JSON object.
        """
        try:
            info = os.stat(self.path)
            stamp = (info.st_mtime_ns, info.st_ino, info.st_size)
            if stamp != self._stamp:
                with open(self.path, encoding="utf-8") as file:
                    data = json.load(file)
                if not isinstance(data, dict):
                    raise TildoneError(f"{self.path} is damaged; remove it")
                self._data, self._stamp = data, stamp
        except FileNotFoundError:
            self._data, self._stamp = {}, ()
        except OSError as error:
            raise TildoneError(f"{self.path}: {error.strerror}") from error
        except ValueError as error:
            raise TildoneError(f"{self.path} is damaged; remove it") from error
        return self._data

    def update(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Replace the object by what `change` returns for it, while no other process does, and return it.

        Raises:
            TildoneError: the file cannot be read or written.
        """
        try:
            make_private_folder(self._folder)
            with FolderLock(self._folder, LOCK_SECONDS):
                data = change(dict(self.read()))
                if data != self._data or not self._stamp:
                    replace_file(self.path, json.dumps(data, indent=1).encode(), mode=PRIVATE_FILE)
        except OSError as error:
            raise TildoneError(f"{self.path}: {error.strerror}") from error
        return self.read()
