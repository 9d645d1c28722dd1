"""The records of agents are written atomically, validated when read, and removed when they are old."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.facts import CLAUDE_A, CLAUDE_B, CODEX_A, HERE, NOW, PROJECT
from tildone.base.errors import StoreError
from tildone.stores.agents import (
    ACTIVE_FOR_MS,
    FRESH_FOR_MS,
    REMOVED_AFTER_MS,
    Agent,
    AgentId,
    AgentRegistry,
    agent_id,
    digest,
    start_time,
)
from tildone.stores.assignment import assign_session


@given(
    st.builds(
        Agent,
        st.builds(agent_id, st.sampled_from(("claude", "codex")), st.text(max_size=30), st.integers(0, 2**31)),
        st.text(max_size=30),
        st.text(max_size=30),
        st.integers(0, 2**31),
        st.integers(0, 2**50),
        st.integers(0, 2**50),
    )
)
def test_a_record_is_read_back_exactly(tmp_path_factory: pytest.TempPathFactory, agent: Agent) -> None:
    agents = AgentRegistry(str(tmp_path_factory.mktemp("agents")), PROJECT)

    agents.save(agent)

    assert agents.get(agent.id) == agent
    assert list(agents.all()) == [agent]


def test_the_format_of_a_record_is_fixed(agents: AgentRegistry, tmp_path: Path) -> None:
    """Other versions of tildone may run beside this one."""
    agents.save(Agent(CLAUDE_A, PROJECT, "claude:a@1", 7, NOW, 9))

    file = tmp_path / digest(PROJECT) / f"{digest('claude:a')}.json"

    assert file.read_text(encoding="utf-8") == (
        f'{{"key":"claude:a","session":"{PROJECT}","reader":"claude:a@1","pid":7,"at":{NOW},"born":9}}'
    )


def test_an_agent_that_has_ended_is_not_active(agents: AgentRegistry) -> None:
    """Its process has ended, or its record is an hour old and its process unknown, or its record is a week old."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    agents.save(Agent(AgentId("claude", "a"), PROJECT, "", ended.pid, NOW))
    agents.save(Agent(AgentId("claude", "b"), PROJECT, "", 0, NOW - FRESH_FOR_MS))
    agents.save(Agent(AgentId("claude", "c"), PROJECT, "", HERE, NOW - ACTIVE_FOR_MS))

    assert list(agents.active(NOW)) == []
    assert assign_session(agents, AgentId("claude", "d"), HERE, NOW).session == PROJECT


def test_a_later_process_with_the_same_id_is_not_the_agent(agents: AgentRegistry) -> None:
    """Process ids are reused, at the latest after a reboot."""
    agents.save(Agent(CLAUDE_A, PROJECT, "", HERE, NOW, start_time(HERE) + 1))

    assert list(agents.active(NOW)) == ([] if start_time(HERE) else list(agents.all()))


def test_agents_of_another_project_are_not_found(tmp_path: Path) -> None:
    assign_session(AgentRegistry(str(tmp_path), PROJECT), CLAUDE_A, HERE, NOW)

    other = AgentRegistry(str(tmp_path), "/projects/other")

    assert list(other.all()) == []
    assert assign_session(other, CLAUDE_B, HERE, NOW).session == "/projects/other"


def test_an_unreadable_record_counts_as_absent(agents: AgentRegistry, tmp_path: Path) -> None:
    for text in (
        "",
        "{",
        "[]",
        "7",
        '{"key": "a"}',
        '{"key":1,"session":"s","reader":"r","pid":1,"at":1}',
        '{"key":"claude:a","session":1,"reader":"r","pid":1,"at":1}',
        '{"key":"claude:a","session":"s","reader":null,"pid":1,"at":1}',
        '{"key":"claude:","session":"s","reader":"r","pid":1,"at":1}',
        "\udcff",
    ):
        assign_session(agents, CLAUDE_A, HERE, NOW)
        file = tmp_path / digest(PROJECT) / f"{digest('claude:a')}.json"
        file.write_bytes(text.encode("utf-8", "surrogateescape"))

        assert agents.get(CLAUDE_A) is None, text
        assert assign_session(agents, CLAUDE_A, HERE, NOW).session == PROJECT, text


def test_a_record_of_an_earlier_version_is_read(agents: AgentRegistry, tmp_path: Path) -> None:
    """It has no start time, and a seen head in place of a reader."""
    assign_session(agents, CLAUDE_A, HERE, NOW)
    file = tmp_path / digest(PROJECT) / f"{digest('claude:a')}.json"
    file.write_text('{"key":"claude:a","session":"s","seen":"e1","pid":1,"at":2}', encoding="utf-8")

    assert agents.get(CLAUDE_A) == Agent(CLAUDE_A, "s", "claude:a", 1, 2)


def test_notes_are_removed_with_their_agent(agents: AgentRegistry) -> None:
    assign_session(agents, CLAUDE_A, HERE, NOW)

    agents.set_note(CLAUDE_A, "cost", "1.5")
    agents.set_note(CLAUDE_A, "cost", "2.5")

    assert (agents.note(CLAUDE_A, "cost"), agents.note(CLAUDE_B, "cost")) == ("2.5", "")
    agents.remove(CLAUDE_A)
    assert agents.note(CLAUDE_A, "cost") == ""


def test_records_that_were_not_written_for_a_month_are_removed(agents: AgentRegistry, tmp_path: Path) -> None:
    old, new = AgentId("claude", "old"), AgentId("claude", "new")
    agents.save(Agent(old, f"{PROJECT}#claude:old", "", 0, NOW - REMOVED_AFTER_MS))
    agents.save(Agent(new, f"{PROJECT}#claude:new", "", 0, NOW))
    folder = tmp_path / digest(PROJECT)
    long_ago = (NOW - REMOVED_AFTER_MS - 1) / 1000
    for name, at in (("old", long_ago), ("new", NOW / 1000)):
        os.utime(folder / f"{digest(f'claude:{name}')}.json", (at, at))

    assign_session(agents, CODEX_A, HERE, NOW)

    assert {agent.id for agent in agents.all()} == {new, CODEX_A}


def test_a_folder_that_cannot_be_written_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    agents = AgentRegistry(str(tmp_path / "file"), PROJECT)

    assert list(agents.all()) == []
    with pytest.raises(StoreError, match="file"):
        agents.save(Agent(CLAUDE_A, "s"))
    with pytest.raises(StoreError, match="file"):
        assign_session(agents, CLAUDE_A, HERE, NOW)
