"""Bounds on the requests of the host's agent: a model that only calls tools never stops, so the gate never sees it.

The requests of subagents count, too, except in the bound on requests without progress: their work is not in the plan.
Requests are counted since a person last spoke, and since the last progress of the plan (`loop.progress`). The time
since a person last spoke is bounded as well, and so is what the plan and the task in progress use, as far as there
are budgets. At a bound the turn is aborted before the next request, the session records which one it was, and the
person is told how to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tildone.core.plan import Plan
from tildone.errors import StoreError
from tildone.extensions.restoring import OpenSession
from tildone.host.events import TurnStart
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import ConversationStart, PersonSpoke, SubagentTurn
from tildone.log.events import Actor, Bound, Ledger
from tildone.loop.decision import MS_PER_HOUR
from tildone.loop.progress import progress_of
from tildone.session import Session
from tildone.views.bounds import describe_bound

GO_ON = "To go on, send a message"
OF_PLAN = {Bound.COST: "To go on, raise max_cost", Bound.TOKENS: "To go on, raise max_tokens"}
"""What the agents of a plan have used does not begin again when a person speaks."""


def request_bounds(open_session: OpenSession) -> Callable[[ExtensionAPI], None]:
    """Return the extension; the session's `patience` has the bounds."""
    return lambda api: RequestBounds(api, open_session).register()


class RequestBounds:
    """The requests of one host."""

    def __init__(self, api: ExtensionAPI, open_session: OpenSession) -> None:
        self.api = api
        self._open_session = open_session
        self._session: Session | None = None
        self._ledger = Ledger()
        self._plan = Plan()
        self._total = self._idle = 0
        self._began = 0

    def register(self) -> None:
        """Register the event handlers."""
        self.api.on(ConversationStart, self.open)
        self.api.on(PersonSpoke, self.restart)
        self.api.on(TurnStart, self.count)
        self.api.on(SubagentTurn, self.count_of_subagent)

    def open(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Open the session of the conversation's plan."""
        self._session, self._began = self._open_session(ctx.conversation.id), ctx.now()

    def restart(self, _event: PersonSpoke, ctx: ExtensionContext) -> None:
        """Count from 0: a person has spoken. In the shell of an agent, no person has, and its counts stay."""
        self._ledger, self._total, self._idle, self._began = Ledger(), 0, 0, ctx.now()
        if self._session is not None:
            # The turn reports a store that cannot be read.
            with suppress(StoreError):
                self._plan = self._session.plan
                if not self._session.author_of(Actor.USER).agent:
                    self._session.reset_counts()

    def count(self, _event: TurnStart, ctx: ExtensionContext) -> None:
        """Count a request, and abort the turn if it is one too many."""
        if self._session is None:
            return
        with suppress(StoreError):
            self._look_for_progress(self._session.plan)
        self._total, self._idle = self._total + 1, self._idle + 1
        self._check_bounds(self._session, ctx)

    def _check_bounds(self, session: Session, ctx: ExtensionContext) -> None:
        patience = session.patience
        if self._total > patience.requests:
            self._end(session, Bound.REQUESTS, patience.requests, ctx)
        elif self._idle > patience.idle_requests:
            self._end(session, Bound.IDLE_REQUESTS, patience.idle_requests, ctx)
        elif 0 < patience.hours * MS_PER_HOUR <= ctx.now() - self._began:
            self._end(session, Bound.HOURS, patience.hours, ctx)
        else:
            with suppress(StoreError):
                reached = session.budget_reached()
                if reached is not None:
                    self._end(session, reached.bound, reached.limit, ctx)

    def count_of_subagent(self, _event: SubagentTurn, ctx: ExtensionContext) -> None:
        """Count a request of a subagent, and abort the agent's turn, and its subagents with it, at a bound."""
        if self._session is not None:
            self._total += 1
            self._check_bounds(self._session, ctx)

    def _look_for_progress(self, plan: Plan) -> None:
        if plan == self._plan:
            return
        is_progress, self._ledger = progress_of(self._plan, plan, self._ledger)
        self._plan = plan
        if is_progress:
            self._idle = 0

    def _end(self, session: Session, bound: Bound, limit: float, ctx: ExtensionContext) -> None:
        ctx.abort()
        with suppress(StoreError):
            session.let_go(bound, limit)
        go_on = OF_PLAN.get(bound, GO_ON)
        ctx.ui.notify(f"Stopped: {describe_bound(bound, limit)}. {go_on}", "warning")
