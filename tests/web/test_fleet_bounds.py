"""What the page of the fleet reads does not grow with what has happened."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.overview.stores import CountingStore
from tests.web.fleets import FleetStore
from tildone.app.index import SessionIndex
from tildone.app.opening import store_at
from tildone.base.ids import now
from tildone.log.store import Store
from tildone.plan.lists import RunGroup
from tildone.plan.runs import WorkOutcome
from tildone.screens.board.board import BoardFleet, RunRows


@pytest.fixture
def fleet(tmp_path: Path) -> FleetStore:
    return FleetStore(str(tmp_path / "plans.db"))


@pytest.fixture
def counting(fleet: FleetStore) -> Iterator[CountingStore]:
    store = store_at(fleet.address)
    yield CountingStore(store)
    store.close()


def test_pages_and_numbers_read_no_plans_however_many_runs_have_ended(
    fleet: FleetStore, counting: CountingStore, tmp_path: Path
) -> None:
    for number in range(30):
        fleet.add(f"r{number}")
        fleet.close(fleet.take(f"r{number}"), WorkOutcome.DONE)
    store = cast("Store", counting)
    board, sessions = BoardFleet.of(store), SessionIndex(store, str(tmp_path), now=now, nudge_limit=20)
    sessions.refresh()
    rows = RunRows(sessions.row, str)
    counting.calls.clear()

    board.news(["/home/mk/src/r3"], rows, detailed=True)
    data = board.snapshot(rows, board.waiting(rows))
    found, after = list[str](), ""
    while True:
        page = board.page([*RunGroup], after, 7)
        found += [str(rows.data(view, now())["title"]) for view in page.views]
        if page.after is None:
            break
        after = page.after

    assert sorted(found) == sorted(f"r{number}" for number in range(30))
    assert data["counts"] == {group.value: 30 if group.value == "done" else 0 for group in RunGroup}
    reading = {"history", "events", "sessions", "session_info", "session_head", "changed"}
    assert not reading & counting.calls.keys()
