"""The context of a hook event: the agent that it comes from, the session with the agent's plan, and its presence.

What an agent is doing is told to the store by the hooks that open it anyway. A hook that has nothing to say opens no
store and tells nothing: the registry of agents has a sign of life there. A note about the agent holds what the store
was told, so that the fast path knows when it has to be changed: a prompt ends the rest of an agent that asked
something, and the end of a session removes the presence. A store that cannot be written changes nothing for the agent.
"""

from __future__ import annotations

from tildone.agents.assignment import assign_session
from tildone.agents.processes import machine_name
from tildone.agents.registry import CLAIM_NOTE, MODEL_NOTE, is_due
from tildone.app.opening import check_runner, open_agents, open_session, open_store
from tildone.dialects import DEFAULT_DIALECT, dialect_named, dialect_of_tool
from tildone.dialects.native import NATIVE
from tildone.errors import StoreError
from tildone.hooks.fast_path import CONTINUING, PRESENCE_NOTE, PRESENT, RESTING
from tildone.hooks.native_lists import TOOL_SEPARATOR, newest_tool
from tildone.ids import now
from tildone.integrations.record import HookPoint
from tildone.log.events import Author
from tildone.log.presence import Presence
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from tildone.agents.registry import Agent, AgentRegistry
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent
    from tildone.log.store import Store
    from tildone.loop.decision import RestReason
    from tildone.session import Session

    T = TypeVar("T")

STORE_TIMEOUT_SECONDS = 1.5
"""How long a hook waits for a store that other processes are writing to."""

CHECK_SECONDS = 3.0
"""How long the checks may take that a hook runs; what takes longer is for `tildone verify`."""


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


def admit(event: HookEvent, settings: Settings, pid: int) -> HookContext:
    """Register the agent, and open the session that it works on."""
    agents = open_agents(settings)
    successor = event.point is HookPoint.SESSION_START and event.text("source") in CONTINUING
    agent = assign_session(agents, event.agent_id(pid), pid, now(), settings.named_session, successor=successor)
    own = replace(settings, session=agent.session)
    store = open_store(own, timeout=STORE_TIMEOUT_SECONDS)
    session = session_of(own, store, lambda: author_of(event, agents, agent), agent.reader)
    session = session.using(parts=replace(session.parts, taken=_once(session.parts.taken)))
    if session.state.head is None and agent.session != settings.session:
        # A session that was created for this agent alone starts with the project's directive.
        session.set_directive(open_session(settings, NATIVE, store).state.directive)
    return HookContext(event, own, agents, agent, session)


def session_of(settings: Settings, store: Store, author: Callable[[], Author], reader: str) -> Session:
    """Return the session that the settings name, in the dialect in which its agent is spoken to."""
    session = open_session(settings, NATIVE, store, author, reader)
    prover = _once(lambda: check_runner(settings, lambda: author().agent, CHECK_SECONDS))
    session = session.using(parts=replace(session.parts, prover=prover))
    tool = newest_tool(session, open_agents(settings))
    if TOOL_SEPARATOR in tool:
        return session
    return session.using(dialect=dialect_named(settings.dialect or dialect_of_tool(tool) or DEFAULT_DIALECT))


def _once(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that returns the same each time: a hook asks several times."""
    made: list[T] = []

    def given() -> T:
        made[:] = made or [make()]
        return made[0]

    return given


def author_of(event: HookEvent, agents: AgentRegistry, agent: Agent) -> Author:
    """Return the agent of an event as an author, with the model that this event or an earlier one named."""
    return Author(agent=str(agent.id), model=event.model or agents.note(agent.id, MODEL_NOTE))


def tell_presence(context: HookContext, why: RestReason | None = None) -> None:
    """Tell the store what the agent is doing, or why it rests."""
    event, agents, agent, at = context.event, context.agents, context.agent, now()
    presence = Presence(
        str(agent.id),
        agent.session,
        event.integration.name,
        machine_name(),
        author_of(event, agents, agent).model,
        _doing(event) if why is None else "",
        at,
        "" if why is None else why.value,
        cost=agents.cost(agent.id),
        beat=at,
    )
    try:
        context.session.store.records.beat(presence)
        agents.set_note(agent.id, PRESENCE_NOTE, PRESENT if why is None else RESTING)
        if is_due(agents.note(agent.id, CLAIM_NOTE), at):
            context.session.renew_claims(str(agent.id))
    except StoreError:
        return


def _doing(event: HookEvent) -> str:
    if not event.text("tool"):
        return ""
    # Late, because an agent that stops uses no tool.
    from tildone.views.doing import doing  # noqa: PLC0415  see above

    return doing(event.text("tool"), event.get("tool_input"))
