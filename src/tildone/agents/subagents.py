"""Subagents: agents that an agent starts in its own process, each with a list of its own below the agent's plan.

Theory of operation. A subagent shares its parent's conversation, process and MCP server; only an id that the coding
agent reports with it tells the two apart. Its identity is that id within the parent's (`claude:CONVERSATION/ID`), and
its list is a session named after the parent's (`SESSION#sub:ID`), so whoever knows the parent's record finds both
without a lookup. Its record appears with its first list, is written without a lock, because no other agent's depends on
it, and is active for as long as the parent's process runs. Its kind and its end are notes.

A coding agent whose MCP calls do not name the subagent announces each call with a hook. The hook leaves a note under a
key that the call carries, too; the server takes the note. A note that is never taken expires with the registry's.
"""

from __future__ import annotations

from tildone.agents.identity import AgentId, agent_id, digest
from tildone.agents.registry import FRESH_FOR_MS, SUBAGENT_MARK, Agent, new_reader
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tildone.agents.registry import AgentRegistry

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
    """Return the identity of a subagent, from its parent's and its own id."""
    return agent_id(parent.integration, f"{parent.own}/{_key(own)}", 0)


def subagent_session(session: str, own: str) -> str:
    """Return the name of a subagent's session, from the parent's session and the subagent's own id."""
    return f"{session}{SUBAGENT_MARK}{_key(own)}"


def parent_session(session: str) -> str:
    """Return the session of a subagent's parent; empty if the session is not a subagent's."""
    return session.rpartition(SUBAGENT_MARK)[0]


def subagent_of(agents: AgentRegistry, parent: Agent, own: str, now: int) -> Agent:
    """Return the record of a subagent, without writing it."""
    identity, session = subagent_id(parent.id, own), subagent_session(parent.session, own)
    known = agents.get(identity) or Agent(identity, session, new_reader(identity, now))
    if known.session == session and known.is_fresh(parent.pid, now):
        return known
    return replace(known, session=session, pid=parent.pid, started=parent.started, last_active=now)


def register(agents: AgentRegistry, agent: Agent, kind: str = "") -> None:
    """Record a subagent that has a list. One that had ended has been resumed.

    Raises:
        StoreError: the record cannot be written.
    """
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
    """Note that a subagent is about to make the call with that key.

    Raises:
        StoreError: the note cannot be written.
    """
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
