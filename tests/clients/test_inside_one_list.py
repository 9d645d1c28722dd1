"""In a real client, a task that a person added and that the model puts on the client's own list is one task."""

from collections.abc import Callable

import pytest

from tests.clients.agents import Sandbox
from tests.clients.inside import (
    GO_ON,
    TASK,
    InstalledClient,
    ModelWithPerson,
    install,
    last_message,
    serving,
    without_tools,
)
from tests.clients.model import Model
from tests.clients.test_inside_lists import LISTS, PARSER, WIRE, created, updated, with_its_list
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]


@pytest.mark.parametrize("case", LISTS)
def test_tasks_that_a_person_added_and_the_model_lists_are_one_task_each(case: str, make_sandbox: MakeSandbox) -> None:
    """What the model ticks off in its own list is done: nothing is doubled, and nobody is told to continue."""
    name = case.partition("-")[0]
    write, tick = LISTS[case]
    with Model(write, tick, {"text": "All of it is done."}) as model:
        client = with_its_list(install(name, make_sandbox(model)), case)
        client.tildone("todo", "add", f"{PARSER.lower()}.", WIRE)
        run_to_end(client, stops=1)

    assert len(model.requests) == 3
    assert "since you last saw it" not in without_tools(model.requests[2])
    assert client.tasks == [(f"{PARSER.lower()}.", "completed"), (WIRE, "completed")]


def test_a_task_that_a_person_adds_to_the_own_list_of_claude_code_is_not_doubled(make_sandbox: MakeSandbox) -> None:
    """The model is told of it after its next tool call, creates it in its own list, and completes it when resumed."""
    script: list[Turn] = [
        {"tools": [created(PARSER)]},
        {"tools": [updated(1, "in_progress")]},
        {"tools": [created(WIRE)]},
        {"text": "Shall I go on?"},
        {"tools": [updated(1, "completed"), updated(2, "completed")]},
        {"text": "All of it is done."},
    ]
    with ModelWithPerson(*script) as model:
        client = install("claude", make_sandbox(model))
        model.acts[2] = lambda: client.tildone("todo", "add", WIRE)
        results = [client.run(), client.run(resume=True)]

    assert [result.code for result in results] == [0, 0], results
    assert f"added “{WIRE}”" in last_message(model.requests[2])
    assert [GO_ON in last_message(request) for request in model.requests] == [False] * len(script)
    assert client.tasks == [(PARSER, "completed"), (WIRE, "completed")]


def test_a_task_that_a_person_removes_from_the_own_list_of_claude_code_does_not_return(
    make_sandbox: MakeSandbox,
) -> None:
    """The model is told that it was removed, although it completes it at that moment."""
    script: list[Turn] = [
        {"tools": [created(PARSER), created(WIRE)]},
        {"tools": [updated(1, "in_progress")]},
        {"tools": [updated(2, "in_progress")]},
        {"tools": [updated(1, "completed"), updated(2, "completed")]},
        {"text": "All of it is done."},
    ]
    with ModelWithPerson(*script) as model:
        client = install("claude", make_sandbox(model))
        model.acts[2] = lambda: client.tildone("todo", "rm", WIRE)
        result = client.run()

    assert result.code == 0, result
    removed = f"removed “{WIRE}”."
    assert [without_tools(request).count(removed) for request in model.requests] == [0, 0, 1, 1, 1]
    assert client.tasks == [(PARSER, "completed")]


def run_to_end(client: InstalledClient, stops: int = 2) -> None:
    if client.name == "opencode":
        with serving(client) as server:
            server.say(TASK)
            for _ in range(stops):
                server.until("session.idle")
        return
    result = client.run()
    assert (result.code, result.out.strip().splitlines()[-1]) == (0, "All of it is done."), result
