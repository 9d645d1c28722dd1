"""Presence of the host's agent: what it is doing is told to the store, where screens of other processes read it.

It is told when the agent starts, calls a tool or ends its turn, but at most once in a second, and every 15 seconds
while it works, so that others know that it still does. When its conversation ends, it leaves. A store that cannot be
written changes nothing for the agent.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tildone.agents.identity import AgentId
from tildone.agents.processes import machine_name
from tildone.errors import StoreError
from tildone.extensions.restoring import OpenSession
from tildone.host.content import Usage, add_usage
from tildone.host.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageEnd,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import ConversationEnd, ConversationStart
from tildone.host.messages import AssistantMessage, StopReason, last_answer, text_of
from tildone.log.presence import Presence
from tildone.loop.decision import Rest, RestReason, Turn, decide
from tildone.loop.questions import ends_with_question
from tildone.session import Session
from tildone.value import replace
from tildone.views.doing import doing

HOST = "run"
"""What the host is called in a presence."""

EVERY_MS = 15_000
AT_MOST_EVERY_MS = 1_000


def presence(open_session: OpenSession) -> Callable[[ExtensionAPI], None]:
    return lambda api: PresenceTeller(api, open_session).register()


class PresenceTeller:
    """The presence of one host's agent."""

    def __init__(self, api: ExtensionAPI, open_session: OpenSession) -> None:
        self.api = api
        self._open_session = open_session
        self._session: Session | None = None
        self._presence = Presence("", "")
        self._usage = Usage()
        self._turn = Turn()
        self._cancel: Callable[[], None] = lambda: None
        self._is_told = False

    def register(self) -> None:
        """Register the event handlers."""
        self.api.on(ConversationStart, self.enter)
        self.api.on(AgentStart, self.work)
        self.api.on(ToolExecutionStart, self.call)
        self.api.on(ToolExecutionEnd, self.called)
        self.api.on(MessageEnd, self.count)
        self.api.on(AgentEnd, self.end_turn)
        self.api.on(AgentSettled, self.rest)
        self.api.on(ConversationEnd, self.leave)

    def enter(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Speak for the agent of the opened conversation from now on."""
        self.leave()
        self._session = self._open_session(ctx.conversation.id)
        agent = str(AgentId("tildone", ctx.conversation.id))
        self._presence = Presence(agent, self._session.name, HOST, machine_name())
        self._usage = Usage()

    def work(self, _event: AgentStart, ctx: ExtensionContext) -> None:
        """Tell that the agent works: it no longer rests."""
        self._change(ctx, "", why="")

    def call(self, event: ToolExecutionStart, ctx: ExtensionContext) -> None:
        """Tell which tool the agent uses."""
        self._change(ctx, doing(event.tool_name, event.args))

    def called(self, _event: ToolExecutionEnd, ctx: ExtensionContext) -> None:
        self._change(ctx, "")

    def count(self, event: MessageEnd, _ctx: ExtensionContext) -> None:
        """Add the tokens and the cost of an answer."""
        if isinstance(event.message, AssistantMessage):
            self._usage = add_usage(self._usage, event.message.usage)

    def end_turn(self, event: AgentEnd, _ctx: ExtensionContext) -> None:
        """Note how the turn has ended."""
        last = last_answer(event.messages)
        reason = last.stop_reason if last is not None else None
        self._turn = Turn(
            aborted=reason is StopReason.ABORTED,
            errored=reason is StopReason.ERROR,
            asked=last is not None and ends_with_question(text_of(last)),
        )

    def rest(self, _event: AgentSettled, ctx: ExtensionContext) -> None:
        """Tell why the agent rests; until it works again, it gives no more signs of life."""
        if self._session is None:
            return
        asked = self._turn.asked and not (self._turn.aborted or self._turn.errored)
        with suppress(StoreError):
            why = RestReason.ASKED if asked else self._reason(self._session)
            self._change(ctx, "", why=why.value)

    def leave(self, *_: object) -> None:
        self._cancel()
        if self._session is not None and self._is_told:
            with suppress(StoreError):
                self._session.store.records.leave(self._presence.agent)
                self._session.release_claims(self._presence.agent)
        self._is_told = False

    def _reason(self, session: Session) -> RestReason:
        """Return why the agent rests. One that could go on was interrupted, or a bound was reached."""
        decision = decide(session.state, session.patience, self._turn)
        return decision.why if isinstance(decision, Rest) else RestReason.ABORTED

    def _change(self, ctx: ExtensionContext, what: str, why: str = "") -> None:
        now = ctx.now()
        since = self._presence.since if (what, why) == (self._presence.doing, self._presence.why) else now
        self._presence = replace(self._presence, doing=what, why=why, since=since or now)
        self._cancel()
        early = self._presence.beat + AT_MOST_EVERY_MS - now
        if self._is_told and 0 < early <= AT_MOST_EVERY_MS:
            self._cancel = ctx.after(early, lambda: self._tell(ctx))
        else:
            self._tell(ctx)

    def _tell(self, ctx: ExtensionContext) -> None:
        if self._session is None:
            return
        used = self._usage
        self._presence = replace(
            self._presence,
            model=f"{ctx.model.provider}:{ctx.model.id}",
            tokens=used.total_tokens or 0,
            cost=(used.cost.total if used.cost else None) or 0.0,
            beat=ctx.now(),
        )
        with suppress(StoreError):
            self._session.store.records.beat(self._presence)
            self._is_told = True
            self._session.renew_claims(self._presence.agent)
        if not self._presence.why:
            self._cancel = ctx.after(EVERY_MS, lambda: self._tell(ctx))
