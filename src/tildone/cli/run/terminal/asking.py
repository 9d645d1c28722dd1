"""Gives keys to the open question, once it is armed.

A question is armed a moment after it was shown, if the input line is empty and nothing was typed for a while; Tab arms
it at once. Before that, keys belong to the input line: a question that appears while the person is typing must not be
answered by what they type.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

from tildone.cli.run.terminal.keys import Key
from tildone.cli.run.terminal.line_editor import LineEditor
from tildone.cli.run.terminal.live_area import LiveArea
from tildone.cli.run.terminal.prompts import PermissionQuestion, Question
from tildone.cli.run.terminal.ui import TerminalUI

ARMING_SECONDS = 0.3
"""How long a question is shown before its keys count."""

QUIET_SECONDS = 1.0
"""How long the person must not have typed before the keys of a question count."""

ROWS_BESIDE_QUESTION = 3
"""Rows of the footer that stay visible above and below a question."""


class Asking:
    """The questions of one terminal. `abort` stops the turn."""

    def __init__(self, ui: TerminalUI, screen: LiveArea, line: LineEditor, abort: Callable[[], None]) -> None:
        self._ui = ui
        self._screen = screen
        self._line = line
        self._abort = abort
        self._loop = asyncio.get_running_loop()
        self._last_key = self._last_answer = -math.inf

    def begin(self) -> None:
        """Show the question that was opened, and arm it later."""
        self.fit()
        self._loop.call_later(ARMING_SECONDS, self._arm)

    def fit(self) -> None:
        """Make sure that the open question can be read completely."""
        if isinstance(self._ui.question, PermissionQuestion):
            columns, rows = self._screen.size
            self._ui.question.spill(columns, rows - ROWS_BESIDE_QUESTION)

    def press(self, key: Key) -> bool:
        """Give a key to the open question; return False if the key belongs to the input line."""
        question = self._ui.question
        if question is not None and (question.armed or key.name in {"tab", "escape"}):
            self._answer(question, key)
            return True
        if self._loop.time() - self._last_answer < ARMING_SECONDS:
            return True  # a key that was pressed twice answers one question, and does not begin a message
        self._last_key = self._loop.time()
        return False

    def _answer(self, question: Question[Any], key: Key) -> None:
        """Apply a key. Escape declines the question, and stops the turn if a tool asks."""
        question.armed = True
        if key.name == "escape" and question.stops_turn and question.line is None:
            self._abort()
        elif key.name != "tab":
            question.press(key)
        if question.answer.done():
            self._last_answer = self._loop.time()

    def _arm(self) -> None:
        """Arm the open question, unless the person is typing: then try again later."""
        question = self._ui.question
        if question is None or question.armed:
            return
        if self._line.text or self._loop.time() - self._last_key < QUIET_SECONDS:
            self._loop.call_later(ARMING_SECONDS, self._arm)
            return
        question.armed = True
        self._screen.refresh()
