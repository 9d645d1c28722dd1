"""Where a session stands after going back, and forth again."""

from __future__ import annotations

from tildone.errors import Refused
from tildone.log.events import PlanChanged
from tildone.log.tree import SessionHead
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.events import Event


def undone(place: SessionHead, newest_first: Iterable[Event], changes: int) -> SessionHead:
    """Before so many changes of the plan, with a way forward that stops where each of them stood.

    Raises:
        Refused: there were not so many.
    """
    here: str | None = None
    ahead, done = place.redo, 0
    for event in newest_first:
        here = event.id if here is None else here
        if isinstance(event.fact, PlanChanged):
            ahead = (here, *ahead)
            here = None
            done += 1
            if done == changes:
                return SessionHead(event.parent, ahead)
    raise Refused(f"there {_are(done)} to undo" if done else "nothing to undo")


def redone(place: SessionHead, changes: int) -> SessionHead:
    """After so many of the changes that were undone.

    Raises:
        Refused: there were not so many.
    """
    ahead = place.redo
    if len(ahead) < changes:
        raise Refused(f"there {_are(len(ahead))} to redo" if ahead else "nothing to redo")
    return SessionHead(ahead[changes - 1], ahead[changes:])


def _are(changes: int) -> str:
    return "is only 1 change" if changes == 1 else f"are only {changes} changes"
