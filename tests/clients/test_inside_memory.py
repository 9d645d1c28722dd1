"""In a real client, a plan outlives its conversation and compactions, and conversations have separate plans."""

import json
import threading
from html import unescape

import pytest

from tests.clients.agents import TIMEOUT_SECONDS, ProcessResult, talking
from tests.clients.conversations import compact_early, prompt_and_wait
from tests.clients.driving import (
    ALL,
    ASKS,
    DONE,
    FINISH,
    FIRST,
    HEADLESS,
    OPEN,
    PLAN,
    SECOND,
    STOP,
    TERMINAL,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    in_every_client,
    install_in,
    kill_client,
    needs_tmux,
    run_until_killed,
    shell,
)
from tests.clients.inside import (
    GO_ON,
    TASK,
    WAIT,
    InstalledClient,
    PatientModel,
    Tasks,
    TwoAgentModel,
    install,
    last_message,
    serving,
    typed,
    without_tools,
)
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.clients.tui import WAIT as TERMINAL_WAIT
from tests.clients.tui import at_terminal
from tests.host.models.model_server import Turn

pytestmark = pytest.mark.slow

PLANNED = "1 Write the parser\\n2 Wire it up"
"""How a request recalls the plan of these tests."""

TWO_ERRANDS: dict[str, list[Turn]] = {
    FIRST: [{"tool": "todo", "args": {"add": ["Ours"]}}, {"waits": True, **ASKS}],
    SECOND: [{"tool": "todo", "args": {"add": ["Theirs"]}}, {"tool": "todo", "args": {"done": 1}}],
}

TAKE_UP: Turn = {"tools": [["todo", {"start": 1}], ["todo", {"done": 1}], ["todo", {"start": 2}]]}
FINISH_SECOND: Turn = {"tool": "todo", "args": {"done": 2}}
LEFT = "Left open by an earlier conversation, not yours: 1 Write the parser; 2 Wire it up."


@in_every_client
@proves("restart")
def test_a_plan_is_there_again_after_a_restart_and_after_a_resume(name: str, make_sandbox: MakeSandbox) -> None:
    """A new conversation is shown what is open, and takes it up; what is resumed is its own plan."""
    with PatientModel(PLAN, ASKS, TAKE_UP, ASKS, FINISH_SECOND, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        results = [client.run(), client.run("Where were we?")]
        asked_before = len(model.requests)
        results.append(client.run("And now?", resume=True))

    assert [result.code for result in results] == [0, 0, 0], results
    assert asked_before == 4
    restarted, resumed = (without_tools(model.requests[number]) for number in (2, 4))
    assert LEFT in restarted
    assert recalled(resumed) == "started 2 Wire it up\\ndone 1"
    assert TASK not in restarted
    assert "Where were we?" in resumed
    assert len(model.requests) == 6
    assert [GO_ON in without_tools(request) for request in model.requests] == [False] * 6
    assert client.tasks == DONE


@in_every_client
@pytest.mark.long
@needs_tmux
@proves("restart", tui=True)
def test_a_plan_is_there_again_after_a_restart_at_a_terminal(name: str, make_sandbox: MakeSandbox) -> None:
    with ActingModel(name, TERMINAL, PLAN, ASKS, TAKE_UP, STOP, FINISH_SECOND, ALL) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        with conversation(client, TERMINAL) as say:
            say(TASK, ASKS["text"])
        with conversation(client, TERMINAL, again=True) as say:
            say("Where were we?", ALL["text"])

    assert LEFT in without_tools(model.requests[2])
    assert TASK not in without_tools(model.requests[2])
    assert [GO_ON in without_tools(request) for request in model.requests] == [False] * 4 + [True] * 2
    assert client.tasks == DONE


@in_every_client
@in_both_modes
@proves("killed client")
def test_a_plan_survives_the_kill_of_its_client(name: str, mode: str, make_sandbox: MakeSandbox) -> None:
    client: InstalledClient
    kill: Turn = {"text": "…", "do": lambda: kill_client(client)}
    with ActingModel(name, mode, PLAN, kill, TAKE_UP, STOP, FINISH_SECOND, ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        run_until_killed(client, mode)
        with conversation(client, mode, again=True) as say:
            say("Where were we?", ALL["text"])

    assert LEFT in without_tools(model.requests[2])
    assert GO_ON in last_message(model.requests[4])
    assert client.tasks == DONE


@in_every_client
@in_both_modes
@proves("two hosts")
def test_two_coding_agents_in_one_folder_have_plans_of_their_own(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    other = "pi" if name != "pi" else "codex"
    plans_second, finishes = TWO_ERRANDS[SECOND]
    with TwoAgentModel({**TWO_ERRANDS, SECOND: [plans_second, STOP, finishes]}) as model:
        sandbox = make_sandbox(model)
        first, second = install_in(mode, name, sandbox), install(other, sandbox)
        ran: list[ProcessResult] = []

        def run_second() -> None:
            assert model.waits.wait(TIMEOUT_SECONDS)
            ran.append(second.run(SECOND))
            model.go.set()

        thread = threading.Thread(target=run_second)
        thread.start()
        with conversation(first, mode) as say:
            say(FIRST, ASKS["text"])
        thread.join(TIMEOUT_SECONDS)

    assert [result.code for result in ran] == [0], ran
    check_two_plans(first, other)


@in_every_client
@proves("two sessions")
def test_two_sessions_in_one_folder_have_plans_of_their_own(name: str, make_sandbox: MakeSandbox) -> None:
    with TwoAgentModel(TWO_ERRANDS, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        with client.running(FIRST) as first:
            assert model.waits.wait(TIMEOUT_SECONDS)
            second = client.run(SECOND)
            model.go.set()
            out, err = first.communicate()

    assert (first.returncode, second.code) == (0, 0), (out, err, second)
    check_two_plans(client, name)


@in_every_client
@pytest.mark.long
@needs_tmux
@proves("two sessions", tui=True)
def test_two_terminals_in_one_folder_have_plans_of_their_own(name: str, make_sandbox: MakeSandbox) -> None:
    with TwoAgentModel(TWO_ERRANDS, wait=TERMINAL_WAIT.get(name)) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        with at_terminal(client) as first:
            first.say(FIRST)
            assert model.waits.wait(TIMEOUT_SECONDS)
            with at_terminal(client, again=True) as second:
                second.say(SECOND)
                second.until("Done.")
            model.go.set()
            first.until(ASKS["text"])

    check_two_plans(client, name)


def check_two_plans(client: InstalledClient, second: str) -> None:
    """Check that the first session works on the project's plan, and the second on one of its own."""
    plans = client.sessions()
    assert plans.pop(str(client.sandbox.work)) == [("Ours", "pending")]
    assert list(plans.values()) == [[("Theirs", "completed")]]
    assert [session.startswith(f"{client.sandbox.work}#{second}:") for session in plans] == [True]


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


ADD: Turn = {"tool": "todo", "args": {"add": ["Only here"]}}
WORK: Turn = {"tool": "todo", "args": {"done": 1}}
MORE = [("Only here", "pending")]
AHEAD = [("Write the parser", "completed"), ("Wire it up", "in_progress")]


@pytest.mark.parametrize("name", ["claude", "codex"])
@proves("fork")
def test_a_forked_conversation_has_a_copy_of_the_plan(name: str, make_sandbox: MakeSandbox) -> None:
    with PatientModel(PLAN, ASKS, ADD, ASKS, wait=WAIT.get(name)) as model:
        client = install(name, make_sandbox(model))
        result = client.run()
        command = typed(name, client.start.command, "The other way.", resume=False)
        parent = client.events()[0].author.agent.partition(":")[2]
        forks = {"claude": [*command, "--resume", parent, "--fork-session"]}
        with client.supervised(forks.get(name) or [*command[:-1], "fork", parent, command[-1]]) as fork:
            out, err = fork.communicate()

    assert (result.code, fork.returncode) == (0, 0), (result, out, err)
    check_forks(client, OPEN, [*OPEN, *MORE])


@proves("fork", client="opencode")
def test_forks_in_opencode_have_copies_of_the_plan_at_their_points(make_sandbox: MakeSandbox) -> None:
    """A fork of the whole conversation, one at its second message, and a fork of a fork."""
    with Model(PLAN, ASKS, WORK, ASKS, ADD, ASKS, ASKS, ADD, ASKS) as model:
        client = install("opencode", make_sandbox(model))
        with serving(client) as server:
            for prompt in (TASK, "Go on."):
                server.say(prompt)
                server.until("session.idle")
            prompts = [each["info"]["id"] for each in json.loads(server.messages()) if each["info"]["role"] == "user"]
            forks = server.fork(), server.fork(prompts[1])
            for server.session in forks:
                server.say("The other way.")
                server.until("session.idle")
            server.session = server.fork()
            server.say("Yet another way.")
            server.until("session.idle")

    assert recalled(without_tools(model.requests[6])) == recalled(without_tools(model.requests[7])) == PLANNED
    check_forks(client, AHEAD, [*AHEAD, *MORE], OPEN, [*OPEN, *MORE])


@proves("fork", client="pi")
def test_forks_in_pi_have_copies_of_the_plan_at_their_points(make_sandbox: MakeSandbox) -> None:
    with ActingModel("pi", HEADLESS, PLAN, ASKS, WORK, ASKS, ADD, ASKS, ADD, ASKS) as model:
        client = install("pi", make_sandbox(model))
        command = [word for word in client.start.command if word not in ("-p", TASK)]
        with talking([*command, "--approve", "--mode", "rpc"], cwd=client.sandbox.work, env=client.environ) as pi:
            prompt_and_wait(pi, TASK)
            prompt_and_wait(pi, "Go on.")
            prompts = pi.ask("get_fork_messages")["data"]["messages"]
            parent = pi.ask("get_state")["data"]["sessionFile"]
            pi.ask("clone")
            prompt_and_wait(pi, "The other way.")
            pi.ask("switch_session", sessionPath=parent)
            pi.ask("fork", entryId=prompts[1]["entryId"])
            prompt_and_wait(pi, "The other way.")

    assert recalled(without_tools(model.requests[6])) == PLANNED
    check_forks(client, AHEAD, [*AHEAD, *MORE], [*OPEN, *MORE])


def check_forks(client: InstalledClient, parent: Tasks, *forks: Tasks) -> None:
    plans = client.sessions()
    assert plans.pop(str(client.sandbox.work)) == parent
    assert sorted(plans.values()) == sorted(forks)


def recalled(request: str) -> str:
    start = "Your plan:\\n"
    lines = request.rpartition(start)[2].split("\\n")
    assert lines != [""], request[-3000:]
    # Gemini CLI escapes what hooks add to the context.
    lines = [unescape(line) for line in lines]
    known = [line.partition('"')[0].partition("<")[0].partition("\\")[0] for line in lines]
    return "\\n".join(known[:2])


COMPACT = {
    "claude": ("/compact", "Compacted"),
    "codex": ("/compact", "Context compacted"),
    "gemini": ("/compress", "compressed"),
    "opencode": ("/compact", "Compaction"),
    "pi": ("/compact", "[compaction]"),
    "copilot": ("/compact", "Compaction completed"),
    "qwen": ("/compress", "compressed"),
}
"""The command that compacts a conversation, and what the screen shows afterwards."""
LONG: dict[str, Turn] = {
    "gemini": {"usage": {"promptTokenCount": 100_000, "totalTokenCount": 100_005}},
    "qwen": {"usage": {"prompt_tokens": 100_000, "total_tokens": 100_005}},
}
"""Gemini CLI and Qwen Code keep a conversation that would not become shorter."""
SUMMARIES = {"gemini": 2, "qwen": 2}
"""How many summaries a client asks for, if not one."""
TURN_ENDED: dict[str, str] = {"codex": "Worked for"}
"""What the screen shows when the client accepts a command, if that is not the model's last text."""
CLEAR_LINE = "\x15"
"""Claude Code leaves the command in its input."""


@in_every_client
@pytest.mark.long
@needs_tmux
@proves("compaction by the person", tui=True)
def test_a_plan_is_known_after_the_person_compacts_the_conversation(name: str, make_sandbox: MakeSandbox) -> None:
    """The compaction itself is not the end of a turn: the agent is not continued."""
    command, compacted = COMPACT[name]
    with ActingModel(name, TERMINAL, PLAN, {**ASKS, **LONG.get(name, {})}, FINISH, ALL) as model:
        client = install_in(TERMINAL, name, make_sandbox(model))
        if name == "pi":
            compact_early(client.sandbox)
        with at_terminal(client) as screen:
            screen.say(TASK)
            screen.until(TURN_ENDED.get(name) or str(ASKS["text"]))
            screen.say(command)
            screen.until(compacted)
            screen.send(CLEAR_LINE)
            asked_before = len(model.requests)
            screen.say("Now do the rest.")
            screen.until(ALL["text"])

    assert len(model.summaries) == SUMMARIES.get(name, 1)
    assert asked_before == 2
    assert "Wire it up" in without_tools(model.requests[2])
    assert client.tasks == DONE


@proves("compaction by the person", client="pi")
def test_a_plan_is_known_after_a_compaction_of_pi_without_a_terminal(make_sandbox: MakeSandbox) -> None:
    """Over pi's RPC protocol; what pi keeps of the conversation does not contain the plan."""
    with ActingModel("pi", HEADLESS, PLAN, {"text": f"{'A long answer. ' * 50}Which one?"}, FINISH, ALL) as model:
        client = install("pi", make_sandbox(model))
        compact_early(client.sandbox)
        command = [word for word in client.start.command if word not in ("-p", TASK)]
        with talking([*command, "--approve", "--mode", "rpc"], cwd=client.sandbox.work, env=client.environ) as pi:
            prompt_and_wait(pi, TASK)
            compacted = pi.ask("compact")
            asked_before = len(model.requests)
            prompt_and_wait(pi, "Now do the rest.")

    assert compacted["success"], compacted
    assert (asked_before, len(model.summaries)) == (2, 1)
    assert without_tools(model.requests[2]).count("2 Wire it up") == 1
    assert not any(GO_ON in last_message(request) for request in model.requests)
    assert client.tasks == DONE


FULL: dict[str, dict[str, int]] = {
    "claude": {"input_tokens": 190_000},
    "codex": {"input_tokens": 260_000, "total_tokens": 260_005},
    "gemini": {"promptTokenCount": 700_000, "totalTokenCount": 700_005},
    "opencode": {"prompt_tokens": 200_000, "total_tokens": 200_005},
    "pi": {"prompt_tokens": 200_000, "total_tokens": 200_005},
    "copilot": {"prompt_tokens": 126_000, "total_tokens": 126_005},
}
"""The usage that each client takes for a context that is nearly full, with the names of its protocol."""
BESIDE_THE_WORK = ("copilot",)
"""The clients that ask for a summary and send the next request meanwhile."""
LIMITS = {"limit": {"context": 100_000, "output": 4000}}


@pytest.mark.parametrize("name", ["claude", "codex", "opencode", "pi", "copilot"])
@in_both_modes
@proves("automatic compaction")
def test_a_plan_is_known_after_a_compaction_in_the_middle_of_a_turn(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """The next request contains it, although the summary does not; a compaction is no stop, and the agent is held."""
    # It separates the call that made the plan from the last messages, which a client may keep as they are.
    work = shell(name, f"echo {'word ' * 40}")
    with ActingModel(name, mode, PLAN, work, shell(name, "true", usage=FULL[name]), STOP, FINISH, ALL) as model:
        client = install_in(mode, name, make_sandbox(model))
        compact_automatically(client)
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    assert len(model.summaries) == 1
    check_held_after_compaction(client, model, compacted=3 + (name in BESIDE_THE_WORK), told=4)


@pytest.mark.long
@needs_tmux
@proves("automatic compaction", tui=True, client="gemini")
def test_a_plan_is_known_after_gemini_compresses_the_conversation_before_a_prompt(make_sandbox: MakeSandbox) -> None:
    """It compresses what precedes a prompt, asks twice for a summary, and the hook that announces it comes too late."""
    with ActingModel("gemini", TERMINAL, PLAN, {**ASKS, "usage": FULL["gemini"]}, STOP, FINISH, ALL) as model:
        client = install_in(TERMINAL, "gemini", make_sandbox(model))
        with conversation(client, TERMINAL) as say:
            say(TASK, ASKS["text"])
            say("Begin with the first.", ALL["text"])

    assert len(model.summaries) == 2
    check_held_after_compaction(client, model, compacted=2, told=3)


@in_both_modes
@proves("automatic compaction", client="gemini")
def test_a_plan_is_known_after_gemini_compresses_the_conversation_before_a_nudge(
    mode: str, make_sandbox: MakeSandbox
) -> None:
    """Without a terminal, no other message follows one on which the client could compress."""
    with ActingModel("gemini", mode, PLAN, {**STOP, "usage": FULL["gemini"]}, FINISH, ALL) as model:
        client = install_in(mode, "gemini", make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    assert len(model.summaries) == 2
    check_held_after_compaction(client, model, compacted=2, told=2)


def check_held_after_compaction(client: InstalledClient, model: ActingModel, *, compacted: int, told: int) -> None:
    """Check the request after a compaction, and that one request told the agent to go on; both by their numbers."""
    assert "A summary of the conversation." in without_tools(model.requests[compacted])
    assert "Wire it up" in without_tools(model.requests[compacted])
    nudged = [number for number, request in enumerate(model.requests) if GO_ON in last_message(request)]
    assert nudged == [told]
    assert client.tasks == DONE


def compact_automatically(client: InstalledClient) -> None:
    """Tell the client what it does not know of its model: how large the context is, and that little of it is kept."""
    if client.name == "claude":
        client.start.environ["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    if client.name == "opencode":
        settings = client.sandbox.work / "opencode.json"
        known = settings.read_text(encoding="utf-8").replace('"scripted": {}', f'"scripted": {json.dumps(LIMITS)}')
        settings.write_text(known, encoding="utf-8")
    if client.name == "pi":
        compact_early(client.sandbox)
