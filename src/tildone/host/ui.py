"""What an extension may ask of whoever watches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class UI(Protocol):
    """A person's screen, or a program that stands for one."""

    has_ui: bool

    def set_status(self, key: str, text: str | None) -> None:
        """Show a short text under a key until it is taken away with None."""

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        """Show lines above (or below) where the person types; None takes them away."""

    def notify(self, message: str, kind: str = "info") -> None:
        """Tell the person something, once. `kind` is info, warning or error."""

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  pi's record has the field
        """Let the person choose; None when they would not."""

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  pi's record has the field
        """Ask for a yes."""

    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text."""

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Ask for a text of several lines."""


class NoUI:
    """Nobody watches: nothing is shown, and every question is answered with no."""

    has_ui = False

    def set_status(self, key: str, text: str | None) -> None:
        """Nobody sees it."""

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None:
        """Nobody sees it."""

    def notify(self, message: str, kind: str = "info") -> None:
        """Nobody hears it."""

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ARG002, ASYNC109  the protocol's
        """Nobody chooses."""
        return None

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ARG002, ASYNC109  the protocol's
        """Nobody says yes."""
        return False

    async def input(self, title: str, placeholder: str = "") -> str | None:  # noqa: ARG002  the protocol's
        """Nobody answers."""
        return None

    async def editor(self, title: str, prefill: str = "") -> str | None:  # noqa: ARG002  the protocol's
        """Nobody writes."""
        return None
