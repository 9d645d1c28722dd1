"""In a real client without our tool, the gate names a command; a summary or a stop in vain is not counted as a turn."""

import pytest

from tests.clients.agents import WITH_SERVERS
from tests.clients.driving import (
    ALL,
    DONE,
    HEADLESS,
    PLAN,
    STOP,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    in_every_client,
    install_in,
    kill_server,
    shell,
)
from tests.clients.inside import (
    GO_ON,
    TASK,
    InstalledClient,
    install,
    last_message,
    serving,
    without_tools,
)
from tests.clients.situations import proves
from tests.host.models.model_server import Turn
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.slow

ASKS: Turn = {"text": "Which of the two do you want?"}


@in_every_client
def test_a_model_without_the_tool_finishes_its_plan_by_command(name: str, make_sandbox: MakeSandbox) -> None:
    """Only the hooks are installed, and nothing that they say names the tool."""
    with ActingModel(name, HEADLESS, STOP, shell(name, f"{PROGRAM} todo done 1 2"), ALL) as model:
        client = install(name, make_sandbox(model))
        client.tildone("uninstall", name)
        client.tildone("install", name, "--no-mcp")
        client.tildone("todo", "add", "Write the parser")
        client.tildone("todo", "add", "Wire it up")
        with conversation(client, HEADLESS) as say:
            say(TASK, ALL["text"])

    told = [last_message(request) for request in model.requests]
    assert [GO_ON in message for message in told] == [False, True, False], told
    assert f"{PROGRAM} todo done N" in told[1]
    assert ["todo tool" in without_tools(request) for request in model.requests] == [False] * 3
    assert client.tasks == DONE


@pytest.mark.parametrize("name", WITH_SERVERS)
@in_both_modes
@proves("killed server")
def test_a_model_whose_server_was_killed_finishes_its_plan_by_command(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    client: InstalledClient
    stop: Turn = {**STOP, "do": lambda: kill_server(client)}
    with ActingModel(name, mode, PLAN, stop, shell(name, f"{PROGRAM} todo done 1 2"), ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    told = [last_message(request) for request in model.requests]
    assert [GO_ON in message for message in told] == [False, False, True, False], told
    assert f"{PROGRAM} todo done N" in told[2]
    assert client.tasks == DONE


@proves("compaction by the person", client="opencode")
def test_a_summary_of_opencode_is_not_the_end_of_a_turn(make_sandbox: MakeSandbox) -> None:
    """The person's request for it does not wake the agent. The next request contains the plan once."""
    with ActingModel("opencode", HEADLESS, PLAN, ASKS, ASKS) as model:
        client = install("opencode", make_sandbox(model))
        with serving(client) as server:
            server.say(TASK)
            server.until("session.idle")
            server.summarize()
            server.until("session.compacted")
            server.until("session.idle")
            server.say("Where were we?")
            server.until("session.idle")

    told = [last_message(request) for request in model.requests]
    assert [GO_ON in message for message in told] == [False] * 3, told
    assert without_tools(model.requests[2]).count("Wire it up") == 1
    assert len(model.summaries) == 1


@proves("compaction by the person", client="claude")
def test_a_compaction_of_claude_code_is_not_the_end_of_a_turn(make_sandbox: MakeSandbox) -> None:
    with ActingModel("claude", HEADLESS, PLAN, ASKS) as model:
        client = install("claude", make_sandbox(model))
        results = [client.run(), client.run("/compact", resume=True)]

    assert [result.code for result in results] == [0, 0], results
    assert (len(model.requests), len(model.summaries)) == (2, 1)
    assert "told to go on" not in client.tildone("log")
