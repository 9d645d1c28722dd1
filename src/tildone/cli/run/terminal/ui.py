"""The UI of the terminal mode."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from tildone.cli.run.terminal.prompts import (
    Choice,
    KeyQuestion,
    PermissionQuestion,
    Question,
    Show,
    TextQuestion,
    numbered_choices,
)
from tildone.host.permission_request import PermissionReply, PermissionRequest
from tildone.kit.components import Text
from tildone.kit.theme import Role

ROLES = {"info": Role.MUTED, "warning": Role.WARNING, "error": Role.ERROR}

T = TypeVar("T")
Edit = Callable[[str], Awaitable[str | None]]


class TerminalUI:
    """Stores what extensions show and ask; the footer draws `statuses`, `widgets` and the open `question`."""

    has_ui = True

    def __init__(
        self,
        show: Show,
        changed: Callable[[], None],
        edit: Edit,
        question_opened: Callable[[], None],
        question_closed: Callable[[], None],
    ) -> None:
        self.statuses: dict[str, str] = {}
        self.widgets: dict[str, tuple[str, ...]] = {}
        self.question: Question[Any] | None = None
        self._question_opened = question_opened
        self._question_closed = question_closed
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
        return await self._ask(lambda: KeyQuestion(title, numbered_choices(options)), timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        """Ask the person to confirm."""
        question = f"{title}\n{message}" if message else title
        choices = {"y": Choice("yes", answer=True), "n": Choice("no", answer=False)}
        confirmed: bool | None = await self._ask(lambda: KeyQuestion(question, choices), timeout)
        return bool(confirmed)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text."""
        return await self._ask(lambda: TextQuestion(f"{title}\n{placeholder}" if placeholder else title), None)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask whether a tool may do something."""
        return await self._ask(lambda: PermissionQuestion(request, self._show), None)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines, in the person's own editor."""
        self.notify(title)
        return await self._edit(prefill)

    async def _ask(self, question: Callable[[], Question[T]], seconds: float | None) -> T | None:
        async with self._one_at_a_time:
            asked = self.question = question()
            self._question_opened()
            self._changed()
            try:
                return await asyncio.wait_for(asked.answer, seconds)
            except TimeoutError:
                return None
            finally:
                self.question = None
                self._question_closed()
                self._changed()
