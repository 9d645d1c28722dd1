"""Presence of the host's agent: what it is doing is told to the store, where screens of other processes read it.

It is told when the agent starts, calls a tool or ends its turn, but at most once in a second, and every 15 seconds
while it works, so that others know that it still does. When its conversation ends, it leaves. A store that cannot be
written changes nothing for the agent.
"""

import os
from collections.abc import Callable
from contextlib import suppress

from tildone.base import StoreError, replace
from tildone.log.presence import Presence
from tildone.log.session import Session
from tildone.plan.dialects.native import STOPPED
from tildone.plan.events import Directive
from tildone.plan.gate import Asks, Rest, RestReason, Turn, decide
from tildone.plan.questions import asks_person
from tildone.plan.text.proofs import doing
from tildone.run import events
from tildone.run.extension import BlockCall, ConversationEnd, ConversationStart, SubagentTurn, ToolCallRequest
from tildone.run.extensions.skeleton import OpenSession
from tildone.run.host import ExtensionAPI, ExtensionContext
from tildone.run.messages import AssistantMessage, StopReason, Usage, add_usage, last_answer, text_of
from tildone.stores.agents import TRANSCRIPT_NOTE, Agent, AgentId, AgentRegistry, machine_name, start_time

HOST = "run"
"""What the host is called in a presence."""

EVERY_MS = 15_000
AT_MOST_EVERY_MS = 1_000


def presence(open_session: OpenSession) -> Callable[[ExtensionAPI], None]:
    return lambda api: PresenceTeller(api, open_session).register()


class PresenceTeller:
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
        self.api.on(ConversationStart, self.enter)
        self.api.on(events.AgentStart, self.work)
        self.api.on(events.ToolExecutionStart, self.call)
        self.api.on(events.ToolExecutionEnd, self.called)
        self.api.on(events.MessageEnd, self.count)
        self.api.on(events.AgentEnd, self.end_turn)
        self.api.on(events.AgentSettled, self.rest)
        self.api.on(ConversationEnd, self.leave)

    def enter(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Speak for the agent of the opened conversation from now on."""
        self.leave()
        self._session = self._open_session(ctx.conversation.id)
        agent = str(AgentId("tildone", ctx.conversation.id))
        self._presence = Presence(agent, self._session.name, HOST, machine_name())
        self._usage = Usage()

    def work(self, _event: events.AgentStart, ctx: ExtensionContext) -> None:
        self._change(ctx, "", why="")

    def call(self, event: events.ToolExecutionStart, ctx: ExtensionContext) -> None:
        self._change(ctx, doing(event.tool_name, event.args))

    def called(self, _event: events.ToolExecutionEnd, ctx: ExtensionContext) -> None:
        self._change(ctx, "")

    def count(self, event: events.MessageEnd, _ctx: ExtensionContext) -> None:
        if isinstance(event.message, AssistantMessage):
            self._usage = add_usage(self._usage, event.message.usage)

    def end_turn(self, event: events.AgentEnd, _ctx: ExtensionContext) -> None:
        last = last_answer(event.messages)
        reason = last.stop_reason if last is not None else None
        self._turn = Turn(
            aborted=reason is StopReason.ABORTED,
            errored=reason is StopReason.ERROR,
            asked=asks_person(text_of(last)) if last is not None else Asks.NO,
        )

    def rest(self, _event: events.AgentSettled, ctx: ExtensionContext) -> None:
        """Tell why the agent rests; until it works again, it gives no more signs of life."""
        if self._session is None:
            return
        asked = self._turn.asked is Asks.YES and not (self._turn.aborted or self._turn.errored)
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
        """Return why the agent rests. One that could go on may have asked, was interrupted, or reached a bound."""
        decision = decide(session.state, session.patience, self._turn)
        if isinstance(decision, Rest):
            return decision.why
        return RestReason.ASKED if self._turn.asked is Asks.DOUBT else RestReason.ABORTED

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


NOTICE = "Stopped (tildone stop). To go on: tildone resume"


def steering(open_session: OpenSession, agents: AgentRegistry | None) -> Callable[[ExtensionAPI], None]:
    """Return the extension. Without a registry of agents, other processes cannot steer this one."""
    return lambda api: Steering(api, open_session, agents).register()


class Steering:
    def __init__(self, api: ExtensionAPI, open_session: OpenSession, agents: AgentRegistry | None) -> None:
        self.api = api
        self._open_session = open_session
        self._agents = agents
        self._session: Session | None = None
        self._id: AgentId | None = None

    def register(self) -> None:
        self.api.on(ConversationStart, self.register_agent)
        self.api.on(events.TurnStart, self.check_directive)
        self.api.on(SubagentTurn, self.check_directive)
        self.api.on(ToolCallRequest, self.check_directive)
        self.api.on(ConversationEnd, self.remove_agent)

    def register_agent(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        self.remove_agent()
        self._session = self._open_session(ctx.conversation.id)
        self._id = AgentId("tildone", ctx.conversation.id)
        if self._agents is not None:
            pid = os.getpid()
            # Failure is harmless: the agent works, but other processes cannot find it.
            with suppress(StoreError):
                self._agents.save(
                    Agent(self._id, self._session.name, pid=pid, last_active=ctx.now(), started=start_time(pid))
                )
                if ctx.conversation.file:
                    self._agents.set_note(self._id, TRANSCRIPT_NOTE, ctx.conversation.file)

    def remove_agent(self, *_: object) -> None:
        """Remove the agent from the registry when its conversation is closed or another one is opened."""
        if self._agents is not None and self._id is not None:
            with suppress(StoreError):
                self._agents.remove(self._id)

    def check_directive(
        self, _event: events.TurnStart | SubagentTurn | ToolCallRequest, ctx: ExtensionContext
    ) -> BlockCall | None:
        """Abort the turn if the agent was told to stop."""
        if self._session is None or self._session.state.directive is not Directive.STOP:
            return None
        ctx.abort()
        ctx.ui.notify(NOTICE, "warning")
        return BlockCall(STOPPED)
