"""The host's interface to the person: statuses, widgets, messages and questions, one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from tildone.host.permission_request import PermissionReply, PermissionRequest
from tildone.tui.run.questions import (
    AskedKeyQuestion,
    AskedPermission,
    AskedQuestion,
    AskedTextQuestion,
    QuestionChoice,
    numbered_choices,
)

T = TypeVar("T")


class RunUI:
    """Keeps what extensions show, and asks the person.

    `changed` is called when something that is shown has changed, `opened` with the question that is asked now (None, if
    there is none), `noted` with a message and its kind. `edit` lets the person edit a text. `detail` returns where a
    command would run.
    """

    has_ui = True

    def __init__(
        self,
        *,
        changed: Callable[[], None],
        opened: Callable[[AskedQuestion[Any] | None], None],
        noted: Callable[[str, str], None],
        edit: Callable[[str], Awaitable[str | None]],
        detail: Callable[[], str],
    ) -> None:
        self.statuses: dict[str, str] = {}
        self.widgets: dict[str, tuple[str, ...]] = {}
        self._changed, self._opened, self._noted = changed, opened, noted
        self._edit, self._detail = edit, detail
        self._queue: list[AskedQuestion[Any]] = []
        self._asked = 0

    @property
    def question(self) -> AskedQuestion[Any] | None:
        return self._queue[0] if self._queue else None

    def set_status(self, key: str, text: str | None) -> None:
        """Show a short text under a key; None removes it."""
        if text:
            self.statuses[key] = text
        else:
            self.statuses.pop(key, None)
        self._changed()

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:  # noqa: ARG002  all widgets are drawn above the editor
        """Show lines under a key; None removes them."""
        if lines:
            self.widgets[key] = tuple(lines)
        else:
            self.widgets.pop(key, None)
        self._changed()

    def notify(self, message: str, kind: str = "info") -> None:
        self._noted(message, kind)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        return await self._ask(AskedKeyQuestion(title, numbered_choices(options), listed=True), timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        choices = {"y": QuestionChoice("yes", answer=True), "n": QuestionChoice("no", answer=False)}
        question: AskedKeyQuestion[bool] = AskedKeyQuestion(f"{title}\n{message}" if message else title, choices)
        confirmed = await self._ask(question, timeout)
        return bool(confirmed)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return await self._ask(AskedTextQuestion(f"{title}\n{placeholder}" if placeholder else title), None)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        return await self._ask(AskedPermission(request, self._detail()), None)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines, in the person's own editor."""
        self.notify(title)
        return await self._edit(prefill)

    async def _ask(self, question: AskedQuestion[T], seconds: float | None) -> T | None:
        """Ask, after the questions that were asked before. A question that is cancelled disappears."""
        self._asked = self._asked + 1 if self._queue else 1
        self._queue.append(question)
        self._show()
        try:
            return await asyncio.wait_for(asyncio.shield(question.answer), seconds)
        except TimeoutError:
            return None
        finally:
            self._queue.remove(question)
            self._show()

    def _show(self) -> None:
        question = self.question
        if question is not None:
            place = self._asked - len(self._queue) + 1
            question.place = f"{place} of {self._asked}" if self._asked > 1 else ""
        self._opened(question)
