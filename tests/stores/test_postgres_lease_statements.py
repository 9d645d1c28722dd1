"""How many statements the changes of leases take, which limits claims lock, and a head that moves meanwhile."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.stores.leases import Fleet, fleet_on_postgres, names
from tests.stores.postgres import needs_server
from tildone.log.settings import ProviderLimit
from tildone.plan.events import Actor, Event, Labelled
from tildone.plan.runs import Claimer, Kept, WorkOutcome

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

import psycopg

pytestmark = needs_server
WHO = Claimer("here/1/a")


@pytest.fixture
def server_fleet(url: str) -> Iterator[Fleet]:
    with fleet_on_postgres(url) as fleet:
        yield fleet


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch, server_fleet: Fleet) -> list[str]:
    """The statements that are executed from now on, on connections that exist. Transactions are not among them."""
    server_fleet.leases.revision()
    found: list[str] = []
    execute_really = psycopg.Connection.execute

    def execute(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
        found.append(query.decode())
        return execute_really(self, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    return found


def test_an_append_under_a_fence_is_one_statement(server_fleet: Fleet, statements: list[str]) -> None:
    lease = server_fleet.held(session="plan")
    store = server_fleet.reopened(lease.fence)
    head = store.session_head("plan").head
    statements.clear()

    store.append("plan", Event("a", head, 1, Actor.AGENT, Labelled("x", "y")))
    store.append("plan", Event("b", "a", 1, Actor.AGENT, Labelled("x", "z")), seen_by="me")

    assert [statement.split("(")[0] for statement in statements] == ["SELECT tildone.append_held"] * 2
    assert store.records.seen("plan", "me") == "b"


def test_a_fact_under_a_lease_is_two_statements(server_fleet: Fleet, statements: list[str]) -> None:
    """The first reads the head, the second checks the lease and appends."""
    lease = server_fleet.held()
    statements.clear()

    server_fleet.leases.append(lease.fence, Kept("r1", 0, lease.epoch, "ref", "commit"), "kept")

    assert len(statements) == 2
    assert "tildone.append_held" in statements[1]


def test_any_number_of_leases_is_dispatched_by_as_many_statements(server_fleet: Fleet, statements: list[str]) -> None:
    def dispatch(runs: int) -> int:
        for number in range(runs):
            server_fleet.add(f"r{runs}.{number}")
        statements.clear()
        assert len(server_fleet.leases.dispatch(WHO, runs)) == runs
        return len(statements)

    assert dispatch(1) == dispatch(20) == 2


def test_only_limits_that_apply_are_locked(server_fleet: Fleet, statements: list[str]) -> None:
    server_fleet.leases.set_limit(ProviderLimit("limited", runs=1))
    server_fleet.leases.set_limit(ProviderLimit("slow", requests=1))
    locks = []
    for number, work in enumerate(({}, {"provider": "slow"}, {"provider": "limited"}, {"repo": "/app"})):
        server_fleet.add(f"r{number}", **work)  # type: ignore[arg-type]  # as given
        statements.clear()
        assert len(server_fleet.leases.claim(WHO, [f"{WHO.worker}/{number}"])) == 1
        locks.append(len([statement for statement in statements if "limits_in_use" in statement]))

    assert locks == [0, 0, 1, 1]


def test_a_limit_that_is_removed_meanwhile_is_none(server_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    server_fleet.leases.set_limit(ProviderLimit("p", runs=1))
    server_fleet.add("r1", provider="p")
    execute_really = psycopg.Connection.execute

    def execute(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
        if b"limits_in_use" in query:
            server_fleet.leases.set_limit(ProviderLimit("p"))
        return execute_really(self, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)

    assert [lease.run for lease in server_fleet.claim()] == ["r1"]


def test_a_worker_that_has_locked_limits_waits_for_no_others(server_fleet: Fleet, url: str) -> None:
    """So two workers never wait for each other: what another one is about to take is left to it."""
    for run, repo in (("r1", "/a"), ("r2", "/a"), ("r3", "/b")):
        server_fleet.add(run, repo=repo)
    with psycopg.connect(url) as other:
        other.execute("SELECT tildone.limits_in_use('{}', '{/b}', true, false)")
        assert [lease.run for lease in server_fleet.claim(slots=2)] == ["r1"]
    assert [lease.run for lease in server_fleet.claim(slots=2)] == ["r1", "r3"]


def test_a_change_is_repeated_when_the_head_has_moved(server_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent appends between the look at the lease and the record of the change."""
    lease = server_fleet.held(session="plan")
    execute_really = psycopg.Connection.execute
    moved: list[str] = []

    def execute(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
        if b"tildone.append_keeping" in query and not moved:
            moved.append("a")
            head = server_fleet.store.session_head("plan").head
            server_fleet.store.append("plan", Event("a", head, 1, Actor.AGENT, Labelled("x", "y")))
        return execute_really(self, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    server_fleet.leases.close(lease.fence, WorkOutcome.DONE)

    assert moved
    assert names(server_fleet.facts()) == ["RunQueued", "RunTaken", "RunEnded"]
    assert [event.id for event in server_fleet.events()].count("a") == 1


def test_a_fact_under_a_lease_is_appended_after_a_head_that_has_moved(
    server_fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = server_fleet.held(session="plan")
    execute_really = psycopg.Connection.execute
    moved: list[str] = []

    def execute(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
        if b"tildone.append_held" in query and not moved:
            moved.append("a")
            head = server_fleet.store.session_head("plan").head
            server_fleet.store.append("plan", Event("a", head, 1, Actor.AGENT, Labelled("x", "y")))
        return execute_really(self, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", execute)
    server_fleet.leases.append(lease.fence, Kept("r1", 0, lease.epoch, "ref", "commit"), "kept")

    [kept] = [event for event in server_fleet.events() if event.id == "kept"]
    assert kept.parent == "a"
