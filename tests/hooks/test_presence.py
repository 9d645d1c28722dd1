"""Presence: what hooks tell the store of an agent, and when it leaves."""

import os
from typing import Any

import pytest

from tests.hooks.agent import HookedAgent, Workspace
from tests.hooks.test_fast_path import LOADED_BY_A_SILENT_HOOK, READS_A_STORE, loaded
from tests.suite.forking import starting
from tildone.agents.integrations import HookPoint
from tildone.agents.integrations.codex import INTEGRATION as CODEX
from tildone.log.presence import Presence
from tildone.plan.gate import RestReason

LISTED = {"tool_name": "TodoWrite", "tool_input": {"todos": [{"content": "One", "status": "pending"}]}}


def presences(workspace: Workspace) -> list[Presence]:
    return list(workspace.session.store.records.presences())


@pytest.fixture
def agent(workspace: Workspace) -> HookedAgent:
    """An agent at work on a plan."""
    workspace.plan(("One", "pending"))
    return HookedAgent(workspace)


def test_an_agent_that_is_told_to_continue_is_at_work(agent: HookedAgent) -> None:
    agent.report(HookPoint.STATUS_LINE, model={"id": "opus"}, cost={"total_cost_usd": 1.25})
    assert presences(agent.workspace) == []

    assert agent.stops()

    [present] = presences(agent.workspace)
    assert (present.agent, present.session, present.host) == (agent.key, agent.workspace.settings.session, "claude")
    assert (present.model, present.doing, present.why, present.cost) == ("opus", "", "", 1.25)
    assert present.beat == present.since > 0
    assert present.machine == os.uname().nodename


def test_a_tool_call_that_changes_the_plan_tells_what_the_agent_does(agent: HookedAgent) -> None:
    agent.report(HookPoint.AFTER_TOOL, tool_response={}, **LISTED)

    assert [present.doing for present in presences(agent.workspace)] == ["TodoWrite"]


def test_an_agent_that_asked_a_question_rests_until_the_next_prompt(agent: HookedAgent) -> None:
    """The prompt has nothing to say, and is told all the same."""
    agent.report(HookPoint.SESSION_START, source="startup")
    assert agent.stops("Shall I delete the folder?") == ""
    [resting] = presences(agent.workspace)

    agent.report(HookPoint.PROMPT, prompt="Yes")

    [working] = presences(agent.workspace)
    assert (resting.why, resting.doing) == (RestReason.ASKED.value, "")
    assert working.why == ""
    assert working.beat >= resting.beat


def test_an_agent_whose_session_ends_leaves(agent: HookedAgent) -> None:
    other = HookedAgent(agent.workspace, CODEX, "c1")
    agent.stops()
    other.report(HookPoint.SESSION_START, source="startup")
    before = {present.agent for present in presences(agent.workspace)}

    agent.report(HookPoint.SESSION_END, reason="exit")

    assert agent.key in before
    assert agent.key not in {present.agent for present in presences(agent.workspace)}


def test_a_hook_with_nothing_to_say_tells_nothing(agent: HookedAgent) -> None:
    agent.report(HookPoint.SESSION_START, source="startup")
    before = presences(agent.workspace)
    assert len(before) == 1

    agent.report(HookPoint.AFTER_TOOL, tool_name="Bash", tool_input={"command": "ls"}, tool_response={})
    agent.report(HookPoint.PROMPT, prompt="Go on")

    assert presences(agent.workspace) == before


@pytest.mark.parametrize(
    ("point", "fields"),
    [
        (HookPoint.PROMPT, {"prompt": "Go on"}),
        (HookPoint.AFTER_TOOL, {"tool_name": "Bash", "tool_response": {}}),
        (HookPoint.BEFORE_TOOL, {"tool_name": "Bash"}),
    ],
)
def test_a_silent_hook_of_a_present_agent_loads_no_store(
    agent: HookedAgent, point: HookPoint, fields: dict[str, Any]
) -> None:
    # By this process, as `loaded` does: by its parent, a hook knows the agent.
    with starting():
        agent.call(HookPoint.SESSION_START, source="startup")
    assert len(presences(agent.workspace)) == 1

    modules = {name for name in loaded(agent, point, **fields) if name.startswith("tildone")}

    assert modules <= LOADED_BY_A_SILENT_HOOK | READS_A_STORE


def test_a_session_that_was_never_told_of_ends_without_a_store(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)

    modules = loaded(agent, HookPoint.SESSION_END, reason="exit")

    assert "tildone.stores" not in modules
    assert not os.path.exists(workspace.settings.store.location)


def test_a_store_that_is_gone_at_the_end_is_not_created_again(agent: HookedAgent) -> None:
    agent.stops()
    path = agent.workspace.settings.store.location
    os.remove(path)

    answer = agent.report(HookPoint.SESSION_END, reason="exit")

    assert (answer.code, answer.err) == (0, "")
    assert not os.path.exists(path)


def test_a_store_that_refuses_presences_changes_nothing_for_the_agent(agent: HookedAgent) -> None:
    store = agent.workspace.session.store
    store.close()
    import apsw  # noqa: PLC0415  only this test writes to the file

    path = agent.workspace.settings.store.location
    apsw.Connection(path).execute(
        "CREATE TRIGGER full BEFORE INSERT ON presence BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    )

    assert "One" in agent.stops()
    assert presences(agent.workspace) == []
