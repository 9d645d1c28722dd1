"""What happens in a store is counted, only what is new is read, and the page about metrics holds."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.project.source import ROOT
from tests.stores.conftest import server, url
from tests.stores.postgres import needs_server
from tests.telemetry.prometheus import parse
from tests.web.boards import Browser, board, place_in
from tests.web.test_reading import token_for_metrics
from tildone.app.opening import run_leases, session_in, store_at
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, AgentUsage, Author, Event, Nudged
from tildone.plan.history.stats import COUNTERS, FleetNow, fleet_families, session_families
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Mark, Numbered
from tildone.plan.runs import Claimer, LeaseState, NewRun, WorkOutcome
from tildone.screens.board import board as counting
from tildone.screens.board.board import StoreCounts
from tildone.stores.sqlite.store import SqliteStore

__all__ = ["server", "url"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_server)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    address = str(tmp_path / "plans.db") if request.param == "sqlite" else request.getfixturevalue("url")
    opened = store_at(address)
    yield opened
    opened.close()


def plan_in(store: Store, name: str = "s", tasks: int = 3) -> Session:
    session = session_in(store, name, BY_HAND)
    session.change([Append(tuple(Task(f"task {number}") for number in range(tasks)))])
    return session


def complete(session: Session, number: int) -> None:
    session.change([Mark(Numbered((number,)), Status.COMPLETED)])


def test_counts_begin_at_0_and_grow_with_what_happens(store: Store) -> None:
    """What was undone is not counted again, and a session that is deleted is forgotten."""
    session = plan_in(store, tasks=4)
    complete(session, 1)
    counts = StoreCounts(store)
    assert counts.read() == {}

    def completed(change: Callable[[], object]) -> int:
        change()
        assert counts.read() == counts.read()
        return int(counts.read()["tasks", ("completed",)])

    assert completed(lambda: complete(session, 2)) == 1
    complete(session, 3)
    assert completed(lambda: complete(plan_in(store, "new"), 1)) == 3
    assert completed(session.undo) == 3
    assert completed(lambda: complete(session, 4)) == 4
    assert completed(lambda: store.delete("s", expected=store.session_head("s").head)) == 4
    assert completed(lambda: complete(plan_in(store), 1)) == 5


def used(store: Store, tokens: int, at: int) -> None:
    head = store.session_head("s").head
    author = Author("Ada", "claude:1", "opus")
    store.append("s", Event(f"u{at}", head, at, Actor.TIMER, Nudged(1, 1), author, AgentUsage(tokens)))


def test_usage_before_the_first_reading_does_not_count(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    session = plan_in(store)
    used(store, 100, 1)
    counts = StoreCounts(store)
    counts.read()

    used(store, 130, 2)
    assert counts.read()["tokens", ("claude", "opus", "input")] == 30
    # The state of a session that is not kept in memory is read again.
    monkeypatch.setattr(counting, "MAX_TALLIES", 0)
    complete(session, 1)
    counts.read()
    used(store, 140, 3)
    assert counts.read()["tokens", ("claude", "opus", "input")] == 40


def test_the_facts_about_runs_are_counted(store: Store) -> None:
    plan_in(store)
    leases = run_leases(store)
    counts = StoreCounts(store)
    counts.read()
    leases.add(NewRun("r", "s"))
    [lease] = leases.claim(Claimer("w/1/a"), ["w/1/a/1"])
    assert [each.run for each in leases.active()] == ["r"]
    assert leases.size() > 0
    leases.close(lease.fence, WorkOutcome.DONE)

    found = counts.read()

    assert (found["taken", ()], found["ended", ("done",)]) == (1, 1)
    assert leases.active() == []
    assert leases.look("r")[0].lease.state is LeaseState.DONE


def test_a_reading_reads_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred events, those since the last time; of other sessions, none."""
    store = store_at(str(tmp_path / "plans.db"))
    session = plan_in(store)
    plan_in(store, "quiet")
    for number in range(100):
        used(store, number, number)
    counts = StoreCounts(store)
    counts.read()
    complete(session, 1)
    counts.read()
    read: list[str] = []
    history = SqliteStore.history

    def watched(self: SqliteStore, name: str, head: str | None = None) -> Iterator[Event]:
        for event in history(self, name, head):
            read.append(name)
            yield event

    monkeypatch.setattr(SqliteStore, "history", watched)
    complete(session, 2)
    counts.read()

    # The new event, and the one that was counted last. The session itself reads its plan.
    assert set(read) == {"s"}
    assert len(read) <= 6
    store.close()


PAGE = (ROOT / "docs" / "how-to" / "watch-a-fleet.md").read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="a board and all it started can be ended for certain on Unix")
def test_the_settings_of_prometheus_scrape_a_board(tmp_path_factory: pytest.TempPathFactory) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra fleet")
    [text] = [block for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if "scrape_configs" in block]
    [job] = yaml.safe_load(text)["scrape_configs"]
    place = place_in(tmp_path_factory.mktemp("scraped"))
    token = token_for_metrics(place)

    with board(place) as running:
        [target] = job["static_configs"][0]["targets"]
        assert target == "127.0.0.1:4747"
        header = f"{job['authorization']['type']} {token}"
        answered = Browser(running.port).get(job["metrics_path"], Authorization=header)

    assert answered.status == 200
    assert set(job) == {"job_name", "metrics_path", "authorization", "static_configs"}
    assert set(job["authorization"]) == {"type", "credentials_file"}
    assert "tildone_runs" in parse(answered.body.decode())


@pytest.mark.skipif(os.name == "nt", reason="a board and all it started can be ended for certain on Unix")
def test_the_page_names_every_figure() -> None:
    families = [*fleet_families(FleetNow([], [], 0, 0, 0)), *session_families({}, 0)]
    names = {family.name for family in families} | {name for name, _, _ in COUNTERS.values()}
    table = PAGE[PAGE.index("| figure |") : PAGE.index("- Figures that end")]

    assert set(re.findall(r"`(tildone_\w+)`", table)) == names
