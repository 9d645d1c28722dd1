"""The fast path loads few modules, and never skips an event that needs a reply."""

import os
import subprocess
import sys
from typing import Any

import pytest

from tests.hooks.agent import HookedAgent, Workspace, to_json
from tests.test_imports import HEAVY
from tildone.agents.integrations import INTEGRATIONS, HookPoint, names_with_hooks
from tildone.base.ids import now
from tildone.plan.model import Check, Phase, Proof, Result, Status, Task
from tildone.plan.ops import Append, Mark, Numbered, SetCheck, Write
from tildone.stores.agents import MODEL_NOTE, AgentId, agent_process
from tildone.stores.assignment import assign_session

LOADED_BY_A_SILENT_HOOK = {
    # The package, the entry point of every command, and types that the rest is written with.
    *("tildone", "tildone.cli", "tildone.base.errors", "tildone.base", "tildone.base"),
    # The fail-open frame, the event on standard input, and the decision that there is nothing to say.
    *("tildone.agents.hooks", "tildone.agents.hooks.event", "tildone.agents.hooks.fast_path"),
    # The facts about the one coding agent that calls.
    *("tildone.base", "tildone.agents.integrations", "tildone.agents.integrations"),
    *("tildone.agents.integrations", "tildone.agents.integrations.claude"),
    # Which agent it is, and on which session it works.
    *("tildone.stores.agents", "tildone.stores.agents", "tildone.stores.agents", "tildone.stores.agents"),
    # The settings, and the summary of the session that they name.
    *("tildone.app.settings", "tildone.app.values"),
    *("tildone.log", "tildone.stores", "tildone.base.json", "tildone.stores.summary"),
}
FINDS_NO_PLAN = {
    # Where the session is empty when the agent stops: whether the conversation had a plan before.
    *("tildone.agents.hooks.fast_path", "tildone.agents.hooks.event"),
}
STARTS = {
    # When a conversation starts: whether there is space for a plan.
    "tildone.agents.hooks.fast_path",
}
READS_A_STORE = {
    # Where there is a file to read: the SQL, and the package that it is in.
    *("tildone.stores", "tildone.stores.summary"),
}
SLOW = {"re", "enum", "json", "typing", "functools", "subprocess", "threading", "hashlib", "tomllib"}
SHOW = """
import atexit, sys
before = set(sys.modules)
atexit.register(lambda: print(*sorted(set(sys.modules) - before), file=sys.stderr))
from tildone.cli import main
sys.exit(main({words!r}))
"""


def loaded(agent: HookedAgent, point: HookPoint, *, replies: bool = False, **fields: Any) -> set[str]:
    """The modules that a hook imports."""
    event = agent.event(point)
    done = subprocess.run(
        [sys.executable, "-I", "-c", SHOW.format(words=["hook", agent.integration.name, event])],
        input=to_json(agent.payload(event, fields)),
        env={**os.environ, **agent.workspace.environ},
        capture_output=True,
        check=True,
    )
    assert bool(done.stdout) is replies
    return set(done.stderr.decode().split())


@pytest.mark.parametrize(
    ("point", "fields"),
    [
        (HookPoint.STOP, {"last_assistant_message": "Done."}),
        (HookPoint.SESSION_START, {"source": "startup"}),
        (HookPoint.BEFORE_TOOL, {"tool_name": "Bash"}),
        (HookPoint.AFTER_TOOL, {"tool_name": "Bash", "tool_response": {}}),
        (HookPoint.PROMPT, {"prompt": "Hello"}),
        (HookPoint.COMPACTION, {"trigger": "auto"}),
        (HookPoint.SESSION_END, {"reason": "other"}),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["no plan", "all done"])
def test_a_silent_hook_loads_nothing_but_what_is_listed(
    agent: HookedAgent, point: HookPoint, fields: dict[str, Any], *, begun: bool
) -> None:
    """Imports take most of a hook's time."""
    if begun:
        agent.workspace.plan(("One", "completed"))
        agent.call(HookPoint.SESSION_START)

    modules = loaded(agent, point, **fields)

    allowed = LOADED_BY_A_SILENT_HOOK | (READS_A_STORE if begun else FINDS_NO_PLAN)
    allowed |= STARTS if point is HookPoint.SESSION_START else set()
    assert {name for name in modules if name.split(".")[0] == "tildone"} <= allowed
    assert modules & SLOW == set()
    assert "apsw" not in modules or begun


def test_a_stop_is_silent_at_once_only_if_no_proof_can_be_stale(agent: HookedAgent) -> None:
    """The plan whose tasks are done is read if one of them has a proof, and nothing that runs commands is loaded."""
    session, check = agent.workspace.session, Check(("make", "test"))
    session.change([Append((Task("One"),)), SetCheck(Numbered((1,)), check)])
    session.record_proofs({1: Proof(Result.PASSED, check.command, "digest")})
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    modules = loaded(agent, HookPoint.STOP, replies=False, last_assistant_message="Done.")

    assert "tildone.agents.hooks.reply" in modules
    assert "tildone.app.check_files" in modules
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert modules & {"subprocess", "threading", "tildone.app.check_commands"} == set()


@pytest.mark.parametrize("name", names_with_hooks())
def test_a_hook_imports_the_one_integration_that_it_serves(workspace: Workspace, name: str) -> None:
    """Not the others, and nothing that edits settings files."""
    agent = HookedAgent(workspace, INTEGRATIONS[name])

    modules = loaded(agent, HookPoint.STOP)

    shared = {"tildone.agents.integrations"}
    imported = {module for module in modules if module.startswith("tildone.agents.integrations")}
    assert imported == shared | {f"tildone.agents.integrations.{name}"}


def test_a_hook_with_a_reply_loads_no_slow_module(agent: HookedAgent) -> None:
    agent.workspace.plan(("One", "pending"))

    modules = loaded(agent, HookPoint.STOP, replies=True, last_assistant_message="I stop.")

    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert "subprocess" not in modules


def test_the_first_hook_of_an_agent_finds_the_plan_that_its_mcp_server_began(workspace: Workspace) -> None:
    """The server knows the agent by its process only."""
    pid = agent_process()
    assign_session(workspace.agents, AgentId("claude", "other"), os.getpid(), now())
    server = assign_session(workspace.agents, AgentId("claude", pid=pid), pid, now())
    workspace.session_of(server.session).change((Write((Phase("", (Task("One"),)),)),))

    assert server.session != workspace.settings.session
    assert "One" in HookedAgent(workspace, id="new").stops()


def test_the_model_that_an_agent_starts_with_is_noted_until_its_conversation_ends(agent: HookedAgent) -> None:
    """The author of its later events; a later report replaces it."""
    agents, agent_id = agent.workspace.agents, AgentId.parse(agent.key)
    agent.workspace.plan(("a", "pending"))
    agent.report(HookPoint.SESSION_START, model="opus-1", source="startup")
    first = agents.note(agent_id, MODEL_NOTE)
    agent.report(HookPoint.STATUS_LINE, model={"id": "opus-2", "display_name": "Opus 2"})

    assert (first, agents.note(agent_id, MODEL_NOTE)) == ("opus-1", "opus-2")
    agent.report(HookPoint.SESSION_END, reason="exit")
    assert agents.note(agent_id, MODEL_NOTE) == ""


def test_no_note_stays_of_an_agent_without_a_plan(agent: HookedAgent) -> None:
    """Without a store, there is not even a folder for notes."""
    agents, agent_id = agent.workspace.agents, AgentId.parse(agent.key)
    agent.report(HookPoint.SESSION_START, model="opus", source="startup")
    assert not os.path.exists(agents.folder)

    agent.workspace.plan(("a", "completed"))
    agent.report(HookPoint.SESSION_START, model="opus", source="startup")
    assert agents.note(agent_id, MODEL_NOTE) == "opus"
    agent.report(HookPoint.SESSION_END, reason="exit")
    assert agents.note(agent_id, MODEL_NOTE) == ""


@pytest.mark.parametrize("model", ["", 7, None, [], {}, "x" * 10_000])
def test_a_model_of_another_form_is_unknown_and_a_long_name_is_clipped(agent: HookedAgent, model: object) -> None:
    agent.workspace.plan(("a", "pending"))
    agent.report(HookPoint.SESSION_START, model=model, source="startup")

    assert len(agent.workspace.agents.note(AgentId.parse(agent.key), MODEL_NOTE)) in (0, 100)
