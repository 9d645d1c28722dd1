"""Stores that a command is given: settings for one, whether two are the same, opening one that must exist."""

from __future__ import annotations

import os

from tildone.cli.opening import settings_for
from tildone.errors import NotFound
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.wiring import open_store

if TYPE_CHECKING:
    from tildone.cli.parsing.args import ParsedArgs
    from tildone.config import Settings
    from tildone.log.address import StoreAddress
    from tildone.log.store import Store


def settings_at(args: ParsedArgs, store: str) -> Settings:
    """The settings that hold here, but for the store."""
    return settings_for(replace(args, options={**args.options, "store": store}))


def is_same(one: StoreAddress, other: StoreAddress) -> bool:
    """Whether two addresses are known to name the same store."""
    if one.path is None or other.path is None:
        return one == other
    return os.path.realpath(one.path) == os.path.realpath(other.path)


def existing(settings: Settings) -> Store:
    """The store, which is there already: looking for it makes none.

    Raises:
        NotFound: there is none.
    """
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        raise NotFound(f"there is no store at {path}")
    return open_store(settings)
