"""What Claude Code may do in a run of a fleet is asked for and answered in the log, where refusals are recorded."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.test_agents import HeldRun, hold
from tests.plans import plan_of
from tests.suite.waiting import until
from tildone.base import replace
from tildone.fleet.drivers import AGENTS
from tildone.plan.dialects.prompts import DENIED
from tildone.plan.runs import LEASE_VARIABLE, Asked, CommandRefused
from tildone.run.asking import NOT_ASKED

COMMAND = {"tool_name": "Bash", "input": {"command": "make it", "description": "Make it"}}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[HeldRun]:
    found = hold(tmp_path, plan_of("one"))
    yield found
    found.store.close()


class Asking:
    """The server, as Claude Code starts it, and the calls to it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._calls = 0

    def send(self, method: str, params: dict[str, Any]) -> None:
        self._calls += 1
        message = {"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params}
        assert self._process.stdin
        self._process.stdin.write(f"{json.dumps(message)}\n")
        self._process.stdin.flush()

    def call(self, arguments: dict[str, Any] = COMMAND) -> None:
        self.send("tools/call", {"name": "approve", "arguments": arguments})

    def result(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def reply(self) -> Any:
        [content] = self.result()["result"]["content"]
        return json.loads(content["text"])


@contextmanager
def asking(run: HeldRun, *ask: str) -> Iterator[Asking]:
    launch = AGENTS["claude"](replace(run.context("ls"), ask=ask))
    words = launch.arguments
    server = json.loads(words[words.index("--mcp-config") + 1])["mcpServers"]["tildone_permissions"]
    assert words[words.index("--permission-prompt-tool") + 1] == "mcp__tildone_permissions__approve"
    environ = {**launch.environ, LEASE_VARIABLE: str(run.lease.fence)}
    command, pipe = [server["command"], *server["args"]], subprocess.PIPE
    folder = run.context().folder
    with subprocess.Popen(command, cwd=folder, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
        found = Asking(process)
        found.send("initialize", {"protocolVersion": "2025-11-25"})
        assert found.result()["result"]["capabilities"] == {"tools": {}}
        yield found


def asked(run: HeldRun) -> list[Asked]:
    return [event.fact for event in run.events if isinstance(event.fact, Asked)]


def refused(run: HeldRun) -> list[CommandRefused]:
    return [event.fact for event in run.events if isinstance(event.fact, CommandRefused)]


def answer(run: HeldRun, text: str) -> None:
    [question] = until(lambda: run.leases.look(run.lease.run)[0].lease.questions)
    run.leases.answer(run.lease.run, question, text, "mara", os.urandom(8).hex())


def test_a_command_is_asked_for_once_and_run_when_a_person_has_approved_it(run: HeldRun) -> None:
    with asking(run, "make *") as claude:
        claude.send("tools/list", {})
        assert [tool["name"] for tool in claude.result()["result"]["tools"]] == ["approve"]
        claude.call()
        answer(run, "yes")
        approved = claude.reply()
        claude.call()
        again = claude.reply()

    assert approved == again == {"behavior": "allow", "updatedInput": COMMAND["input"]}
    assert [(fact.kind, fact.text) for fact in asked(run)] == [("command", "make it")]
    assert refused(run) == []


def test_after_a_denial_the_agent_ends_and_the_log_says_by_whom(run: HeldRun) -> None:
    with asking(run, "*") as claude:
        claude.call()
        answer(run, "no: not now")
        denied = claude.reply()

    assert denied == {"behavior": "deny", "message": f"{DENIED} not now", "interrupt": True}
    assert refused(run) == [CommandRefused(run.lease.run, 0, "make it", "not now", "mara")]


def test_what_persons_may_not_be_asked_for_is_refused_and_recorded(run: HeldRun) -> None:
    fetch = {"tool_name": "WebFetch", "input": {"url": "https://example.org"}}
    replies = []
    for ask, call in (("rm *", COMMAND), ("*", fetch)):
        with asking(run, ask) as claude:
            claude.call(call)
            replies.append(claude.reply())

    assert replies == [{"behavior": "deny", "message": NOT_ASKED.reason, "interrupt": False}] * 2
    assert asked(run) == []
    texts = {fact.text for fact in refused(run)}
    assert texts == {"make it", 'WebFetch {"url": "https://example.org"}'}
    assert {(fact.why, fact.by) for fact in refused(run)} == {(NOT_ASKED.reason, "")}


def test_without_the_lease_nothing_is_permitted(run: HeldRun) -> None:
    run.pass_on()

    with asking(run, "*") as claude:
        claude.call()
        reply = claude.reply()

    assert (reply["behavior"], reply["interrupt"]) == ("deny", False)
    assert "has passed to another worker" in reply["message"]


def test_what_is_no_message_is_answered(run: HeldRun) -> None:
    """Claude Code would wait for it."""
    with asking(run, "*") as claude:
        claude.call({"tool_name": "Write", "input": {"content": "x" * 1_100_000}})
        answered = claude.result()
    assert (answered["id"], "at most" in answered["error"]["message"]) == (2, True)


def test_a_module_in_the_working_tree_is_not_imported(run: HeldRun) -> None:
    (Path(run.context().folder) / "json.py").write_text("raise SystemExit('imported')")

    with asking(run, "*") as claude:
        claude.send("ping", {})
        assert claude.result()["result"] == {}


@pytest.mark.parametrize(("allow", "ask"), [(("*",), ("*",)), (("ls",), ())])
def test_where_nobody_can_be_asked_there_is_no_server(
    run: HeldRun, allow: tuple[str, ...], ask: tuple[str, ...]
) -> None:
    launch = AGENTS["claude"](replace(run.context(*allow), ask=ask))

    assert "--permission-prompt-tool" not in launch.arguments
    assert "tildone_permissions" not in str(launch.arguments)
