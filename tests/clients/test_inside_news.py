"""In a real client, what a person changes in the plan reaches the model after its next tool call, whatever the tool."""

from collections.abc import Callable

import pytest

from tests.clients.agents import Sandbox
from tests.clients.inside import CLIENTS, TASK, InstalledClient, ModelWithPerson, install, serving, without_tools
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

COMMAND, FAILING = "echo worked", "exit 3"
SHELLS: dict[str, Turn] = {
    "claude": {"tool": "Bash", "args": {"command": COMMAND, "description": "Work"}},
    "codex": {"tool": "exec_command", "args": {"cmd": COMMAND}},
    "gemini": {"tool": "run_shell_command", "args": {"command": COMMAND}},
    "opencode": {"tool": "bash", "args": {"command": COMMAND, "description": "Work"}},
    "pi": {"tool": "bash", "args": {"command": COMMAND}},
}
"""For each client, a turn that calls a tool that has nothing to do with the plan."""

ASK: Turn = {"text": "What next?"}
FIRST, LATER = "Write the parser", "Measure it"
CHANGED = "Your plan was changed since you last saw it (by the user)"


in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
@proves("edit")
def test_a_persons_edit_is_in_the_next_request_and_only_once(name: str, make_sandbox: MakeSandbox) -> None:
    """The person adds a task while the model thinks, and it calls a tool of the client."""
    shell = SHELLS[name]
    with ModelWithPerson(shell, shell, shell, ASK) as model:
        client = install(name, make_sandbox(model))
        client.tildone("todo", "add", FIRST)
        model.acts[2] = lambda: client.tildone("todo", "add", LATER)
        run(client)

    news = f"{CHANGED}: added #2 “{LATER}”."
    assert [without_tools(request).count(news) for request in model.requests] == [0, 0, 1, 1]
    assert without_tools(model.requests[3]).count("since you last saw it") == 1


@in_every_client
@proves("edit")
def test_a_persons_edit_is_in_the_request_after_a_tool_that_failed(name: str, make_sandbox: MakeSandbox) -> None:
    shell = SHELLS[name]
    argument = next(argument for argument, given in shell["args"].items() if given == COMMAND)
    fails: Turn = {"tool": shell["tool"], "args": {**shell["args"], argument: FAILING}}
    with ModelWithPerson(fails, fails, ASK) as model:
        client = install(name, make_sandbox(model))
        client.tildone("todo", "add", FIRST)
        model.acts[2] = lambda: client.tildone("todo", "add", LATER)
        run(client)

    assert [f"{CHANGED}: added #2 “{LATER}”." in without_tools(request) for request in model.requests][2]


@in_every_client
def test_the_first_task_of_a_plan_reaches_a_model_at_work(name: str, make_sandbox: MakeSandbox) -> None:
    shell = SHELLS[name]
    with ModelWithPerson(shell, shell, ASK) as model:
        client = install(name, make_sandbox(model))
        model.acts[1] = lambda: client.tildone("todo", "add", FIRST)
        run(client)

    assert [FIRST in without_tools(request) for request in model.requests] == [False, True, True]
    assert without_tools(model.requests[2]).count(FIRST) == 1


@in_every_client
def test_of_tools_in_one_turn_one_result_tells_the_news(name: str, make_sandbox: MakeSandbox) -> None:
    shell = SHELLS[name]
    both: Turn = {"tools": [[shell["tool"], shell["args"]]] * 3}
    with ModelWithPerson(shell, both, ASK) as model:
        client = install(name, make_sandbox(model))
        client.tildone("todo", "add", FIRST, "Wire it up")
        model.acts[2] = lambda: client.tildone("todo", "rm", "2")
        run(client)

    assert without_tools(model.requests[2]).count(f"{CHANGED}: removed #2 “Wire it up”.") == 1


def run(client: InstalledClient) -> None:
    if client.name == "opencode":
        with serving(client) as server:
            server.say(TASK)
            server.until("session.idle")
        return
    result = client.run()
    assert result.code == 0, result
