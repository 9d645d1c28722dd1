"""In a real client at work, a person edits the plan, stops the agent, pauses it and lets it go on."""

from collections.abc import Mapping, Sequence
from time import sleep

import pytest

from tests.clients.driving import ActingModel, MakeSandbox, conversation, in_both_modes, install_in, shell
from tests.clients.inside import CLIENTS, GO_ON, TASK, InstalledClient, last_message, without_tools
from tests.clients.situations import proves
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
FINISH: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
STOP: Turn = {"text": "I stop here."}
ALL: Turn = {"text": "All of it is done."}
DONE = [("Write the parser", "completed"), ("Wire it up", "completed")]

SETTLING_SECONDS = 3.0
"""How long the hook of a stop may take after the message is shown."""

STOPPED: Mapping[str, Sequence[str]] = {
    "claude": (STOP["text"], "hook stopped continuation", "stopped by tildone stop"),
    "opencode": (STOP["text"], "topped by the person"),
    "pi": (STOP["text"],),
}
"""What ends a stopped turn. Old versions of Claude Code, opencode and pi end none for a hook: the model is told to."""

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
@in_both_modes
@proves("pause", "resume")
def test_a_paused_agent_may_stop_and_a_resumed_one_is_continued(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """Both in the same conversation."""
    client: InstalledClient
    rest: Turn = {"text": "I rest now.", "do": lambda: client.tildone("pause")}
    with ActingModel(name, mode, PLAN, rest, STOP, FINISH, ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, "I rest now.")
            # That the agent may stop leaves no trace to wait for.
            sleep(SETTLING_SECONDS)
            client.tildone("resume")
            say("Now go on.", ALL["text"])

    told = [last_message(request) for request in model.requests]
    assert [GO_ON in message for message in told] == [False, False, False, True, False], told
    assert client.tasks == DONE


@in_every_client
@in_both_modes
@proves("stop")
def test_a_stopped_agent_ends_its_turn_with_open_tasks(name: str, mode: str, make_sandbox: MakeSandbox) -> None:
    """Before its next tool call or after it; the person's next prompt starts a turn of its own."""
    client: InstalledClient
    goes_on = shell(name, "true", do=lambda: client.tildone("stop"))
    with ActingModel(name, mode, PLAN, goes_on, STOP, FINISH, ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, *STOPPED.get(name, ["topped by the person"]))

    # At a terminal, the last request may come after the text that ends the turn.
    assert len(model.requests) <= 3
    assert not any(GO_ON in without_tools(request) for request in model.requests)
    assert client.tasks == [("Write the parser", "pending"), ("Wire it up", "pending")]


@in_every_client
@in_both_modes
@pytest.mark.long
@proves("edit")
def test_a_persons_edit_reaches_the_model_after_its_next_tool_call(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """The tool is one of the client's own; the change is told once."""
    client: InstalledClient
    edited = shell(name, "true", do=lambda: client.tildone("todo", "add", "Ask Ada"))
    finish: Turn = {"tools": [["todo", {"done": number}] for number in (1, 2, 3)]}
    with ActingModel(name, mode, PLAN, edited, finish, ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    assert ["Ask Ada" in without_tools(request) for request in model.requests] == [False, False, True, True]
    assert without_tools(model.requests[-1]).count("Ask Ada") == 1
    assert client.tasks == [*DONE, ("Ask Ada", "completed")]
