"""What hooks and the MCP server answer an agent whose run has passed to another worker."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.runs import SESSION, HeldRun, hold
from tests.plans import plan_of
from tildone.dialects.native import FENCED, STILL_FENCED
from tildone.log.fleet.lease import LEASE_VARIABLE, TRANSCRIPT_VARIABLE

HALT = {"continue": False, "stopReason": FENCED}
CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[HeldRun]:
    held = hold(tmp_path, plan_of("one", "two"))
    yield held
    held.store.close()


def tildone(run: HeldRun, given: str, *words: str, note: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a command as an agent of the run does."""
    known = {"TILDONE_STORE": run.address, "TILDONE_SESSION": SESSION, LEASE_VARIABLE: str(run.lease.fence)}
    command = [sys.executable, "-m", "tildone", *words]
    # What hooks remember about a conversation is below the folder of the test.
    environ = {**run.environ, **known, "XDG_RUNTIME_DIR": str(run.folder), TRANSCRIPT_VARIABLE: str(note or "")}
    folder = run.context().folder
    return subprocess.run(command, input=given, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def event(run: HeldRun, name: str, **more: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "c1", "cwd": run.context().folder, **more}


def hook(run: HeldRun, agent: str, name: str, **more: object) -> Any:
    """Return the reply to an event, and check that nothing else was said."""
    done = tildone(run, json.dumps(event(run, name, **more)), "hook", agent)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout) if done.stdout else None


def test_the_turn_ends_and_no_tool_is_called_any_more(run: HeldRun) -> None:
    assert hook(run, "claude", "PreToolUse", **CALL) is None
    run.pass_on()

    before = hook(run, "claude", "PreToolUse", **CALL)
    after = hook(run, "claude", "PostToolUse", **CALL, tool_response="")
    codex = hook(run, "codex", "PreToolUse", **CALL)

    denied = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": FENCED}
    assert before == {**HALT, "hookSpecificOutput": denied}
    assert after == {"continue": False, "stopReason": STILL_FENCED}
    assert codex == {"hookSpecificOutput": denied}


def test_an_agent_is_told_once_why_and_refused_in_few_words_after_that(run: HeldRun) -> None:
    run.pass_on()

    prompts = [hook(run, "codex", "UserPromptSubmit", prompt="Go on.") for _ in range(2)]
    calls = [hook(run, "codex", "PreToolUse", **CALL) for _ in range(2)]

    assert prompts[0]["hookSpecificOutput"]["additionalContext"] == FENCED
    assert prompts[1] is None
    assert {call["hookSpecificOutput"]["permissionDecisionReason"] for call in calls} == {STILL_FENCED}


def test_another_conversation_is_told_as_well(run: HeldRun) -> None:
    run.pass_on()

    replies = [hook(run, "claude", "PostToolUse", **CALL, tool_response="", session_id=name) for name in ("c1", "c2")]

    assert replies == [HALT, HALT]


def test_hooks_note_where_the_transcript_is(run: HeldRun) -> None:
    note = run.folder / "note"
    for path in ("/t/one.jsonl", "/t/two.jsonl"):
        done = tildone(run, json.dumps(event(run, "PreToolUse", transcript_path=path)), "hook", "claude", note=note)
        assert (done.returncode, done.stderr) == (0, "")
        assert note.read_text(encoding="utf-8") == path

    unwritable = run.folder / "missing" / "note"
    done = tildone(run, json.dumps(event(run, "PreToolUse", transcript_path="/t")), "hook", "claude", note=unwritable)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_agent_that_stops_is_not_nudged(run: HeldRun) -> None:
    nudged = hook(run, "claude", "Stop")
    run.pass_on()
    events = len(run.events)

    assert nudged["decision"] == "block"
    assert hook(run, "claude", "Stop") is None
    assert len(run.events) == events


def test_a_prompt_comes_with_the_order_to_stop(run: HeldRun) -> None:
    run.pass_on()

    reply = hook(run, "claude", "UserPromptSubmit", prompt="Go on.")

    assert reply["hookSpecificOutput"]["additionalContext"] == FENCED


def test_the_end_of_a_session_needs_no_lease(run: HeldRun) -> None:
    run.pass_on()

    assert hook(run, "claude", "SessionEnd", reason="other") is None


def test_a_tool_of_pi_answers_with_it(run: HeldRun) -> None:
    run.pass_on()
    payload = {"event": "call", "sessionID": "c1", "directory": run.context().folder, "tool": "todo", "args": {}}

    done = tildone(run, json.dumps(payload), "hook", "pi")

    assert json.loads(done.stdout) == {"text": FENCED, "failed": True, "line": ""}


def test_a_call_over_mcp_is_refused_with_it_and_later_ones_in_few_words(run: HeldRun) -> None:
    run.pass_on()
    messages = [
        rpc(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "x", "version": "1"}),
        rpc(2, "tools/call", name="todo", arguments={"done": [1]}),
        rpc(3, "tools/call", name="todo", arguments={"done": [1]}),
    ]

    done = tildone(run, "".join(f"{json.dumps(message)}\n" for message in messages), "mcp")

    answers = {answer.get("id"): answer for answer in map(json.loads, done.stdout.splitlines())}
    result = answers[2]["result"]
    assert result["isError"]
    assert FENCED in result["content"][0]["text"]
    again = answers[3]["result"]
    assert again["isError"]
    assert STILL_FENCED in again["content"][0]["text"]
    assert FENCED not in again["content"][0]["text"]
    assert run.tasks == [("one", "pending"), ("two", "pending")]


def rpc(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
