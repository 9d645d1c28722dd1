"""Subagents: their identities, their sessions and their records."""

from itertools import product

from tests.agents.facts import CLAUDE_A, HERE, NOW, PROJECT
from tildone.stores.agents import Agent, AgentId, AgentRegistry
from tildone.stores.assignment import (
    end,
    parent_session,
    register,
    subagent_id,
    subagent_of,
    subagent_session,
    subagents_on,
)

PARENT = Agent(CLAUDE_A, PROJECT, "r", HERE, NOW, 0)


def test_names_can_be_taken_apart_again_whatever_the_coding_agent_calls_its_subagents() -> None:
    parents = (CLAUDE_A, AgentId("gemini", pid=7), AgentId(conversation="c" * 199))
    names = ("a1", "01a1-b2", "ses_1", "", "#sub:x", "a b", "ä", "x" * 300, "a/b", "\n")
    for parent, own in product(parents, names):
        identity = subagent_id(parent, own)

        assert AgentId.parse(str(identity)) == identity
        assert identity.integration == parent.integration
        assert parent_session(subagent_session(PROJECT, own)) == PROJECT
        assert parent_session(subagent_session(f"{PROJECT}#{parent}", own)) == f"{PROJECT}#{parent}"


def test_only_a_subagents_session_has_a_parent() -> None:
    assert [parent_session(name) for name in (PROJECT, f"{PROJECT}#claude:a", "mine", "")] == ["", "", "", ""]


def test_a_record_is_kept_while_it_is_fresh_and_moves_with_its_parent(agents: AgentRegistry) -> None:
    first = subagent_of(agents, PARENT, "a1", NOW)
    register(agents, first)

    assert subagent_of(agents, PARENT, "a1", NOW + 1) == first
    moved = subagent_of(agents, Agent(CLAUDE_A, "mine", "r", HERE + 1, NOW, 0), "a1", NOW + 1)
    assert (moved.session, moved.pid, moved.reader) == ("mine#sub:a1", HERE + 1, first.reader)


def test_the_subagents_of_a_plan_are_those_at_work_and_those_that_ended_lately(agents: AgentRegistry) -> None:
    for own in ("a1", "a2"):
        register(agents, subagent_of(agents, PARENT, own, NOW), "Explore")
    register(agents, subagent_of(agents, Agent(CLAUDE_A, "mine", "r", HERE, NOW, 0), "a3", NOW), "Explore")
    register(agents, subagent_of(agents, Agent(CLAUDE_A, PROJECT, "r", 2**30, NOW, 0), "a4", NOW))
    end(agents, subagent_id(CLAUDE_A, "a2"), NOW + 10)

    found = subagents_on(agents, PROJECT, NOW + 20)
    later = subagents_on(agents, PROJECT, NOW + 3 * 3_600_000)

    assert sorted((each.name, each.ended) for each in found if each.ended) == [("Explore", NOW + 10), ("a4", NOW)]
    assert [each.agent.session for each in found if not each.ended] == [f"{PROJECT}#sub:a1"]
    assert [each.agent.session for each in later] == [f"{PROJECT}#sub:a1"]
