"""`tildone fleet work --until-idle`: when a worker that waits for work ends."""

from pathlib import Path

import pytest

from tests.fleet.workers import Bench
from tildone.cli.fleet.work import wait_and_drain
from tildone.errors import StoreBusy
from tildone.fleet.running import WorkerOptions
from tildone.fleet.worker import Worker
from tildone.log.fleet.lease import Claimer, Lease, WorkOutcome


class Drained(Worker):
    """A worker that does not begin, and counts how often it is drained."""

    drains = 0

    def drain(self) -> None:
        self.drains += 1


class Looks:
    """The steps that happen between two looks; after the last one, the worker has to be drained."""

    def __init__(self, *steps: object) -> None:
        self._steps = list(steps)

    def __call__(self, _seconds: float) -> None:
        step = self._steps.pop(0)
        if callable(step):
            step()

    @property
    def left(self) -> int:
        return len(self._steps)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("MARKS", "")
    return Bench(tmp_path)


def worker_of(bench: Bench) -> Drained:
    options = WorkerOptions(1, frozenset(), ("*",), frozenset(), str(bench.folder), 1.0)
    return Drained(bench.leases, options, bench.address)


def test_a_worker_ends_at_once_when_nothing_is_queued(bench: Bench) -> None:
    worker = worker_of(bench)

    wait_and_drain(worker, bench.leases, Looks(None))

    assert worker.drains == 1


def test_a_worker_waits_for_what_is_queued_or_held_and_ends_when_it_is_done(bench: Bench) -> None:
    worker = worker_of(bench)
    bench.add("true")
    held: list[Lease] = []
    looks = Looks(
        None,
        lambda: held.extend(bench.leases.claim(Claimer("there/1/a"), ["there/1/a/0"])),
        lambda: bench.leases.close(held[0].fence, WorkOutcome.DONE),
    )

    wait_and_drain(worker, bench.leases, looks)

    assert (worker.drains, looks.left) == (1, 0)


def test_a_worker_does_not_wait_for_a_run_that_it_has_refused(bench: Bench) -> None:
    worker = worker_of(bench)
    bench.add("true")
    [lease] = bench.leases.claim(Claimer(worker.id), [f"{worker.id}/0"])
    bench.leases.close(lease.fence, WorkOutcome.REFUSED, "not permitted here")

    wait_and_drain(worker, bench.leases, Looks(None))

    assert (worker.drains, bench.lease().is_queued) == (1, True)


def test_a_worker_does_not_wait_for_a_run_whose_labels_it_lacks(bench: Bench) -> None:
    worker = worker_of(bench)
    bench.add("true", labels=("gpu",))

    wait_and_drain(worker, bench.leases, Looks(None))

    assert worker.drains == 1


def test_a_worker_that_cannot_read_the_store_looks_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = worker_of(bench)
    active = bench.leases.active

    def fails() -> list[Lease]:
        monkeypatch.setattr(bench.leases, "active", active)
        raise StoreBusy("locked")

    monkeypatch.setattr(bench.leases, "active", fails)

    wait_and_drain(worker, bench.leases, looks := Looks(None, None))

    assert (worker.drains, looks.left) == (1, 0)


def test_a_worker_that_writes_the_report_of_its_last_run_ends_after_that(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is done by then, so nothing in the store tells of it."""
    worker, is_at_work = worker_of(bench), [True, False]
    monkeypatch.setattr(Worker, "is_at_work", property(lambda _: is_at_work.pop(0)))

    wait_and_drain(worker, bench.leases, looks := Looks(None, None))

    assert (worker.drains, looks.left) == (1, 0)
