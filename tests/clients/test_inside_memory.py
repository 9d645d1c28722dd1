"""In a real client, a plan outlives the conversation that made it, and conversations have separate plans."""

from collections.abc import Callable

import pytest

from tests.clients.agents import TIMEOUT_SECONDS, Sandbox
from tests.clients.inside import (
    CLIENTS,
    GO_ON,
    TASK,
    WAIT,
    PatientModel,
    TwoAgentModel,
    install,
    serving,
    without_tools,
)
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
ASKS: Turn = {"text": "Which of the two shall I begin with?"}

in_every_client = pytest.mark.parametrize("name", CLIENTS)


@in_every_client
@proves("restart")
def test_a_plan_is_there_again_after_a_restart_and_after_a_resume(name: str, make_sandbox: MakeSandbox) -> None:
    """The first request contains the open tasks; once none is open, the agent is not continued."""
    finish: Turn = {"tool": "todo", "args": {"done": 2}}
    with PatientModel(PLAN, ASKS, {"tool": "todo", "args": {"done": 1}}, ASKS, finish, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        results = [client.run(), client.run("Where were we?")]
        asked_before = len(model.requests)
        results.append(client.run("And now?", resume=True))

    assert [result.code for result in results] == [0, 0, 0], results
    assert asked_before == 4
    restarted, resumed = (without_tools(model.requests[number]) for number in (2, 4))
    assert recalled(restarted) == "1 Write the parser\\n2 Wire it up"
    assert recalled(resumed) == "2 Wire it up\\ndone 1"
    assert TASK not in restarted
    assert "Where were we?" in resumed
    assert len(model.requests) == 6
    assert [GO_ON in without_tools(request) for request in model.requests] == [False] * 6
    assert client.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]


@in_every_client
@proves("two sessions")
def test_two_sessions_in_one_folder_have_plans_of_their_own(name: str, make_sandbox: MakeSandbox) -> None:
    """The second one starts, plans and finishes while the first is working; neither sees the other's plan."""
    scripts = {
        "First errand.": [{"tool": "todo", "args": {"add": ["Ours"]}}, {"waits": True, **ASKS}],
        "Second errand.": [{"tool": "todo", "args": {"add": ["Theirs"]}}, {"tool": "todo", "args": {"done": 1}}],
    }
    with TwoAgentModel(scripts, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        with client.running("First errand.") as first:
            assert model.waits.wait(TIMEOUT_SECONDS)
            second = client.run("Second errand.")
            model.go.set()
            out, err = first.communicate()

    assert (first.returncode, second.code) == (0, 0), (out, err, second)
    plans = client.sessions()
    assert plans.pop(str(client.sandbox.work)) == [("Ours", "pending")]
    assert list(plans.values()) == [[("Theirs", "completed")]]
    assert [session.startswith(f"{client.sandbox.work}#{name}:") for session in plans] == [True]


@proves("two sessions", client="opencode")
def test_two_sessions_in_one_server_of_opencode_have_plans_of_their_own(make_sandbox: MakeSandbox) -> None:
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
        client = install("opencode", make_sandbox(model))
        with serving(client) as server:
            first, second = server.session, server.begin()
            for server.session in (first, second, first):
                server.say(TASK)
                server.until("session.idle")

    plans = client.sessions()
    assert plans.pop(str(client.sandbox.work)) == [("Ours", "completed")]
    assert list(plans.values()) == [[("Theirs", "pending")]]


def recalled(request: str) -> str:
    """The last plan in the text of a request."""
    start = "Your plan:\\n"
    lines = request.rpartition(start)[2].split("\\n")
    assert lines != [""], request[-3000:]
    known = [line.partition('"')[0].partition("<")[0].partition("\\")[0] for line in lines]
    return "\\n".join(known[:2])
