"""What an agent works with: the session that it is assigned, our tools if it has them, and the lists of its subagents.

Theory of operation. An agent works on the session that it names or, without a name, on the one it had before. A new
agent that names none gets the project's session, but only one active agent at a time: every other one gets a session of
its own, `PROJECT#AGENT`, so that two agents in one folder never overwrite each other's plan. Agents that name the same
session share it, and so do all agents of a project whose plan is shared on purpose.

The choice depends on all records, so it is made under the registry's lock: of agents that arrive at once, exactly one
gets the project's session. Before a new agent is registered, the record that it may already have under another identity
is looked up by process: an anonymous record gets the identity that is known now and keeps its session.

Subagents are agents that an agent starts in its own process, each with a list of its own below the agent's plan. A
subagent shares its parent's conversation, process and MCP server; only an id that the coding agent reports with it
tells the two apart. Its identity is that id within the parent's (`claude:CONVERSATION/ID`), and its list is a session
named after the parent's (`SESSION#sub:ID`), so whoever knows the parent's record finds both without a lookup. Its
record appears with its first list, is written without a lock, because no other agent's depends on it, and is active for
as long as the parent's process runs. Its kind and its end are notes.

A coding agent whose MCP calls do not name the subagent announces each call with a hook. The hook leaves a note under a
key that the call carries, too; the server takes the note. A note that is never taken expires with the registry's.
"""

from __future__ import annotations

import os
import sys

from tildone.base import TYPE_CHECKING, StoreError, replace, value
from tildone.stores.agents import (
    FORMER_NOTE,
    FRESH_FOR_MS,
    SUBAGENT_MARK,
    Agent,
    AgentId,
    AgentRegistry,
    agent_id,
    digest,
    has_ended,
    new_reader,
    start_time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


MARKER = ".shared"
"""A name with a dot at its beginning never expires."""


def is_shared(agents: AgentRegistry) -> bool:
    """Return whether new agents of the project join the project's plan even if another agent works on it."""
    return os.path.exists(os.path.join(agents.folder, MARKER))


def set_shared(agents: AgentRegistry, *, shared: bool) -> bool:
    """Set whether the project's plan is shared. Return False if nothing changed.

    Raises StoreError if the marker cannot be written or removed.
    """
    if is_shared(agents) == shared:
        return False
    # Late, because hooks only ask whether the plan is shared.
    from tildone.base.private import make_private_folder, open_private

    path = os.path.join(agents.folder, MARKER)
    try:
        if shared:
            make_private_folder(agents.folder)
            with os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT), "w", encoding="utf-8") as file:
                file.write(agents.project)
        else:
            os.remove(path)
    except OSError as error:
        raise StoreError(f"cannot change {path}: {error.strerror}") from error
    return True


LOCK_TIMEOUT_SECONDS = 1.0


def assign_session(
    agents: AgentRegistry,
    agent_id: AgentId,
    pid: int,
    now: int,
    named_session: str | None = None,
    *,
    successor: bool = False,
) -> Agent:
    """Return the agent with that identity, and register it if it is new or its record is out of date.

    A `successor` continues the session of the agent that ran in its process before; its model has not seen the plan.
    Raises StoreError if the record cannot be written.
    """
    agent = _current(agents, agent_id, pid, now, named_session)
    if agent is not None:
        return agent
    # Late, because most agents are registered already.
    from tildone.base.durable import FolderLock

    with FolderLock(agents.folder, LOCK_TIMEOUT_SECONDS):
        # Another process of this agent may have registered it while this one waited for the lock.
        current = _current(agents, agent_id, pid, now, named_session)
        if current is not None:
            return current
        agent = agents.get(agent_id)
        earlier = agent or _earlier(agents, agent_id, pid, now, successor=successor)
        if earlier is not None and named_session in (None, earlier.session):
            reader = new_reader(agent_id, now) if successor and agent is None else earlier.reader
            agent = _renewed(replace(earlier, id=agent_id, reader=reader), pid or earlier.pid, now)
        else:
            agents.remove_expired(now)
            session = named_session or _free_session(agents, agent_id, now)
            agent = _renewed(Agent(agent_id, session, new_reader(agent_id, now)), pid, now)
        agents.save(agent)
        if earlier is not None and earlier.id != agent_id:
            succeed(agents, earlier.id, agent_id)
    return agent


def succeed(agents: AgentRegistry, earlier: AgentId, agent_id: AgentId) -> None:
    """Remove the record of an agent that goes on under another identity, and note the ids of its conversation."""
    names = agents.take_note(earlier, FORMER_NOTE).splitlines() + ([] if earlier.is_anonymous else [str(earlier)])
    agents.remove(earlier)
    if names:
        agents.set_note(agent_id, FORMER_NOTE, "\n".join(names))


def own_names(agents: AgentRegistry, agent: Agent, *, is_named: bool) -> frozenset[str] | None:
    """Return the names of an agent's conversation, to whose tasks it is held; None if it adopts the plan that it joins.

    That is a session that it was told to work on, a plan that is shared on purpose, or that of an agent whose
    conversation is unknown.
    """
    if is_named or agent.id.is_anonymous or (agent.session == agents.project and is_shared(agents)):
        return None
    return frozenset((str(agent.id), *agents.note(agent.id, FORMER_NOTE).splitlines()))


def _current(agents: AgentRegistry, agent_id: AgentId, pid: int, now: int, named_session: str | None) -> Agent | None:
    agent = agents.get(agent_id)
    is_current = agent is not None and agent.is_fresh(pid, now) and named_session in (None, agent.session)
    return agent if is_current else None


def _renewed(agent: Agent, pid: int, now: int) -> Agent:
    return replace(agent, pid=pid, last_active=now, started=start_time(pid))


def _earlier(agents: AgentRegistry, agent_id: AgentId, pid: int, now: int, *, successor: bool) -> Agent | None:
    """The record that this agent has under another identity, or else the record of the agent that it succeeds."""
    in_process = [agent for agent in agents.live(now) if pid and agent.pid == pid and not agent.is_subagent]
    same = [agent for agent in in_process if agent.id.is_process(pid) or agent_id.is_process(pid)]
    preceding = [agent for agent in in_process if successor and agent.id.integration == agent_id.integration]
    return max(same or preceding, key=lambda agent: agent.last_active, default=None)


def _free_session(agents: AgentRegistry, agent_id: AgentId, now: int) -> str:
    taken = not is_shared(agents) and any(agent.session == agents.project for agent in agents.active(now))
    return own_session(agents, agent_id) if taken else agents.project


def own_session(agents: AgentRegistry, agent_id: AgentId) -> str:
    """Return the name of the session that an agent has for itself, if it has one."""
    return f"{agents.project}#{agent_id}"


ANY_AGENT = 0
"""In place of the process id of a coding agent: the tools are there for all of them."""

FOLDER = "servers"
"""Beside the folder of the agent registry."""


class ProvidedTools:
    """A context in which a server process provides a coding agent with tools.

    Theory of operation. A hook must not tell a model to use a tool that the model does not have: the MCP server may not
    be installed, may be disabled, or may have died. A server therefore creates the file `AGENT.SERVER` while it serves;
    both are process ids, and the file contains the start times of the two processes, which distinguish them from later
    processes with the same ids. A server that ends removes its file. The file of a server that was killed stays, but
    its process does not run any more, so the file does not count; the next server removes it.

    A server on HTTP may serve any coding agent, so it provides for the process 0. Where no file can be written, hooks
    consider the tools missing; what they say then is true of a model with the tools, too.

    `agents_dir` is the folder of the agent registry. `agent_pids` is the process of the coding agent, and any other
    that its hooks may consider to be that. `server_pid` is this process by default.
    """

    def __init__(self, agents_dir: str, *agent_pids: int, server_pid: int = 0) -> None:
        self._folder = _folder(agents_dir)
        self._agents = agent_pids
        self._server = server_pid or os.getpid()

    def __enter__(self) -> None:
        self.announce()

    def __exit__(self, *_: object) -> None:
        self.withdraw()

    def announce(self) -> None:
        """Say that the tools are there, until the context or the server process ends."""
        # Late, because hooks only ask which files are there.
        from tildone.base.private import make_private_folder, open_private

        try:
            make_private_folder(self._folder)
            for path, agent, server in _entries(self._folder):
                if not _counts(path, agent, server):
                    _remove(path)
            for agent in self._agents:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                with os.fdopen(open_private(self._path(agent), flags), "w", encoding="ascii") as file:
                    file.write(_start_times(agent, self._server))
        except OSError:
            # Serving is more important than hooks that know of it.
            return

    def withdraw(self) -> None:
        for agent in self._agents:
            _remove(self._path(agent))

    def _path(self, agent: int) -> str:
        return os.path.join(self._folder, f"{agent}.{self._server}")


def has_tools(agents_dir: str, agent_pid: int) -> bool:
    """Return whether a running process provides this agent with our tools; true if that cannot be determined."""
    if not agent_pid or sys.platform == "win32":
        return True
    entries = _entries(_folder(agents_dir))
    return any(_counts(path, agent, server) for path, agent, server in entries if agent in (agent_pid, ANY_AGENT))


def _folder(agents_dir: str) -> str:
    return os.path.join(os.path.dirname(agents_dir), FOLDER)


def _entries(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield the path of each file, with the process ids of the coding agent and of the server."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        agent, _, server = name.partition(".")
        if agent.isdecimal() and server.isdecimal():
            yield os.path.join(folder, name), int(agent), int(server)


def _counts(path: str, agent: int, server: int) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            times = file.read()
    except (OSError, ValueError):
        return False
    return times == _start_times(agent, server) and not has_ended(server, 0)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        # Another server may have removed it at the same moment.
        return


def _start_times(agent: int, server: int) -> str:
    return f"{start_time(agent)} {start_time(server)}"


KIND_NOTE, ENDED_NOTE, CALL_NOTE = "kind", "ended", "call"
MAX_ID_CHARS = 64
MAX_KIND_CHARS = 40


@value
class Subagent:
    """A subagent that has a list: its record, the name of its kind (may be empty), and when it ended, if it has."""

    agent: Agent
    kind: str
    ended: int | None

    @property
    def name(self) -> str:
        """What a person calls it: its kind, or else the beginning of its id."""
        return self.kind or self.agent.session.rpartition(SUBAGENT_MARK)[2][:8]


@value
class CallingSubagent:
    """The subagent that makes a call: its parent, and its own id."""

    parent: AgentId
    own: str


def subagent_id(parent: AgentId, own: str) -> AgentId:
    return agent_id(parent.integration, f"{parent.own}/{_key(own)}", 0)


def subagent_session(session: str, own: str) -> str:
    """Return the name of a subagent's session, from the parent's session and the subagent's own id."""
    return f"{session}{SUBAGENT_MARK}{_key(own)}"


def parent_session(session: str) -> str:
    return session.rpartition(SUBAGENT_MARK)[0]


def subagent_of(agents: AgentRegistry, parent: Agent, own: str, now: int) -> Agent:
    """Return the record of a subagent, without writing it."""
    identity, session = subagent_id(parent.id, own), subagent_session(parent.session, own)
    known = agents.get(identity) or Agent(identity, session, new_reader(identity, now))
    if known.session == session and known.is_fresh(parent.pid, now):
        return known
    return replace(known, session=session, pid=parent.pid, started=parent.started, last_active=now)


def register(agents: AgentRegistry, agent: Agent, kind: str = "") -> None:
    """Record a subagent that has a list; one that had ended is resumed. Raises StoreError if it cannot be written."""
    if agents.get(agent.id) != agent:
        agents.save(agent)
    if kind:
        agents.set_note(agent.id, KIND_NOTE, kind[:MAX_KIND_CHARS])
    agents.set_note(agent.id, ENDED_NOTE, "")


def end(agents: AgentRegistry, agent: AgentId, now: int) -> None:
    """Record that a subagent has ended; its list is kept."""
    agents.set_note(agent, ENDED_NOTE, str(now))


def subagents_on(agents: AgentRegistry, session: str, now: int) -> list[Subagent]:
    """Return the subagents below a plan that are at work or ended within the last hour, the oldest first."""
    recent = [
        each for each in _subagents(agents, session, now) if each.ended is None or now - each.ended < FRESH_FOR_MS
    ]
    return sorted(recent, key=lambda each: each.agent.last_active)


def call_key(call: str, process: int, arguments: Mapping[str, object]) -> str:
    """Return the key of a tool call: the id that the coding agent gave it, or else its process and arguments."""
    return call or f"{process} {digest(repr(sorted(arguments.items())))}"


def announce_call(agents: AgentRegistry, integration: str, key: str, parent: AgentId, own: str) -> None:
    """Note that a subagent is about to make the call with that key. Raises StoreError if the note cannot be written."""
    agents.set_note(AgentId(integration, key), CALL_NOTE, f"{parent}\n{own}")


def announced_caller(agents: AgentRegistry, integration: str, key: str) -> CallingSubagent | None:
    """Return the subagent that announced the call with that key, and remove the note; None if there is none."""
    note = agents.take_note(AgentId(integration, key), CALL_NOTE)
    parent, _, own = note.partition("\n")
    if not own:
        return None
    try:
        return CallingSubagent(AgentId.parse(parent), own)
    except ValueError:
        return None


def _subagents(agents: AgentRegistry, session: str, now: int) -> Iterator[Subagent]:
    for agent in agents.all():
        if parent_session(agent.session) != session:
            continue
        ended = agents.note(agent.id, ENDED_NOTE)
        at = int(ended) if ended.isdecimal() else None
        if at is None and not agent.is_active(now):
            # Its parent's process has ended, and it with it.
            at = agent.last_active
        yield Subagent(agent, agents.note(agent.id, KIND_NOTE), at)


def _key(own: str) -> str:
    """The subagent's own id as part of a name: as it is, unless it could be misread."""
    plain = own.replace("-", "").replace("_", "").isalnum() and own.isascii()
    return own if plain and len(own) <= MAX_ID_CHARS else digest(own)
