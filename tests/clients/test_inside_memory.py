"""In a real client, a plan outlives the conversation that made it, and conversations have separate plans."""

from collections.abc import Callable

import pytest

from tests.clients.agents import SECONDS, Desk
from tests.clients.inside import CLIENTS, GO_ON, TASK, WAIT, Two, Waiting, install, serving, shown
from tests.clients.model import Model
from tests.host.models.wire import Turn

pytestmark = pytest.mark.slow
Laid = Callable[[Model], Desk]

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
ASKS: Turn = {"text": "Which of the two shall I begin with?"}

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
def test_a_plan_is_there_again_after_a_restart_and_after_a_resume(name: str, desk: Laid) -> None:
    """The first thing that the model is shown holds what is open; and once nothing is, nobody is told to go on."""
    finish: Turn = {"tool": "todo", "args": {"done": 2}}
    with Waiting(PLAN, ASKS, {"tool": "todo", "args": {"done": 1}}, ASKS, finish, wait=WAIT.get(name)) as model:
        inside = install(name, desk(model))
        ended = [inside.run(), inside.run("Where were we?")]
        asked_before = len(model.asked)
        ended.append(inside.run("And now?", resume=True))

    assert [one.code for one in ended] == [0, 0, 0], ended
    assert asked_before == 4
    restarted, resumed = (shown(model.asked[number]) for number in (2, 4))
    assert recalled(restarted) == "1 Write the parser\\n2 Wire it up"
    assert recalled(resumed) == "2 Wire it up\\ndone 1"
    assert TASK not in restarted
    assert "Where were we?" in resumed
    assert len(model.asked) == 6
    assert [GO_ON in shown(asked) for asked in model.asked] == [False] * 6
    assert inside.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]


@in_every_client
def test_two_sessions_in_one_folder_have_plans_of_their_own(name: str, desk: Laid) -> None:
    """A second one starts, plans and finishes while the first is at work; neither sees the other's plan."""
    scripts = {
        "First errand.": [{"tool": "todo", "args": {"add": ["Ours"]}}, {"waits": True, **ASKS}],
        "Second errand.": [{"tool": "todo", "args": {"add": ["Theirs"]}}, {"tool": "todo", "args": {"done": 1}}],
    }
    with Two(scripts, wait=WAIT.get(name)) as model:
        inside = install(name, desk(model))
        with inside.running("First errand.") as first:
            assert model.waits.wait(SECONDS)
            second = inside.run("Second errand.")
            model.go.set()
            out, err = first.communicate()

    assert (first.returncode, second.code) == (0, 0), (out, err, second)
    plans = inside.sessions()
    assert plans.pop(str(inside.desk.work)) == [("Ours", "pending")]
    assert list(plans.values()) == [[("Theirs", "completed")]]
    assert [session.startswith(f"{inside.desk.work}#{name}:") for session in plans] == [True]


def test_two_sessions_in_one_server_of_opencode_have_plans_of_their_own(desk: Laid) -> None:
    """One process and one MCP server: the plugin tells which conversation calls next."""
    script: list[Turn] = [
        {"tool": "todo", "args": {"add": ["Ours"]}},
        ASKS,
        {"tool": "todo", "args": {"add": ["Theirs"]}},
        ASKS,
        {"tool": "todo", "args": {"done": 1}},
        ASKS,
    ]
    with Model(*script) as model:
        inside = install("opencode", desk(model))
        with serving(inside) as server:
            first, second = server.session, server.begin()
            for server.session in (first, second, first):
                server.say(TASK)
                server.until("session.idle")

    plans = inside.sessions()
    assert plans.pop(str(inside.desk.work)) == [("Ours", "completed")]
    assert list(plans.values()) == [[("Theirs", "pending")]]


def recalled(told: str) -> str:
    """The last plan in the text of a request."""
    start = "Your plan (todo tool):\\n"
    lines = told.rpartition(start)[2].split("\\n")
    assert lines != [""], told[-3000:]
    known = [line.partition('"')[0].partition("<")[0].partition("\\")[0] for line in lines]
    return "\\n".join(known[:2])
