"""The plan of one conversation: what the store holds, and what the model was last told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.core.reduce import Outcome, Step
from tildone.core.rules import Rules
from tildone.dialects.base import Reply, Tool
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import phases_in, resumed
from tildone.extensions.restoring import NO_RULES, OpenSession, store_is_ahead
from tildone.log.events import Actor
from tildone.loop.auto_clear import ClearResult, Schedule, clear_due
from tildone.session import Session

Entries = Sequence[Mapping[str, Any]]


class ConversationPlan:
    """One conversation's plan. Other processes may change it in the store; `unheard` says whether one did."""

    def __init__(self, open_session: OpenSession) -> None:
        self._open_session = open_session
        self._session: Session | None = None
        self._known = Plan()

    @property
    def session(self) -> Session:
        """The plan's session: that of the open conversation."""
        if self._session is None:
            self._session = self._open_session("")
        return self._session

    @property
    def plan(self) -> Plan:
        """The plan as it is now."""
        return self.session.plan

    def open(self, conversation: str, branch: Entries) -> None:
        """Open the plan of a conversation, without its finished tasks.

        The plan is the one that the conversation holds. If it holds none, or the store has gone on from it, the plan is
        the store's, and the model has yet to be told of it.
        """
        self._session = self._open_session(conversation)
        remembered = PHASED.recover(branch)
        behind = store_is_ahead(self._session, remembered)
        self.keep(resumed(self.plan if behind or remembered is None else remembered))
        if behind:
            self._known = resumed(remembered or Plan())

    def turn_to(self, branch: Entries) -> None:
        """Restore the plan that the conversation held at another point, without its finished tasks."""
        self.keep(resumed(PHASED.recover(branch) or Plan()))

    def keep(self, plan: Plan) -> None:
        """Make this the plan, unchecked; the model knows it."""
        if plan != self.plan:
            self.session.change((Write(plan.phases),), Actor.IMPORT, NO_RULES)
        self._known = plan

    def latest(self, branch: Entries) -> Plan:
        """The plan for a person: as the conversation last recorded it, including tasks that were cleared since."""
        if self.unheard():
            return self.plan
        written = PHASED.recover(branch)
        return written if written and written.phases else self.plan

    def unheard(self) -> bool:
        """Whether the plan was changed elsewhere, and the model was not told yet."""
        return self.plan != self._known

    def heard(self) -> Plan:
        """The plan, which counts as told to the model from now on."""
        self._known = self.plan
        return self._known

    def call(self, tool: Tool, params: Mapping[str, Any]) -> Reply:
        """Carry out a model's call."""
        reply = self.session.execute(tool, params)
        self._known = phases_in(reply.details["phases"])
        return reply

    def edit(self, base: Plan, steps: Sequence[Step], rules: Rules) -> Outcome:
        """Apply a person's changes to the plan that they were shown.

        If the plan was changed meanwhile, they are applied to the changed plan, so that no work is overwritten.
        """
        replaced = self.plan
        outcome = self.session.change(
            lambda plan: (Write(base.phases), *steps) if plan == replaced else steps, Actor.USER, rules
        )
        self._known = outcome.after
        return outcome

    def clear(self, waiting: Schedule, now: int) -> ClearResult:
        """Remove the finished tasks that are due, and nothing else, from the plan as it is now."""
        outcome = self.session.change(
            lambda plan: (Write(clear_due(plan, waiting, now).plan.phases),), Actor.TIMER, NO_RULES
        )
        self._known = clear_due(self._known, waiting, now).plan
        return clear_due(outcome.before, waiting, now)
