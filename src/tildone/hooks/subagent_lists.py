"""The replies to a subagent's events: its native list is mirrored to a list of its own, and it is held to that list."""

from __future__ import annotations

from tildone.agents.subagents import end, register, subagent_of
from tildone.hooks.context import HookContext, author_of, session_of
from tildone.ids import now
from tildone.integrations.record import HookPoint, ReplyKind
from tildone.log.events import Directive
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.hooks.reply import HookReply
    from tildone.session import Session


def subagent_reply(parent: HookContext) -> tuple[HookReply | None, Session]:
    """Return the reply to an event of a subagent, whose parent's context is given, and the session of its list."""
    child = _child(parent)
    match parent.event.point:
        case HookPoint.STOP:
            is_held = parent.session.state.directive is Directive.GO
            return _stopped(child, is_held=is_held), child.session
        case HookPoint.AFTER_TOOL | HookPoint.TASK_CREATED | HookPoint.TASK_COMPLETED:
            _mirror(child)
    return None, child.session


def _child(parent: HookContext) -> HookContext:
    """Return the context of the subagent: its record, and the session of its list. Nothing is written."""
    event, agents = parent.event, parent.agents
    agent = subagent_of(agents, parent.agent, event.text("subagent"), now())
    own = replace(parent.settings, session=agent.session)
    session = session_of(own, parent.session.store, lambda: author_of(event, agents, agent), agent.reader)
    session = session.using(parts=replace(session.parts, parent=parent.session))
    return replace(parent, agent=agent, settings=own, session=session)


def _mirror(child: HookContext) -> None:
    # Imported late, as in `answers.py`.
    from tildone.hooks.mirror import mirror  # noqa: PLC0415  see above

    mirror(child.event, child.session, child.agents, child.agent.id)
    if child.session.state.head is not None:
        register(child.agents, child.agent, child.event.text("subagent_kind"))


def _stopped(child: HookContext, *, is_held: bool) -> HookReply | None:
    """Hold the subagent to its list, unless its parent is paused or stopped. If it is let go, it has ended."""
    # Imported late, as in `answers.py`.
    from tildone.hooks.gate import agent_stopped  # noqa: PLC0415  see above

    reply = None
    if is_held:
        reply, _ = agent_stopped(child.event, child.session, child.agents, child.agent, child.settings)
    if reply is None or reply.kind is not ReplyKind.CONTINUE:
        end(child.agents, child.agent.id, now())
    return reply
