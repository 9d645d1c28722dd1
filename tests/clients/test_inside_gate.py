"""In a real client, the gate continues the agent until its plan is done, within bounds."""

import json

import pytest

from tests.clients.agents import Sandbox
from tests.clients.driving import (
    ALL,
    DONE,
    FINISH,
    NUDGES,
    OPEN,
    PLAN,
    STOP,
    TERMINAL,
    MakeSandbox,
    in_both_modes,
    in_every_client,
    install_in,
    wait_in,
)
from tests.clients.inside import GO_ON, TASK, WAIT, InstalledClient, PatientModel, install, last_message, serving
from tests.clients.model import offered_tools
from tests.clients.situations import proves
from tests.clients.tui import at_terminal
from tests.host.models.model_server import Turn


@in_every_client
@in_both_modes
@proves("held", "finished")
def test_an_agent_that_stops_early_is_continued_until_its_plan_is_done(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """At a terminal, the person sees that the agent was told to go on."""
    with PatientModel(PLAN, STOP, FINISH, ALL, wait=wait_in(mode, name)) as model:
        client = install_in(mode, name, make_sandbox(model))
        if mode == TERMINAL:
            with at_terminal(client) as screen:
                screen.say(TASK)
                screen.until(ALL["text"])
                assert GO_ON in screen.screen
        else:
            output = run_to_end(client, stops=2)
            assert output.strip().endswith("All of it is done.") or name == "opencode"

    assert [tool for tool in offered_tools(model.requests[0].body) if tool.endswith("todo")] != []
    assert [GO_ON in last_message(request) for request in model.requests] == [False, False, True, False]
    assert last_message(model.requests[2]).count("1 Write the parser") == 1
    assert client.tasks == DONE


@pytest.mark.slow
@in_every_client
@proves("released")
def test_an_agent_that_makes_no_progress_is_released(name: str, make_sandbox: MakeSandbox) -> None:
    """After a few nudges. tildone is installed for the project only."""
    with PatientModel(PLAN, {**STOP, "repeat": True}, wait=WAIT.get(name)) as model:
        client = install(name, trusted(name, make_sandbox(model)), "project")
        run_to_end(client, stops=1 + NUDGES, notified=True)

    assert [GO_ON in last_message(request) for request in model.requests] == [False, False] + [True] * NUDGES
    assert client.tasks == OPEN
    assert "gave up: stopped 3 times more with the same words" in client.tildone("log")


WAITS = "If you wait for the user's answer, block that task"


@pytest.mark.parametrize("name", ["claude", "codex"])
@pytest.mark.parametrize(
    ("words", "told"),
    [("Do you want me to delete the old files? Reply yes or no.", 0), ("I can't continue without the old files.", 1)],
)
def test_an_agent_that_asks_is_left_alone_and_in_doubt_it_is_told_once_how_to_ask(
    name: str, words: str, told: int, make_sandbox: MakeSandbox
) -> None:
    with PatientModel(PLAN, {"text": words, "repeat": True}, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        run_to_end(client, stops=1 + told)

    assert [WAITS in last_message(request) for request in model.requests] == [False, False] + [True] * told
    assert client.tasks == OPEN


@pytest.mark.slow
@pytest.mark.parametrize(("name", "limit"), [("claude", 8), ("qwen", 7)])
@pytest.mark.parametrize("raised", [False, True])
def test_a_client_with_a_limit_of_continuations_of_its_own_drops_no_nudge(
    name: str, limit: int, make_sandbox: MakeSandbox, *, raised: bool
) -> None:
    """`tildone install` raises the limit, so that our own bounds decide."""
    with PatientModel(PLAN, *({"text": f"Stop {number}."} for number in range(30))) as model:
        client = install(name, make_sandbox(model))
        if not raised:
            client.rewrite('_STOP_HOOK_BLOCK_CAP": "100"', '_STOP_HOOK_BLOCK_CAP": ""')
        result = client.run()

    why = "told to go on 20 times, and nothing changed" if raised else f"told to go on {limit} times, the limit of"
    assert sum(GO_ON in last_message(request) for request in model.requests) == (20 if raised else limit)
    assert f"gave up: {why}" in client.tildone("log")
    assert "overriding" not in result.out + result.err
    assert client.tasks == OPEN


def run_to_end(client: InstalledClient, stops: int, *, notified: bool = False) -> str:
    """Run the client on the task until the gate lets it stop, and return its output.

    For opencode, wait for this number of stops, and then for a notice to the person if `notified`.
    """
    if client.name != "opencode":
        result = client.run()
        assert result.code == 0, result
        return result.out
    # `opencode run` ends at the first stop; its other clients use a server, which the gate can continue.
    with serving(client) as server:
        server.say(TASK)
        for _ in range(stops):
            server.until("session.idle")
        if notified:
            server.until("tui.toast.show")
    return ""


def trusted(name: str, sandbox: Sandbox) -> Sandbox:
    settings = {
        "codex": (".codex/config.toml", f'[projects."{sandbox.work}"]\ntrust_level = "trusted"\n'),
        "gemini": (".gemini/trustedFolders.json", json.dumps({str(sandbox.work): "TRUST_FOLDER"})),
        "copilot": (".copilot/config.json", json.dumps({"trustedFolders": [str(sandbox.work)]})),
    }
    if name in settings:
        file, text = settings[name]
        path = sandbox.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return sandbox


STEPS = 12
LIMITS = {"copilot": 8}
"""How often each client goes on because a hook asks for it, after one prompt, whatever is done meanwhile."""


@pytest.mark.parametrize("name", LIMITS)
@proves("held", "released")
def test_an_agent_is_let_go_before_its_client_ignores_a_nudge_and_goes_on_after_a_prompt(
    name: str, make_sandbox: MakeSandbox
) -> None:
    """It makes progress, and stops after each task."""
    script: list[Turn] = [{"tool": "todo", "args": {"add": [f"Step {number}" for number in range(STEPS)]}}]
    for number in range(STEPS):
        script += [{"text": f"I stop here, at {number}."}, {"tool": "todo", "args": {"done": number + 1}}]
    with PatientModel(*script) as model:
        client = install(name, make_sandbox(model))
        first = client.run()
        nudges = [GO_ON in last_message(request) for request in model.requests]
        second = client.run("Go on.", resume=True)

    limit = LIMITS[name]
    assert (first.code, second.code) == (0, 0), (first, second)
    assert sum(nudges) == limit
    said = " ".join((first.out + first.err).split())
    assert f"told to go on {limit} times, the limit of the coding agent" in said
    assert f"{STEPS - limit} of {STEPS} tasks are open. To go on, send it a prompt." in said
    assert {status for _, status in client.tasks} == {"completed"}
