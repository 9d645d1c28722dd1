"""Clears finished tasks after a delay: one timer, set to the time at which the next one is due."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tildone.core.query import TaskInPhase
from tildone.errors import StoreError
from tildone.extensions.phased.conversation_plan import ConversationPlan
from tildone.host.extension_context import ExtensionContext
from tildone.loop.auto_clear import Schedule, next_due, schedule

RETRY_MS = 5_000

Gone = Callable[[Sequence[TaskInPhase], ExtensionContext], None]


class AutoClear:
    """Clears finished tasks of a conversation's plan, and reports which."""

    def __init__(self, notebook: ConversationPlan, delay_ms: int, gone: Gone) -> None:
        self._notebook = notebook
        self._delay_ms = delay_ms
        self._gone = gone
        self._waiting = Schedule()
        self._stop: Callable[[], None] | None = None

    def plan_changed(self, ctx: ExtensionContext) -> None:
        """Schedule tasks that are finished now, and unschedule those that were opened again."""
        self._waiting = schedule(self._notebook.plan, self._waiting, ctx.now(), self._delay_ms)
        self._wait(ctx)

    def forget(self) -> None:
        """Cancel everything that is scheduled."""
        self._waiting = Schedule()
        self._stop_waiting()

    def _wait(self, ctx: ExtensionContext) -> None:
        self._stop_waiting()
        moment = next_due(self._waiting)
        if moment is not None:
            self._stop = ctx.after(max(0, moment - ctx.now()), lambda: self._clear(ctx))

    def _clear(self, ctx: ExtensionContext) -> None:
        self._stop = None
        try:
            done = self._notebook.clear(self._waiting, ctx.now())
        except StoreError:
            # No caller waits for this, so it is retried until the store is available.
            self._stop = ctx.after(RETRY_MS, lambda: self._clear(ctx))
            return
        self._waiting = done.schedule
        self._wait(ctx)
        if done.removed:
            self._gone(done.removed, ctx)

    def _stop_waiting(self) -> None:
        if self._stop is not None:
            self._stop()
        self._stop = None
