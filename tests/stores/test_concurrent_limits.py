"""Eight workers claim at once: limits hold, and every run is taken once, on both kinds of store."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest

from tests.plans import plan_of
from tests.stores.postgres import needs_server
from tildone.app.opening import run_leases, store_at
from tildone.log.lease_port import RunLeases
from tildone.log.settings import ProviderLimit
from tildone.plan.events import PlanChanged
from tildone.plan.runs import Claimer, Lease, NewRun, Work, WorkOutcome

WORKERS, SLOTS = 8, 3
REPOS, LIMIT = 3, 2
BOUND = 240.0

Get = Callable[[RunLeases, Claimer, int], list[Lease]]


def claimed(leases: RunLeases, who: Claimer, turn: int) -> list[Lease]:
    return leases.claim(who, [f"{who.worker}/{turn}.{slot}" for slot in range(SLOTS)])


def dispatched(leases: RunLeases, who: Claimer, _turn: int) -> list[Lease]:
    return leases.dispatch(who, SLOTS)


def queue(leases: RunLeases) -> int:
    """Queue runs: some in repositories, some of a provider with a limit, some of both, and some without limits."""
    works = [Work(f"/repo {number % REPOS}") for number in range(6)]
    works += [Work(provider="p") for _ in range(4)]
    works += [Work(f"/repo {number % REPOS}", "p") for number in range(4)]
    works += [Work() for _ in range(10)]
    new = [NewRun(f"r{number}", f"plan {number}", work) for number, work in enumerate(works)]
    leases.add_all([(run, [PlanChanged(plan_of("one"))]) for run in new])
    leases.set_limit(ProviderLimit("p", runs=LIMIT))
    return len(works)


@dataclass
class Race:
    """What the workers have got: in this turn, and altogether."""

    address: str
    get: Get
    runs: int
    got: dict[int, list[Lease]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    barrier: Barrier = field(default_factory=lambda: Barrier(WORKERS, timeout=BOUND))

    def work(self, number: int) -> None:
        """Be a worker: get leases when all others do, look at the limits, and end what was got."""
        try:
            self._work(number)
        except BaseException:
            self.barrier.abort()
            raise

    def _work(self, number: int) -> None:
        store = store_at(self.address)
        leases, who = run_leases(store), Claimer(f"here/{number}/a")
        for turn in range(self.runs):
            self.barrier.wait()
            self.got[number] = self.get(leases, who, turn)
            self.barrier.wait()
            together = [lease for each in self.got.values() for lease in each]
            assert together, "nobody got a lease"
            check_limits(together)
            self.barrier.wait()
            self._end(leases, who, self.got[number])
            self.barrier.wait()
            if len(self.done) == self.runs:
                break
        store.close()

    def _end(self, leases: RunLeases, who: Claimer, got: list[Lease]) -> None:
        for lease in got:
            held = lease if lease.is_held else leases.take(who, f"{who.worker}/{lease.run}", lease.run, 0, 1)
            assert held is not None, f"{lease.run} was dispatched, but cannot be taken"
            assert leases.close(held.fence, WorkOutcome.DONE) is not None
            self.done.append(lease.run)


def check_limits(together: list[Lease]) -> None:
    """Check that no limit is exceeded by leases that were got at once, before any of them was given back."""
    assert max(Counter(lease.run for lease in together).values()) == 1
    assert max(Counter(lease.work.repo for lease in together if lease.work.repo).values(), default=0) <= 1
    assert len([lease for lease in together if lease.work.provider]) <= LIMIT


def race(address: str, get: Get) -> None:
    store = store_at(address)
    racing = Race(address, get, queue(run_leases(store)))
    store.close()
    with ThreadPoolExecutor(WORKERS) as pool:
        results = [pool.submit(racing.work, number) for number in range(WORKERS)]
    # The others have ended because of the first that failed, which is what is to be seen.
    errors = [error for result in results if (error := result.exception())]
    for error in [each for each in errors if not isinstance(each, BrokenBarrierError)] or errors:
        raise error

    assert sorted(racing.done) == sorted(f"r{number}" for number in range(racing.runs))


@pytest.mark.parametrize("get", [claimed, dispatched])
def test_on_sqlite(tmp_path: Path, get: Get) -> None:
    race(str(tmp_path / "plans.db"), get)


@needs_server
@pytest.mark.parametrize("get", [claimed, dispatched])
def test_on_postgres(url: str, get: Get) -> None:
    race(url, get)
