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


def subagent_reply(parent: HookContext) -> HookReply | None:
    """Return the reply to an event of a subagent, whose parent's context is given; None if there is nothing to say."""
    match parent.event.point:
        case HookPoint.STOP:
            return _stopped(parent)
        case HookPoint.AFTER_TOOL | HookPoint.TASK_CREATED | HookPoint.TASK_COMPLETED:
            _mirror(_child(parent))
    return None


def _child(parent: HookContext) -> HookContext:
    """Return the context of the subagent: its record, and the session of its list. Nothing is written."""
    event, agents = parent.event, parent.agents
    agent = subagent_of(agents, parent.agent, event.text("subagent"), now())
    own = replace(parent.settings, session=agent.session)
    session = session_of(own, parent.session.store, lambda: author_of(event, agents, agent), agent.reader)
    return replace(parent, agent=agent, settings=own, session=session)


def _mirror(child: HookContext) -> None:
    # Imported late, as in `answers.py`.
    from tildone.hooks.mirror import mirror  # noqa: PLC0415  see above

    mirror(child.event, child.session, child.agents, child.agent.id)
    if child.session.state.head is not None:
        register(child.agents, child.agent, child.event.text("subagent_kind"))


def _stopped(parent: HookContext) -> HookReply | None:
    """Hold the subagent to its list, unless the parent is paused or stopped. If it is let go, it has ended."""
    # Imported late, as in `answers.py`.
    from tildone.hooks.gate import agent_stopped  # noqa: PLC0415  see above

    child, reply = _child(parent), None
    if parent.session.state.directive is Directive.GO:
        reply = agent_stopped(child.event, child.session, child.agents, child.agent, child.settings)
    if reply is None or reply.kind is not ReplyKind.CONTINUE:
        end(child.agents, child.agent.id, now())
    return reply
