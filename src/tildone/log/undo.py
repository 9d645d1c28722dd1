"""Where undo and redo move a session's head.

Undoing a change moves the head to the parent of the newest `PlanChanged` event and pushes the former head onto the redo
stack. Redo pops it. Nothing is written or removed, so both are exact.
"""

from __future__ import annotations

from tildone.errors import Refused
from tildone.log.events import PlanChanged
from tildone.log.tree import SessionHead
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.events import Event


def head_after_undo(current: SessionHead, newest_first: Iterable[Event], changes: int) -> SessionHead:
    """The head before the newest `changes` changes of the plan; the redo stack leads back over each of them.

    Raises:
        Refused: there are fewer changes.
    """
    here: str | None = None
    redo, done = current.redo, 0
    for event in newest_first:
        here = event.id if here is None else here
        if isinstance(event.fact, PlanChanged):
            redo = (here, *redo)
            here = None
            done += 1
            if done == changes:
                return SessionHead(event.parent, redo)
    raise Refused(f"there {_are(done)} to undo" if done else "nothing to undo")


def head_after_redo(current: SessionHead, changes: int) -> SessionHead:
    """The head after the newest `changes` changes that were undone.

    Raises:
        Refused: fewer were undone.
    """
    redo = current.redo
    if len(redo) < changes:
        raise Refused(f"there {_are(len(redo))} to redo" if redo else "nothing to redo")
    return SessionHead(redo[changes - 1], redo[changes:])


def _are(changes: int) -> str:
    return "is only 1 change" if changes == 1 else f"are only {changes} changes"
