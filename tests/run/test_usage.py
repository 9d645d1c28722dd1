"""What `tildone run` has used is recorded with the events of its plan, and budgets end it."""

from typing import Any

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT, WRITE, provider_environment
from tests.trusted import write_trusted
from tildone.plan.events import AgentUsage
from tildone.run.messages import Cost
from tildone.run.messages import Usage as RequestUsage
from tildone.run.metering import log_usage
from tildone.stores.sqlite.store import SqliteStore

PRICES = "[prices]\nscripted = { input = 10000, output = 10000 }\n"
"""A cent for each token: a request of the scripted model has 10 in and 5 out, so it costs 15 cents."""

START: Turn = {"tool": "edit_todos", "args": {"action": "start", "indices": [0]}}
WORK: Turn = {"tool": "bash", "args": {"command": "true"}}
COMPLETE: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}}
ABANDON: Turn = {"tool": "edit_todos", "args": {"action": "abandon", "indices": [1]}}


def configure(person: Person, *lines: str) -> None:
    person.environ["TILDONE_SESSION"] = "plan"
    text = "".join(f"{line}\n" for line in lines) + PRICES
    write_trusted(person.folder / "tildone.toml", text, person.environment({}))


def run(person: Person, server: ModelServer, *arguments: str) -> Any:
    return person.run("run", *arguments, "--model", CHAT, *ALLOW_ALL, **provider_environment(server))


def stats(person: Person) -> dict[str, Any]:
    data = person.run("stats", "--json").json
    assert isinstance(data, dict)
    return data


def test_a_task_has_the_tokens_and_the_cost_of_its_requests(person: Person) -> None:
    """Without its conversation, the events tell both."""
    configure(person)
    with ModelServer(WRITE, START, WORK, COMPLETE, ABANDON) as server:
        run(person, server, "Go")
    with_conversation = stats(person)["tasks"]
    for file in person.home.rglob("*.jsonl"):
        file.unlink()

    first, second = stats(person)["tasks"]

    assert (first["tokens"], first["cost"]) == (30, pytest.approx(0.3))
    assert (second["tokens"], second["cost"]) == (None, None)
    assert [task["tokens"] for task in with_conversation] == [30, None]
    assert with_conversation[0]["cost"] == pytest.approx(0.3)
    assert "$0.30" in person.says("stats")


def test_a_model_that_spends_too_much_on_a_task_is_ended(person: Person) -> None:
    """Before its next request, although it never stops by itself."""
    configure(person, "max_task_cost = 0.5")
    with ModelServer(WRITE, START, {**WORK, "repeat": True}) as server:
        answer = run(person, server, "Go")

    assert "the task in progress has cost $0.50" in answer.err + answer.out
    assert len(server.requests) == 6
    assert person.run("status").out.count("the task in progress has cost $0.50") == 1


def test_a_plan_has_a_budget_of_tokens(person: Person) -> None:
    configure(person, "max_tokens = 60")
    with ModelServer(WRITE, {**WORK, "repeat": True}) as server:
        answer = run(person, server, "Go")

    assert "the agents of this plan have used 60 tokens. To go on, raise max_tokens" in answer.err + answer.out
    assert len(server.requests) == 4


def test_a_conversation_that_is_continued_goes_on_counting(person: Person) -> None:
    configure(person)
    with ModelServer(WRITE, START) as server:
        run(person, server, "Go", "--max-nudges", "0")
    with ModelServer(COMPLETE, ABANDON) as server:
        run(person, server, "--continue", "Go on", "--max-nudges", "0")

    [store] = person.home.rglob("*.db")
    opened = SqliteStore(str(store))
    [session] = {row.name for row in opened.sessions()}
    tokens = [event.usage.tokens or 0 for event in opened.events(session) if event.usage is not None]

    assert tokens == sorted(tokens)
    assert tokens[-1] >= 15 * 4


def test_a_request_has_its_tokens_with_those_of_the_cache() -> None:
    usage = RequestUsage(
        input=1, output=2, cache_read=10, cache_write=100, total_tokens=113, cost=Cost(total=0.1234567)
    )

    assert log_usage(usage) == AgentUsage(111, 2, 0.123457)
    assert log_usage(RequestUsage(None, 2, None, None, 9, None)) == AgentUsage(7, 2)
    assert log_usage(RequestUsage()) == AgentUsage()
