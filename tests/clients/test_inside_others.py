"""In real clients that are tried in a few situations only: the tool, the gate, and an edit during the work."""

import pytest

from tests.clients.driving import ALL, ASKS, DONE, FINISH, OPEN, PLAN, STOP, ActingModel, MakeSandbox
from tests.clients.inside import GO_ON, OPENCODES, TASK, InstalledClient, install, last_message, serving, without_tools
from tests.clients.install import OTHERS
from tests.clients.model import offered_tools
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

in_other_clients = pytest.mark.parametrize("name", OTHERS)


def converse(client: InstalledClient, prompt: str = TASK) -> None:
    if client.name in OPENCODES:
        with serving(client) as server:
            server.say(prompt)
            server.until("session.idle")
        return
    result = client.run(prompt)
    assert result.code == 0, result


@in_other_clients
def test_an_agent_has_the_tool_and_is_continued_until_its_plan_is_done(name: str, make_sandbox: MakeSandbox) -> None:
    with ActingModel(name, "headless", PLAN, STOP, FINISH, ALL) as model:
        client = install(name, make_sandbox(model))
        converse(client)

    assert any(tool.endswith("todo") for tool in offered_tools(model.requests[0].body))
    assert [GO_ON in last_message(request) for request in model.requests] == [False, False, True, False]
    assert client.tasks == DONE


@in_other_clients
def test_a_question_is_left_to_the_person_and_a_new_conversation_has_the_plan(
    name: str, make_sandbox: MakeSandbox
) -> None:
    """Kimi Code tells no last message, so a question is a stop like others, once in a turn."""
    held: list[Turn] = [ASKS] if name == "kimi" else []
    with ActingModel(name, "headless", PLAN, ASKS, *held, FINISH, ALL) as model:
        client = install(name, make_sandbox(model))
        converse(client)
        assert client.tasks == OPEN
        converse(client, "Where were we?")

    first = 2 + len(held)
    assert "Wire it up" in without_tools(model.requests[first + 1])
    assert TASK not in without_tools(model.requests[first + 1])
    assert client.tasks == DONE


@in_other_clients
def test_an_edit_during_the_work_reaches_the_model(name: str, make_sandbox: MakeSandbox) -> None:
    client: InstalledClient
    edit: Turn = {"tool": "todo", "args": {"done": 1}, "do": lambda: client.tildone("todo", "add", "Measure it")}
    with ActingModel(name, "headless", PLAN, edit, {"tools": [["todo", {"done": 2}], ["todo", {"done": 3}]]}) as model:
        client = install(name, make_sandbox(model))
        converse(client)

    assert "Measure it" in last_message(model.requests[2])
    assert client.tasks == [*DONE, ("Measure it", "completed")]
