"""The replies to hook events that the fast path could not handle, one function for each hook point."""

from __future__ import annotations

import os

from tildone.agents.hooks.context import HookContext, admit, arguments, author_of, session_of, tell_presence
from tildone.agents.hooks.fast_path import note_model, note_plan
from tildone.agents.hooks.reply import (
    HookReply,
    agent_stopped,
    can_reply,
    note_message,
    postpone_notice,
    rendered,
    sanitized,
)
from tildone.agents.integrations import HookPoint, ReplyKind
from tildone.base import TYPE_CHECKING, UsageError, replace
from tildone.plan import codec
from tildone.plan.dialects import DEFAULT_DIALECT, dialect_named, dialect_of_tool
from tildone.plan.dialects.native import STOPPED
from tildone.plan.events import Directive

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.agents.hooks.event import HookEvent
    from tildone.app.settings import Settings
    from tildone.log.session import Session
    from tildone.plan.gate import RestReason

STOPPED_NOTICE = "tildone: the agent was stopped by tildone stop. To go on: tildone resume"

WITHOUT_REPLY = (HookPoint.STATUS_LINE, HookPoint.OFFER_TOOLS, HookPoint.CALL_TOOL)
"""The hook points whose output is not a reply to the agent."""


def answer(event: HookEvent, settings: Settings, pid: int, write: Callable[..., None]) -> None:
    """Write the reply, if there is one. A nudge that does not reach the agent does not count."""
    if event.point in WITHOUT_REPLY:
        write(_output(event, settings, pid))
        return
    context = admit(event, settings, pid)
    if context.session.plan.tasks and event.point in (HookPoint.STOP, HookPoint.PROMPT, HookPoint.SESSION_START):
        note_plan(event, context.agent, settings)
    reply, session, why = _reply_and_session(context)
    if reply is not None:
        _deliver(context, reply, session, pid, write)
    tell_presence(context, why)


def _deliver(context: HookContext, reply: HookReply, session: Session, pid: int, write: Callable[..., None]) -> None:
    """Write a reply. What the model was told only counts if it could be written."""
    event = context.event
    if reply.kind is ReplyKind.NOTIFY and not can_reply(event, ReplyKind.NOTIFY):
        os.write(2, f"{sanitized(reply.text)}\n".encode("utf-8", "backslashreplace"))
    if reply.kind in (ReplyKind.NOTIFY, ReplyKind.HALT) and event.is_unattended:
        postpone_notice(event, pid, sanitized(STOPPED_NOTICE if reply.kind is ReplyKind.HALT else reply.text))
    try:
        write(*rendered(event, reply))
    except OSError:
        session.set_seen_head(None)
        if reply.kind is ReplyKind.CONTINUE:
            session.retract_nudge()
        raise


def _output(event: HookEvent, settings: Settings, pid: int) -> str:
    """Return what our own commands and shims expect, which is not a reply: tools, a result, or the status line."""
    if event.point is HookPoint.OFFER_TOOLS:
        from tildone.stores.assignment import ProvidedTools

        if pid:
            # The agent has them from now on, until its process ends.
            ProvidedTools(settings.agents_dir, pid, server_pid=pid).announce()
        return _offered_tools(settings.dialect or DEFAULT_DIALECT)
    context = admit(event, settings, pid)
    if event.point is HookPoint.CALL_TOOL:
        return _call_tool(context)
    from tildone.plan.text.safe import status_line

    # Agents report their model with this event.
    note_model(event, context.agents, context.agent.id)
    session = context.session
    return f"{status_line(session.state, held_up=session.held_up, unapproved=session.unapproved)}\n"


def _reply_and_session(context: HookContext) -> tuple[HookReply | None, Session, RestReason | None]:
    """Return the reply, the session that it is about (of a subagent, its own), and why the agent rests, if it does."""
    if not context.event.text("subagent"):
        if context.event.point is HookPoint.STOP:
            from tildone.agents.hooks import news

            reply, why = agent_stopped(context.event, context.session, context.agents, context.agent, context.settings)
            return news.told_to_continue(context, reply), context.session, why
        return _reply(context), context.session, None
    reply, session = _subagent_reply(context)
    return reply or _halt_if_stopped(context), session, None


def _subagent_reply(parent: HookContext) -> tuple[HookReply | None, Session]:
    """Return the reply to a subagent, and the session of its list, to which it is held as an agent is to its plan."""
    from tildone.agents.hooks.native import mirror
    from tildone.base.ids import now
    from tildone.stores.assignment import end, register, subagent_of

    event, agents = parent.event, parent.agents
    agent = subagent_of(agents, parent.agent, event.text("subagent"), now())
    own = replace(parent.settings, session=agent.session)
    session = session_of(own, parent.session.store, lambda: author_of(event, agents, agent), agent.reader)
    session = session.using(parts=replace(session.parts, parent=parent.session))
    reply = None
    if event.point is HookPoint.STOP:
        # A paused parent's subagents are not held either. One that is let go has ended.
        if parent.session.state.directive is Directive.GO:
            reply, _ = agent_stopped(event, session, agents, agent, own)
        if reply is None or reply.kind is not ReplyKind.CONTINUE:
            end(agents, agent.id, now())
    elif event.point in (HookPoint.AFTER_TOOL, HookPoint.TASK_CREATED, HookPoint.TASK_COMPLETED):
        mirror(event, session, agents, agent.id)
        if session.state.head is not None:
            register(agents, agent, event.text("subagent_kind"))
    return reply, session


def _reply(context: HookContext) -> HookReply | None:
    # Imports are local here and below, so that each hook point loads only what it needs.
    from tildone.agents.hooks import news

    match context.event.point:
        case HookPoint.SESSION_START:
            return news.started(context)
        case HookPoint.PROMPT:
            return news.prompted(context)
        case HookPoint.MESSAGE:
            note_message(context.event, context.agents, context.agent.id)
        case HookPoint.UNDELIVERED:
            # The nudge did not reach the agent, so its model has not seen the plan with it.
            if context.session.retract_nudge():
                context.session.set_seen_head(None)
        case HookPoint.BEFORE_TOOL:
            return _halt_if_stopped(context)
        case HookPoint.AFTER_TOOL | HookPoint.TOOL_FAILED | HookPoint.TASK_CREATED | HookPoint.TASK_COMPLETED:
            reply = news.tool_called(context)
            return _halt_if_stopped(context) or reply
    return None


def _halt_if_stopped(context: HookContext) -> HookReply | None:
    stopped = context.session.state.directive is Directive.STOP
    return HookReply(ReplyKind.HALT, STOPPED) if stopped else None


def _offered_tools(dialect: str) -> str:
    """Return the tools of a dialect as JSON, for the shim that registers them with the agent."""
    tools = [
        {
            "name": tool.name,
            "label": tool.label,
            "description": tool.description,
            "parameters": tool.parameters,
            "snippet": tool.snippet,
            "guidelines": list(tool.guidelines),
        }
        for tool in dialect_named(dialect).tools
    ]
    return f"{codec.dump({'tools': tools})}\n"


def _call_tool(context: HookContext) -> str:
    """Call one of our tools as the agent and return the result, with which the model has seen the plan."""
    from tildone.app.opening import open_session
    from tildone.plan.text.safe import escape_json, status_line

    tool, own = context.event.text("tool"), context.session
    dialect = dialect_of_tool(tool)
    if dialect is None:
        raise UsageError(f"there is no tool {tool!r}")
    author = author_of(context.event, context.agents, context.agent)
    session = open_session(context.settings, dialect_named(dialect), own.store, lambda: author, own.reader)
    session = session.using(parts=replace(session.parts, taken=own.parts.taken, prover=own.parts.prover))
    reply = session.call(tool, arguments(context.event.get("tool_input")))
    line = status_line(session.state, held_up=session.held_up, unapproved=session.unapproved)
    tell_presence(context)
    return f"{escape_json(codec.dump({'text': reply.text, 'failed': reply.is_error, 'line': line}))}\n"
