"""The real clients in the test environment: they call the model, use MCP tools, and run their stop hooks."""

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients import stop_hook
from tests.clients.agents import AGENTS, WITH_HOOKS, WITH_SERVERS, run
from tests.clients.driving import MakeSandbox
from tests.clients.model import Model, offered_tools

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", AGENTS)
def test_a_client_prints_the_answer_of_the_model(name: str, make_sandbox: MakeSandbox) -> None:
    """The request contains the task, in the protocol of the client."""
    with Model({"text": "Hello from the script."}) as model:
        result = run(name, make_sandbox(model), "Say hello, 42 times.")

    assert (result.code, result.out.strip()) == (0, "Hello from the script."), result
    [request] = model.requests
    assert "Say hello, 42 times." in json.dumps(request.body)


@pytest.mark.parametrize("name", WITH_SERVERS)
def test_a_client_uses_the_tools_of_an_mcp_server(name: str, make_sandbox: MakeSandbox) -> None:
    """The model is offered the tool, and receives its result."""
    server = {"mirror": (sys.executable, str(Path(__file__).with_name("echo_server.py")))}

    with Model({"tool": "echo", "args": {"text": "draezil"}}, {"text": "That is it."}) as model:
        result = run(name, replace(make_sandbox(model), servers=server), "Read it from behind.")

    assert (result.code, result.out.strip()) == (0, "That is it."), result
    first, second = model.requests
    assert len([tool for tool in offered_tools(first.body) if tool.endswith("echo")]) == 1
    assert ["lizeard" in json.dumps(request.body) for request in (first, second)] == [False, True]


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_a_stop_hook_makes_a_client_continue(name: str, make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    """The model receives the reason of the hook, and answers once more."""
    hook = shlex.join([sys.executable, stop_hook.__file__, str(tmp_path)])

    with Model({"text": "Done, I think."}, {"text": "Now it is done."}) as model:
        result = run(name, replace(make_sandbox(model), on_stop=hook), "Do all of it.")

    assert result.code == 0, result
    assert result.out.strip().endswith("Now it is done.")
    first, second = model.requests
    assert [stop_hook.REASON in json.dumps(request.body) for request in (first, second)] == [False, True]
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [event["stop_hook_active"] for event in events] == [False, True]
