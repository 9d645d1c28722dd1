"""Many processes at once: claims, limits and runs, eight agents that share a plan, and waiters that poll.

`python3 do.py faults long shared-plan` runs the long form of the shared plan.
"""

import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Condition

import pytest

from tests.plans import plan_of, session_on
from tests.stores import jsonl_files
from tests.stores.contract import chain
from tests.stores.many_hands.audit import BREACHES, audit, read_book
from tests.stores.many_hands.drill import AGENTS, SHORT, STOPPED, drill
from tests.stores.processes import finish, run_at_once, started
from tildone.app.opening import run_leases, store_at
from tildone.log.settings import ProviderLimit
from tildone.log.store import Store
from tildone.plan.events import Actor, Author, Event, PlanChanged, SessionHead
from tildone.plan.model import Plan, Status, Task, flat
from tildone.plan.runs import Claimer, Lease, LeaseState, NewRun, RunTaken, Work, WorkOutcome
from tildone.stores import polling
from tildone.stores.leasing import RunLeases
from tildone.stores.polling import wait_until
from tildone.stores.sqlite.store import SqliteStore

SIZES = [(3, 30), pytest.param(8, 200, marks=pytest.mark.slow)]
"""How many workers, and how many runs."""

LIMIT = 3


def work_of(number: int) -> Work:
    repo = f"/app{number % 9}" if number % 2 else ""
    return Work(repo, "anthropic" if number % 3 else "openai", ("gpu",) if number % 4 else ())


@pytest.mark.parametrize(("workers", "runs"), SIZES)
def test_of_many_workers_each_run_is_claimed_by_one_within_its_limits(
    address: str, tmp_path: Path, workers: int, runs: int
) -> None:
    store = store_at(address)
    leases = run_leases(store)
    leases.set_limit(ProviderLimit("anthropic", runs=LIMIT))
    for number in range(runs):
        leases.add(NewRun(f"r{number}", f"plan {number}", work_of(number)), [PlanChanged(plan_of("one"))])
    run_at_once("claim_runs", [(address, f"w{number}", tmp_path / f"w{number}") for number in range(workers)])
    assert {view.lease.state for view in leases.look()} == {LeaseState.DONE}
    check(tmp_path, runs)
    for number in range(runs):
        events = list(store.events(f"plan {number}"))
        assert sum(isinstance(event.fact, RunTaken) for event in events) == 1
    store.close()


def check(folder: Path, runs: int) -> None:
    """Check that every run was taken once, and that at no time limits were exceeded."""
    held = [line.split(" ") for book in folder.glob("w*") for line in book.read_text().splitlines()]
    assert Counter(run for _, _, run, _, _ in held) == {f"r{number}": 1 for number in range(runs)}
    # From the answer to the claim to before the closing, a run was surely held.
    for begin, *_ in held:
        at_once = [lease for lease in held if float(lease[0]) <= float(begin) <= float(lease[1])]
        assert sum(provider == "anthropic" for *_, provider in at_once) <= LIMIT
        repos = Counter(repo for *_, repo, _ in at_once if repo)
        assert max(repos.values(), default=0) <= 1


WORKERS, SLOTS = 8, 3
REPOS, SLOTS_OF_PROVIDER = 3, 2
BOUND = 240.0


def claimed(leases: RunLeases, who: Claimer, turn: int) -> list[Lease]:
    return leases.claim(who, [f"{who.worker}/{turn}.{slot}" for slot in range(SLOTS)])


def queue(leases: RunLeases) -> int:
    """Queue runs: some in repositories, some of a provider with a limit, some of both, and some without limits."""
    works = [Work(f"/repo {number % REPOS}") for number in range(6)]
    works += [Work(provider="p") for _ in range(4)]
    works += [Work(f"/repo {number % REPOS}", "p") for number in range(4)]
    works += [Work() for _ in range(10)]
    new = [NewRun(f"r{number}", f"plan {number}", work) for number, work in enumerate(works)]
    leases.add_all([(run, [PlanChanged(plan_of("one"))]) for run in new])
    leases.set_limit(ProviderLimit("p", runs=SLOTS_OF_PROVIDER))
    return len(works)


def check_limits(together: list[Lease]) -> None:
    """Check that no limit is exceeded by leases that were got at once, before any of them was given back."""
    assert max(Counter(lease.run for lease in together).values()) == 1
    assert max(Counter(lease.work.repo for lease in together if lease.work.repo).values(), default=0) <= 1
    assert len([lease for lease in together if lease.work.provider]) <= SLOTS_OF_PROVIDER


def test_threads_that_claim_leases_at_once_keep_to_the_limits(address: str) -> None:
    """In turns: all get leases at once, and then end what they got at once."""
    stores = [store_at(address) for _ in range(WORKERS)]
    workers = [(run_leases(store), Claimer(f"here/{number}/a")) for number, store in enumerate(stores)]
    runs, done = queue(workers[0][0]), list[str]()
    in_step = Barrier(WORKERS, timeout=BOUND)

    def get_in_step(worker: tuple[RunLeases, Claimer]) -> list[Lease]:
        in_step.wait()
        return claimed(*worker, len(done))

    def end(worker: tuple[RunLeases, Claimer], got: list[Lease]) -> None:
        in_step.wait()
        for lease in got:
            assert worker[0].close(lease.fence, WorkOutcome.DONE) is not None

    with ThreadPoolExecutor(WORKERS) as pool:
        while len(done) < runs:
            got = list(pool.map(get_in_step, workers))
            together = [lease for each in got for lease in each]
            assert together, "nobody got a lease"
            check_limits(together)
            list(pool.map(end, workers, got))
            done += [lease.run for lease in together]

    assert sorted(done) == sorted(f"r{number}" for number in range(runs))
    for store in stores:
        store.close()


PLANS = 10


def test_of_two_processes_that_queue_runs_of_a_plan_one_is_refused(address: str) -> None:
    refused = [
        line
        for out in run_at_once("queue_runs", [(address, "a", PLANS), (address, "b", PLANS)])
        for line in out.splitlines()
    ]

    store = store_at(address)
    living = [view.lease.session for view in run_leases(store).look() if view.lease.state is LeaseState.OPEN]
    store.close()
    assert sorted(living) == sorted(f"plan {number}" for number in range(PLANS))
    assert len(refused) == PLANS
    assert all("of this plan has not ended" in line for line in refused)


needs_stops = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows has no SIGSTOP")


@needs_stops
@pytest.mark.slow
def test_eight_agents_share_a_plan(address: str, tmp_path: Path) -> None:
    """What has to be so, however the agents are scheduled."""
    counts = drill(address, tmp_path, SHORT)

    print(*(f"{what}: {count}" for what, count in counts.items()), sep="\n")
    assert {what: counts[what] for what in BREACHES} == dict.fromkeys(BREACHES, 0)
    assert (counts["tasks"], counts["done once"]) == (SHORT.tasks, SHORT.tasks)
    assert counts["stopped and woken"] == STOPPED
    assert counts["killed"] >= 1
    assert counts["agents"] == AGENTS + STOPPED + counts["killed"]
    assert counts["taken over"] >= STOPPED
    assert counts["changes refused"] >= STOPPED


ADA, BOB = "test:ada", "test:bob"
OPEN, ACTIVE, DONE = Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED
BOOK = """\
begin 1 1 test:ada 10
end 1 1 test:ada 20
begin 2 1 test:bob 30
end 2 1 test:bob 40
"""


def history(*steps: tuple[str, tuple[Status, Status]]) -> list[Event]:
    """The events of a plan of two tasks with the same files, the second after the first: who changed it, to what."""

    def plan(one: Status, other: Status) -> Plan:
        first = Task("one", one, number=1, touches=("src/*",))
        return flat(first, Task("two", other, number=2, after=(1,), touches=("src/a.py",)))

    steps = (("", (OPEN, OPEN)), *steps)
    return [
        Event(str(number), str(number - 1), number, Actor.AGENT, PlanChanged(plan(*statuses)), Author(agent=agent))
        for number, (agent, statuses) in enumerate(steps)
    ]


GOOD = ((ADA, (ACTIVE, OPEN)), (ADA, (DONE, OPEN)), (BOB, (DONE, ACTIVE)), (BOB, (DONE, DONE)))


@pytest.mark.parametrize(
    ("steps", "book", "found"),
    [
        (GOOD, BOOK, {}),
        (GOOD[:-1], BOOK, {"not done once": 1}),
        ((*GOOD, (ADA, (ACTIVE, DONE))), BOOK, {"overwritten": 1}),
        ((*GOOD, (ADA, (ACTIVE, DONE)), (ADA, (DONE, DONE))), BOOK, {"overwritten": 1, "not done once": 1}),
        (GOOD, BOOK + "begin 2 1 test:ada 50\n", {"claims held by two": 1}),
        (GOOD, BOOK + "begin 2 2 test:ada 35\n", {"closed by another than its last holder": 1}),
        (GOOD, BOOK + "stop 1 1 test:ada 15\n", {"appended by an agent that had lost its task": 1}),
        (GOOD, BOOK + "stop 1 1 test:ada 15\nstale 1 1 test:ada 16\n", {}),
        (((BOB, (OPEN, ACTIVE)), *GOOD), BOOK, {"out of order": 1}),
        (GOOD, BOOK.replace("30", "15"), {"worked on beside a task with the same files": 1}),
    ],
)
def test_what_the_drill_is_there_to_notice_is_noticed(
    steps: tuple[tuple[str, tuple[Status, Status]], ...], book: str, found: dict[str, int]
) -> None:
    counts = audit(history(*steps), read_book(book))

    assert {what: counts[what] for what in BREACHES if counts[what]} == found


LONG_ENOUGH = 60.0


@dataclass(frozen=True)
class Place:
    """A store, opened here, and its address."""

    address: str
    store: Store


@pytest.fixture(params=["sqlite", "jsonl"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        path = tmp_path / "plans.db"
        return Place(str(path), SqliteStore(path))
    path = tmp_path / "sessions"
    return Place(f"jsonl:{path}", jsonl_files.opened(path))


Wait = Callable[[Store], Callable[[float], bool]]


def for_one(store: Store) -> Callable[[float], bool]:
    """Wait for a change of the session, as of now."""
    head = store.session_head("s").head
    return lambda timeout: store.wait("s", head, timeout)


def for_any(store: Store) -> Callable[[float], bool]:
    """Wait for a change of any session, as of now."""
    revision = store.records.revision()
    return lambda timeout: store.records.wait_any(revision, timeout)


for_either = pytest.mark.parametrize("wait", [for_one, for_any], ids=["for one session", "for any"])


@for_either
def test_a_waiter_notices_changes_of_other_processes(place: Place, wait: Wait) -> None:
    store = place.store
    session_on(store).call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})
    before, changed = store.records.revision(), wait(store)

    with started("toggle", place.address, 0, 1) as other:
        heard = changed(LONG_ENOUGH)
        finish([other])

    assert heard
    assert store.session_head("s").head == "0-0"
    assert [(change.session, change.head) for change in store.records.changed(before)] == [("s", "0-0")]


@for_either
def test_a_waiter_is_notified_at_once_by_its_own_process(
    place: Place, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "FIRST_POLL_SECONDS", LONG_ENOUGH)
    monkeypatch.setattr(polling, "MAX_POLL_SECONDS", LONG_ENOUGH)
    chain(place.store, "s", "a", "b")
    in_step = Barrier(2, timeout=LONG_ENOUGH)

    def follow() -> list[bool]:
        woken = []
        for _ in range(20):
            changed = wait(place.store)
            in_step.wait()
            woken.append(changed(2 * LONG_ENOUGH))
        return woken

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        for head, other in (("b", "a"), ("a", "b")) * 10:
            in_step.wait()
            place.store.move_head("s", SessionHead(other), expected=head)

        assert following.result(LONG_ENOUGH / 2) == [True] * 20


ROUNDING = 1e-6
"""Sums of floating-point numbers differ between versions of Python."""


class Clock(Condition):
    """A clock that only checks and pauses advance, and a condition that nobody notifies: it records the pauses."""

    def __init__(self, check_seconds: float) -> None:
        super().__init__()
        self.now = 0.0
        self.pauses: list[float] = []
        self._check_seconds = check_seconds

    def check(self) -> bool:
        self.now += self._check_seconds
        return False

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.pauses.append(timeout)
        self.now += timeout
        return False


@pytest.mark.parametrize(("check_seconds", "longest"), [(0.0, 0.05), (0.001, 0.05), (0.5, 2.0)])
def test_a_check_that_takes_long_is_made_less_often(
    monkeypatch: pytest.MonkeyPatch, check_seconds: float, longest: float
) -> None:
    """Waiting takes a fifth of a processor at most."""
    clock = Clock(check_seconds)
    monkeypatch.setattr(polling, "monotonic", lambda: clock.now)

    assert not wait_until(clock, clock.check, 10.0)

    assert max(clock.pauses) == pytest.approx(longest)
    assert sum(clock.pauses) == pytest.approx(10.0, abs=check_seconds * (len(clock.pauses) + 1) + ROUNDING)


def test_a_wait_is_interrupted_also_at_the_moment_when_its_lock_is_released() -> None:
    class Interrupted(Condition):
        def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002  as in the class above
            self.release()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wait_until(Interrupted(), lambda: False, 60)

    def fails() -> bool:
        raise RuntimeError("damaged")

    with pytest.raises(RuntimeError, match="damaged"):
        wait_until(Condition(), fails, 60)
