"""In a real client, the plan mirrors the client's own todo list."""

import json
import shlex
from collections.abc import Callable

import pytest

from tests.clients.agents import Sandbox, talking
from tests.clients.conversations import prompt_and_wait
from tests.clients.driving import conversation, in_both_modes, install_in
from tests.clients.inside import (
    GO_ON,
    TASK,
    InstalledClient,
    install,
    last_message,
)
from tests.clients.model import Model
from tests.clients.situations import proves
from tests.host.models.model_server import Turn
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.slow
MakeSandbox = Callable[[Model], Sandbox]

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
    "opencode": (
        with_content("todowrite", "pending", "pending"),
        with_content("todowrite", "completed", "completed"),
    ),
}
"""For each client, the turn that writes two tasks to its own list, and the turn that completes both."""


@pytest.mark.parametrize("case", LISTS)
@in_both_modes
@proves("native list")
def test_the_plan_follows_the_clients_own_list_and_the_agent_is_continued_until_it_is_done(
    case: str, mode: str, make_sandbox: MakeSandbox
) -> None:
    """The model calls no tool of ours, and the nudge names none."""
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


@proves("status line", client="claude")
def test_the_status_line_of_claude_code_is_the_plan(make_sandbox: MakeSandbox) -> None:
    """The installed command with the input of Claude Code, which calls it only at a terminal."""
    with Model({"tool": "todo", "args": {"add": [PARSER, WIRE]}}, {"text": "Which one first?"}) as model:
        client = install("claude", make_sandbox(model))
        result = client.run()
        settings = json.loads((client.sandbox.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
        program, *words = shlex.split(settings["statusLine"]["command"])
        folder = str(client.sandbox.work)
        status_input = {
            "session_id": "another",
            "cwd": folder,
            "workspace": {"current_dir": folder, "project_dir": folder},
        }
        line = client.tildone(*words, given=json.dumps(status_input))

    assert (result.code, program) == (0, str(PROGRAM)), result
    assert line == f"✓ 0/2 · #1 {PARSER}\n"


@proves("status line", client="pi")
def test_pi_shows_the_plan_in_its_footer(make_sandbox: MakeSandbox) -> None:
    """It is updated at the start and after every call."""
    finish: Turn = {"tool": "todo", "args": {"done": 1}}
    with Model({"tool": "todo", "args": {"add": [PARSER, WIRE]}}, finish, {"text": "Which one next?"}) as model:
        client = install("pi", make_sandbox(model))
        command = [*client.start.command[: client.start.command.index("-p")], "--mode", "rpc"]
        with talking(command, cwd=client.sandbox.work, env=client.environ) as pi:
            prompt_and_wait(pi, TASK)

    lines = [record.get("statusText") for record in pi.records if record.get("method") == "setStatus"]
    assert [line for line in lines if line] == [f"✓ 0/2 · #1 {PARSER}", f"✓ 1/2 · #2 {WIRE}"]


def with_its_list(client: InstalledClient, case: str) -> InstalledClient:
    """Enable the client's own list."""
    if case == "codex":
        client.rewrite('model = "scripted"', 'model = "scripted"\ntools.update_plan = {enabled = true}')
    if case == "claude-todos":
        client.start.environ["CLAUDE_CODE_ENABLE_TASKS"] = "0"
    return client
