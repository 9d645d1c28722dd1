"""What a handler, a command or a tool is given: where it runs, who watches, and the session it runs in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tildone.host.port import HostPort
from tildone.host.transcript import Entry
from tildone.host.ui import UI
from tildone.kit.signal import AbortSignal


class ConversationView:
    """The session, to be read."""

    def __init__(self, host: HostPort) -> None:
        self._host = host

    @property
    def id(self) -> str:
        """The session's id."""
        return self._host.transcript.id

    @property
    def file(self) -> str | None:
        """The file it is kept in, if any."""
        return self._host.transcript.file

    def get_branch(self) -> list[Entry]:
        """The entries from the root to the leaf, oldest first."""
        return self._host.transcript.branch()

    def get_entries(self) -> list[Entry]:
        """Every entry of every branch."""
        return self._host.transcript.entries


class ExtensionContext:
    """One host, as its extensions see it."""

    def __init__(self, host: HostPort) -> None:
        self._host = host
        self.session = ConversationView(host)

    @property
    def has_ui(self) -> bool:
        """Whether anybody watches."""
        return self._host.ui.has_ui

    @property
    def ui(self) -> UI:
        """Whoever watches."""
        return self._host.ui

    @property
    def cwd(self) -> str:
        """The working directory."""
        return self._host.cwd

    @property
    def mode(self) -> str:
        """How the host is run: print, json, rpc or terminal."""
        return self._host.mode

    @property
    def model(self) -> dict[str, Any]:
        """Which model is spoken to."""
        model = self._host.model
        return {"provider": model.provider, "id": model.id, "api": model.api}

    @property
    def signal(self) -> AbortSignal | None:
        """Tells when the running turn is aborted; None when nothing runs."""
        return self._host.signal

    @property
    def is_idle(self) -> bool:
        """Whether no turn is running."""
        return not self._host.is_running

    def now(self) -> int:
        """Milliseconds since 1970, as the host counts them."""
        return self._host.now()

    def after(self, delay_ms: int, callback: Callable[[], None], *, holds: bool = False) -> Callable[[], None]:
        """Call back after a while; call the answer to forget it.

        What `holds` goes on with the agent's work: until it was called back or forgotten, the run is not over.
        """
        if not holds:
            return self._host.after(delay_ms, callback)
        let_go = self._host.holds.take()
        forget = self._host.after(delay_ms, lambda: _then(callback, let_go))
        return lambda: _then(forget, let_go)

    def abort(self) -> None:
        """Stop the running turn."""
        self._host.request_abort("an extension asked for it")


def _then(first: Callable[[], None], last: Callable[[], None]) -> None:
    """Do both, the last whatever comes of the first."""
    try:
        first()
    finally:
        last()
