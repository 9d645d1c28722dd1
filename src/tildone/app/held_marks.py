"""Marks of the projects in which an agent has been held to a plan, kept apart from the data folder.

Theory of operation. Whoever deletes a store often deletes the data folder as a whole. A mark is an empty file in the
state folder, one for each project and store (`Settings.held_mark`). When the store is found to be missing, or is about
to be created again, the mark becomes one of a loss, so that a new store in its place hides nothing. That mark stays
until a person has been told at a terminal. Another process of the same user can delete the marks, too; then nobody is
told. Whether there are marks is asked at every stop of every agent, so that this module is imported only if there are.
"""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING, StoreError
from tildone.base.private import REPLACED, make_private_folder, open_private

if TYPE_CHECKING:
    from tildone.app.settings import Settings


class PlanLost(StoreError):
    """A store with a plan that an agent was held to is gone."""

    def __init__(self, store: str) -> None:
        super().__init__(f"{store} no longer has the plan that an agent was held to here; was it deleted?")


def note_held(settings: Settings) -> None:
    """Note that an agent is held to a plan in the store. Failure is harmless: a loss is then not noticed."""
    try:
        make_private_folder(os.path.dirname(settings.held_mark))
        os.close(open_private(settings.held_mark, REPLACED))
    except OSError:
        return


def note_lost(settings: Settings) -> None:
    """Note that the store does not exist, if an agent was held to a plan in it. Failure is harmless, as above."""
    try:
        os.replace(settings.held_mark, settings.lost_mark)
    except OSError:
        return


def forget_lost(settings: Settings) -> None:
    """Note that a person has been told. Failure is harmless: they are told again."""
    try:
        os.remove(settings.lost_mark)
    except OSError:
        return
