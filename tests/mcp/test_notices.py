"""Notifications about requests on stdio: progress of calls that take long, and errors as log messages."""

import pytest

from tests.mcp.project import Project
from tests.mcp.wire import HeldCalls, call, request, wired
from tildone.agents.mcp.calls import WAITING
from tildone.log.session import Session
from tildone.plan.dialects import Reply

ADD = {"add": ["One"]}


async def test_a_call_that_takes_long_reports_progress(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the client asked for it, again and again, and no longer once the call is answered."""
    monkeypatch.setattr("tildone.agents.mcp.calls.INTERVAL_SECONDS", 0.05)
    held = HeldCalls(monkeypatch)
    async with wired(project) as wire:
        wire.send(call(1, "todo", ADD))
        wire.send(request(2, "tools/call", name="todo", arguments={}, _meta={"progressToken": "t"}))
        notices = [await wire.answer() for _ in range(3)]
        held.proceed.set()
        answers = [answer for answer in [await wire.answer() for _ in range(2)] if "id" in answer]
        wire.close_input()
        answers += [answer for answer in await wire.rest() if "id" in answer]

    assert {notice["method"] for notice in notices} == {"notifications/progress"}
    assert [notice["params"]["progress"] for notice in notices] == [1, 2, 3]
    assert {(notice["params"]["progressToken"], notice["params"]["message"]) for notice in notices} == {("t", WAITING)}
    assert [answer["id"] for answer in answers] == [1, 2]


async def test_a_client_that_set_a_level_gets_errors_as_log_messages(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Reply:
        raise ZeroDivisionError

    monkeypatch.setattr(Session, "call", broken)
    async with wired(project) as wire:
        silent = await wire.ask(call(1, "todo", ADD))
        await wire.ask(request(2, "logging/setLevel", level="critical"))
        above = await wire.ask(call(3, "todo", ADD))
        await wire.ask(request(4, "logging/setLevel", level="info"))
        logged = await wire.ask(call(5, "todo", ADD))
        answered = await wire.answer()

    assert (silent["id"], above["id"], answered["id"]) == (1, 3, 5)
    assert logged == {
        "jsonrpc": "2.0",
        "method": "notifications/message",
        "params": {"level": "error", "logger": "tildone", "data": "tildone itself is at fault: ZeroDivisionError"},
    }
    assert capsys.readouterr().err == "tildone mcp: ZeroDivisionError()\n" * 3
