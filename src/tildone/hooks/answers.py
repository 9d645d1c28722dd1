"""The replies to hook events that the fast path could not handle, one function for each hook point."""

from __future__ import annotations

import os

from tildone.agents.assignment import assign_session
from tildone.agents.registry import MODEL_NOTE
from tildone.dialects import DEFAULT_DIALECT, dialect_named
from tildone.dialects.by_hand import BY_HAND
from tildone.dialects.native import NATIVE, STOPPED
from tildone.hooks.fast_path import CONTINUING, COST_NOTE, note_model
from tildone.hooks.native_lists import is_mirrored
from tildone.hooks.reply import HookReply, can_reply, rendered, sanitized
from tildone.ids import now
from tildone.integrations.record import HookPoint, ReplyKind
from tildone.log.events import Author, Directive
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.wiring import dialect_of_session, open_agents, open_session, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.agents.registry import Agent, AgentRegistry
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent
    from tildone.log.store import Store
    from tildone.session import Session

STORE_TIMEOUT_SECONDS = 1.5
"""How long a hook waits for a store that other processes are writing to."""


STOPPED_NOTICE = "tildone: the agent was stopped by tildone stop. To go on: tildone resume"

WITHOUT_REPLY = (HookPoint.STATUS_LINE, HookPoint.OFFER_TOOLS, HookPoint.CALL_TOOL)
"""The hook points whose output is not a reply to the agent."""


@value
class HookContext:
    """An event, the agent that it comes from, and the session with the agent's plan."""

    event: HookEvent
    settings: Settings
    agents: AgentRegistry
    agent: Agent
    session: Session

    @property
    def seen_head(self) -> str | None:
        """The head of the session that the model has seen."""
        return self.session.seen_head


def answer(event: HookEvent, settings: Settings, pid: int, write: Callable[[str], None]) -> None:
    """Write the reply in the agent's own format, if there is one.

    Raises:
        OSError: it cannot be written. A nudge that does not reach the agent does not count.
    """
    if event.point in WITHOUT_REPLY:
        write(_output(event, settings, pid))
        return
    context = _admit(event, settings, pid)
    if context.session.plan.tasks and event.point in (HookPoint.STOP, HookPoint.PROMPT, HookPoint.SESSION_START):
        from tildone.hooks.lost_plans import note_plan  # noqa: PLC0415  see _reply

        note_plan(event, context.agent, settings)
    reply = _reply(context)
    if reply is None:
        return
    if reply.kind is ReplyKind.NOTIFY and not can_reply(event, ReplyKind.NOTIFY):
        os.write(2, f"{sanitized(reply.text)}\n".encode("utf-8", "backslashreplace"))
    if reply.kind in (ReplyKind.NOTIFY, ReplyKind.HALT) and event.is_unattended:
        from tildone.hooks.troubles import keep_notice  # noqa: PLC0415  see _reply

        keep_notice(event, pid, sanitized(STOPPED_NOTICE if reply.kind is ReplyKind.HALT else reply.text))
    try:
        write(rendered(event, reply))
    except OSError:
        if reply.kind is ReplyKind.CONTINUE:
            context.session.retract_nudge()
        raise


def _output(event: HookEvent, settings: Settings, pid: int) -> str:
    """Return what our own commands and shims expect, which is not a reply: tools, a result, or the status line."""
    if event.point is HookPoint.OFFER_TOOLS:
        from tildone.agents.servers import ProvidedTools  # noqa: PLC0415  see _reply
        from tildone.hooks.tools import offered_tools  # noqa: PLC0415  see _reply

        if pid:
            # The agent has them from now on, until its process ends.
            ProvidedTools(settings.agents_dir, pid, server_pid=pid).announce()
        return offered_tools(settings.dialect or DEFAULT_DIALECT)
    context = _admit(event, settings, pid)
    return _status_line(context) if event.point is HookPoint.STATUS_LINE else _call_tool(context)


def _admit(event: HookEvent, settings: Settings, pid: int) -> HookContext:
    """Register the agent, and open the session that it works on."""
    agents = open_agents(settings)
    successor = event.point is HookPoint.SESSION_START and event.text("source") in CONTINUING
    agent = assign_session(agents, event.agent_id(pid), pid, now(), settings.named_session, successor=successor)
    own = replace(settings, session=agent.session)
    store = open_store(own, timeout=STORE_TIMEOUT_SECONDS)
    session = session_of(own, store, lambda: author_of(event, agents, agent), agent.reader)
    session.taken = _tasks_of_others(own, store, agents, agent)
    if session.state.head is None and agent.session != settings.session:
        # A session that was created for this agent alone starts with the project's directive.
        session.set_directive(open_session(settings, NATIVE, store).state.directive)
    return HookContext(event, own, agents, agent, session)


def _tasks_of_others(
    settings: Settings, store: Store, agents: AgentRegistry, agent: Agent
) -> Callable[[], frozenset[int]]:
    """Return a function that returns the numbers of the tasks that other agents on the same plan work on."""
    found: list[frozenset[int]] = []

    def taken() -> frozenset[int]:
        if not found:
            alone = all(other.session != agent.session or other.id == agent.id for other in agents.active(now()))
            found.append(frozenset() if alone else _claimed(settings, store, agent))
        return found[0]

    return taken


def _claimed(settings: Settings, store: Store, agent: Agent) -> frozenset[int]:
    from tildone.wiring.claims import claimed_by_others  # noqa: PLC0415  see _reply

    return claimed_by_others(settings, store, lambda: str(agent.id))()


def session_of(settings: Settings, store: Store, author: Callable[[], Author], reader: str) -> Session:
    """Return the session that the settings name, in the dialect in which its agent is spoken to."""
    session = open_session(settings, NATIVE, store, author, reader)
    if not is_mirrored(session):
        dialect = dialect_of_session(settings, store)
        session.dialect = dialect_named(DEFAULT_DIALECT) if dialect is BY_HAND else dialect
    return session


def author_of(event: HookEvent, agents: AgentRegistry, agent: Agent) -> Author:
    """Return the agent of an event as an author, with the model that this event or an earlier one named."""
    return Author(agent=str(agent.id), model=event.model or agents.note(agent.id, MODEL_NOTE))


def _reply(context: HookContext) -> HookReply | None:
    # Imports are local here and below, so that each hook point loads only what it needs.
    if context.event.text("subagent"):
        from tildone.hooks.subagent_lists import subagent_reply  # noqa: PLC0415  see above

        return subagent_reply(context) or _halt_if_stopped(context)
    match context.event.point:
        case HookPoint.STOP:
            from tildone.hooks.gate import agent_stopped  # noqa: PLC0415  see above
            from tildone.hooks.news import told_to_continue  # noqa: PLC0415  see above

            before = context.session.state.head
            reply = agent_stopped(context.event, context.session, context.agents, context.agent, context.settings)
            return told_to_continue(context, reply, before)
        case HookPoint.SESSION_START:
            from tildone.hooks.news import remind  # noqa: PLC0415  see above

            return remind(context)
        case HookPoint.PROMPT:
            from tildone.hooks.news import prompted  # noqa: PLC0415  see above

            return prompted(context)
        case HookPoint.MESSAGE:
            from tildone.hooks.gate import note_message  # noqa: PLC0415  see above

            note_message(context.event, context.agents, context.agent.id)
            return None
        case HookPoint.UNDELIVERED:
            context.session.retract_nudge()
            return None
        case HookPoint.BEFORE_TOOL:
            return _halt_if_stopped(context)
        case HookPoint.AFTER_TOOL | HookPoint.TASK_CREATED | HookPoint.TASK_COMPLETED:
            from tildone.hooks.news import tool_called  # noqa: PLC0415  see above

            news = tool_called(context)
            return _halt_if_stopped(context) or news
        case (
            HookPoint.COMPACTION
            | HookPoint.SESSION_END
            | HookPoint.STATUS_LINE
            | HookPoint.OFFER_TOOLS
            | HookPoint.CALL_TOOL
        ):  # exhaustive
            return None


def _halt_if_stopped(context: HookContext) -> HookReply | None:
    stopped = context.session.state.directive is Directive.STOP
    return HookReply(ReplyKind.HALT, STOPPED) if stopped else None


def _status_line(context: HookContext) -> str:
    """Return the plan in one line, and note the cost and the model, which agents report with this event."""
    from tildone.views.status import status_line  # noqa: PLC0415  see _reply

    cost = context.event.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        context.agents.set_note(context.agent.id, COST_NOTE, str(float(cost)))
    note_model(context.event, context.agents, context.agent.id)
    return f"{status_line(context.session.state)}\n"


def _call_tool(context: HookContext) -> str:
    """Call one of our tools and return the result, with which the model has seen the plan."""
    from tildone.hooks.tools import call_tool  # noqa: PLC0415  see _reply

    author = author_of(context.event, context.agents, context.agent)
    return call_tool(context.event, context.settings, context.session, author)
