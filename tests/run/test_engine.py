"""An agent that stops early is continued until a bound.

A run is steered, is left unattended, and records what it has used.
"""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.host.test_host import Script as Scripted
from tests.plans import plan_of
from tests.run.plan_calls import call
from tests.run.run_workspace import (
    ALLOW_ALL,
    CHAT,
    WRITE,
    edit,
    provider_environment,
    run_model,
    start,
    statuses,
    write_plan,
)
from tests.suite.waiting import LIMIT_SECONDS, until_async
from tests.trusted import write_trusted
from tildone.app.opening import run_leases
from tildone.cli.fleet.doctor import parsed_limit
from tildone.log.settings import ProviderLimit
from tildone.plan.events import AgentUsage
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
from tildone.run.messages import Cost
from tildone.run.messages import Usage as RequestUsage
from tildone.run.metering import log_usage
from tildone.run.model import ChatRequest, LimitedModel
from tildone.run.shell_model import ShellModel
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

STOPS: Turn = {"text": "I stop here.", "repeat": True}
FINISH: Turn = edit("complete", 0, 1)


def nudges(server: ModelServer, words: str = "There are still incomplete todos.") -> int:
    """Return how often the model was continued."""
    return json.dumps(server.requests[-1].messages).count(words)


def test_a_model_without_progress_is_nudged_twenty_times(person: Person) -> None:
    """Print mode also waits for every countdown. The number is a setting."""
    notice = "Remaining todos were not completed. Take over manually."
    answer, server = run_model(person, "Go", script=(WRITE, STOPS))
    assert (answer.code, nudges(server), len(server.requests)) == (1, 20, 22)
    assert f"Auto-continue limit reached (20 iterations). {notice}\nTook " in answer.out
    assert " out\n✗ 2 of 2 tasks left open\nTo go on: " in answer.out

    answer, server = run_model(person, "Go", "--mode", "print", script=(WRITE, STOPS))
    assert (answer.code, nudges(server), len(server.requests), answer.out) == (1, 20, 22, "I stop here.\n")
    bound = "told to go on 20 times, and nothing changed"
    assert answer.err == f"tildone: 2 of 2 tasks left open ({bound})\nTo go on: tildone run --continue\n"

    answer, server = run_model(person, "Go", "--max-nudges", "2", script=(WRITE, STOPS))
    assert (answer.code, nudges(server)) == (1, 2)
    assert "Auto-continue limit reached (2 iterations)." in answer.out


@pytest.mark.slow
def test_a_model_that_only_toggles_is_ended_by_the_drift_bound(person: Person) -> None:
    """Every call changes the plan, but no task is completed."""
    toggle: tuple[Turn, ...] = (edit("start", 0), {"text": "Started."}, WRITE, {"text": "Put back."})
    answer, server = run_model(person, "Go", script=(WRITE, *70 * toggle))

    assert answer.code == 1
    assert "Auto-continue limit reached (told to go on 60 times, and no task was closed or added)." in answer.out
    assert nudges(server) == 60


@pytest.mark.parametrize("mode", ["terminal", "print"])
def test_a_model_that_never_stops_is_ended_by_the_bound_on_requests(person: Person, mode: str) -> None:
    """It only lists its tasks. The person is told why and how to go on, and the log shows it."""
    lists: Turn = {"tool": "list_todos", "args": {}, "repeat": True}
    person.environ["TILDONE_SESSION"] = "plan"
    answer, server = run_model(person, "Go", "--mode", mode, script=(WRITE, lists), TILDONE_MAX_IDLE_REQUESTS="5")

    assert len(server.requests) == 6
    reason = "stopped: 5 requests to the model, and no task was closed or added"
    assert answer.code == 1
    if mode == "terminal":
        assert f"✗ {reason}\n" in answer.out
        assert "To go on: tildone run --continue\n" in answer.out
    else:
        assert (answer.out, answer.err) == ("", f"tildone: {reason}\nTo go on: tildone run --continue\n")
    assert reason.removeprefix("stopped: ") in person.run("log").out


BRIEFLY: tuple[Turn, ...] = (
    {"tool": "todo", "args": {"add": ["One", "Two"]}},
    {"tool": "todo", "args": {"done": [1, 2]}},
)


@pytest.mark.parametrize(
    ("dialect", "turns", "words"),
    [("indexed", (WRITE, FINISH), "There are still incomplete todos."), ("brief", BRIEFLY, "Your plan is not done:")],
)
def test_who_stops_early_is_continued(person: Person, dialect: str, turns: tuple[Turn, Turn], words: str) -> None:
    """The program waits for the countdown, while no turn is running. A dialect without an extension has its words."""
    script = (turns[0], {"text": "Enough for today."}, turns[1], {"text": "All done after all."})
    argv = ("Go", "--dialect", dialect, "--mode", "print")
    answer, server = run_model(person, *argv, script=script, TILDONE_COUNTDOWN="1")

    assert (answer.code, answer.out) == (0, "All done after all.\n")
    assert nudges(server, words) == 1


def test_a_signal_during_the_countdown_ends_the_run(person: Person) -> None:
    """No turn is running, and none begins."""
    with ModelServer(WRITE, STOPS) as server:
        environ = {**provider_environment(server), "TILDONE_COUNTDOWN": "600"}
        with start(person, "run", "Go", "--model", CHAT, "--mode", "json", **environ) as process:
            assert process.stdout
            assert any(json.loads(line)["type"] == "agent_settled" for line in process.stdout)
            process.send_signal(signal.SIGINT)

            assert process.wait(LIMIT_SECONDS) == 130

    assert len(server.requests) == 2


def test_neither_a_finished_plan_nor_an_error_is_continued(person: Person) -> None:
    answer, server = run_model(person, "Go", "--max-nudges", "0", script=(WRITE, FINISH, {"text": "Done."}))

    assert (answer.code, nudges(server)) == (0, 0)
    assert "limit" not in answer.out

    answer, server = run_model(person, "Go", script=(WRITE, {"error": 400, "message": "bad request"}, STOPS))

    assert (answer.code, len(server.requests)) == (1, 2)
    assert "bad request" in answer.out


def test_phases_remind_a_few_times(person: Person) -> None:
    phase = {"op": "init", "list": [{"phase": "A", "items": ["One", "Two"]}]}
    person.environ["TILDONE_SESSION"] = "plan"
    script = (call("todo_write", ops=[phase]), STOPS)
    answer, server = run_model(person, "Go", "--dialect", "phased", script=script)

    assert (answer.code, len(server.requests)) == (1, 5)
    assert "✗ 2 of 2 tasks left open\n" in answer.out
    assert "Not continued: told to go on 3 times since you last spoke. To go on, send a message" in answer.out
    assert "gave up: told to go on 3 times since you last spoke" in person.says("log")


RESUME = "To go on: tildone resume --session s && tildone run --continue\n"
LEASE = {"TILDONE_LEASE": "r1/0/1"}
LONG_ENOUGH = 60.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "plans.db")
    yield store
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
    store: SqliteStore,
    tmp_path: Path,
    pattern: str,
    request_: PermissionRequest,
    capfd: pytest.CaptureFixture[str],
    *,
    asked: bool,
) -> None:
    """An answer that is already in the store, or that allows more than was asked, permits no more either."""
    ui, limits = unattended_ui(LEASE), ask_limits(LEASE | {"TILDONE_FLEET_ASK": pattern})
    assert ui is not None
    shared = SharedQuestions(ui, store, Asker(lambda: "s", lambda: "tildone:a", lambda: ""), limits)
    asking = asyncio.create_task(shared.ask_permission(request_))
    await until_async(lambda: store.records.needs() or asking.done())
    found = store.records.needs()
    for need in found:
        await asyncio.to_thread(SqliteStore(tmp_path / "plans.db").records.answer, need.id, "always", "Mallory", 1)

    reply = await asyncio.wait_for(asking, LONG_ENOUGH)

    expected = PermissionAnswer.ALWAYS if pattern == "*" else PermissionAnswer.ONCE
    assert (len(found), reply) == ((1, PermissionReply(expected)) if asked else (0, NOT_ASKED))
    assert capfd.readouterr().err == ("info: Answered by Mallory: always\n" if asked else "")


async def test_questions_with_a_time_limit_end(capfd: pytest.CaptureFixture[str]) -> None:
    ui = UnattendedUI()

    assert await ui.select("?", ["a"], 0.001) is None
    assert not await ui.confirm("?", "", 0.001)
    ui.set_status("limit", "waits\x1b")
    ui.set_status("limit", None)
    assert capfd.readouterr().err == "limit: waits␛\n"


async def test_requests_are_taken_from_the_rate_of_the_fleet(store: SqliteStore) -> None:
    """A model has the limit of its provider under each of its names."""
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
    await until_async(lambda: told)
    leases.set_limit(ProviderLimit("script"))
    waiting.cancel()

    assert str(told[0]).startswith("waits for the limit of requests to script")
    assert [event async for event in model.stream(ChatRequest("", ()))]

    class Chat(Scripted):
        provider = "openai-responses"

    leases.set_limit(parsed_limit("openai-chat=3/1"))
    assert [event async for event in limited_model(Chat(), store, LEASE, None).stream(ChatRequest("", ()))]
    assert leases.request("openai") > 0


def test_only_runs_of_a_fleet_are_limited(store: SqliteStore) -> None:
    model = Scripted()
    shell = ShellModel(lambda: plan_of("one"), lambda: 0, frozenset)

    assert limited_model(model, store, {}, None) is model
    assert limited_model(model, MemoryStore(), LEASE, None) is model
    assert limited_model(shell, store, LEASE, None) is shell
    assert isinstance(limited_model(model, store, LEASE, None), LimitedModel)
    assert (unattended_ui({}), ask_limits({}), ask_limits(LEASE)) == (None, None, AskLimits(()))


@pytest.mark.skipif(os.name == "nt", reason="needs a named pipe")
def test_a_run_that_is_stopped_ends_after_the_tool_that_is_running(person: Person) -> None:
    """It is found by its project, listed among the running agents, and removed from the list at the end."""
    os.mkfifo(person.folder / "begun")
    os.mkfifo(person.folder / "gate")
    name = write_plan(person, "- [ ] Wait: `echo > begun; cat gate`\n- [ ] Not any more: `touch proof`\n")
    with start(person, "run", name, *ALLOW_ALL, "--session", "s") as running:
        (person.folder / "begun").read_bytes()
        said = person.says("stop")
        (person.folder / "gate").write_bytes(b"")
        out, _ = running.communicate(timeout=60)

    assert ": 2 of 2 tasks open\n" in said
    assert running.returncode == 1
    assert f"✗ stopped by tildone stop\n{RESUME}" in out.decode()
    assert not (person.folder / "proof").exists()
    assert "No active agent is known here" in person.says("resume")
    person.says("resume", "--session", "s")
    again = person.run("run", "--continue")
    assert (again.code, again.err) == (0, "tildone: allowed as before: --allow '*': every command\n")
    assert (person.folder / "proof").exists()


def test_a_run_that_is_paused_ends_with_its_turn_and_one_that_is_stopped_asks_its_model_nothing(person: Person) -> None:
    """Both were, before it started: a paused model has one turn and is not continued."""
    person.says("pause", "--session", "s")
    paused, server = run_model(person, "Go", "--session", "s", script=(WRITE, STOPS))

    assert (paused.code, len(server.requests), statuses(person, "s")) == (1, 2, "––")
    assert f"✗ 2 of 2 tasks left open (paused)\n{RESUME}" in paused.out

    person.says("stop", "--session", "s")
    stopped, server = run_model(person, "Go", "--session", "s", "--mode", "print", script=(STOPS,))

    assert (stopped.code, stopped.out, len(server.requests)) == (1, "", 0)
    assert stopped.err == f"tildone: stopped by tildone stop\n{RESUME}"


def test_a_prompt_in_the_shell_of_an_agent_starts_no_count_again(person: Person) -> None:
    with ModelServer(WRITE, STOPS) as server:
        environ = provider_environment(server) | {"TILDONE_COUNTDOWN": "0"}
        run = ("run", "Go", "--model", CHAT, "--session", "s", "--max-nudges", "1", "--mode", "print")
        resets = []
        for shell in ({}, {"CLAUDECODE": "1"}, {}):
            person.run(*run, **environ, **shell)
            log = person.says("log", "--session", "s").splitlines()
            resets.append([line for line in log if "resumed" in line and "(timer)" not in line])

    assert [len(each) for each in resets] == [0, 0, 1]
    assert "  Ada  " in resets[-1][0]


PRICES = "[prices]\nscripted = { input = 10000, output = 10000 }\n"
"""A cent for each token: a request of the scripted model has 10 in and 5 out, so it costs 15 cents."""

START: Turn = edit("start", 0)
WORK: Turn = {"tool": "bash", "args": {"command": "true"}}
COMPLETE: Turn = edit("complete", 0)
ABANDON: Turn = edit("abandon", 1)


def configure(person: Person, *lines: str) -> None:
    person.environ["TILDONE_SESSION"] = "plan"
    text = "".join(f"{line}\n" for line in lines) + PRICES
    write_trusted(person.folder / "tildone.toml", text, person.environment({}))


def run_free(person: Person, server: ModelServer, *arguments: str) -> Any:
    return person.run("run", *arguments, "--model", CHAT, *ALLOW_ALL, **provider_environment(server))


def stats(person: Person) -> list[tuple[Any, Any]]:
    """The tokens and the cost of each task."""
    return [(task["tokens"], task["cost"]) for task in person.run("stats", "--json").json["tasks"]]


def test_a_task_has_the_tokens_and_the_cost_of_its_requests(person: Person) -> None:
    """Without its conversation, the events tell both."""
    configure(person)
    with ModelServer(WRITE, START, WORK, COMPLETE, ABANDON) as server:
        run_free(person, server, "Go")
    with_conversation = stats(person)
    for file in person.home.rglob("*.jsonl"):
        file.unlink()

    assert with_conversation == stats(person) == [(30, pytest.approx(0.3)), (None, None)]
    assert "$0.30" in person.says("stats")


@pytest.mark.parametrize(
    ("setting", "script", "told", "requests"),
    [
        ("max_task_cost = 0.5", (WRITE, START), "the task in progress has cost $0.50", 6),
        ("max_tokens = 60", (WRITE,), "the agents of this plan have used 60 tokens. To go on, raise max_tokens", 4),
    ],
)
def test_spending_too_much_ends(
    person: Person, setting: str, script: tuple[Turn, ...], told: str, requests: int
) -> None:
    """Before its next request, although it never stops by itself."""
    configure(person, setting)
    with ModelServer(*script, {**WORK, "repeat": True}) as server:
        answer = run_free(person, server, "Go")

    assert told in answer.err + answer.out
    assert len(server.requests) == requests
    assert person.run("status").out.count(told.partition(". ")[0]) == 1


def test_a_conversation_that_is_continued_goes_on_counting(person: Person) -> None:
    configure(person)
    with ModelServer(WRITE, START) as server:
        run_free(person, server, "Go", "--max-nudges", "0")
    with ModelServer(COMPLETE, ABANDON) as server:
        run_free(person, server, "--continue", "Go on", "--max-nudges", "0")

    [store] = person.home.rglob("*.db")
    opened = SqliteStore(str(store))
    [session] = {row.name for row in opened.sessions()}
    tokens = [event.usage.tokens or 0 for event in opened.events(session) if event.usage is not None]

    assert tokens == sorted(tokens)
    assert tokens[-1] >= 15 * 4


def test_a_request_has_its_tokens_with_those_of_the_cache() -> None:
    usage = RequestUsage(1, 2, 10, 100, 113, Cost(total=0.1234567))

    assert log_usage(usage) == AgentUsage(111, 2, 0.123457)
    assert log_usage(RequestUsage(None, 2, None, None, 9, None)) == AgentUsage(7, 2)
    assert log_usage(RequestUsage()) == AgentUsage()
