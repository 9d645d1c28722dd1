"""Clears finished tasks after a delay, with one timer for the task that is due next."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tildone.core.query import TaskInPhase
from tildone.errors import StoreError
from tildone.extensions.phased.conversation_plan import ConversationPlan
from tildone.host.extension_context import ExtensionContext
from tildone.loop.auto_clear import Schedule, next_due, schedule

RETRY_MS = 5_000

ReportCleared = Callable[[Sequence[TaskInPhase], ExtensionContext], None]


class AutoClear:
    """Clears finished tasks from a conversation's plan after `delay_ms`, and reports which ones."""

    def __init__(self, conversation_plan: ConversationPlan, report: ReportCleared) -> None:
        self._conversation_plan = conversation_plan
        self.delay_ms = -1
        self._report = report
        self._schedule = Schedule()
        self._cancel_timer: Callable[[], None] | None = None

    def plan_changed(self, ctx: ExtensionContext) -> None:
        """Schedule the tasks that are now finished, and unschedule those that were reopened."""
        self._schedule = schedule(self._conversation_plan.plan, self._schedule, ctx.now(), self.delay_ms)
        self._start_timer(ctx)

    def forget(self) -> None:
        """Cancel everything that is scheduled."""
        self._schedule = Schedule()
        self._stop_timer()

    def _start_timer(self, ctx: ExtensionContext) -> None:
        self._stop_timer()
        due = next_due(self._schedule)
        if due is not None:
            self._cancel_timer = ctx.after(max(0, due - ctx.now()), lambda: self._clear(ctx))

    def _clear(self, ctx: ExtensionContext) -> None:
        self._cancel_timer = None
        try:
            cleared = self._conversation_plan.clear(self._schedule, ctx.now())
        except StoreError:
            # There is no caller to report the error to: retry until the store is available.
            self._cancel_timer = ctx.after(RETRY_MS, lambda: self._clear(ctx))
            return
        self._schedule = cleared.schedule
        self._start_timer(ctx)
        if cleared.removed:
            self._report(cleared.removed, ctx)

    def _stop_timer(self) -> None:
        if self._cancel_timer is not None:
            self._cancel_timer()
        self._cancel_timer = None
