"""Opens what a verb works on: the settings of this command line, the store and the session they name."""

from __future__ import annotations

import os

from tildone.config import Settings, load
from tildone.dialects import DIALECTS
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import NotFound, UsageError, nearest
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.wiring import dialect_of_session, open_session, open_store

if TYPE_CHECKING:
    from tildone.cli.parsing.table import ParsedArgs
    from tildone.log.address import StoreAddress
    from tildone.log.store import Store
    from tildone.session import Session


def settings_for(args: ParsedArgs) -> Settings:
    """The settings for this command line in the working folder.

    Raises:
        UsageError: a setting is invalid, or the working folder no longer exists.
    """
    try:
        folder = os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the working folder no longer exists") from error
    settings = load(args.options, os.environ, folder)
    if settings.dialect and settings.dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {settings.dialect!r}; {nearest(settings.dialect, tuple(DIALECTS))}")
    return settings


def settings_at(args: ParsedArgs, store: str) -> Settings:
    """The settings for this command line, with another store."""
    return settings_for(replace(args, options={**args.options, "store": store}))


def open_for_reading(args: ParsedArgs) -> Session:
    """The session, to show it or to move its head."""
    return open_session(settings_for(args), BY_HAND)


def open_for_editing(args: ParsedArgs) -> Session:
    """The session, for a person's edits under the rules of the agent that works on it."""
    settings = settings_for(args)
    store = open_store(settings)
    return open_session(settings, dialect_of_session(settings, store), store)


def open_existing_store(settings: Settings) -> Store:
    """Open the store without creating it.

    Raises:
        NotFound: there is no store.
    """
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        raise NotFound(f"there is no store at {path}")
    return open_store(settings)


def is_same_store(one: StoreAddress, other: StoreAddress) -> bool:
    """Whether two addresses are known to name the same store."""
    if one.path is None or other.path is None:
        return one == other
    return os.path.realpath(one.path) == os.path.realpath(other.path)


def session_title(session: str) -> str:
    """The session as a sentence names it: a path as it is, any other name in quotes."""
    return session if os.path.isabs(session) else f"session {session!r}"
