"""Every client runs here as it does anywhere: it asks its model, uses its tools, and is held back by its hooks."""

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clients import echo_server, stop_hook
from tests.clients.agents import AGENTS, WITH_HOOKS, WITH_SERVERS, Desk, run
from tests.clients.model import Model, offered

pytestmark = pytest.mark.slow
Laid = Callable[[Model], Desk]


@pytest.mark.parametrize("name", AGENTS)
def test_a_client_says_what_the_model_answers(name: str, desk: Laid) -> None:
    """The task reaches the model, and the answer the person, in the format of each."""
    with Model({"text": "Hello from the script."}) as model:
        ended = run(name, desk(model), "Say hello, 42 times.")

    assert (ended.code, ended.out.strip()) == (0, "Hello from the script."), ended
    [asked] = model.asked
    assert "Say hello, 42 times." in json.dumps(asked.body)


@pytest.mark.parametrize("name", WITH_SERVERS)
def test_a_client_uses_the_tools_of_an_mcp_server(name: str, desk: Laid) -> None:
    """The model is offered them, and hears what they answer."""
    server = {"mirror": (sys.executable, echo_server.__file__)}

    with Model({"tool": "echo", "args": {"text": "draezil"}}, {"text": "That is it."}) as model:
        ended = run(name, replace(desk(model), servers=server), "Read it from behind.")

    assert (ended.code, ended.out.strip()) == (0, "That is it."), ended
    first, second = model.asked
    assert len([tool for tool in offered(first.body) if tool.endswith("echo")]) == 1
    assert ["lizeard" in json.dumps(asked.body) for asked in (first, second)] == [False, True]


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_a_client_is_held_back_by_its_stop_hook(name: str, desk: Laid, tmp_path: Path) -> None:
    """The model hears why, and answers once more."""
    hook = shlex.join([sys.executable, stop_hook.__file__, str(tmp_path)])

    with Model({"text": "Done, I think."}, {"text": "Now it is done."}) as model:
        ended = run(name, replace(desk(model), on_stop=hook), "Do all of it.")

    assert ended.code == 0, ended
    assert ended.out.strip().endswith("Now it is done.")
    first, second = model.asked
    assert [stop_hook.REASON in json.dumps(asked.body) for asked in (first, second)] == [False, True]
    heard = [json.loads(line) for line in (tmp_path / "heard.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [told["stop_hook_active"] for told in heard] == [False, True]
