"""In a real client, the plan mirrors the client's own todo list."""

import json
import shlex
from collections.abc import Callable

import pytest

from tests.cli.person import PROGRAM
from tests.clients.agents import Desk, talking
from tests.clients.inside import GO_ON, TASK, Inside, install, newest, serving
from tests.clients.model import Model
from tests.clients.stories import said
from tests.host.models.wire import Turn

pytestmark = pytest.mark.slow
Laid = Callable[[Model], Desk]

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
"""What models call to write two tasks down, and to tick both off."""


@pytest.mark.parametrize("case", LISTS)
def test_the_plan_follows_the_clients_own_list_and_the_agent_is_held_to_it(case: str, desk: Laid) -> None:
    """The model calls no tool of ours, and the nudge names none."""
    name = case.partition("-")[0]
    write, tick = LISTS[case]
    with Model(write, {"text": "I stop here."}, tick, {"text": "All of it is done."}) as model:
        inside = with_its_list(install(name, desk(model)), case)
        listened_to(inside)

    assert [GO_ON in newest(asked) for asked in model.asked] == [False, False, True, False]
    told = newest(model.asked[2])
    assert f"- {PARSER}" in told
    assert "todo tool" not in told
    assert inside.tasks == [(PARSER, "completed"), (WIRE, "completed")]


def test_the_status_line_of_claude_code_is_the_plan(desk: Laid) -> None:
    """The installed command with the input of Claude Code, which calls it only at a terminal."""
    with Model({"tool": "todo", "args": {"add": [PARSER, WIRE]}}, {"text": "Which one first?"}) as model:
        inside = install("claude", desk(model))
        ended = inside.run()
        settings = json.loads((inside.desk.home / ".claude" / "settings.json").read_text(encoding="utf-8"))
        program, *words = shlex.split(settings["statusLine"]["command"])
        here = str(inside.desk.work)
        told = {"session_id": "another", "cwd": here, "workspace": {"current_dir": here, "project_dir": here}}
        line = inside.tildone(*words, given=json.dumps(told))

    assert (ended.code, program) == (0, str(PROGRAM)), ended
    assert line == f"✓ 0/2 · 1 {PARSER}\n"


def test_pi_shows_the_plan_in_its_footer(desk: Laid) -> None:
    """From the start, and after every call."""
    finish: Turn = {"tool": "todo", "args": {"done": 1}}
    with Model({"tool": "todo", "args": {"add": [PARSER, WIRE]}}, finish, {"text": "Which one next?"}) as model:
        inside = install("pi", desk(model))
        command = [*inside.start.command[: inside.start.command.index("-p")], "--mode", "rpc"]
        with talking(command, cwd=inside.desk.work, env=inside.environ) as pi:
            said(pi, TASK)

    shown = [record.get("statusText") for record in pi.records if record.get("method") == "setStatus"]
    assert [line for line in shown if line] == [f"✓ 0/2 · 1 {PARSER}", f"✓ 1/2 · 2 {WIRE}"]


def with_its_list(inside: Inside, case: str) -> Inside:
    """The client with its own list enabled."""
    if case == "codex":
        inside.rewrite('model = "scripted"', 'model = "scripted"\ntools.update_plan = {enabled = true}')
    if case == "claude-todos":
        inside.start.environ["CLAUDE_CODE_ENABLE_TASKS"] = "0"
    return inside


def listened_to(inside: Inside) -> None:
    if inside.name == "opencode":
        with serving(inside) as server:
            server.say(TASK)
            server.until("session.idle")
            server.until("session.idle")
        return
    ended = inside.run()
    assert (ended.code, ended.out.strip().splitlines()[-1]) == (0, "All of it is done."), ended
