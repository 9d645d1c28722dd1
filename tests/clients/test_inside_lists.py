"""In a real client, the plan mirrors the client's own todo list, and a subagent has a list of its own."""

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence

import pytest

from tests.clients.agents import talking
from tests.clients.checked_plan import MADE, CheckedPlan, install_in_repository
from tests.clients.conversations import prompt_and_wait
from tests.clients.driving import (
    ALL,
    FINISH,
    HEADLESS,
    STOP,
    ActingModel,
    MakeSandbox,
    conversation,
    in_both_modes,
    install_in,
    wait_in,
)
from tests.clients.inside import GO_ON, TASK, WAIT, InstalledClient, TwoAgentModel, install, last_message, without_tools
from tests.clients.model import Model
from tests.clients.situations import CONTINUATIONS, proves
from tests.host.models.model_server import ReceivedRequest, Turn
from tests.suite.forking import PROGRAM
from tildone.plan.model import Check

pytestmark = pytest.mark.slow

PARSER, WIRE = "Write the parser", "Wire it up"


def created(text: str) -> list[object]:
    return ["TaskCreate", {"subject": text, "description": text, "activeForm": text}]


def updated(number: int, status: str) -> list[object]:
    return ["TaskUpdate", {"taskId": str(number), "status": status}]


def codex(*statuses: str) -> Turn:
    steps = [{"step": text, "status": status} for text, status in zip((PARSER, WIRE), statuses, strict=True)]
    return {"tool": "update_plan", "args": {"plan": steps}}


def gemini(*statuses: str) -> Turn:
    todos = [{"description": text, "status": status} for text, status in zip((PARSER, WIRE), statuses, strict=True)]
    return {"tool": "write_todos", "args": {"todos": todos}}


def with_content(tool: str, *statuses: str) -> Turn:
    todos = [
        {"content": text, "activeForm": text, "status": status, "priority": "high"}
        for text, status in zip((PARSER, WIRE), statuses, strict=True)
    ]
    return {"tool": tool, "args": {"todos": todos}}


def qwen(*statuses: str) -> Turn:
    texts = enumerate(zip((PARSER, WIRE), statuses, strict=True))
    todos = [{"id": str(number), "content": text, "status": status} for number, (text, status) in texts]
    return {"tool": "todo_write", "args": {"todos": todos}}


LISTS: dict[str, tuple[Turn, Turn]] = {
    "claude": (
        {"tools": [created(PARSER), created(WIRE)]},
        {"tools": [updated(1, "completed"), updated(2, "completed")]},
    ),
    "claude-todos": (
        with_content("TodoWrite", "pending", "pending"),
        with_content("TodoWrite", "completed", "completed"),
    ),
    "codex": (codex("pending", "pending"), codex("completed", "completed")),
    "gemini": (gemini("pending", "pending"), gemini("completed", "completed")),
    "opencode": (with_content("todowrite", "pending", "pending"), with_content("todowrite", "completed", "completed")),
    "qwen": (qwen("pending", "pending"), qwen("completed", "completed")),
}
"""For each client, the turn that writes two tasks to its own list, and the turn that completes both."""


@pytest.mark.parametrize("case", LISTS)
@in_both_modes
@proves("native list")
def test_the_plan_follows_the_clients_own_list_and_the_agent_is_continued_until_it_is_done(
    case: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    name = case.partition("-")[0]
    write, tick = LISTS[case]
    with Model(write, {"text": "I stop folder."}, tick, {"text": "All of it is done."}) as model:
        client = with_its_list(install_in(mode, name, make_sandbox(model)), case)
        with conversation(client, mode) as say:
            say(TASK, "All of it is done.")

    assert [GO_ON in last_message(request) for request in model.requests] == [False, False, True, False]
    nudge = last_message(model.requests[2])
    assert f"- {PARSER}" in nudge
    assert "todo tool" not in nudge
    assert client.tasks == [(PARSER, "completed"), (WIRE, "completed")]


@pytest.mark.parametrize(("name", "above"), [("claude", ()), ("qwen", ("ui",))])
@proves("status line")
def test_the_status_line_is_the_plan(name: str, above: Sequence[str], make_sandbox: MakeSandbox) -> None:
    """The installed command with the input of a client that calls it only at a terminal."""
    with Model({"tool": "todo", "args": {"add": [PARSER, WIRE]}}, {"text": "Which one first?"}) as model:
        client = install(name, make_sandbox(model))
        result = client.run()
        settings = json.loads((client.sandbox.home / f".{name}" / "settings.json").read_text(encoding="utf-8"))
        for key in above:
            settings = settings[key]
        program, *words = shlex.split(settings["statusLine"]["command"])
        folder = str(client.sandbox.work)
        status_input = {
            "session_id": "another",
            "cwd": folder,
            "workspace": {"current_dir": folder, "project_dir": folder},
        }
        line = client.tildone(*words, given=json.dumps(status_input))

    assert (result.code, program) == (0, str(PROGRAM)), result
    assert line == f"☐ 0/2 · #1 {PARSER}\n"


@proves("status line", client="pi")
def test_pi_shows_the_plan_in_its_footer(make_sandbox: MakeSandbox) -> None:
    finish: Turn = {"tool": "todo", "args": {"done": 1}}
    with Model({"tool": "todo", "args": {"add": [PARSER, WIRE]}}, finish, {"text": "Which one next?"}) as model:
        client = install("pi", make_sandbox(model))
        command = [*client.start.command[: client.start.command.index("-p")], "--mode", "rpc"]
        with talking(command, cwd=client.sandbox.work, env=client.environ) as pi:
            prompt_and_wait(pi, TASK)

    lines = [record.get("statusText") for record in pi.records if record.get("method") == "setStatus"]
    assert [line for line in lines if line] == [f"☐ 0/2 · #1 {PARSER}", f"✓ 1/2 · #2 {WIRE}"]


GOES_ON: dict[str, Turn] = {
    "claude": {"tools": [updated(1, "completed"), updated(2, "in_progress")]},
    "claude-todos": with_content("TodoWrite", "completed", "in_progress"),
    "codex": codex("completed", "in_progress"),
    "gemini": gemini("completed", "in_progress"),
    "opencode": with_content("todowrite", "completed", "in_progress"),
    "qwen": qwen("completed", "in_progress"),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_task_that_the_person_dropped_stays_dropped_although_the_clients_own_list_has_it(
    case: str, make_sandbox: MakeSandbox
) -> None:
    """The model is told, and neither it nor what it does next brings the task back: it may stop."""
    name = case.partition("-")[0]
    client: InstalledClient
    goes_on = {**GOES_ON[case], "do": lambda: client.tildone("todo", "drop", "2")}
    with ActingModel(name, HEADLESS, LISTS[case][0], goes_on, GOES_ON[case], STOP) as model:
        client = with_its_list(install_in(HEADLESS, name, make_sandbox(model)), case)
        with conversation(client, HEADLESS) as say:
            say(TASK, STOP["text"])

    told = without_tools(model.requests[2])
    assert f"(by the user): dropped “{WIRE}”" in told
    assert f"Your plan stays as it is: “{WIRE}” is dropped. Change your own list accordingly." in told
    assert len(model.requests) == 4
    assert client.tasks == [(PARSER, "completed"), (WIRE, "abandoned")]


def with_its_list(client: InstalledClient, case: str) -> InstalledClient:
    if case == "codex":
        client.rewrite('model = "scripted"', 'model = "scripted"\ntools.update_plan = {enabled = true}')
    if case == "claude-todos":
        client.start.environ["CLAUDE_CODE_ENABLE_TASKS"] = "0"
    if case == "qwen":
        client.rewrite('"telemetry"', '"tools": {"todoWrite": {"enabled": true}}, "telemetry"')
    return client


ASK: Turn = {"text": "Shall I go on?"}
SLOW = Check((sys.executable, "-c", "import time; time.sleep(100)"))


@pytest.mark.parametrize("case", LISTS)
@in_both_modes
@proves("checked native list")
def test_a_task_of_the_clients_own_list_is_done_when_its_check_passes(
    case: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    name = case.partition("-")[0]
    plan: CheckedPlan
    write, tick = LISTS[case]
    early = {**tick, "do": lambda: plan.check(1, MADE)}
    again = {**tick, "do": lambda: plan.write("made.py", "x = 1\n")}
    with ActingModel(name, mode, write, early, STOP, again, ALL) as model:
        client = with_its_list(install_in_repository(mode, name, make_sandbox(model)), case)
        plan = CheckedPlan(client)
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])

    # Codex adds what a hook says apart from the result of the tool.
    told = without_tools(model.requests[2])
    assert f"“{PARSER}” is not done: " in told
    assert "failed with exit code 1" in told
    assert "no parser" in told
    nudge = last_message(model.requests[3])
    assert (GO_ON in nudge, PARSER in nudge, WIRE in nudge) == (True, True, False)
    assert len(model.requests) == 5
    assert client.tasks == [(PARSER, "completed"), (WIRE, "completed")]
    assert plan.continuations == CONTINUATIONS["checked native list"]


@pytest.mark.parametrize("case", LISTS)
def test_a_check_that_takes_longer_than_a_hook_may_leaves_the_task_unproved(
    case: str, make_sandbox: MakeSandbox
) -> None:
    name = case.partition("-")[0]
    plan: CheckedPlan
    write, tick = LISTS[case]
    early = {**tick, "do": lambda: plan.check(1, SLOW)}
    with ActingModel(name, HEADLESS, write, early, ASK) as model:
        client = with_its_list(install_in_repository(HEADLESS, name, make_sandbox(model)), case)
        plan = CheckedPlan(client)
        with conversation(client, HEADLESS) as say:
            say(TASK, ASK["text"])

    assert "Run: tildone verify 1" in without_tools(model.requests[2])
    assert client.tasks == [(PARSER, "in_progress"), (WIRE, "completed")]
    assert plan.proofs[0] is None


SUBTASK = "Look around in this folder."
MAIN, SUB = ["Main one", "Main two"], ["Sub one", "Sub two"]
WAITS_FOR_SUBAGENT = "wait for the subagent"
STARTS: Mapping[str, Sequence[Turn]] = {
    "claude": [
        {"tool": "Agent", "args": {"description": "look", "prompt": SUBTASK, "subagent_type": "general-purpose"}},
        # Newer versions run it in the background, and wake the agent when the subagent has ended.
        {"text": "I wait for it."},
    ],
    "codex": [{"tool": "spawn_agent", "args": {"message": SUBTASK}}, {"text": WAITS_FOR_SUBAGENT}],
    "opencode": [{"tool": "task", "args": {"description": "look", "prompt": SUBTASK, "subagent_type": "general"}}],
    "copilot": [
        {
            "tool": "task",
            "args": {
                "description": "look",
                "prompt": SUBTASK,
                "agent_type": "general-purpose",
                "name": "looker",
                "mode": "sync",
            },
        }
    ],
    "qwen": [
        {"tool": "agent", "args": {"description": "look", "prompt": SUBTASK, "subagent_type": "general-purpose"}},
        {"text": "I wait for it."},
    ],
}
"""How a model starts a subagent and waits for it."""
KINDS = {
    "claude": "general-purpose",
    "codex": "default",
    "opencode": "general",
    "qwen": "general-purpose",
    "copilot": "general-purpose",
}


class FamilyModel(TwoAgentModel):
    """A model for an agent and its subagent, which it waits for by its id."""

    def respond(self, request: ReceivedRequest) -> Turn:
        turn = super().respond(request)
        if turn.get("text") != WAITS_FOR_SUBAGENT:
            return turn
        [subagent] = re.findall(r'agent_id\W+"([0-9a-f-]+)', json.dumps(request.body).replace("\\", ""))[-1:]
        return {"tools": [("multi_agent_v1/wait_agent", json.dumps({"targets": [subagent], "timeout_ms": 60_000}))]}


@pytest.mark.parametrize("name", STARTS)
@in_both_modes
@proves("subagents")
def test_a_subagent_has_a_list_of_its_own_and_cannot_close_the_tasks_of_the_plan(
    name: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """Its task number 1 is not the plan's. Where the client can be told, it is held to its own list."""
    nudged: Sequence[Turn] = () if name == "opencode" else ({"text": "I stop."},)
    main: list[Turn] = [
        {"tool": "todo", "args": {"add": MAIN}},
        *STARTS[name],
        {"text": "I stop."},
        FINISH,
        ALL,
    ]
    sub: list[Turn] = [
        {"tool": "todo", "args": {"add": SUB}},
        {"tool": "todo", "args": {"done": 1}},
        *nudged,
        {"tool": "todo", "args": {"done": 2}},
        {"text": "I looked around."},
    ]
    with FamilyModel({TASK: main, SUBTASK: sub}, wait_in(mode, name)) as model:
        client = install_in(mode, name, make_sandbox(model))
        with conversation(client, mode) as say:
            say(TASK, ALL["text"])
        listed = client.tildone("todo")
        status = client.tildone("status")

    [(child, tasks)] = [each for each in client.sessions().items() if each[0] != str(client.sandbox.work)]
    assert child.startswith(f"{client.sandbox.work}#sub:")
    assert tasks == [(text, "completed") for text in SUB]
    assert client.tasks == [(text, "completed") for text in MAIN]
    told = "".join(model.told[TASK])
    assert "1 Main one" in told
    assert not any("Sub one" in text or "Sub two" in text for text in model.told[TASK])
    nudges = [text for text in model.told[SUBTASK] if "is not done" in text]
    assert [("Sub two" in text, "Main" in text) for text in nudges] == [(True, False)] * len(nudged)
    assert f"subagent {KINDS[name]}: 2/2 (ended)" in listed
    assert "✓ #1 Sub one" in status


NATIVE: Mapping[str, Turn] = {
    "claude": {"tool": "TaskCreate", "args": {"subject": "Sub one", "description": "x", "activeForm": "x"}},
    "codex": {"tool": "update_plan", "args": {"plan": [{"step": "Sub one", "status": "pending"}]}},
    "opencode": {
        "tool": "todowrite",
        "args": {"todos": [{"content": "Sub one", "status": "pending", "priority": "high"}]},
    },
}


@pytest.mark.parametrize("name", NATIVE)
@proves("subagents")
def test_a_subagents_own_todo_tool_writes_to_its_own_list_too(name: str, make_sandbox: MakeSandbox) -> None:
    start, *waits = STARTS[name]
    if name == "claude":
        # Subagents in the background have no todo tool of the client's own.
        start = {**start, "args": {**start["args"], "run_in_background": False}}
        waits = []
    main: list[Turn] = [
        {"tool": "todo", "args": {"add": MAIN}},
        start,
        *waits,
        FINISH,
        ALL,
    ]
    sub: list[Turn] = [NATIVE[name], {"text": "Which one first?"}]
    with FamilyModel({TASK: main, SUBTASK: sub}, WAIT.get(name)) as model:
        client = with_its_list(install(name, make_sandbox(model)), name)
        with conversation(client, HEADLESS) as say:
            say(TASK, ALL["text"])

    [(_, tasks)] = [each for each in client.sessions().items() if each[0] != str(client.sandbox.work)]
    assert tasks == [("Sub one", "pending")]
    assert client.tasks == [(text, "completed") for text in MAIN]
