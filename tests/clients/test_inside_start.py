"""In a real client: its first request and its first start, what a person sees there, and what hooks tell."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.clients.driving import (
    ALL,
    DONE,
    FINISH,
    HEADLESS,
    NUDGES,
    OPEN,
    PLAN,
    START,
    STOP,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    in_every_client,
    install_in,
    needs_tmux,
    shell,
)
from tests.clients.inside import GO_ON, TASK, InstalledClient, PatientModel, install, last_message
from tests.clients.model import Model, offered_tools
from tests.clients.situations import proves
from tests.clients.tui import FOLDER, PROMPTS, WAIT, at_terminal, install_for_terminal
from tests.host.models.model_server import Turn
from tests.trusted import write_trusted
from tildone.agents.integrations import INTEGRATIONS

pytestmark = pytest.mark.slow

STARTS = {"claude": 6, "codex": 6}
"""How often a client is started that does not wait for its servers: one that is sometimes too slow would be missing in
some of the first requests. The other clients wait, and are started twice."""
WAITS_FOR_SERVERS = ("MCP_CONNECTION_NONBLOCKING", "ENABLE_TOOL_SEARCH")
"""Variables that make Claude Code send every tool with the first request in other tests."""


@in_every_client
@in_both_modes
@proves("first request")
def test_the_first_request_of_every_start_offers_the_tool(name: str, mode: str, make_sandbox: MakeSandbox) -> None:
    starts = STARTS.get(name, 2)
    offered: list[list[str]] = []
    with Model({"text": "Hello from the script.", "repeat": True}) as model:
        client = with_default_settings(install_in(mode, name, make_sandbox(model)))
        for start in range(starts):
            already = len(model.requests)
            with conversation(client, mode, again=start > 0) as say:
                say("Say hello.", "Hello from the script.")
            tools = offered_tools(model.requests[already].body)
            offered.append([tool for tool in tools if tool.endswith("todo")])

    assert [len(tools) for tools in offered] == [1] * starts, offered


def with_default_settings(client: InstalledClient) -> InstalledClient:
    for variable in WAITS_FOR_SERVERS:
        client.start.environ.pop(variable, None)
    return client


@in_every_client
@pytest.mark.long
@needs_tmux
@proves("released", tui=True)
def test_a_person_at_a_terminal_sees_that_an_agent_without_progress_was_released(
    name: str, make_sandbox: MakeSandbox
) -> None:
    with PatientModel(PLAN, {**STOP, "repeat": True}, wait=WAIT.get(name)) as model:
        client = install_for_terminal(name, make_sandbox(model))
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until("tildone lets the agent go: stopped 3 times more with the same words")

    assert [GO_ON in last_message(request) for request in model.requests] == [False, False] + [True] * NUDGES
    assert client.tasks == OPEN


@pytest.mark.parametrize("name", ["claude", "pi", "copilot"])
@pytest.mark.long
@needs_tmux
@proves("status line", tui=True)
def test_the_plan_is_on_the_screen_all_the_time(name: str, make_sandbox: MakeSandbox) -> None:
    first, second = {"text": "Which of the two first?"}, {"text": "Shall I go on?"}
    with PatientModel(PLAN, first, {"tool": "todo", "args": {"done": 1}}, second, wait=WAIT.get(name)) as model:
        client = install_for_terminal(name, make_sandbox(model))
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until("☐ 0/2 · #1 Write the parser")
            screen.until(first["text"])
            screen.say("The first one.")
            screen.until("✓ 1/2 · #2 Wire it up")


@in_every_client
@pytest.mark.parametrize("scope", ["user", pytest.param("project", marks=pytest.mark.long)])
@pytest.mark.long
@needs_tmux
@proves("start prompts", tui=True)
def test_a_client_asks_what_install_says_that_it_will_ask(name: str, scope: str, make_sandbox: MakeSandbox) -> None:
    """At the first start in a new folder; after that, the tool is there."""
    with PatientModel(PLAN, FINISH, ALL, wait=WAIT.get(name)) as model:
        client = install_for_terminal(name, make_sandbox(model), scope, new_folder=True)
        if name == "gemini":
            # It applies the answer when it starts again, which it does not do by itself in this environment.
            with at_terminal(client, works=False):
                pass
        with at_terminal(client, again=name == "gemini") as screen:
            screen.say(TASK)
            screen.until(ALL["text"])

    # The question about the folder comes without tildone, too, and matters only where the settings are in the folder.
    asked = [prompt.name for prompt in PROMPTS[name, scope] if scope == "project" or prompt.name != FOLDER]
    announced = INTEGRATIONS[name].prompts.get(scope, ())
    assert [said.startswith(name) for said, name in zip(announced, asked, strict=True)] == [True] * len(asked)
    assert client.tasks == DONE


NOT_WORKING = "tildone does not work, and the agent goes on without it: "
TOLD = {"claude": 1, "codex": 0, "gemini": 2, "opencode": 1, "pi": 1, "copilot": 1}
"""How often each client prints a notice of the start of a session: Gemini CLI in two ways, `codex exec` in none."""


@pytest.mark.parametrize("name", ["claude", "gemini", "opencode", "pi"])
def test_an_agent_that_was_stopped_says_so(name: str, make_sandbox: MakeSandbox) -> None:
    client: InstalledClient
    last = shell(name, "true", do=lambda: client.tildone("stop"))
    with ActingModel(name, HEADLESS, PLAN, last, shell(name, "true"), {"text": "I end."}) as model:
        client = install(name, make_sandbox(model))
        result = client.run(TASK)

    assert result.code == 0, result
    assert "tildone stop" in result.err


@pytest.mark.parametrize("name", TOLD)
def test_a_setting_that_is_wrong_is_told_once(name: str, make_sandbox: MakeSandbox) -> None:
    with Model({"text": "Hello from the script."}) as model:
        client = install(name, make_sandbox(model))
        write_trusted(client.sandbox.work / "tildone.toml", "max_nudges = [", client.environ)
        result = client.run()

    assert (result.code, result.out.strip()) == (0, "Hello from the script."), result
    # Copilot CLI wraps it.
    assert " ".join(result.err.split()).count(NOT_WORKING) == TOLD[name], result.err


ADD: Turn = {"tool": "todo", "args": {"add": ["Lexer", "Grammar"]}}
DONE_FIRST: Turn = {"tool": "todo", "args": {"done": 1}}
DROP: Turn = {"tool": "todo", "args": {"drop": 2}}
USED = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}
TOKENS: Mapping[str, int | None] = {
    "claude": None,
    "codex": None,
    "gemini": None,
    "opencode": 1215,
    "pi": 1215,
    "copilot": None,
}
"""The tokens of a request of 1200 tokens and of one of 15; None if the hooks of the client do not tell them.

opencode tells what a request used only after its tools have run, so that the task has the request that started it, and
not the one that finished it.
"""


@pytest.mark.parametrize("name", TOKENS)
def test_the_tokens_of_a_request_are_on_the_task_that_was_in_progress(name: str, make_sandbox: MakeSandbox) -> None:
    work = shell(name, "true", usage=USED)
    with ActingModel(name, HEADLESS, ADD, START, work, DONE_FIRST, DROP, ALL) as model:
        client = install(name, make_sandbox(model))
        with conversation(client, HEADLESS) as say:
            say(TASK, ALL["text"])

    first, second = tasks(client.tildone("stats", "--json"))
    assert first["in_progress_ms"] > 0
    assert first["tokens"] == TOKENS[name]
    assert (second["tokens"] or 0) < 1000


def tasks(stats: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(stats)["tasks"]
    return found
