"""Stores as a person names them: by a path, a folder of session files, or the address of a server."""

from __future__ import annotations

import os

from tildone.cli.opening import settings_for
from tildone.config import JSONL, is_url
from tildone.errors import NotFound
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.wiring import open_store

if TYPE_CHECKING:
    from tildone.cli.parsing.args import Typed
    from tildone.config import Settings
    from tildone.log.store import Store


def settings_at(typed: Typed, store: str) -> Settings:
    """The settings that hold here, but for the store."""
    return settings_for(replace(typed, options={**typed.options, "store": store}))


def path_of(store: str) -> str | None:
    """Where in the file system the store is: its file, or its folder; None when it is on a server."""
    return None if is_url(store) else store.removeprefix(JSONL)


def file_of(store: str) -> str | None:
    """The file that the store is, if it is one."""
    return None if is_url(store) or store.startswith(JSONL) else store


def shown(store: str) -> str:
    """The store as it may be read by anybody: without a password."""
    if not is_url(store):
        return store
    scheme, _, rest = store.partition("://")
    said, at, host = rest.rpartition("@")
    return f"{scheme}://{said.partition(':')[0]}{at}{host.partition('?')[0]}"


def is_same(one: str, other: str) -> bool:
    """Whether two names are known to stand for the same store."""
    paths = path_of(one), path_of(other)
    if paths[0] is None or paths[1] is None:
        return one == other
    return os.path.realpath(paths[0]) == os.path.realpath(paths[1])


def existing(settings: Settings) -> Store:
    """The store, which is there already: looking for it makes none.

    Raises:
        NotFound: there is none.
    """
    path = path_of(settings.store)
    if path is not None and not os.path.exists(path):
        raise NotFound(f"there is no store at {path}")
    return open_store(settings)
