"""What the reaper of a worker does at each look, beside taking lapsed leases."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.stores.leases import LONG, Fleet, fleet_on_sqlite
from tildone.fleet.engine import TableEngine
from tildone.fleet.upkeep import TIDY_SECONDS, Reaper
from tildone.log.lease_rules import MAX_LOSSES
from tildone.plan.runs import Claimer, Lease, LeaseState


class RecordingEngine(TableEngine):
    """Records what it is told."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet.leases, Claimer("here/2/b"))
        self.lost: list[tuple[str, int]] = []
        self.tidied = 0

    def upkeep(self, lost: Sequence[Lease], *, tidies: bool) -> None:
        self.lost += [(lease.run, lease.attempt) for lease in lost]
        self.tidied += tidies


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with fleet_on_sqlite(tmp_path) as made:
        yield made


def test_the_engine_tidies_up_once_an_hour(fleet: Fleet) -> None:
    engine, clock = RecordingEngine(fleet), [0.0]
    reaper = Reaper(fleet.leases, engine, lambda: clock[-1])
    tidied = []

    for seconds in (1.0, TIDY_SECONDS - 1, TIDY_SECONDS, TIDY_SECONDS + 1, 2 * TIDY_SECONDS - 1, 2 * TIDY_SECONDS):
        clock.append(seconds)
        reaper.look()
        tidied.append(engine.tidied)

    assert tidied == [0, 0, 1, 1, 1, 2]


def test_a_run_that_was_lost_too_often_has_ended_and_that_is_passed_on(fleet: Fleet) -> None:
    ended: list[Lease] = []
    engine, seconds = RecordingEngine(fleet), 0.0
    reaper = Reaper(fleet.leases, engine, lambda: seconds, on_end=ended.append)
    fleet.add()

    for number in range(MAX_LOSSES):
        fleet.claim(f"there/{number}/a")
        fleet.passes(LONG)
        while fleet.lease().is_held:
            seconds += 1
            reaper.look()

    assert [lease.state for lease in ended] == [LeaseState.FAILED]
    assert engine.lost == [("r1", attempt) for attempt in range(2, MAX_LOSSES + 2)]
