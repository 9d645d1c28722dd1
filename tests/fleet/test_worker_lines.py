"""The lines that a worker prints."""

import sys
import time
from pathlib import Path
from unittest.mock import Mock

import apsw
import pytest

from tests.fleet.agents import wait_for
from tests.fleet.workers import Bench
from tests.plans import plan_of
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import RunReleased
from tildone.log.fleet.lease import LeaseState, NewRun, Work


def test_a_worker_says_what_it_takes_begins_and_finishes(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go = tmp_path / "go"
    bench.add(wait_for(go), "tasks", tasks=1)

    with bench.worker(slots=2, labels=frozenset({"gpu", "a"})) as worker:
        until(lambda: bench.lease().is_held)
        worker.drain()
        until(lambda: worker.takes_nothing)
        go.touch()
        bench.becomes(LeaseState.DONE)
        until(lambda: bench.leases.workers() == [])

    # It begins in a thread of its own.
    begun = f"run {bench.run}: begun, attempt 1"
    lines = capsys.readouterr().err.splitlines()
    assert begun in lines
    assert [line for line in lines if line != begun] == [
        f"worker {worker.id} takes runs: 2 slots, labels a, gpu. Ctrl-C once: it finishes; twice: it stops.",
        "taking no more runs; 1 run to finish",
        f"run {bench.run} is done; its report is {tmp_path}/home/reports/{bench.run}.md",
    ]


def test_a_worker_says_why_a_run_is_queued_again_and_what_it_stops(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.add("printf '\\033[31mred'; exit 3")

    with bench.worker(allow=()) as worker:
        until(lambda: bench.facts(RunReleased))

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"worker {worker.id} takes runs: 1 slot. It permits no command: use --allow PATTERN. ")
    assert lines[1] == f"run {bench.run}: begun, attempt 1"
    assert f"run {bench.run} is queued again: the agent ended with exit code 3" in lines
    assert any(line.startswith("stopping ") for line in lines)
    assert "\x1b" not in "".join(lines)


def test_the_hands_of_a_run_are_told_apart_and_each_line_is_written_in_one_piece(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several threads write lines."""
    written: list[str] = []
    monkeypatch.setattr(sys, "stderr", Mock(write=written.append))
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh", model="true"), hands=2), [PlanChanged(plan_of("one"))])

    told = [f"run {bench.run}{hand}" for hand in ("", "/2")]
    expected = {f"{run}: begun, attempt 1\n" for run in told}
    expected |= {f"{run} is queued again: it looks again for a task\n" for run in told}

    with bench.worker(slots=2):
        until(lambda: expected <= set(written))

    assert all(text.endswith("\n") for text in written)


def test_a_worker_says_once_that_the_store_fails_and_once_that_it_works_again(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []

    def has_said(words: str) -> bool:
        lines.extend(capsys.readouterr().err.splitlines())
        return any(words in line for line in lines)

    bench.store.close()
    bench.store = store_at(bench.address, timeout=0.05)
    bench.leases = run_leases(bench.store)
    other = apsw.Connection(bench.address)
    other.set_busy_timeout(60_000)
    with bench.worker() as worker:
        until(lambda: has_said("takes runs"))
        other.execute("BEGIN IMMEDIATE")
        until(lambda: has_said("fails"))
        # It goes on to fail.
        time.sleep(2)
        other.execute("ROLLBACK")
        until(lambda: has_said("works again"))
        until(lambda: [each.id for each in bench.leases.workers()] == [worker.id])
    other.close()

    told = [line for line in lines if line.startswith("the store ")]
    assert [line.partition(":")[0] for line in told] == ["the store fails, and is tried again", "the store works again"]
    assert f"{bench.address} is in use by another process" in told[0]
