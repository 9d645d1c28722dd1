"""Checks in the MCP server: other calls go on meanwhile, and the person is asked in the client."""

import asyncio
import subprocess
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from tests.checks.repositories import make_repository, python
from tests.mcp.project import MODES, Project, text_of
from tests.mcp.wire import Wire, call, initialize, request, wired
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until_async
from tildone.agents.mcp.connections import approval_form, is_approved
from tildone.agents.mcp.protocol import has_forms
from tildone.app.opening import check_approvals, open_session
from tildone.base import replace
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Actor
from tildone.plan.model import Check, Result, Status, Task
from tildone.plan.ops import Append, Numbered, SetCheck

MARKS = python("open('ran', 'a').write('x')")
WAITS = python(
    "import os, pathlib, time\n"
    "open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up')\n"
    "while not pathlib.Path('go').exists(): time.sleep(0.01)",
    seconds=50,
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    home = tmp_path / "home"
    home.mkdir()
    return Project(make_repository(tmp_path / "project"), home)


def prepare(project: Project, check: Check, *, approved: bool = True) -> None:
    settings = project.settings()
    made = open_session(settings, BRIEF)
    made.change([Append((Task("One"), Task("Two")))], Actor.AGENT)
    made.change([SetCheck(Numbered((1,)), check)], Actor.AGENT)
    if approved:
        check_approvals(settings).approve(check)
    made.store.close()


def first(project: Project) -> Task:
    return project.plan().tasks[0]


async def until(path: Path) -> None:
    await until_async(path.exists)


async def ended(pid: str) -> bool:
    command = ["ps", "-p", pid]
    await until_async(lambda: subprocess.run(command, capture_output=True, check=False).returncode != 0)
    return True


async def test_other_calls_of_the_same_caller_go_on_while_a_check_runs(project: Project) -> None:
    prepare(project, WAITS)
    async with wired(project) as wire:
        wire.send(call(1, "todo", {"done": 1}))
        await until(project.folder / "up")
        second = await wire.ask(call(2, "todo", {"add": ["Three"]}))
        third = await wire.ask(request(3, "resources/read", uri="plan://current"))
        (project.folder / "go").touch()
        finished = await wire.answer()
        wire.close_input()

    assert [second["id"], third["id"], finished["id"]] == [2, 3, 1]
    task = first(project)
    assert (task.status, project.texts()) == (Status.COMPLETED, ["One", "Two", "Three"])
    assert task.proof is not None
    assert task.proof.result is Result.PASSED


async def test_a_failed_check_is_told_with_the_end_of_its_output(project: Project) -> None:
    prepare(project, python("import sys; print('what went wrong'); sys.exit(3)"))
    async with project.client() as client:
        reply = text_of(await client.call_tool("todo", {"done": 1}))

    assert "1 is not done:" in reply
    assert "failed with exit code 3\nwhat went wrong" in reply
    assert first(project).status is Status.IN_PROGRESS


async def test_a_check_that_the_person_sets_while_a_server_runs_is_run_by_its_next_call(project: Project) -> None:
    """The server has read the plan without it, and learns of it when it completes the task."""
    fails = python("print('what went wrong'); raise SystemExit(3)")

    def types(number: int, check: Check) -> None:
        words = [str(PROGRAM), "todo", "check", str(number), "--", *check.command]
        subprocess.run(words, cwd=project.folder, env=project.environment(), check=True, capture_output=True)

    async with project.started() as client:
        await client.call_tool("todo", {"add": ["One", "Two"]})
        await asyncio.to_thread(types, 1, MARKS)
        passed = text_of(await client.call_tool("todo", {"done": 1}))
        await asyncio.to_thread(types, 2, fails)
        failed = text_of(await client.call_tool("todo", {"done": 2}))

    assert (project.folder / "ran").read_text() == "x"
    assert "not done" not in passed
    assert "2 is not done" in failed
    assert "failed with exit code 3\nwhat went wrong" in failed
    assert [task.status for task in project.plan().tasks] == [Status.COMPLETED, Status.IN_PROGRESS]


@pytest.mark.parametrize("how", ["cancelled", "closed"])
async def test_a_call_that_is_cancelled_and_a_server_that_ends_end_the_check(project: Project, how: str) -> None:
    prepare(project, WAITS)
    async with wired(project) as wire:
        wire.send(call(1, "todo", {"done": 1}))
        await until(project.folder / "up")
        pid = (project.folder / "up").read_text()
        if how == "cancelled":
            wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
            assert await ended(pid)
            assert (await wire.ask(call(2, "todo", {})))["id"] == 2
        wire.close_input()

    assert await ended(pid)
    task = first(project)
    assert (task.status.is_open, task.proof) == (True, None)


async def test_progress_names_the_check_that_runs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is shortened, and nothing in it hides or ends the sentence."""
    monkeypatch.setattr("tildone.agents.mcp.connections.INTERVAL_SECONDS", 0.05)
    prepare(project, replace(WAITS, command=(*WAITS.command, "\u202e\n" + "x" * 100)))
    async with wired(project) as wire:
        wire.send(request(1, "tools/call", name="todo", arguments={"done": 1}, _meta={"progressToken": "t"}))
        await until(project.folder / "up")
        # The first may have been on its way before the check began.
        notices = [await wire.answer() for _ in range(3)][1:]
        (project.folder / "go").touch()
        wire.close_input()
        rest = await wire.rest()

    [message] = {notice["params"]["message"] for notice in notices}
    assert message.startswith(f"running the check of task 1: `{quote(WAITS.command[0])}")
    assert message.endswith("…`")
    assert (message.isprintable(), len(message) < 120) == (True, True)
    assert any(answer.get("id") == 1 for answer in rest)
    assert first(project).status is Status.COMPLETED


class Person:
    """A person at a client: answers forms, and remembers them."""

    def __init__(self, action: Any, content: Any = None) -> None:
        self.forms: list[Any] = []
        self._result = ElicitResult(action=action, content=content)

    async def __call__(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        del context
        self.forms.append(params)
        return self._result


ANSWERS = [
    *(("accept", {"approve": yes}, yes) for yes in (True, False)),
    *(("decline", None, False), ("cancel", None, False)),
]


@pytest.mark.parametrize("over_http", [False, True])
@pytest.mark.parametrize(("action", "content", "approved"), ANSWERS)
async def test_a_client_with_forms_asks_the_person_once_for_a_proposed_check(
    project: Project, action: str, content: object, *, approved: bool, over_http: bool
) -> None:
    prepare(project, MARKS, approved=False)
    person = Person(action, content)
    connect = project.http_client if over_http else project.client
    async with connect("legacy", elicitation_callback=person) as client:
        for _ in range(2):
            await client.call_tool("todo", {"done": 1})
    [form] = person.forms

    assert "\"-c\", \"open('ran', 'a').write('x')\"]" in form.message
    assert "task 1" in form.message
    assert (project.folder / "ran").exists() is approved
    assert check_approvals(project.settings()).is_allowed(MARKS) is approved
    assert first(project).status is (Status.COMPLETED if approved else Status.BLOCKED)


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_over_http_that_is_cancelled_ends_the_check_and_others_go_on_meanwhile(
    project: Project, mode: str
) -> None:
    """The client says so, or closes the connection, depending on the revision."""
    prepare(project, WAITS)
    async with project.http_client(mode) as client:
        done = asyncio.create_task(client.call_tool("todo", {"done": 1}))
        await until(project.folder / "up")
        assert text_of(await client.call_tool("todo", {"add": ["Three"]}))
        done.cancel()

        assert await ended((project.folder / "up").read_text())
        assert text_of(await client.call_tool("todo", {"add": ["Four"]}))


async def test_a_client_without_forms_is_not_asked_and_nothing_runs(project: Project) -> None:
    prepare(project, MARKS, approved=False)
    async with wired(project) as wire:
        reply = await wire.ask(call(1, "todo", {"done": 1}))
        wire.close_input()

    assert "waits for a person to approve its check" in reply["result"]["content"][0]["text"]
    assert not (project.folder / "ran").exists()


async def greet_with_forms(wire: Wire) -> None:
    hello = initialize()
    hello["params"]["capabilities"] = {"elicitation": {}}
    await wire.ask(hello)


async def test_other_calls_go_on_while_the_person_thinks_and_a_cancelled_call_asks_no_more(project: Project) -> None:
    prepare(project, MARKS, approved=False)
    async with wired(project, greet=False) as wire:
        await greet_with_forms(wire)
        form = await wire.ask(call(1, "todo", {"done": 1}))
        second = await wire.ask(call(2, "todo", {"add": ["Three"]}))
        wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        withdrawn = await wire.answer()
        wire.close_input()

    assert (form["method"], second["id"]) == ("elicitation/create", 2)
    assert (withdrawn["method"], withdrawn["params"]) == ("notifications/cancelled", {"requestId": form["id"]})
    assert not (project.folder / "ran").exists()


@pytest.mark.parametrize("answer", [{"error": {"code": -32600, "message": "no"}}, {"result": {}}])
async def test_an_answer_that_is_none_refuses(project: Project, answer: dict[str, Any]) -> None:
    prepare(project, MARKS, approved=False)
    async with wired(project, greet=False) as wire:
        await greet_with_forms(wire)
        form = await wire.ask(call(1, "todo", {"done": 1}))
        wire.send({"jsonrpc": "2.0", "id": "another", "result": {"action": "accept", "content": {"approve": True}}})
        wire.send({"jsonrpc": "2.0", "id": form["id"], **answer})
        replies = [await wire.answer()]
        if "method" in replies[0]:
            replies.append(await wire.answer())
        wire.close_input()

    assert replies[-1]["id"] == 1
    assert (first(project).status, (project.folder / "ran").exists()) == (Status.BLOCKED, False)


def test_which_clients_show_forms() -> None:
    rows = [{}, {"elicitation": {"url": {}}}, {"elicitation": True}, {"elicitation": {}}, {"elicitation": {"form": {}}}]

    assert [has_forms(capabilities) for capabilities in (None, *rows)] == [False] * 4 + [True] * 2


def test_a_form_shows_the_exact_command_and_nothing_hides_in_it() -> None:
    check = replace(MARKS, command=("rm", "-rf", "a b", "\u202egnp.exe"), folder="sub dir")

    message = approval_form(0, check)["message"]

    assert message.endswith(
        'in the folder "sub dir"? ["rm", "-rf", "a b", "\\u202egnp.exe"] Careful: it deletes files.'
    )
    assert "the plan" in message
    assert not is_approved({"action": "accept", "content": {"approve": "yes"}})
