"""In a real client, the gate holds the agent to its plan until that is done, and not for ever."""

import json
from collections.abc import Callable

import pytest

from tests.clients.agents import Desk
from tests.clients.inside import CLIENTS, GO_ON, TASK, WAIT, Inside, Waiting, install, newest, serving
from tests.clients.model import Model, offered
from tests.host.models.wire import Turn

pytestmark = pytest.mark.slow
Laid = Callable[[Model], Desk]

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
FINISH: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
STOP: Turn = {"text": "I stop here."}
ALL: Turn = {"text": "All of it is done."}
NUDGES = 3
"""How often an agent is told to go on that says the same each time and does nothing."""

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
def test_an_agent_that_stops_early_is_held_until_its_plan_is_done(name: str, desk: Laid) -> None:
    """The model gets the tool, is told to continue, and the client ends by itself when nothing is open."""
    with Waiting(PLAN, STOP, FINISH, ALL, wait=WAIT.get(name)) as model:
        inside = install(name, desk(model))
        said = worked(inside, stops=2)

    assert said.strip().endswith("All of it is done.") or name == "opencode"
    assert [tool for tool in offered(model.asked[0].body) if tool.endswith("todo")] != []
    assert [GO_ON in newest(asked) for asked in model.asked] == [False, False, True, False]
    assert newest(model.asked[2]).count("1 Write the parser") == 1
    assert inside.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]


@in_every_client
def test_an_agent_that_never_gets_on_is_let_go(name: str, desk: Laid) -> None:
    """After a few nudges; installed with the scope of the project."""
    with Waiting(PLAN, {**STOP, "repeat": True}, wait=WAIT.get(name)) as model:
        inside = install(name, trusted(name, desk(model)), "project")
        worked(inside, stops=1 + NUDGES, told=True)

    assert [GO_ON in newest(asked) for asked in model.asked] == [False, False] + [True] * NUDGES
    assert inside.tasks == [("Write the parser", "pending"), ("Wire it up", "pending")]
    assert "gave up: stopped 3 times more with the same words" in inside.tildone("log")


def worked(inside: Inside, stops: int, *, told: bool = False) -> str:
    """Have the client do the task, and whatever it is told besides; what it says.

    It stops so many times, and then the person is told something, or is not.
    """
    if inside.name != "opencode":
        ended = inside.run()
        assert ended.code == 0, ended
        return ended.out
    # `opencode run` ends at the first stop, whatever is said then; all else of opencode is a client of its server.
    with serving(inside) as server:
        server.say(TASK)
        for _ in range(stops):
            server.until("session.idle")
        if told:
            server.until("tui.toast.show")
    return ""


def trusted(name: str, desk: Desk) -> Desk:
    """A folder that the client is configured to trust."""
    said = {
        "codex": (".codex/config.toml", f'[projects."{desk.work}"]\ntrust_level = "trusted"\n'),
        "gemini": (".gemini/trustedFolders.json", json.dumps({str(desk.work): "TRUST_FOLDER"})),
    }
    if name in said:
        file, text = said[name]
        path = desk.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return desk
