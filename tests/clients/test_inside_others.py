"""In real clients that are tried in a few situations only: the tool, the gate, and an edit during the work."""

import pytest

from tests.clients.driving import (
    ALL,
    ASKS,
    DONE,
    FINISH,
    HEADLESS,
    OPEN,
    PLAN,
    STOP,
    ActingModel,
    MakeSandbox,
    conversation,
)
from tests.clients.inside import GO_ON, TASK, InstalledClient, install, last_message, without_tools
from tests.clients.install import OTHERS
from tests.clients.model import offered_tools
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

END: Turn = {"tools": [["todo", {"done": 2}], ["todo", {"done": 3}]]}

in_other_clients = pytest.mark.parametrize("name", OTHERS)


@in_other_clients
def test_an_agent_has_the_tool_and_is_continued_until_its_plan_is_done(name: str, make_sandbox: MakeSandbox) -> None:
    with ActingModel(name, HEADLESS, PLAN, STOP, FINISH, ALL) as model:
        client = install(name, make_sandbox(model))
        with conversation(client, HEADLESS) as say:
            say(TASK, ALL["text"])

    assert any(tool.endswith("todo") for tool in offered_tools(model.requests[0].body))
    assert [GO_ON in last_message(request) for request in model.requests] == [False, False, True, False]
    assert client.tasks == DONE


@in_other_clients
def test_a_question_is_left_to_the_person_and_a_new_conversation_has_the_plan(
    name: str, make_sandbox: MakeSandbox
) -> None:
    """Kimi Code tells no last message, so a question is a stop like others, once in a turn."""
    held: list[Turn] = [ASKS] if name == "kimi" else []
    with ActingModel(name, HEADLESS, PLAN, ASKS, *held, FINISH, ALL) as model:
        client = install(name, make_sandbox(model))
        with conversation(client, HEADLESS) as say:
            say(TASK, ASKS["text"])
        assert client.tasks == OPEN
        with conversation(client, HEADLESS) as say:
            say("Where were we?", ALL["text"])

    first = 2 + len(held)
    assert "Wire it up" in without_tools(model.requests[first + 1])
    assert TASK not in without_tools(model.requests[first + 1])
    assert client.tasks == DONE


@in_other_clients
def test_an_edit_during_the_work_reaches_the_model(name: str, make_sandbox: MakeSandbox) -> None:
    client: InstalledClient
    edit: Turn = {"tool": "todo", "args": {"done": 1}, "do": lambda: client.tildone("todo", "add", "Measure it")}
    with ActingModel(name, HEADLESS, PLAN, edit, END, ALL) as model:
        client = install(name, make_sandbox(model))
        with conversation(client, HEADLESS) as say:
            say(TASK, ALL["text"])

    assert "Measure it" in last_message(model.requests[2])
    assert client.tasks == [*DONE, ("Measure it", "completed")]
