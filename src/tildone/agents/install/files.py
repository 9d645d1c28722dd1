"""Edits of settings files: the entries that an installation adds to them, and how they are added and removed.

The files belong to other programs and are often written by hand. Four rules protect them: everything else in a file
keeps its bytes (comments, order, indentation, line ends); a file that can't be parsed is refused and not changed; an
entry that is not ours (`is_ours`) is never replaced or removed; and in an entry of ours, what others added stays until
it is removed as a whole.

A file is replaced only if it is still as it was when its change was computed. Otherwise `write_all` computes the change
again, so that an edit that another program makes meanwhile is not lost. Between the last look and the replacement there
remains a moment; closing it would take a lock that the other program respects.

Each installation records what the file contains without our entries (`Backups`), in a folder of tildone's own, never
beside the file, which may be in a repository. A backup consists of the text before the installation and a hash of the
text after it. If a file still has that hash, nobody else has changed it, and removal writes back the old bytes;
otherwise only our entries are removed, and the backup tells which empty objects and line ends were there before. A file
that did not exist before has no backup. Earlier versions kept the text beside the file, with another suffix. It is read
from there if there is nothing else, and deleted by the next installation or removal.

The files in a project come with its repository, so they may be symbolic links that somebody else made. Such a link is
followed only to another place in the project (`within`); the links of a person in their home are followed anywhere.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from tildone.agents.install import jsonc, toml
from tildone.agents.install.jsonc import InvalidJson, Path
from tildone.base import Refused, value
from tildone.base.files import remove_if_there, replace_file
from tildone.base.private import PRIVATE_FILE, SHARED_FILE, make_private_folder, make_shared_folder, real_path_inside

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
        try:
            with open(self.path(file), encoding="utf-8", newline="") as opened:
                saved: dict[str, Any] = json.load(opened)
            return Backup(str(saved["before"]), str(saved["written"]))
        except (OSError, ValueError, KeyError, TypeError):
            return _legacy(file)

    def put(self, file: str, before: str, after: str) -> None:
        """Record what a file contained without our entries, and what it contains now."""
        saved = {"file": file, "before": before, "written": _digest(after)}
        try:
            make_private_folder(self.folder)
            replace_file(self.path(file), (json.dumps(saved, indent=1) + "\n").encode(), mode=PRIVATE_FILE)
            remove_if_there(file + LEGACY_SUFFIX)
        except OSError as error:
            raise Refused(f"cannot write a backup to {self.folder}: {error.strerror}") from error

    def drop(self, file: str) -> None:
        with suppress(OSError):
            remove_if_there(self.path(file))
            remove_if_there(file + LEGACY_SUFFIX)
            os.rmdir(self.folder)

    def path(self, file: str) -> str:
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
    """Yield the paths of our hooks below an array, or of the very permission that an installation adds.

    If the hooks of all events are in one array, only those for the event of the entry.
    """
    for index, item in enumerate(items if isinstance(items, list) else []):
        if not isinstance(entry, dict):
            if item == entry:
                yield (index,)
        elif is_our_hook(item):
            if item.get("event") == entry.get("event"):
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


EMPTY_FILES: tuple[dict[str, Any], ...] = ({}, {"version": 1})
"""What a settings file contains once our entries are removed, if it had no others."""


@value
class ObjectMember:
    """A member of an object in a JSON or TOML file. If it `yields`, a value that somebody else set stays."""

    file: str
    path: tuple[str, ...]
    entry: Any
    yields: bool = False


@value
class ArrayItem:
    """An item of an array in a JSON or TOML file: a hook, a group with one hook, or a permission."""

    file: str
    path: tuple[str, ...]
    entry: Any


@value
class WholeFile:
    """A file that is ours alone."""

    file: str
    text: str


Edit = ObjectMember | ArrayItem | WholeFile


def get(edit: ObjectMember | ArrayItem, text: str) -> Any:
    """Return the value at the place of an edit; None if there is none."""
    try:
        return _get(edit, text, edit.path)
    except (InvalidJson, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{edit.file} cannot be parsed: {error}") from error


def contains(text: str, edit: Edit) -> bool:
    """Return whether the text of a file contains an entry of ours at the place of an edit."""
    if isinstance(edit, WholeFile):
        return NAME in text
    if isinstance(edit, ObjectMember):
        return is_ours(get(edit, _source(edit, text)))
    return any(True for _ in places(get(edit, _source(edit, text)), edit.entry))


def put_in(text: str | None, edit: Edit) -> str:
    """Return the text of a file with the edit applied; a `text` of None means that the file does not exist yet."""
    if isinstance(edit, WholeFile):
        if text is not None and text != edit.text and NAME not in text:
            raise Refused(f"{edit.file} was not written by tildone; move it away first")
        return edit.text
    try:
        source = _source(edit, text)
        if isinstance(edit, ArrayItem):
            return _with_item(source, edit)
        after = _with_member(source, edit)
        return after if after != source or text is not None else ""
    except (InvalidJson, tomllib.TOMLDecodeError) as error:
        raise _unparsable(edit, error) from error
    except Refused as error:
        raise Refused(f"{edit.file}: {error}; nothing was changed") from error


def take_out(text: str, edit: Edit, before: str | None) -> str | None:
    """Return the text of a file with the edit undone; None to delete it. `before` is that before the installation."""
    if isinstance(edit, WholeFile):
        return None if NAME in text else text
    try:
        if _is_toml(edit):
            return _toml_without(text, edit, before)
        return _json_without(_source(edit, text), edit, before)
    except (InvalidJson, tomllib.TOMLDecodeError) as error:
        raise _unparsable(edit, error) from error


def _with_member(text: str, edit: ObjectMember) -> str:
    present = _get(edit, text, edit.path)
    if present is not None and present != edit.entry and not is_ours(present):
        if edit.yields:
            return text
        raise Refused(f"{'.'.join(edit.path)} is already set, and not by tildone")
    return _merged(edit, text, edit.path, edit.entry)


def _with_item(text: str, edit: ArrayItem) -> str:
    """Return the text with our item: an earlier one is updated where it is, because others may count on its place."""
    ours = [*places(_get(edit, text, edit.path), edit.entry)]
    if not ours:
        if _is_toml(edit):
            return toml.append(toml.without_markers(text), edit.path, edit.entry)
        return jsonc.append(text, edit.path, edit.entry)
    for place in reversed(ours[1:]):
        text = _removed(edit, text, place)
    first = ours[0]
    if not isinstance(edit.entry, dict):
        return text
    if len(first) == 1:
        return _merged(edit, text, (*edit.path, *first), edit.entry)
    group = _get(edit, text, (*edit.path, first[0]))
    if all(map(is_our_hook, hooks_of(group))):
        rest = {key: item for key, item in edit.entry.items() if key != "hooks"}
        text = _merged(edit, text, (*edit.path, first[0]), rest)
    return _merged(edit, text, (*edit.path, *first), edit.entry["hooks"][0])


def _json_without(text: str, edit: ObjectMember | ArrayItem, before: str | None) -> str | None:
    was = _source(edit, before)
    if isinstance(edit, ArrayItem):
        for event in _arrays(edit, text):
            text = jsonc.prune(_without_items(text, edit, event), event, was)
    else:
        present = jsonc.get(text, edit.path)
        added = not is_ours(edit.entry) and present == edit.entry and jsonc.get(was, edit.path) is None
        if is_ours(present) or added:
            text = jsonc.prune(jsonc.remove(text, edit.path), edit.path[:-1], was)
    text = jsonc.emptied_as(text, edit.path, was)
    has_comments = "//" in text or "/*" in text
    return None if before is None and jsonc.get(text, ()) in EMPTY_FILES and not has_comments else text


def _toml_without(text: str, edit: ObjectMember | ArrayItem, before: str | None) -> str | None:
    text = after = toml.without_markers(text)
    if isinstance(edit, ArrayItem):
        for event in _arrays(edit, after):
            after = toml.prune(_without_items(after, edit, event), event, before or "")
    elif is_ours(toml.get(after, edit.path)):
        after = toml.prune(toml.remove(after, edit.path), edit.path[:-1], before or "")
    was = (before or "").removeprefix("\ufeff")
    if was and not was.endswith("\n") and text != after and text.startswith(after):
        # The entry was the last one: the line end in front of it was not there before.
        after = after.removesuffix("\n").removesuffix("\r")
    return after if after or before is not None else None


def _arrays(edit: ArrayItem, text: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the arrays that may contain items like this; for a hook, those of all events."""
    events = _get(edit, text, edit.path[:-1])
    if not isinstance(edit.entry, dict) or not isinstance(events, dict):
        yield edit.path
        return
    for event in [*events]:
        yield (*edit.path[:-1], event)


def _without_items(text: str, edit: ArrayItem, path: tuple[str, ...]) -> str:
    edit = ArrayItem(edit.file, path, edit.entry)
    for place in reversed([*places(_get(edit, text, path), edit.entry)]):
        text = _removed(edit, text, place)
    return text


def _removed(edit: ArrayItem, text: str, place: Path) -> str:
    """Return the text without one of our hooks; with its group, if the group contains no other."""
    path: Path = (*edit.path, *place)
    if len(place) > 1 and len(hooks_of(_get(edit, text, (*edit.path, place[0])))) == 1:
        path = (*edit.path, place[0])
    return toml.remove(text, path) if _is_toml(edit) else jsonc.remove(text, path)


def _merged(edit: Edit, text: str, path: Path, entry: Any) -> str:
    return toml.merge(toml.without_markers(text), path, entry) if _is_toml(edit) else jsonc.merge(text, path, entry)


def _get(edit: Edit, text: str, path: Path) -> Any:
    return toml.get(text, path) if _is_toml(edit) else jsonc.get(text, path)


def _source(edit: Edit, text: str | None) -> str:
    if _is_toml(edit):
        return text or ""
    return text if text is not None and text.strip("\ufeff \t\r\n") else "{}\n"


def _is_toml(edit: Edit) -> bool:
    return edit.file.endswith(".toml")


def _unparsable(edit: Edit, error: ValueError) -> Refused:
    return Refused(f"{edit.file} can't be parsed ({error}); nothing was changed")


MAX_ATTEMPTS = 5


class FileChanged(Refused):
    """Another program has changed a file since it was read."""


@value
class SettingsChange:
    """A file before, after, and without our entries (None: no file). It must not be outside of `within`, if given."""

    file: str
    before: str | None
    after: str | None
    without_ours: str | None = None
    within: str = ""


def install_changes(edits: Sequence[Edit], backups: Backups, within: str = "") -> list[SettingsChange]:
    """Return the changes that applying these edits makes."""
    changes = []
    for file, own in _by_file(edits, within).items():
        before = after = read(file)
        for edit in own:
            after = put_in(after, edit) or None
        if after != before:
            changes.append(SettingsChange(file, before, after, _without_ours(file, before, own, backups), within))
    return changes


def uninstall_changes(edits: Sequence[Edit], backups: Backups, within: str = "") -> list[SettingsChange]:
    """Return the changes that undoing these edits makes."""
    changes = []
    for file, own in _by_file(edits, within).items():
        before = read(file)
        after = _without_ours(file, before, own, backups)
        if before is not None and after != before:
            changes.append(SettingsChange(file, before, after, after, within))
    return changes


def _by_file(edits: Iterable[Edit], within: str) -> dict[str, list[Edit]]:
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        file = real_path_inside(within, edit.file) if within else os.path.realpath(edit.file)
        by_file.setdefault(file, []).append(edit)
    return by_file


def _without_ours(file: str, text: str | None, edits: Sequence[Edit], backups: Backups) -> str | None:
    """Return the text of a file without our entries; None if there would be no file."""
    backup = backups.get(file)
    if backup is not None and backup.matches(text):
        return backup.text
    if text is None or (backup is None and not any(contains(text, edit) for edit in edits)):
        return text
    before = backup.text if backup is not None else None
    for edit in edits:
        text = take_out(text, edit, before) if text is not None else None
    return text


def write_all(
    changes: list[SettingsChange], write: Callable[[SettingsChange], None], again: Callable[[], list[SettingsChange]]
) -> None:
    """Write all changes with `install` or `uninstall`; if a file has changed meanwhile, those that `again` computes."""
    for attempt in range(MAX_ATTEMPTS):
        try:
            for change in changes:
                write(change)
        except FileChanged:
            if attempt + 1 == MAX_ATTEMPTS:
                raise
            changes = again()
        else:
            return


def read(file: str) -> str | None:
    """Return the text of a file with its line ends as they are; None if there is no such file."""
    try:
        with open(file, "rb") as opened:
            return opened.read().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise Refused(f"{file} can't be read (it is not UTF-8 text); nothing was changed") from error
    except OSError as error:
        raise Refused(f"{file} can't be read ({error.strerror}); nothing was changed") from error


def install(change: SettingsChange, backups: Backups) -> None:
    """Write a changed file, after recording what it contains without our entries."""
    _check_unchanged(change)
    _check_writable(change.file)
    if change.without_ours is None:
        backups.drop(change.file)
    else:
        backups.put(change.file, change.without_ours, change.after or "")
    _write(change, change.after or "")


def uninstall(change: SettingsChange, backups: Backups) -> None:
    """Write a changed file, or remove it if nothing is left in it, and forget its backup."""
    _check_unchanged(change)
    if change.after is None:
        try:
            os.remove(change.file)
        except OSError as error:
            raise Refused(f"cannot remove {change.file}: {error.strerror}") from error
        with suppress(OSError):
            os.rmdir(os.path.dirname(change.file))
    else:
        _check_writable(change.file)
        _write(change, change.after)
    backups.drop(change.file)


def forget(edits: Iterable[Edit], backups: Backups, within: str = "") -> None:
    """Delete the backups of the files of these edits, when nothing of ours is in them."""
    for file in _by_file(edits, within):
        backups.drop(file)


def _check_unchanged(change: SettingsChange) -> None:
    if change.within:
        real_path_inside(change.within, change.file)
    if read(change.file) != change.before:
        raise FileChanged(f"another program is changing {change.file}; try again when it has finished")


def _check_writable(file: str) -> None:
    if os.path.exists(file) and not os.access(file, os.W_OK):
        raise Refused(f"cannot write {file}: it is read-only")


def _write(change: SettingsChange, text: str) -> None:
    """Write a file atomically, with the permissions that it has if it exists."""
    file = change.file
    try:
        like = os.stat(file) if os.path.exists(file) else None
        (make_shared_folder if change.within else make_private_folder)(os.path.dirname(file))
        replace_file(file, text.encode(), like=like, mode=SHARED_FILE if change.within else PRIVATE_FILE)
    except OSError as error:
        raise Refused(f"cannot write {file}: {error.strerror}") from error
