"""The interface through which extensions show messages to the person and ask questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tildone.host.permission_request import PermissionReply, PermissionRequest


class UI(Protocol):
    """A screen, or a client program that displays one."""

    has_ui: bool

    def set_status(self, key: str, text: str | None) -> None:
        """Show a short text under a key; None removes it."""

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        """Show lines above (or below) the input line; None removes them."""

    def notify(self, message: str, kind: str = "info") -> None:
        """Show the person a message. `kind` is info, warning or error."""

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  pi's record has the field
        """Let the person choose; return None if they decline."""

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  pi's record has the field
        """Ask the person to confirm."""

    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text."""

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines."""

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        """Ask whether a tool may do something; return None if they decline to answer."""


class NoUI:
    """No UI: nothing is shown, and every question is declined."""

    has_ui = False

    def set_status(self, key: str, text: str | None) -> None:
        """Ignored."""

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        """Ignored."""

    def notify(self, message: str, kind: str = "info") -> None:
        """Ignored."""

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ARG002, ASYNC109  the protocol's
        return None

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ARG002, ASYNC109  the protocol's
        return False

    async def input(self, title: str, placeholder: str = "") -> str | None:  # noqa: ARG002  the protocol's
        return None

    async def editor(self, title: str, prefill: str = "") -> str | None:  # noqa: ARG002  the protocol's
        return None

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:  # noqa: ARG002  the protocol's
        return None
