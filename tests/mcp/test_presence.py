"""Presence: a tool call tells the store that the caller is at work, until its connection ends."""

import os

import pytest

from tests.mcp.project import MODES, Project
from tests.mcp.test_sessions import in_claude
from tests.stores.overridden import overridden, raising
from tildone.agents.mcp import connections as presence
from tildone.agents.mcp.connections import AT_MOST_EVERY_MS, CallerPresence
from tildone.base.errors import StoreError
from tildone.log.presence import Presence
from tildone.plan.events import Author
from tildone.stores.agents import USAGE_NOTE, Agent, AgentId
from tildone.stores.memory import MemoryStore

AGENT = Agent(AgentId.parse("claude:s1"), "s")


def presences(project: Project) -> list[Presence]:
    store = project.store
    try:
        return store.records.presences()
    finally:
        store.close()


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_tells_that_its_agent_is_at_work_and_leaves_at_the_end(project: Project, mode: str) -> None:
    ours = in_claude(project, "s1")
    ours.agents.set_note(AgentId.parse("claude:s1"), USAGE_NOTE, '{"cost":1.5}')
    async with ours.client(mode=mode) as client:
        await client.call_tool("todo", {"op": "add", "text": "One"})
        [present] = presences(ours)

    assert (present.agent, present.host, present.session) == ("claude:s1", "claude", str(project.folder))
    assert (present.doing[:5], present.why, present.cost) == ("todo:", "", 1.5)
    assert present.machine == os.uname().nodename
    assert presences(ours) == []


def test_the_store_is_told_at_most_every_fifteen_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    store, teller, at = MemoryStore(), CallerPresence(lambda _agent: 0.0), 1_000_000
    beats = []
    for later in (0, AT_MOST_EVERY_MS - 1, AT_MOST_EVERY_MS):
        monkeypatch.setattr(presence, "now", lambda later=later: at + later)
        teller.tell(store, AGENT, Author(), "todo: list")
        beats.append(store.records.presences()[0].beat - at)
    teller.tell(store, Agent(AGENT.id, "t"), Author(), "todo: list")

    assert beats == [0, 0, AT_MOST_EVERY_MS]
    assert [each.session for each in store.records.presences()] == ["t"]


def test_a_store_that_cannot_be_written_changes_nothing() -> None:
    store, teller = MemoryStore(), CallerPresence(lambda _agent: 0.0)
    full = raising(StoreError("the disk is full"))
    store.records = overridden(store.records, beat=full, leave=full)

    teller.tell(store, AGENT, Author(), "todo: list")
    teller.leave(lambda: store)
    told = CallerPresence(lambda _agent: 0.0)
    told.tell(MemoryStore(), AGENT, Author(), "todo: list")
    told.leave(lambda: store)

    assert list(store.records.presences()) == []
