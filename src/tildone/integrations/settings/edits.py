"""Edits of settings files: the entries that an installation adds to them, and how they are added and removed.

The files belong to other programs and are often written by hand. Four rules protect them: everything else in a file
keeps its bytes (comments, order, indentation, line ends); a file that can't be parsed is refused and not changed; an
entry that is not ours (`ours`) is never replaced or removed; and in an entry of ours, what others added stays until it
is removed as a whole.
"""

from __future__ import annotations

import tomllib

from tildone.errors import Refused
from tildone.integrations.settings import jsonc, toml
from tildone.integrations.settings.jsonc_scanner import InvalidJson
from tildone.integrations.settings.ours import NAME, hooks_of, is_our_hook, is_ours, places
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tildone.integrations.settings.toml_scanner import Path

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
    """Return the value at the place of an edit; None if there is none.

    Raises:
        Refused: the file can't be parsed.
    """
    try:
        return _get(edit, text, edit.path)
    except (InvalidJson, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{edit.file} cannot be parsed: {error}") from error


def contains(text: str, edit: Edit) -> bool:
    """Return whether the text of a file contains an entry of ours at the place of an edit.

    Raises:
        Refused: the file can't be parsed.
    """
    if isinstance(edit, WholeFile):
        return NAME in text
    if isinstance(edit, ObjectMember):
        return is_ours(get(edit, _source(edit, text)))
    return any(True for _ in places(get(edit, _source(edit, text)), edit.entry))


def put_in(text: str | None, edit: Edit) -> str:
    """Return the text of a file with the edit applied; a `text` of None means that the file does not exist yet.

    Raises:
        Refused: the file can't be parsed, or contains an entry in the same place that is not ours.
    """
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
    """Return the text of a file with the edit undone; None if the file is to be deleted.

    `before` is the text before the installation, None if there was no file.

    Raises:
        Refused: the file can't be parsed.
    """
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
