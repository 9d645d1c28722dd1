"""Where a command is at work: the settings that hold here, and the session they name."""

from __future__ import annotations

import os

from tildone.config import Settings, load, nearest
from tildone.dialects import DIALECTS
from tildone.dialects.by_hand import BY_HAND
from tildone.errors import UsageError
from tildone.typing import TYPE_CHECKING
from tildone.wiring import dialect_of_session, open_session, open_store

if TYPE_CHECKING:
    from tildone.cli.parsing.args import Typed
    from tildone.session import Session


def settings_for(typed: Typed) -> Settings:
    """The settings that hold for this command line, in this folder.

    Raises:
        UsageError: a setting makes no sense, or the folder is gone.
    """
    try:
        folder = os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the working folder does not exist any more") from error
    settings = load(typed.options, os.environ, folder)
    if settings.dialect and settings.dialect not in DIALECTS:
        raise UsageError(f"there is no dialect {settings.dialect!r}; {nearest(settings.dialect, tuple(DIALECTS))}")
    return settings


def reading(typed: Typed) -> Session:
    """The session, to look at or to move about in."""
    return open_session(settings_for(typed), BY_HAND)


def editing(typed: Typed) -> Session:
    """The session, for a person's edits under the rules of whoever works on it."""
    settings = settings_for(typed)
    store = open_store(settings)
    return open_session(settings, dialect_of_session(settings, store), store)


def named(session: str) -> str:
    """A session as a sentence names it."""
    return session if os.path.isabs(session) else f"session {session!r}"
