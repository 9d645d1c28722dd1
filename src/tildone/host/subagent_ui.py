"""The UI of a subagent: its questions and notices go to the person with its name; it has no panels of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tildone.host.permission_request import PermissionReply, PermissionRequest
from tildone.host.ui import UI
from tildone.kit.text import clip_text
from tildone.value import replace
from tildone.views.sanitize import printable, single_line

MAX_NAME = 40


class SubagentUI:
    """The UI of the parent, for one subagent."""

    def __init__(self, ui: UI, name: str) -> None:
        self.has_ui = ui.has_ui
        self._ui = ui
        self._name = f"Subagent “{clip_text(printable(single_line(name)), MAX_NAME)}”"

    def set_status(self, key: str, text: str | None) -> None:
        """Ignored: the status bar shows the parent's plan."""

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        """Ignored: the panels are the parent's."""

    def notify(self, message: str, kind: str = "info") -> None:
        self._ui.notify(f"{self._name}: {message}", kind)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        return await self._ui.select(f"{self._name}: {title}", options, timeout)

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        return await self._ui.confirm(f"{self._name}: {title}", message, timeout)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return await self._ui.input(f"{self._name}: {title}", placeholder)

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return await self._ui.editor(f"{self._name}: {title}", prefill)

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        return await self._ui.ask_permission(replace(request, question=f"{self._name}: {request.question}"))
