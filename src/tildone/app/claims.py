"""The claims of agents on the tasks of a plan: who an agent is, which tasks others have, and when one has ended."""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING, StoreError
from tildone.base.ids import now
from tildone.stores.agents import CLAIM_NOTE, AgentId, AgentRegistry, has_ended, is_due, machine_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.app.settings import Settings
    from tildone.log.store import Store
    from tildone.plan.claims import Claim, Claimant
    from tildone.stores.agents import Agent

MS_PER_SECOND = 1000


class AgentClaims:
    """What a session needs to know to claim tasks, for agents in the project that the settings name.

    The registry of agents on this machine tells which process an agent is. A note about an agent with claims tells its
    hooks when to renew them: most hooks open no store.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._agents = AgentRegistry(settings.agents_dir, settings.project)
        self.lease = settings.claim_seconds * MS_PER_SECOND

    def claimant(self, agent: str) -> Claimant:
        """Return an agent as a claimant, with its process, its working tree and its branch."""
        from tildone.app.person import branch_of
        from tildone.plan.claims import Claimant

        record = self._record(agent)
        folder = self._settings.project
        process = (record.pid, record.started) if record else (0, 0)
        # A lease is `run/hand/epoch`.
        lease = os.environ.get("TILDONE_LEASE", "").rpartition("/")[0]
        return Claimant(agent, folder, branch_of(folder), machine_name(), *process, lease)

    def is_gone(self, claim: Claim, agent: str) -> bool:
        """Return whether the holder of a claim has ended, as far as this machine knows, or is this agent itself.

        Before an agent has revealed its conversation, it is known by its process.
        """
        holder, own = claim.holder, self._record(agent)
        if holder.machine != machine_name():
            return False
        if own is not None and own.pid and _id(holder.agent).is_process(own.pid):
            return True
        if holder.pid:
            return has_ended(holder.pid, holder.started)
        # Without a process, its record may be known, if it is in the same project.
        record = self._record(holder.agent)
        return record is not None and not record.is_active(now())

    def changed(self, agent: str) -> None:
        """Note when the claims of an agent have to be renewed: in the middle of their lease."""
        agents, agent_id, at = self._agents, _id(agent), now()
        due = agents.note(agent_id, CLAIM_NOTE)
        if due and not is_due(due, at + self.lease // 4):
            # The event has renewed the claims, but an early renewal costs less than another note.
            return
        try:
            agents.set_note(agent_id, CLAIM_NOTE, str(at + self.lease // 2))
        except StoreError:
            return

    def renew(self, store: Store, session: str, agent: str) -> None:
        """Renew the claims of an agent, if it may have some and it is time."""
        agents, agent_id, at = self._agents, _id(agent), now()
        if not is_due(agents.note(agent_id, CLAIM_NOTE), at):
            return
        try:
            store.records.renew(session, agent, self.lease)
            holds = any(claim.agent == agent for claim in store.records.claims(session))
            agents.set_note(agent_id, CLAIM_NOTE, str(at + self.lease // 2) if holds else "")
        except StoreError:
            return

    def release(self, store: Store, session: str, agent: str) -> None:
        """Give back the tasks of an agent, if it may have some."""
        try:
            if self._agents.take_note(_id(agent), CLAIM_NOTE):
                store.records.release(session, agent)
        except StoreError:
            return

    def _record(self, agent: str) -> Agent | None:
        return self._agents.get(_id(agent)) if self._settings.agents_dir else None


def claims_of(agents: Sequence[Agent], store: Store, session: str) -> dict[str, list[int]]:
    """Return the numbers of the tasks that each of these agents has claimed, by its id."""
    claims = {str(agent.id): list[int]() for agent in agents}
    if not agents:
        return claims
    names = {name: str(agent.id) for agent in agents for name in _names(agent)}
    for claim in store.records.claims(session):
        if claim.agent in names:
            claims[names[claim.agent]].append(claim.task)
    return claims


def _names(agent: Agent) -> Sequence[str]:
    """The names under which an agent claims tasks: before it revealed a conversation, by its process."""
    anonymous = [str(AgentId(agent.id.integration, pid=agent.pid))] if agent.pid else []
    return [str(agent.id), *anonymous]


def _id(agent: str) -> AgentId:
    try:
        return AgentId.parse(agent)
    except ValueError:
        return AgentId(conversation=agent)
