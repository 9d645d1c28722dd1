"""In a real client, a plan outlives the conversation that made it, and conversations have separate plans."""

import threading
from collections.abc import Callable
from html import unescape

import pytest

from tests.clients.agents import TIMEOUT_SECONDS, ProcessResult, Sandbox
from tests.clients.driving import (
    TERMINAL,
    ActingModel,
    conversation,
    in_both_modes,
    install_in,
    kill_client,
    needs_tmux,
    run_until_killed,
)
from tests.clients.inside import (
    CLIENTS,
    GO_ON,
    TASK,
    WAIT,
    InstalledClient,
    PatientModel,
    TwoAgentModel,
    install,
    last_message,
    serving,
    without_tools,
)
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.clients.tui import WAIT as TERMINAL_WAIT
from tests.clients.tui import at_terminal
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

PLAN: Turn = {"tool": "todo", "args": {"add": ["Write the parser", "Wire it up"]}}
ASKS: Turn = {"text": "Which of the two shall I begin with?"}
TWO_ERRANDS: dict[str, list[Turn]] = {
    "First errand.": [{"tool": "todo", "args": {"add": ["Ours"]}}, {"waits": True, **ASKS}],
    "Second errand.": [{"tool": "todo", "args": {"add": ["Theirs"]}}, {"tool": "todo", "args": {"done": 1}}],
}

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
    assert recalled(resumed) == "2> Wire it up\\ndone 1"
    assert TASK not in restarted
    assert "Where were we?" in resumed
    assert len(model.requests) == 6
    assert [GO_ON in without_tools(request) for request in model.requests] == [False] * 6
    assert client.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]


@in_every_client
@pytest.mark.long
@needs_tmux
@proves("restart", tui=True)
def test_a_plan_is_there_again_after_a_restart_at_a_terminal(name: str, make_sandbox: MakeSandbox) -> None:
    """The agent of the new conversation is continued until the plan is done."""
    finish: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
    done: Turn = {"text": "All of it is done."}
    with ActingModel(name, TERMINAL, PLAN, ASKS, {"text": "I stop here."}, finish, done) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        with conversation(client, TERMINAL) as say:
            say(TASK, ASKS["text"])
        with conversation(client, TERMINAL, again=True) as say:
            say("Where were we?", done["text"])

    assert "Wire it up" in without_tools(model.requests[2])
    assert TASK not in without_tools(model.requests[2])
    assert [GO_ON in without_tools(request) for request in model.requests] == [False] * 3 + [True] * 2
    assert client.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]


@in_every_client
@in_both_modes
@proves("killed client")
def test_a_plan_survives_the_kill_of_its_client(name: str, mode: str, make_sandbox: MakeSandbox) -> None:
    """The next agent in the folder is told of the plan, and held to it."""
    finish: Turn = {"tools": [["todo", {"done": 1}], ["todo", {"done": 2}]]}
    done: Turn = {"text": "All of it is done."}
    client: InstalledClient
    kill: Turn = {"text": "…", "do": lambda: kill_client(client)}
    with ActingModel(name, mode, PLAN, kill, {"text": "I stop here."}, finish, done) as model:
        client = install_in(mode, name, make_sandbox(model))
        run_until_killed(client, mode)
        with conversation(client, mode, again=True) as say:
            say("Where were we?", done["text"])

    assert "Wire it up" in without_tools(model.requests[2])
    assert GO_ON in last_message(model.requests[3])
    assert client.tasks == [("Write the parser", "completed"), ("Wire it up", "completed")]


@in_every_client
@in_both_modes
@proves("two hosts")
def test_two_coding_agents_in_one_folder_have_plans_of_their_own(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """The second one plans, is held and finishes while the first is working."""
    other = "pi" if name != "pi" else "codex"
    scripts: dict[str, list[Turn]] = {
        "First errand.": [{"tool": "todo", "args": {"add": ["Ours"]}}, {"waits": True, **ASKS}],
        "Second errand.": [
            {"tool": "todo", "args": {"add": ["Theirs"]}},
            {"text": "I stop here."},
            {"tool": "todo", "args": {"done": 1}},
        ],
    }
    with TwoAgentModel(scripts) as model:
        sandbox = make_sandbox(model)
        first, second = install_in(mode, name, sandbox), install(other, sandbox)
        ran: list[ProcessResult] = []

        def run_second() -> None:
            assert model.waits.wait(TIMEOUT_SECONDS)
            ran.append(second.run("Second errand."))
            model.go.set()

        thread = threading.Thread(target=run_second)
        thread.start()
        with conversation(first, mode) as say:
            say("First errand.", ASKS["text"])
        thread.join(TIMEOUT_SECONDS)

    assert [result.code for result in ran] == [0], ran
    plans = first.sessions()
    assert plans.pop(str(sandbox.work)) == [("Ours", "pending")]
    assert list(plans.values()) == [[("Theirs", "completed")]]


@in_every_client
@proves("two sessions")
def test_two_sessions_in_one_folder_have_plans_of_their_own(name: str, make_sandbox: MakeSandbox) -> None:
    """The second one starts, plans and finishes while the first is working; neither sees the other's plan."""
    with TwoAgentModel(TWO_ERRANDS, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        with client.running("First errand.") as first:
            assert model.waits.wait(TIMEOUT_SECONDS)
            second = client.run("Second errand.")
            model.go.set()
            out, err = first.communicate()

    assert (first.returncode, second.code) == (0, 0), (out, err, second)
    check_two_plans(client)


@in_every_client
@pytest.mark.long
@needs_tmux
@proves("two sessions", tui=True)
def test_two_terminals_in_one_folder_have_plans_of_their_own(name: str, make_sandbox: MakeSandbox) -> None:
    """The person starts a second client in another terminal while the first one is working."""
    with TwoAgentModel(TWO_ERRANDS, wait=TERMINAL_WAIT.get(name)) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        with at_terminal(client) as first:
            first.say("First errand.")
            assert model.waits.wait(TIMEOUT_SECONDS)
            with at_terminal(client, again=True) as second:
                second.say("Second errand.")
                second.until("Done.")
            model.go.set()
            first.until(ASKS["text"])

    check_two_plans(client)


def check_two_plans(client: InstalledClient) -> None:
    """Check that the first session works on the project's plan, and the second on one of its own."""
    plans = client.sessions()
    assert plans.pop(str(client.sandbox.work)) == [("Ours", "pending")]
    assert list(plans.values()) == [[("Theirs", "completed")]]
    assert [session.startswith(f"{client.sandbox.work}#{client.name}:") for session in plans] == [True]


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
    # Gemini CLI escapes what hooks add to the context.
    lines = [unescape(line) for line in lines]
    known = [line.partition('"')[0].partition("<")[0].partition("\\")[0] for line in lines]
    return "\\n".join(known[:2])
