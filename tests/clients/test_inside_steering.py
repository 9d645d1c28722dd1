"""In a real client at work, a person edits the plan, stops the agent, pauses it and lets it go on."""

from collections.abc import Mapping, Sequence
from functools import partial
from time import sleep

import pytest

from tests.clients.driving import (
    ALL,
    DONE,
    FINISH,
    HEADLESS,
    OPEN,
    PLAN,
    SETTLING_SECONDS,
    STOP,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    in_every_client,
    install_in,
    shell,
)
from tests.clients.inside import GO_ON, TASK, InstalledClient, install, last_message, without_tools
from tests.clients.situations import proves
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

STOPPED: Mapping[str, Sequence[str]] = {
    "claude": (STOP["text"], "hook stopped continuation", "stopped by tildone stop"),
    "opencode": (STOP["text"], "topped by the person"),
    "pi": (STOP["text"],),
}
"""What ends a stopped turn. Old versions of Claude Code, opencode and pi end none for a hook: the model is told to."""


@in_every_client
@in_both_modes
@proves("pause", "resume")
def test_a_paused_agent_may_stop_and_a_resumed_one_is_continued(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
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
    assert client.tasks == OPEN


@in_every_client
@in_both_modes
@pytest.mark.long
@proves("edit")
def test_a_persons_edit_reaches_the_model_after_its_next_tool_call(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
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


ASK: Turn = {"text": "Shall I go on?"}
PARSER, LATER = "Write the parser", "Measure it"
CHANGED = "Your plan was changed since you last saw it (by the user)"


@in_every_client
@pytest.mark.parametrize("command", ["echo worked", "exit 3"])
@proves("edit")
def test_a_persons_edit_is_in_the_next_request_and_only_once(
    name: str, command: str, make_sandbox: MakeSandbox
) -> None:
    """The person adds a task while the model thinks, and it calls a tool of the client, which works or fails."""
    work = shell(name, command)
    requests = worked(name, make_sandbox, work, {**work, "types": ("todo", "add", LATER)}, work, ASK, plan=[PARSER])

    assert [request.count(f"{CHANGED}: added #2 “{LATER}”.") for request in requests] == [0, 0, 1, 1]
    assert requests[3].count("since you last saw it") == 1


def worked(name: str, make_sandbox: MakeSandbox, *script: Turn, plan: Sequence[str] = ()) -> list[str]:
    """Run a client, and return its requests; a person types the words in `types` before the turn is answered."""
    client: InstalledClient
    turns = [
        turn | {"do": partial(lambda words: client.tildone(*words), turn["types"])} if "types" in turn else turn
        for turn in script
    ]
    with ActingModel(name, HEADLESS, *turns) as model:
        client = install(name, make_sandbox(model))
        for task in plan:
            client.tildone("todo", "add", task)
        with conversation(client, HEADLESS) as say:
            say(TASK, ASK["text"])
    return [without_tools(request) for request in model.requests]
