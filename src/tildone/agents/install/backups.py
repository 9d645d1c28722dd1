"""Which entries of settings files are ours, and backups: what each file contained without them, and what we wrote.

Backups are in a folder of tildone's own, never beside the file, which may be in a repository. A backup consists of the
text before the installation and a hash of the text after it. If a file still has that hash, nobody else has changed it,
and removal writes back the old bytes; otherwise the backup tells which empty objects and line ends were there before. A
file that did not exist before has no backup.

Earlier versions kept the text beside the file, with another suffix. It is read from there if there is nothing else, and
deleted by the next installation or removal.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from tildone.agents.install.toml import Path
from tildone.base import Refused, value
from tildone.base.files import remove_if_there, replace_file
from tildone.base.private import PRIVATE_FILE, make_private_folder

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


NAME = "tildone"
_HOOK_LINE = re.compile(rf"(?<![\w.-]){NAME}(?:\.exe|\.cmd)?[\"']?\s+hook\s+[\w-]")
_PROGRAM = re.compile(rf"{NAME}(?:\[[^\]]*\])?(?:\.exe|\.cmd)?(?:[@=<>~!].*)?")
_PROGRAM_OF_HOOK = re.compile(
    rf"""(?:'([^']*{NAME}(?:\.exe)?)'|"([^"]*{NAME}(?:\.exe)?)"|(\S*{NAME}(?:\.exe)?))\s+hook\s"""
)
_COMMANDS = ("command", "bash", "powershell")


def is_our_hook(hook: object) -> bool:
    """Return whether a hook, or a status line, runs tildone."""
    return isinstance(hook, dict) and any(_is_hook_line(hook.get(name)) for name in _COMMANDS)


def is_our_server(entry: object) -> bool:
    """Return whether an entry starts our MCP server."""
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command"), entry.get("args")
    words = command if isinstance(command, list) else [command, *(arguments if isinstance(arguments, list) else [])]
    names = [re.split(r"[/\\]", word)[-1] for word in words if isinstance(word, str)]
    return "mcp" in names and any(_PROGRAM.fullmatch(name) for name in names)


def is_ours(entry: object) -> bool:
    """Return whether an entry runs tildone, as a server, a hook or a group of hooks."""
    if not isinstance(entry, dict):
        return False
    return is_our_hook(entry) or is_our_server(entry) or any(map(is_our_hook, hooks_of(entry)))


def hooks_of(group: object) -> list[Any]:
    """Return the hooks in a group; none if it is no group."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def places(items: object, entry: object) -> Iterator[Path]:
    """Yield the paths, below an array of hooks or permissions, of the hooks and permissions that are ours.

    A permission is ours if it is the one that an installation adds (`entry`): people grant others that name tildone.
    """
    for index, item in enumerate(items if isinstance(items, list) else []):
        if not isinstance(entry, dict):
            if item == entry:
                yield (index,)
        elif is_our_hook(item):
            yield (index,)
        else:
            for number, hook in enumerate(hooks_of(item)):
                if is_our_hook(hook):
                    yield (index, "hooks", number)


def program_in(entry: object) -> str:
    """Return the path of the tildone that a command line or an argument vector names; empty if there is none."""
    if isinstance(entry, str):
        found = _PROGRAM_OF_HOOK.search(entry)
        return next(filter(None, found.groups()), "") if found else ""
    words = [word for word in entry if isinstance(word, str)] if isinstance(entry, list | tuple) else []
    return next((word for word in words if _PROGRAM.fullmatch(os.path.basename(word.replace("\\", "/")))), "")


def _is_hook_line(line: object) -> bool:
    return isinstance(line, str) and _HOOK_LINE.search(line) is not None
