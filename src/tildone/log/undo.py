"""Undo and redo, as moves of a session's head.

Undoing a change moves the head to the parent of the newest `PlanChanged` event and pushes the former head onto the redo
stack. Redo pops it. No event is written or removed, so each restores the session exactly.
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
    """Return the head before the newest `changes` changes of the plan, each of which can be redone.

    Raises:
        Refused: there are fewer changes.
    """
    former_head: str | None = None
    redo, undone = current.redo, 0
    for event in newest_first:
        former_head = event.id if former_head is None else former_head
        if isinstance(event.fact, PlanChanged):
            redo = (former_head, *redo)
            former_head = None
            undone += 1
            if undone == changes:
                return SessionHead(event.parent, redo)
    raise Refused(f"there {_only(undone)} to undo" if undone else "nothing to undo")


def head_after_redo(current: SessionHead, changes: int) -> SessionHead:
    """Return the head after `changes` undone changes are redone, with the rest of the redo stack.

    Raises:
        Refused: fewer were undone.
    """
    redo = current.redo
    if len(redo) < changes:
        raise Refused(f"there {_only(len(redo))} to redo" if redo else "nothing to redo")
    return SessionHead(redo[changes - 1], redo[changes:])


def _only(changes: int) -> str:
    return "is only 1 change" if changes == 1 else f"are only {changes} changes"
