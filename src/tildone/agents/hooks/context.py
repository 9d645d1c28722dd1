"""The context of a hook event: the agent that it comes from, the session with the agent's plan, and its presence.

What an agent is doing is told to the store by the hooks that open it anyway. A hook that has nothing to say opens no
store and tells nothing: the registry of agents has a sign of life there. A note about the agent holds what the store
was told, so that the fast path knows when it has to be changed: a prompt ends the rest of an agent that asked
something, and the end of a session removes the presence. A store that cannot be written changes nothing for the agent.

Another note holds the agent's native list, as it was after its last call. The log is not enough to tell what a model
changed in its list: a call that changes nothing in the plan leaves no event. The list belongs to a conversation, and so
does the note: it outlives the agent's record, because a conversation that is resumed still has its list. It expires
with other notes.
"""

from __future__ import annotations

from itertools import islice

from tildone.agents.hooks.fast_path import CONTINUING, PRESENCE_NOTE, PRESENT, RESTING
from tildone.agents.integrations import HookPoint, Integration
from tildone.app.opening import check_runner, open_agents, open_session, open_store
from tildone.base import TYPE_CHECKING, StoreError, replace, value
from tildone.base.ids import now
from tildone.base.json import parse
from tildone.log.presence import Presence
from tildone.plan import codec
from tildone.plan.dialects import DEFAULT_DIALECT, dialect_named, dialect_of_tool
from tildone.plan.dialects.native import NATIVE
from tildone.plan.events import Author, Call, Event, PlanChanged
from tildone.plan.model import Status
from tildone.stores.agents import (
    CLAIM_NOTE,
    LIST_NOTE,
    MODEL_NOTE,
    TRANSCRIPT_NOTE,
    Agent,
    AgentId,
    AgentRegistry,
    is_due,
    machine_name,
)
from tildone.stores.assignment import assign_session, is_shared, own_names, own_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from tildone.agents.hooks.event import HookEvent
    from tildone.app.settings import Settings
    from tildone.log.session import Session
    from tildone.log.store import Store
    from tildone.plan.gate import RestReason

    T = TypeVar("T")


TOOL_SEPARATOR = "/"
"""Separates the coding agent from its tool in the name of a mirrored call; our own tools' names never contain it."""

MAX_EVENTS = 2000
"""How many events are searched for calls, newest first."""

FEW_EVENTS = 5
"""So many events are read again by every hook: a note would save nothing."""

NOTED_SESSION, TOOL_NOTE = "session", "tool"
"""In place of a coding agent's name in a note about a session; the note of the newest tool that changed it."""

MAX_NATIVE_TASKS = 500
"""A longer list is ignored: no model works through it."""

STATUSES = {status_named.value: status_named for status_named in Status} | {
    "not_started": Status.PENDING,
    "todo": Status.PENDING,
    "done": Status.COMPLETED,
    "cancelled": Status.ABANDONED,
    "canceled": Status.ABANDONED,
}
"""Our status for each status of any coding agent. One that is not listed counts as pending, so no task is lost."""


@value
class NativeTask:
    """A task in a native list.

    `id` is the coding agent's name for it; empty if it has none. `number` is that of the task of the plan that it is;
    0 if it is none. `from_user` tells whether a person added that task. `is_stated` means that the model has just set
    the status, `is_deleted` that it has just deleted the task.
    """

    text: str
    status: Status = Status.PENDING
    id: str = ""
    number: int = 0
    from_user: bool = False
    is_stated: bool = False
    is_deleted: bool = False


def newest_tool(session: Session, agents: AgentRegistry) -> str:
    """Return the tool whose call was the newest one to change the plan; empty if there was none.

    A person may have changed a long plan many times since, and reading those changes takes time. They are read once:
    a note holds what was found, and at which event.
    """
    key = AgentId(NOTED_SESSION, session.name)
    noted_head, _, tool = agents.note(key, TOOL_NOTE).partition(" ")
    newest, passed = "", 0
    for event in islice(session.store.history(session.name), MAX_EVENTS):
        newest = newest or event.id
        if event.id == noted_head:
            break
        if isinstance(event.fact, PlanChanged) and event.fact.call is not None:
            tool = event.fact.call.tool
            break
        passed += 1
    else:
        tool = ""
    if passed > FEW_EVENTS:
        try:
            agents.set_note(key, TOOL_NOTE, f"{newest} {tool}")
        except StoreError:
            # They are read again next time.
            return tool
    return tool


def calls_with_events(session: Session) -> Iterator[tuple[Event, Call]]:
    """Yield the tool calls that changed the plan, newest first, each with its event."""
    for event in islice(session.store.history(session.name), MAX_EVENTS):
        if isinstance(event.fact, PlanChanged) and event.fact.call is not None:
            yield event, event.fact.call


def arguments(given: object) -> Mapping[str, Any]:
    """Return the arguments of a tool call, which some agents send as JSON text; empty if they are not an object."""
    if isinstance(given, str):
        try:
            given = parse(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def native_tasks(integration: Integration, tool: str, given: Mapping[str, Any]) -> list[NativeTask] | None:
    """Return the whole list that a call of a native tool writes; None if it writes no list, or only part of one."""
    if tool not in integration.list_tools:
        return None
    items_field, text_field = integration.list_tools[tool]
    items = given.get(items_field)
    if not isinstance(items, list) or len(items) > MAX_NATIVE_TASKS or given.get("merge") is True:
        return None
    return [
        NativeTask(item[text_field].strip(), status_named(item.get("status")))
        for item in items
        if isinstance(item, dict) and isinstance(item.get(text_field), str) and item[text_field].strip()
    ]


def status_named(word: object) -> Status:
    return STATUSES.get(word, Status.PENDING) if isinstance(word, str) else Status.PENDING


STORE_TIMEOUT_SECONDS = 1.5
"""How long a hook waits for a store that other processes are writing to."""

CHECK_SECONDS = 3.0
"""How long the checks may take that a hook runs; what takes longer is for `tildone verify`."""


@value
class HookContext:
    event: HookEvent
    settings: Settings
    agents: AgentRegistry
    agent: Agent
    session: Session

    @property
    def seen_head(self) -> str | None:
        return self.session.seen_head


def admit(event: HookEvent, settings: Settings, pid: int) -> HookContext:
    """Register the agent, and open the session that it works on."""
    agents = open_agents(settings)
    successor = event.point is HookPoint.SESSION_START and event.text("source") in CONTINUING
    named, parent = settings.named_session, _parent(event, agents, pid)
    if parent is not None and named is None and not is_shared(agents):
        named = own_session(agents, event.agent_id(pid))
    agent = assign_session(agents, event.agent_id(pid), pid, now(), named, successor=successor)
    note_transcript(event, agents, agent)
    own = replace(settings, session=agent.session)
    store = open_store(own, timeout=STORE_TIMEOUT_SECONDS)
    session = session_of(own, store, lambda: author_of(event, agents, agent), agent.reader)
    names = once(lambda: own_names(agents, agent, is_named=settings.named_session is not None))
    session = session.using(parts=replace(session.parts, taken=once(session.parts.taken), own=names))
    if parent is not None and agent.session == own_session(agents, agent.id):
        from tildone.agents.hooks.forks import copy_plan

        copy_plan(event, agents, agent, session, parent)
    if session.state.head is None and agent.session != settings.session:
        # A session that was created for this agent alone starts with the project's directive.
        session.set_directive(open_session(settings, NATIVE, store).state.directive)
    return HookContext(event, own, agents, agent, session)


def note_transcript(event: HookEvent, agents: AgentRegistry, agent: Agent) -> None:
    """Note where the transcript of the agent's conversation is, for the screens that show its last lines."""
    transcript = event.text("transcript")
    try:
        if transcript:
            agents.set_note(agent.id, TRANSCRIPT_NOTE, transcript)
    except (StoreError, ValueError):
        # A person gets less to read, and nothing depends on it.
        return


def _parent(event: HookEvent, agents: AgentRegistry, pid: int) -> str | None:
    """Return the conversation that this one was forked from, if it is new; empty if that is unknown."""
    may_be_fork = event.is_fork or (event.point is HookPoint.PROMPT and event.hooks.fork_options)
    if not may_be_fork or agents.get(event.agent_id(pid)) is not None:
        return None
    # Late, because forks are rare.
    from tildone.agents.hooks.forks import parent_of

    return parent_of(event)


def session_of(settings: Settings, store: Store, author: Callable[[], Author], reader: str) -> Session:
    """Return the session that the settings name, in the dialect in which its agent is spoken to."""
    session = open_session(settings, NATIVE, store, author, reader)
    prover = once(lambda: check_runner(settings, lambda: author().agent, CHECK_SECONDS))
    session = session.using(parts=replace(session.parts, prover=prover))
    tool = newest_tool(session, open_agents(settings))
    if TOOL_SEPARATOR in tool:
        return session
    return session.using(dialect=dialect_named(settings.dialect or dialect_of_tool(tool) or DEFAULT_DIALECT))


def once(make: Callable[[], T]) -> Callable[[], T]:
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
    from tildone.plan.text.proofs import doing

    return doing(event.text("tool"), event.get("tool_input"))


def read_list(agents: AgentRegistry, agent_id: AgentId, session: str) -> list[NativeTask] | None:
    """Return the agent's list and its tasks in a session; None if nothing is known of it."""
    try:
        noted = parse(agents.note(agent_id, LIST_NOTE))
        if noted["session"] != session:
            return None
        return [
            NativeTask(str(text), status_named(status), str(name), int(number), bool(from_user))
            for name, text, status, number, from_user in noted["tasks"]
        ]
    except (ValueError, TypeError, KeyError):
        return None


def write_list(agents: AgentRegistry, agent_id: AgentId, session: str, tasks: Sequence[NativeTask]) -> None:
    """Note the agent's list, with the tasks of a session that its tasks are."""
    rows = [[task.id, task.text, task.status.value, task.number, task.from_user] for task in tasks]
    agents.set_note(agent_id, LIST_NOTE, codec.dump({"session": session, "tasks": rows}))
