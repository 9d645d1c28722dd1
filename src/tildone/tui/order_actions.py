"""What keys do to the order of tasks and to the files that they change: each asks for one line."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial

from tildone.app.checks import words_of
from tildone.commands import attributes
from tildone.tui.actions import Actions
from tildone.tui.editing import Editor
from tildone.tui.palette import Palette
from tildone.tui.prompt import shown_in_field
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.app.edits import Command


class OrderActions(Actions):
    """The actions on the order and the files of the tasks that are shown."""

    def __init__(self, editor: Editor, palette: Palette) -> None:
        super().__init__(editor, palette)
        self.asks_for_numbers = False
        """Whether a line is asked for in which tasks are named by number, so that the numbers have to be shown."""

    def draw_plan(self) -> None:
        """Draw the plan."""
        raise NotImplementedError

    def action_after(self) -> None:
        """Ask after which tasks the task comes; without any, it waits for none."""
        task = self._cursor_task()
        if task:
            number, shown = str(task.number), " ".join(f"#{each}" for each in task.after)
            self._set_numbers(shown=True)
            self._ask_line(
                f"#{number} comes after:",
                shown,
                lambda line: lambda plan: attributes.order(plan, number, line.replace(",", " ").split()),
            )

    def action_touches(self) -> None:
        """Ask which files the task changes; without any, it shares files with no other task."""
        task = self._cursor_task()
        if task:
            number = str(task.number)
            self._ask_line(f"#{number} changes:", shlex.join(task.touches), partial(_touched, number))

    def _ask_line(self, label: str, shown: str, edit: Callable[[str], Command]) -> None:
        session = self.watched
        if session is None:
            return
        name = session.name

        def done(line: str) -> None:
            # What cannot be shown as it is stays as it is, unless the person changed it.
            if line.strip() != shown_in_field(shown):
                self._change(partial(self._editor.apply, name, edit(line)))

        self.prompt.ask(label, shown, done, self._end_line)

    def _end_line(self) -> None:
        self._set_numbers(shown=False)
        self.focus_pane()

    def _set_numbers(self, *, shown: bool) -> None:
        self.asks_for_numbers = shown
        self.draw_plan()


def _touched(number: str, line: str) -> Command:
    return lambda plan: attributes.touch(plan, number, words_of(line, "the files"))
