"""The plan of one conversation: as the store has it, and as the model last saw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tildone.core.numbers import same_content
from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.core.reduce import Outcome, Step
from tildone.core.rules import Rules
from tildone.dialects.base import Reply, Tool
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import phases_in, resumed
from tildone.extensions.restoring import NO_RULES, OpenSession, store_is_ahead
from tildone.log.events import Actor
from tildone.loop.auto_clear import ClearResult, Schedule, clear_due, without_unproved
from tildone.session import Session

Entries = Sequence[Mapping[str, Any]]


class ConversationPlan:
    """The plan of one conversation.

    Other processes may change it in the store; `model_is_behind` reports whether the model has yet to see a change.
    """

    def __init__(self, open_session: OpenSession) -> None:
        self._open_session = open_session
        self._session: Session | None = None
        self._known = Plan()

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = self._open_session("")
        return self._session

    @property
    def plan(self) -> Plan:
        return self.session.plan

    def open(self, conversation: str, branch: Entries) -> None:
        """Open the plan of a conversation, without its finished tasks.

        If the conversation contains no plan, or the store's plan is newer, the store's plan is used and the model has
        yet to see it. Otherwise the conversation's plan is used.
        """
        self._session = self._open_session(conversation)
        last_plan = PHASED.recover(branch)
        store_ahead = store_is_ahead(self._session, last_plan)
        self.adopt(resumed(self.plan if store_ahead or last_plan is None else last_plan))
        if store_ahead:
            self._known = resumed(last_plan or Plan())

    def is_shared(self, conversation: str) -> bool:
        """Return whether the plan belongs to more than this conversation."""
        return self._open_session(conversation).name != conversation

    def open_shared(self, conversation: str, branch: Entries) -> Session:
        """Open a plan that others share, with its finished tasks. The model knows the plan in the conversation."""
        self._session = self._open_session(conversation)
        self._known = PHASED.recover(branch) or Plan()
        return self._session

    def change_branch(self, branch: Entries) -> None:
        """Restore the plan at another point of the conversation, without its finished tasks."""
        self.adopt(resumed(PHASED.recover(branch) or Plan()))

    def adopt(self, plan: Plan) -> None:
        """Replace the plan, without checking it, by one that the model has seen."""
        if not same_content(plan, self.plan):
            self.session.change((Write(plan.phases),), Actor.IMPORT, NO_RULES)
        self._known = self.plan

    def latest(self, branch: Entries) -> Plan:
        """Return the plan to show to a person: the last recorded one, with tasks that were cleared since."""
        if self.model_is_behind():
            return self.plan
        recorded = PHASED.recover(branch)
        return recorded if recorded and recorded.phases else self.plan

    def model_is_behind(self) -> bool:
        """Return whether the plan was changed elsewhere and the model has not seen the change."""
        return not same_content(self.plan, self._known)

    def mark_seen(self) -> Plan:
        """Return the plan and record that the model has seen it."""
        self._known = self.plan
        return self._known

    def call(self, session: Session, tool: Tool, params: Mapping[str, Any]) -> Reply:
        """Execute a model's call on the session, with what runs its checks."""
        reply = session.execute(tool, params)
        self._known = phases_in(reply.details["phases"])
        return reply

    def edit(self, base: Plan, steps: Sequence[Step], rules: Rules) -> Outcome:
        """Apply a person's changes to `base`, the plan that the person was shown.

        If the plan is changed meanwhile, they are applied to the changed plan, so that no change is overwritten.
        """
        current = self.plan
        outcome = self.session.change(
            lambda plan: (Write(base.phases), *steps) if plan == current else steps, Actor.USER, rules
        )
        self._known = outcome.after
        return outcome

    def clear(self, scheduled: Schedule, now: int) -> ClearResult:
        """Remove the finished tasks that are due from the current plan, unless their checks have to pass again."""
        scheduled = without_unproved(scheduled, self.plan, self.session.stale)
        outcome = self.session.change(
            lambda plan: (Write(clear_due(plan, scheduled, now).plan.phases),), Actor.TIMER, NO_RULES
        )
        self._known = clear_due(self._known, scheduled, now).plan
        return clear_due(outcome.before, scheduled, now)
