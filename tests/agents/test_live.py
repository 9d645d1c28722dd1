"""Markers of the agents that may be at work, beside the records of all that there have been."""

import os
from pathlib import Path

import pytest

from tildone.stores import agents as module
from tildone.stores.agents import (
    ACTIVE_FOR_MS,
    EXPIRY_EVERY_MS,
    FRESH_FOR_MS,
    REMOVED_AFTER_MS,
    Agent,
    AgentId,
    AgentRegistry,
    digest,
    start_time,
)
from tildone.stores.assignment import assign_session
from tildone.stores.live import FOLDER

NOW = 2_000_000_000_000
DEAD = 2**22 + 1
unix_only = pytest.mark.skipif(os.name == "nt", reason="processes are looked up on Unix")


def agent(name: str, pid: int = 0, at: int = NOW) -> Agent:
    return Agent(AgentId("claude", name), f"session of {name}", name, pid, at, start_time(pid))


def markers(agents: AgentRegistry) -> set[str]:
    return set(os.listdir(Path(agents.folder) / FOLDER))


@pytest.fixture
def agents(tmp_path: Path) -> AgentRegistry:
    return AgentRegistry(str(tmp_path), "project")


@unix_only
def test_the_marker_of_an_agent_that_is_gone_is_removed_and_its_record_stays(agents: AgentRegistry) -> None:
    here, gone, old = agent("here", os.getpid()), agent("gone", DEAD), agent("old", os.getpid(), NOW - ACTIVE_FOR_MS)
    without_process = agent("unknown", 0, NOW - FRESH_FOR_MS)
    for each in (here, gone, old, without_process):
        agents.save(each)

    assert list(agents.live(NOW)) == [here]
    assert markers(agents) == {digest(str(here.id))}
    assert {each.id for each in agents.all()} == {each.id for each in (here, gone, old, without_process)}


@unix_only
def test_an_agent_that_is_renewed_is_live_again(agents: AgentRegistry) -> None:
    agents.save(agent("one", DEAD))
    assert list(agents.active(NOW)) == []

    agents.save(agent("one", os.getpid()))

    assert [each.id.conversation for each in agents.active(NOW)] == ["one"]


@unix_only
def test_an_agent_renewed_while_its_marker_is_removed_keeps_one(
    agents: AgentRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own process writes the record between the two readings of another."""
    renewed, load = agent("one", os.getpid()), module._load  # noqa: SLF001  the moment between two of its calls
    agents.save(agent("one", DEAD))

    def load_then_renew(path: str) -> Agent | None:
        found = load(path)
        monkeypatch.setattr(module, "_load", load)
        agents.save(renewed)
        return found

    monkeypatch.setattr(module, "_load", load_then_renew)

    assert list(agents.active(NOW)) == [renewed]
    assert markers(agents) == {digest(str(renewed.id))}


@unix_only
def test_a_registry_of_an_earlier_version_gets_markers(agents: AgentRegistry) -> None:
    here, gone = agent("here", os.getpid()), agent("gone", DEAD)
    for each in (here, gone):
        agents.save(each)
    folder = Path(agents.folder) / FOLDER
    for marker in folder.iterdir():
        marker.unlink()
    folder.rmdir()

    assert list(agents.active(NOW)) == [here]
    assert markers(agents) == {digest(str(here.id))}
    assert [path.name for path in Path(agents.folder).iterdir() if path.name.startswith(".")] == [FOLDER]


def test_without_a_registry_nothing_is_created(agents: AgentRegistry) -> None:
    assert (list(agents.live(NOW)), agents.is_empty()) == ([], True)
    assert not Path(agents.folder).exists()


def test_where_no_marker_can_be_kept_every_record_is_read(agents: AgentRegistry) -> None:
    agents.save(agent("one"))
    folder = Path(agents.folder) / FOLDER
    for marker in folder.iterdir():
        marker.unlink()
    folder.rmdir()
    folder.write_text("in the way")

    assert [each.id.conversation for each in agents.live(NOW)] == ["one"]


def test_the_marker_of_an_agent_without_a_record_is_removed(agents: AgentRegistry) -> None:
    agents.save(agent("one"))
    assert not agents.is_empty()

    agents.remove(AgentId("claude", "one"))

    assert (agents.is_empty(), list(agents.live(NOW)), markers(agents)) == (True, [], set())


def test_old_records_are_looked_for_once_a_day(agents: AgentRegistry) -> None:
    def old(name: str) -> Path:
        agents.set_note(AgentId("claude", name), "model", "m")
        path = Path(agents.folder) / f"{digest(str(AgentId('claude', name)))}.model"
        os.utime(path, (0, 0))
        return path

    now = NOW + REMOVED_AFTER_MS
    first = old("first")
    assign_session(agents, AgentId("claude", "new"), 0, now)
    second = old("second")
    assign_session(agents, AgentId("claude", "newer"), 0, now + 1)
    assert (first.exists(), second.exists()) == (False, True)

    assign_session(agents, AgentId("claude", "newest"), 0, now + EXPIRY_EVERY_MS)

    assert not second.exists()
