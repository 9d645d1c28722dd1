"""A host that a worker of a fleet has started: its questions, and the rate of its requests, are in the store."""

import asyncio
from pathlib import Path

import pytest

from tests.host.tools.test_in_a_host import Scripted
from tests.plans import plan_of
from tildone.app.opening import run_leases
from tildone.cli.fleet.doctor import parsed_limit
from tildone.log.settings import ProviderLimit
from tildone.run.asking import (
    NOT_ASKED,
    Asker,
    AskLimits,
    SharedQuestions,
    UnattendedUI,
    ask_limits,
    limited_model,
    unattended_ui,
)
from tildone.run.extension import PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.model import ChatRequest, LimitedModel
from tildone.run.shell_model import ShellModel
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

LEASE = {"TILDONE_LEASE": "r1/0/1"}
LONG_ENOUGH = 60.0


async def test_a_question_waits_for_an_answer_in_the_store(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store = SqliteStore(tmp_path / "plans.db")
    ui = unattended_ui(LEASE)
    assert ui is not None
    shared = SharedQuestions(ui, store, Asker(lambda: "s", lambda: "tildone:a", lambda: ""))
    asking = asyncio.create_task(shared.ask_permission(PermissionRequest("Run this?", ("make deploy",))))
    while not store.records.needs():  # noqa: ASYNC110  there is no event to wait for
        await asyncio.sleep(0.01)
    [need] = store.records.needs()

    await asyncio.to_thread(SqliteStore(tmp_path / "plans.db").records.answer, need.id, "once", "Ada", 1)

    assert await asyncio.wait_for(asking, LONG_ENOUGH) == PermissionReply(PermissionAnswer.ONCE)
    assert capfd.readouterr().err == "info: Answered by Ada: once\n"
    store.close()


@pytest.mark.parametrize(
    ("pattern", "request_", "asked"),
    [
        ("make *", PermissionRequest("Run this?", ("make deploy",)), True),
        ("make *", PermissionRequest("Run this?", ("make deploy && rm -r x",)), False),
        ("git *", PermissionRequest("Run this?", ("git -c alias.x='!id' x",)), False),
        ("make *", PermissionRequest("Run this?", ("make a", "rm b")), False),
        ("make *", PermissionRequest("Read /etc/passwd?"), False),
        ("make *", PermissionRequest("Change a?", ("make a",), is_diff=True), False),
        ("*", PermissionRequest("Read /etc/passwd?"), True),
        ("", PermissionRequest("Run this?", ("make deploy",)), False),
    ],
)
async def test_persons_are_asked_only_for_what_the_worker_lets_them_approve(
    tmp_path: Path, pattern: str, request_: PermissionRequest, *, asked: bool
) -> None:
    """An answer that is already in the store, or that allows more than was asked, permits no more either."""
    store = SqliteStore(tmp_path / "plans.db")
    limits = ask_limits(LEASE | {"TILDONE_FLEET_ASK": pattern})
    shared = SharedQuestions(UnattendedUI(), store, Asker(lambda: "s", lambda: "tildone:a", lambda: ""), limits)
    asking = asyncio.create_task(shared.ask_permission(request_))
    while not store.records.needs() and not asking.done():  # noqa: ASYNC110  there is no event to wait for
        await asyncio.sleep(0.01)
    found = store.records.needs()
    for need in found:
        await asyncio.to_thread(SqliteStore(tmp_path / "plans.db").records.answer, need.id, "always", "Mallory", 1)

    reply = await asyncio.wait_for(asking, LONG_ENOUGH)

    expected = PermissionAnswer.ALWAYS if pattern == "*" else PermissionAnswer.ONCE
    assert (len(found), reply) == ((1, PermissionReply(expected)) if asked else (0, NOT_ASKED))
    store.close()


def test_only_processes_of_a_worker_have_such_limits() -> None:
    assert ask_limits({}) is None
    assert ask_limits(LEASE) == AskLimits(())


async def test_questions_with_a_time_limit_end(capfd: pytest.CaptureFixture[str]) -> None:
    ui = UnattendedUI()

    assert await ui.select("?", ["a"], 0.001) is None
    assert not await ui.confirm("?", "", 0.001)
    ui.set_status("limit", "waits\x1b")
    ui.set_status("limit", None)
    assert capfd.readouterr().err == "limit: waits␛\n"


async def test_requests_are_taken_from_the_rate_of_the_fleet(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "plans.db")
    leases = run_leases(store)
    leases.set_limit(ProviderLimit("script", requests=1))
    told: list[str | None] = []

    class Shown(UnattendedUI):
        def set_status(self, key: str, text: str | None) -> None:
            assert key == "limit"
            told.append(text)

    model = limited_model(Scripted(), store, LEASE, Shown())

    assert [event async for event in model.stream(ChatRequest("", ()))]
    waiting = asyncio.create_task(anext(model.stream(ChatRequest("", ()))))
    while not told:  # noqa: ASYNC110  there is no event to wait for
        await asyncio.sleep(0.01)
    leases.set_limit(ProviderLimit("script"))
    waiting.cancel()

    assert str(told[0]).startswith("waits for the limit of requests to script")
    assert [event async for event in model.stream(ChatRequest("", ()))]
    store.close()


async def test_a_model_has_the_limit_of_its_provider_under_each_of_its_names(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "plans.db")
    leases = run_leases(store)
    leases.set_limit(parsed_limit("openai-chat=3/1"))

    class Chat(Scripted):
        provider = "openai-responses"

    assert [event async for event in limited_model(Chat(), store, LEASE, None).stream(ChatRequest("", ()))]
    assert leases.request("openai") > 0
    store.close()


def test_only_models_of_runs_of_a_fleet_are_limited(tmp_path: Path) -> None:
    store, model = SqliteStore(tmp_path / "plans.db"), Scripted()
    shell = ShellModel(lambda: plan_of("one"), lambda: 0, frozenset)

    assert limited_model(model, store, {}, None) is model
    assert limited_model(model, MemoryStore(), LEASE, None) is model
    assert limited_model(shell, store, LEASE, None) is shell
    assert isinstance(limited_model(model, store, LEASE, None), LimitedModel)
    assert unattended_ui({}) is None
    store.close()
