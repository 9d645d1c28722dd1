"""The server recognises which calls are a subagent's, by what the call carries or a hook has announced."""

from pathlib import Path

import pytest

from tildone.agents.mcp.connections import subagent_in_call
from tildone.stores.agents import AgentId, AgentRegistry
from tildone.stores.assignment import CallingSubagent, announce_call, call_key

CLAUDE, CODEX = AgentId("claude", "s1"), AgentId("codex", "s1")
OPENCODE = AgentId("opencode", pid=7)
ARGUMENTS = {"add": ["One"]}


@pytest.fixture
def agents(tmp_path: Path) -> AgentRegistry:
    return AgentRegistry(str(tmp_path), "/project")


def call(**meta: object) -> dict[str, object]:
    return {"name": "todo", "arguments": ARGUMENTS, "_meta": meta}


def test_a_call_of_claude_code_is_the_subagents_whose_hook_announced_it_once(agents: AgentRegistry) -> None:
    """The conversation may be another than the server knows: the person may have cleared it."""
    announce_call(agents, "claude", "toolu_1", AgentId("claude", "s2"), "a1")

    first, again = (subagent_in_call(agents, CLAUDE, call(**{"claudecode/toolUseId": "toolu_1"})) for _ in range(2))

    assert (first, again) == (CallingSubagent(AgentId("claude", "s2"), "a1"), None)


def test_a_call_of_codex_names_the_subagent(agents: AgentRegistry) -> None:
    subagents = call(threadId="t2", **{"x-codex-turn-metadata": {"parent_thread_id": "s1"}})
    forked = call(threadId="t3", **{"x-codex-turn-metadata": {"thread_source": "user"}})

    assert subagent_in_call(agents, CODEX, subagents) == CallingSubagent(CODEX, "t2")
    assert subagent_in_call(agents, CODEX, forked) is None


def test_a_call_of_opencode_is_recognised_by_its_arguments(agents: AgentRegistry) -> None:
    parent = AgentId("opencode", "ses_1")
    announce_call(agents, "opencode", call_key("", 7, ARGUMENTS), parent, "ses_2")

    others = {"name": "todo", "arguments": {"add": ["Two"]}}
    assert subagent_in_call(agents, OPENCODE, others) is None
    assert subagent_in_call(agents, OPENCODE, call()) == CallingSubagent(parent, "ses_2")
    assert subagent_in_call(agents, OPENCODE, call()) is None


@pytest.mark.parametrize("meta", [None, [], {"claudecode/toolUseId": 1}, {"claudecode": {"toolUseId": "x"}}])
def test_odd_metadata_names_nobody(agents: AgentRegistry, meta: object) -> None:
    for agent in (CLAUDE, CODEX, OPENCODE, AgentId(pid=1)):
        assert subagent_in_call(agents, agent, {"name": "todo", "arguments": None, "_meta": meta}) is None


@pytest.mark.parametrize("note", ["claude:s1", "claude:s1\n", "\na1"])
def test_a_note_that_names_no_agent_or_no_subagent_counts_for_nobody(agents: AgentRegistry, note: str) -> None:
    agents.set_note(AgentId("claude", "toolu_1"), "call", note)

    assert subagent_in_call(agents, CLAUDE, call(**{"claudecode/toolUseId": "toolu_1"})) is None
