"""The UI of the terminal mode."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from tildone.cli.run.terminal.prompts import NO, YES, Question, letters
from tildone.kit.components import Component, Text
from tildone.kit.theme import Role

ROLES = {"info": Role.MUTED, "warning": Role.WARNING, "error": Role.ERROR}

Show = Callable[[Component], None]
Edit = Callable[[str], Awaitable[str | None]]


class TerminalUI:
    """Stores what extensions show and ask; the footer draws `statuses`, `widgets` and the open `question`."""

    has_ui = True

    def __init__(self, show: Show, changed: Callable[[], None], edit: Edit) -> None:
        self.statuses: dict[str, str] = {}
        self.widgets: dict[str, tuple[str, ...]] = {}
        self.question: Question | None = None
        self._show = show
        self._changed = changed
        self._edit = edit
        self._one_at_a_time = asyncio.Lock()

    def set_status(self, key: str, text: str | None) -> None:
        """Show a short text under a key; None removes it."""
        if text:
            self.statuses[key] = text
        else:
            self.statuses.pop(key, None)
        self._changed()

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:  # noqa: ARG002  all widgets are drawn above the input line
        """Show lines under a key; None removes them."""
        if lines:
            self.widgets[key] = tuple(lines)
        else:
            self.widgets.pop(key, None)
        self._changed()

    def notify(self, message: str, kind: str = "info") -> None:
        """Show the person a message."""
        self._show(Text(message, ROLES.get(kind, Role.MUTED)))

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        """Let the person choose."""
        return await self._ask(lambda: Question(title, letters(options)), timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        """Ask the person to confirm."""
        question = f"{title}\n{message}" if message else title
        return await self._ask(lambda: Question(question, {"y": YES, "n": NO}), timeout) == YES

    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text."""
        return await self._ask(lambda: Question(f"{title}\n{placeholder}" if placeholder else title), None)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines, in the person's own editor."""
        self.notify(title)
        return await self._edit(prefill)

    async def _ask(self, question: Callable[[], Question], seconds: float | None) -> str | None:
        async with self._one_at_a_time:
            self.question = question()
            self._changed()
            try:
                return await asyncio.wait_for(self.question.answer, seconds)
            except TimeoutError:
                return None
            finally:
                self.question = None
                self._changed()
