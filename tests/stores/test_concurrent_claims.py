"""Processes claim runs with limits at once: no run is taken twice, and no limit is exceeded."""

import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.plans import plan_of
from tests.stores.postgres import needs_server
from tildone.app.opening import run_leases, store_at
from tildone.log.settings import ProviderLimit
from tildone.plan.events import PlanChanged
from tildone.plan.runs import LeaseState, NewRun, RunTaken, Work

ROOT = Path(__file__).resolve().parents[2]
SIZES = [(3, 30), pytest.param(8, 200, marks=pytest.mark.slow)]
"""How many workers, and how many runs."""

LIMIT = 3
TIMEOUT = 240.0


def work_of(number: int) -> Work:
    repo = f"/app{number % 9}" if number % 2 else ""
    return Work(repo, "anthropic" if number % 3 else "openai", ("gpu",) if number % 4 else ())


def race(address: str, folder: Path, workers: int, runs: int) -> None:
    """Let the workers do all runs, and check what they did."""
    store = store_at(address)
    leases = run_leases(store)
    leases.set_limit(ProviderLimit("anthropic", runs=LIMIT))
    for number in range(runs):
        leases.add(NewRun(f"r{number}", f"plan {number}", work_of(number)), [PlanChanged(plan_of("one"))])
    with ExitStack() as stack:
        started = []
        for number in range(workers):
            command = [sys.executable, "-m", "tests.stores.claiming_worker", address, f"w{number}"]
            command.append(str(folder / f"w{number}"))
            worker = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            stack.callback(worker.kill)
            started.append(worker)
        for worker in started:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in started:
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
        for worker in started:
            _, errors = worker.communicate(timeout=TIMEOUT)
            assert worker.returncode == 0, errors
    assert {view.lease.state for view in leases.look()} == {LeaseState.DONE}
    check(folder, runs)
    for number in range(runs):
        events = list(store.events(f"plan {number}"))
        assert sum(isinstance(event.fact, RunTaken) for event in events) == 1
    store.close()


def check(folder: Path, runs: int) -> None:
    """Check that every run was taken once, and that at no time limits were exceeded."""
    lines = [line.split(" ") for book in folder.glob("w*") for line in book.read_text().splitlines()]
    assert Counter(line[3] for line in lines) == {f"r{number}": 1 for number in range(runs)}
    # From the answer to the claim to before the closing, a run was surely held.
    held = [(float(line[1]), float(line[7]), line[5], line[6]) for line in lines]
    for begin, _, _, _ in held:
        at_once = [other for other in held if other[0] <= begin <= other[1]]
        assert sum(provider == "anthropic" for *_, provider in at_once) <= LIMIT
        repos = Counter(repo for *_, repo, _ in at_once if repo)
        assert max(repos.values(), default=0) <= 1


@pytest.mark.parametrize(("workers", "runs"), SIZES)
def test_on_sqlite(tmp_path: Path, workers: int, runs: int) -> None:
    race(str(tmp_path / "plans.db"), tmp_path, workers, runs)


@needs_server
@pytest.mark.parametrize(("workers", "runs"), SIZES)
def test_on_postgres(url: str, tmp_path: Path, workers: int, runs: int) -> None:
    race(url, tmp_path, workers, runs)
