"""The context of handlers, commands and tools: the working directory, the UI, the model and the conversation."""

from __future__ import annotations

from collections.abc import Callable

from tildone.host.entries import Entry
from tildone.host.messages import ModelIdentity
from tildone.host.runtime import Cancel, Runtime
from tildone.host.ui import UI
from tildone.host.wire import JsonObject
from tildone.kit.signal import AbortSignal


class ConversationView:
    """The conversation, read-only."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self._runtime.transcript.id

    @property
    def parent_id(self) -> str | None:
        """The id of the conversation that this one was forked from, if its file is known."""
        return self._runtime.transcript.parent_id

    @property
    def file(self) -> str | None:
        """The file of the conversation, if it has one."""
        return self._runtime.transcript.file

    def branch(self) -> list[Entry]:
        """Return the entries from the root to the leaf, oldest first."""
        return self._runtime.transcript.branch()

    def branch_records(self) -> list[JsonObject]:
        """Return the entries of `branch` as JSON objects, the form from which dialects recover a plan."""
        return [entry.record for entry in self.branch()]

    def entries(self) -> list[Entry]:
        """Return every entry of every branch."""
        return self._runtime.transcript.entries


class ExtensionContext:
    """One host, as its extensions and tools see it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.conversation = ConversationView(runtime)

    @property
    def has_ui(self) -> bool:
        """Whether there is a UI that can show messages and ask questions."""
        return self._runtime.ui.has_ui

    @property
    def ui(self) -> UI:
        """The UI; without one, questions are declined."""
        return self._runtime.ui

    @property
    def permission_scope(self) -> str:
        """The id of the conversation in which the person grants permissions; a subagent has those of its parent."""
        return self._runtime.permission_scope

    @property
    def cwd(self) -> str:
        """The working directory."""
        return self._runtime.cwd

    @property
    def mode(self) -> str:
        """The mode of the host: print, json, rpc or terminal."""
        return self._runtime.mode

    @property
    def model(self) -> ModelIdentity:
        """The model that answers."""
        return self._runtime.model

    @property
    def signal(self) -> AbortSignal | None:
        """The abort signal of the running turn; None when nothing runs."""
        return self._runtime.signal

    @property
    def is_idle(self) -> bool:
        """Whether no turn is running."""
        return not self._runtime.is_running

    def now(self) -> int:
        """Return the time of the host's clock, in milliseconds since 1970."""
        return self._runtime.now()

    def after(self, delay_ms: int, callback: Callable[[], None], *, holds: bool = False) -> Cancel:
        """Call back after a delay; call the returned function to cancel.

        With `holds`, the run is not over until the callback was called or cancelled.
        """
        if not holds:
            return self._runtime.after(delay_ms, callback)
        release = self._runtime.pending.hold()
        cancel = self._runtime.after(delay_ms, lambda: _then(callback, release))
        return lambda: _then(cancel, release)

    def abort(self) -> None:
        """Stop the running turn."""
        self._runtime.abort("an extension asked for it")


def _then(first: Callable[[], None], last: Callable[[], None]) -> None:
    """Call both functions, the last even if the first raises."""
    try:
        first()
    finally:
        last()
