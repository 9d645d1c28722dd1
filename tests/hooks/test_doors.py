"""Every door through which a model reads a plan, as real processes: nothing hidden, no tag of a host, no flood."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.dialects.test_safe_texts import HOSTILE, LONG
from tests.hooks.agent import Workspace
from tests.suite.forking import PROGRAM
from tests.views.test_limits import FORBIDDEN
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Mark, Note, Numbered
from tildone.plan.text.safe import MAX_HOOK_REPLY, MAX_RESULT

TIMEOUT_SECONDS = 60
COMMANDS = (
    ("todo",),
    ("todo", "--json"),
    ("todo", "next"),
    ("todo", "export", "-"),
    ("export",),
    ("export", "--as", "json"),
    ("export", "--as", "todo.txt"),
    ("log",),
    ("log", "--json"),
    ("blame",),
    ("status",),
    ("call", "todo", "{}"),
    ("call", "todo", "{}", "--json"),
    ("call", "list_todos", "{}"),
    ("call", "list_todos", "{}", "--json"),
    ("call", "todo_write", '{"ops": [{"op": "note", "task": "first", "text": "x"}]}'),
    ("call", "TodoWrite", json.dumps({"summary": HOSTILE, "todos": [{"content": "a", "status": "pending"}]})),
    ("call", "TodoWrite", json.dumps({"summary": HOSTILE, "todos": HOSTILE})),
)
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")


def run(workspace: Workspace, *words: str, given: object = None) -> tuple[str, str]:
    """What the program printed, on a pipe."""
    answer = subprocess.run(
        [PROGRAM, *words],
        cwd=workspace.project,
        env={**os.environ, **workspace.environ, "NO_COLOR": "1"},
        input=given if isinstance(given, str) else json.dumps(given or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    return answer.stdout, answer.stderr


def plan(workspace: Workspace, *texts: str) -> None:
    session = workspace.session
    session.change((Append((Task("first"), *map(Task, texts)), phase=f"phase {HOSTILE}"),))
    session.change((Note(Numbered((1,)), f"note {HOSTILE}"), Mark(Numbered((2,)), Status.IN_PROGRESS)))


def test_nothing_that_is_printed_to_a_pipe_hides_or_imitates(workspace: Workspace) -> None:
    plan(workspace, HOSTILE)

    printed = {words: run(workspace, *words) for words in COMMANDS}

    assert [words for words, (out, _) in printed.items() if not out] == []
    assert [words for words, texts in printed.items() if any(map(FORBIDDEN.search, texts))] == []


def test_what_a_pipe_reads_still_has_every_text(workspace: Workspace, tmp_path: Path) -> None:
    """JSON and Markdown restore the plan as it was written."""
    plan(workspace, HOSTILE)
    before = workspace.session.plan
    for name, words in (("plan.md", ("export",)), ("plan.json", ("export", "--as", "json"))):
        file = tmp_path / name
        file.write_text(run(workspace, *words)[0], encoding="utf-8")
        session = f"from {name}"
        run(workspace, "import", str(file), "--session", session)

        restored = workspace.session_of(session).plan
        texts = [(phase.name, [(task.text, task.notes) for task in phase.tasks]) for phase in restored.phases]
        assert texts == [(phase.name, [(task.text, task.notes) for task in phase.tasks]) for phase in before.phases]


@pytest.mark.parametrize("dialect", ["brief", "indexed", "phased", "declared"])
def test_what_a_hook_tells_a_model_is_harmless_and_limited(workspace: Workspace, dialect: str) -> None:
    """With news, with the plan, and with the nudge."""
    long = LONG[: 2 * MAX_HOOK_REPLY]
    plan(workspace, HOSTILE, long)
    told = []
    for event in EVENTS:
        fields = {"session_id": "one", "cwd": str(workspace.project), "hook_event_name": event, "tool_name": "Bash"}
        told.append(run(workspace, "hook", "claude", "--dialect", dialect, given=fields)[0])
        workspace.session.change((Append((Task(f"{event} {HOSTILE}"), Task(f"{event} {long}"))),))
    texts = [value for answer in told if answer for value in strings(json.loads(answer))]

    assert len(texts) >= 4
    assert not [value for value in texts if FORBIDDEN.search(value)]
    assert max(map(len, texts)) <= MAX_HOOK_REPLY


@pytest.mark.parametrize("dialect", ["brief", "indexed", "phased", "declared"])
def test_what_an_mcp_client_reads_is_harmless_and_limited(workspace: Workspace, dialect: str) -> None:
    """Tool results, resources, the prompt, and errors; the bytes of the whole answer, too."""
    plan(workspace, HOSTILE, LONG)
    calls = {
        "brief": ("todo", {}),
        "indexed": ("list_todos", {}),
        "phased": ("todo_write", {"ops": [{"op": "start", "task": "first"}]}),
        "declared": ("TodoWrite", {"summary": HOSTILE, "todos": [{"content": "first", "status": "pending"}]}),
    }
    tool, arguments = calls[dialect]
    info = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    asked = [
        ("initialize", hello),
        ("tools/call", {"name": tool, "arguments": arguments}),
        ("tools/call", {"name": HOSTILE, "arguments": {}}),
        ("prompts/get", {"name": "plan", "arguments": {"task": HOSTILE + LONG}}),
        ("prompts/get", {"name": HOSTILE, "arguments": {}}),
        ("resources/read", {"uri": f"plan://{HOSTILE}"}),
        *(("resources/read", {"uri": f"plan://{name}"}) for name in ("current", "current.json", "log", "log.json")),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(asked)
    ]
    output, _ = run(workspace, "mcp", "--dialect", dialect, given="\n".join(lines) + "\n")
    answers = {answer["id"]: answer for answer in map(json.loads, output.splitlines())}

    assert len(answers) == len(asked)
    assert not FORBIDDEN.search(output)
    for number, answer in answers.items():
        result = answer.get("result", {})
        # Structured content is for programs, and keeps its value.
        read = [value for name, part in result.items() if name != "structuredContent" for value in strings(part)]
        read += strings(answer.get("error", {}).get("message", ""))
        assert not [value for value in read if FORBIDDEN.search(value)], asked[number][0]
        assert sum(map(len, read)) <= 6 * MAX_RESULT, asked[number][0]
    assert max(map(len, output.splitlines())) <= 10 * MAX_RESULT


def strings(data: object) -> list[str]:
    match data:
        case str():
            return [data]
        case dict():
            return [text for item in data.values() for text in strings(item)]
        case list():
            return [text for item in data for text in strings(item)]
        case _:
            return []
