"""What is done and said at each moment of an agent's work, once it is known that there is something to do."""

from __future__ import annotations

import os

from tildone.agents.assignment import assign_session
from tildone.dialects.native import NATIVE, STOPPED, news
from tildone.dialects.native import context as recalled
from tildone.hooks import hosts
from tildone.hooks.fast_path import COST, LASTING
from tildone.hooks.native_lists import mirrored
from tildone.hooks.reply import ADDS, HALTS, TELLS, HookReply, can_say, harmless, phrased
from tildone.ids import now
from tildone.log.events import Directive
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.wiring import BY_HAND, dialect_named, dialect_of_session, open_agents, open_session, open_store

if TYPE_CHECKING:
    from tildone.agents.registry import Agent, AgentRegistry
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent
    from tildone.session import Session

PATIENCE = 1.5
"""For how many seconds a hook waits for a store that others are at work on."""

USUAL = "brief"
"""Whose words are used with a model that has not called a tool of ours yet."""

LONGEST = 4000
"""What is added to a model's context has at most so many characters; a longer plan is told in short."""


@value
class Work:
    """An agent at work: what its host has just told, and the plan."""

    heard: HookEvent
    settings: Settings
    agents: AgentRegistry
    agent: Agent
    session: Session


def answer(heard: HookEvent, settings: Settings, pid: int) -> str:
    """What to print: the answer in the host's own form, or nothing."""
    if heard.moment == hosts.TOOLS:
        from tildone.hooks.tools import offered  # noqa: PLC0415  see _answered

        return offered(settings.dialect or USUAL)
    agents = open_agents(settings)
    successor = heard.moment == hosts.START and heard.text("source") in LASTING
    agent = assign_session(agents, heard.agent_id(pid), pid, now(), settings.named_session, successor=successor)
    here = replace(settings, session=agent.session)
    store = open_store(here, timeout=PATIENCE)
    session = open_session(here, NATIVE, store)
    if not mirrored(session):
        dialect = dialect_of_session(here, store)
        session.dialect = dialect_named(USUAL) if dialect is BY_HAND else dialect
    if session.state.head is None and agent.session != settings.session:
        session.set_directive(open_session(settings, NATIVE, store).state.directive)
    work = Work(heard, here, agents, agent, session)
    if heard.moment == hosts.LINE:
        return _line(work)
    if heard.moment == hosts.CALL:
        return _called(work)
    said = _answered(work)
    if said is None:
        return ""
    if said.what == TELLS and not can_say(heard, TELLS):
        os.write(2, f"{harmless(said.text)}\n".encode("utf-8", "backslashreplace"))
    return phrased(heard, said)


def _answered(work: Work) -> HookReply | None:
    # Here and below, each moment loads what it needs and no more.
    match work.heard.moment:
        case hosts.STOP:
            from tildone.hooks.gate import stopped  # noqa: PLC0415  see above

            return stopped(work.heard, work.session, work.agents, work.agent.id, work.settings)
        case hosts.START:
            return _reminded(work)
        case hosts.PROMPT:
            return _prompted(work)
        case hosts.SAID:
            from tildone.hooks.gate import note_words  # noqa: PLC0415  see above

            note_words(work.heard, work.agents, work.agent.id)
            return None
        case hosts.AFTER | hosts.TASK:
            _followed(work)
    return HookReply(HALTS, STOPPED) if work.session.state.directive is Directive.STOP else None


def _reminded(work: Work) -> HookReply | None:
    """The plan, for a model that begins or has forgotten; where it can't be told now, it is with the next prompt."""
    text = work.session.context() or recalled(work.session.plan)
    if text is None:
        return None
    if not can_say(work.heard, ADDS):
        _saw(work, None)
        return None
    _saw(work, work.session.state.head)
    return HookReply(ADDS, text if len(text) <= LONGEST else recalled(work.session.plan) or "")


def _prompted(work: Work) -> HookReply | None:
    """What became of the plan since the model last saw it. A person's word counts anew after the gate has let go."""
    state = work.session.state
    if state.tripped and state.directive is Directive.GO and work.heard.from_person:
        work.session.set_directive(Directive.GO)
    known = work.session.plan_at(work.agent.seen_head)
    if known is None:
        return _reminded(work)
    if known == work.session.plan:
        _saw(work, work.session.state.head)
        return None
    from tildone.history.changes import changes, told  # noqa: PLC0415  see _answered

    found = told(changes(known, work.session.plan))
    if not can_say(work.heard, ADDS):
        return None
    _saw(work, work.session.state.head)
    return HookReply(ADDS, news(found))


def _followed(work: Work) -> None:
    """The plan follows the model's own list, and the model knows it then. A subagent's list is its own affair."""
    from tildone.hooks.mirror import mirror  # noqa: PLC0415  see _answered

    if not work.heard.text("agent") and mirror(work.heard, work.session):
        _saw(work, work.session.state.head)


def _line(work: Work) -> str:
    """The plan in a line; what the session has cost is kept on the way."""
    from tildone.views.status import status_line  # noqa: PLC0415  see _answered

    cost = work.heard.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        work.agents.set_note(work.agent.id, COST, str(float(cost)))
    return f"{status_line(work.session.state)}\n"


def _called(work: Work) -> str:
    """What a call of a tool of ours has come to; the model knows the plan then."""
    from tildone.hooks.tools import called  # noqa: PLC0415  see _answered

    told, seen = called(work.heard, work.settings, work.session.store, work.agent.seen_head)
    _saw(work, seen)
    return told


def _saw(work: Work, head: str | None) -> None:
    """Remember the head as the model has seen it."""
    if head != work.agent.seen_head:
        work.agents.save(replace(work.agent, seen_head=head))
