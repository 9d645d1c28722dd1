"""The two lists of the screen: the sessions, and the tasks of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from textual import on
from textual.events import Click
from textual.message import Message

from tildone.app.commands import Place
from tildone.screens.watch.actions import APP_KEYS, KEYS
from tildone.screens.widgets.plan import SIGN_COLUMN
from tildone.screens.widgets.prompt import Pane, key_bindings
from tildone.screens.widgets.rows import RowList

BEFORE_MARK, AFTER_MARK = "↑", "↓"


class SessionList(RowList):
    """The list of sessions."""

    BINDINGS = key_bindings(key for key in KEYS if key.pane in (Pane.LIST, Pane.ANY))


class PlanList(RowList):
    """The tasks of a plan. A drag that begins at the sign of a task moves the task; any other selects text."""

    BINDINGS = key_bindings(APP_KEYS)

    @dataclass
    class Dropped(Message):
        """A task was dragged to a place beside another one."""

        task: str
        other: str
        place: Place

    class SignClicked(Message):
        """The sign of the task with the cursor was clicked."""

    _dragged = ""
    _target: tuple[str, Place] | None = None

    @property
    def is_dragging(self) -> bool:
        """Whether a move of the mouse means something."""
        return bool(self._dragged) or super().is_dragging

    def press(self, x: int, y: int) -> None:
        """Begin to drag the task whose sign is there, else to select."""
        super().press(x, y)
        self._dragged, self._target = self._task_of_sign(x, y), None
        if self._dragged:
            self._pressed = None

    def drag_to(self, x: int, y: int) -> None:
        if not self._dragged:
            super().drag_to(x, y)
            return
        self.was_dragged = self.was_dragged or self.key_at(y) != self._dragged
        self._target = self._target_at(self._top + y) if self.was_dragged else None
        self.refresh()

    def release(self) -> None:
        if not self._dragged:
            super().release()
            return
        dragged, target = self._dragged, self._target
        self._dragged, self._target = "", None
        self.refresh()
        if target is not None:
            self.select(dragged)
            self.post_message(self.Dropped(dragged, *target))

    def mark_at(self, index: int) -> str:
        """Return an arrow for the row that a dragged task would go before or after."""
        if self._target is None:
            return ""
        key, side = self._target
        rows = [place for place, row in enumerate(self._rows) if row.key == key]
        if index not in (rows[:1] if side is Place.BEFORE else rows[-1:]):
            return ""
        return BEFORE_MARK if side is Place.BEFORE else AFTER_MARK

    @on(Click)
    def on_sign(self, event: Click) -> None:
        key = self._task_of_sign(event.x, event.y)
        if key and not self.was_dragged:
            self.select(key)
            self.post_message(self.SignClicked())

    def _target_at(self, index: int) -> tuple[str, Place] | None:
        """Where a task goes that is dropped on a row: which task it goes beside, and on which side of it.

        On a task above it goes before, on one below after that one. On a heading or the row before it, it becomes the
        first task of the phase; below the last row, the last task. It stays if it is dropped on itself, and cannot go
        into a folded phase.
        """
        tasks = [key for key in self.keys if key.isdecimal()]
        if self._dragged not in tasks:
            return None
        key = self._rows[index].key if index < len(self._rows) else ""
        if not key:
            below = next((row.key for row in self._rows[index:] if row.key in tasks), None)
            key, side = (tasks[-1], Place.AFTER) if below is None else (below, Place.BEFORE)
        elif key in tasks:
            side = Place.BEFORE if tasks.index(key) < tasks.index(self._dragged) else Place.AFTER
        else:
            return None
        return None if key == self._dragged else (key, side)

    def _task_of_sign(self, x: int, y: int) -> str:
        """The task whose sign is drawn there; empty if there is none."""
        key = self.key_at(y)
        is_first_row = key and key != self.key_at(y - 1)
        return key if is_first_row and x == SIGN_COLUMN and key.isdecimal() else ""
