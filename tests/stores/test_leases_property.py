"""Whatever workers, people and clocks do, and whichever answers are lost: the promises of leases hold."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.plans import plan_of
from tests.stores.contract import run_machine
from tests.stores.leases import LONG, Fleet, fleet_on_postgres, fleet_on_sqlite
from tests.stores.postgres import EMPTIED, execute, needs_server
from tildone.base import Refused, RunFenced
from tildone.log.lease_rules import MAX_LOSSES, leases_in
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.events import Actor, Event, Labelled, PlanChanged
from tildone.plan.runs import (
    Asked,
    Claimer,
    Kept,
    Lease,
    LeaseRequest,
    LeaseState,
    NewRun,
    RunEnded,
    RunFence,
    RunLost,
    RunQueued,
    RunReleased,
    RunTaken,
    Work,
    WorkOutcome,
)

LEASE = FleetSettings().lease
RUNS = st.integers(0, 3)
SLOTS = st.integers(0, 4)
HANDS = st.integers(0, 1)
SESSIONS = ("plan 0", "plan 1", "plan 2")
REPOS = ("/app", "/app", "", "/lib")
WRITING = (RunQueued, RunTaken, RunLost, RunReleased, RunEnded)
LIMIT = 2


class Leasing(RuleBasedStateMachine):
    """Operations on leases. The model knows what was closed, which fences were given out, and what was refused."""

    def __init__(self, opened: Callable[[], AbstractContextManager[Fleet]]) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.fleet = self.stack.enter_context(opened())
        self.leases = self.fleet.leases
        self.epochs: dict[tuple[str, int], int] = {}
        self.closed: dict[tuple[str, int], LeaseState] = {}
        self.given: list[tuple[RunFence, str]] = []
        self.events = 0
        self.late: set[str] = set()

    def teardown(self) -> None:
        self.stack.close()

    @initialize()
    def begin(self) -> None:
        self.leases.set_limit(ProviderLimit("p", runs=LIMIT))

    @rule(run=RUNS, session=st.sampled_from(SESSIONS), hands=st.integers(1, 2), again=st.booleans())
    def add(self, run: int, session: str, hands: int, *, again: bool) -> None:
        known = self.of(f"r{run}")
        living = {lease.run for lease in self.all() if lease.session == session and lease.state.is_active}
        new = NewRun(f"r{run}", session, Work(REPOS[run], "p" if run != 2 else ""), hands)
        for _ in range(1 + again):
            try:
                added = self.leases.add(new, [PlanChanged(plan_of("one"))])
            except Refused:
                assert (known and known[0].session != session) or living - {new.run}
                return
            assert known in ([], added)
        assert known or not living

    @rule(slot=SLOTS, lost=st.booleans(), slots=st.integers(1, 3))
    def claim(self, slot: int, slots: int, *, lost: bool) -> None:
        owners = [f"here/{slot + 1}/a/{number}" for number in range(slots)]
        held = self.leases.claim(Claimer(f"here/{slot + 1}/a"), owners)
        if lost:
            again = self.leases.claim(Claimer(f"here/{slot + 1}/a"), owners)
            assert {lease.fence for lease in again} == {lease.fence for lease in held}
        assert {lease.owner for lease in held} <= set(owners)
        assert all(lease.worker not in lease.refused for lease in held)
        self.given += [(lease.fence, lease.owner) for lease in held]

    @rule(some=st.lists(st.integers(0, 20), max_size=4))
    def renew(self, some: list[int]) -> None:
        fences = [self.given[number % len(self.given)][0] for number in some if self.given]
        renewed = {each.fence for each in self.leases.renew(list(dict.fromkeys(fences)))}
        assert renewed == {fence for fence in fences if self.holds(fence)}

    @rule(lost=st.booleans(), seen=st.booleans())
    def reap(self, *, lost: bool, seen: bool) -> None:
        lapsed = {view.lease.fence for view in self.leases.look() if view.lease.is_held and not view.remaining}
        reaped = self.leases.reap(LONG if seen else 0)
        assert {RunFence(lease.run, lease.hand, lease.epoch - 1) for lease in reaped} == (lapsed if seen else set())
        if lost:
            assert self.leases.reap(LONG if seen else 0) == []

    @rule(part=st.sampled_from([1, LEASE // 2, LEASE + 1]))
    def time_passes(self, part: int) -> None:
        self.fleet.passes(part)

    @rule(number=st.integers(0, 20), lost=st.booleans())
    def release(self, number: int, *, lost: bool) -> None:
        for fence in self.fence(number):
            is_held = self.holds(fence)
            assert (self.leases.release(fence, "told to") is not None) == is_held
            if lost:
                assert self.leases.release(fence, "told to") is None

    @rule(number=st.integers(0, 20), lost=st.booleans())
    def lose(self, number: int, *, lost: bool) -> None:
        for fence in self.fence(number):
            before = {lease.fence: lease for lease in self.of(fence.run) if lease.is_held}.get(fence)
            after = self.leases.lose(fence, "its worker has ended")
            assert (after is None) == (before is None)
            if before and after:
                assert after.losses == (before.losses + 1 if before.losses and before.task == after.task else 1)
                told = before.request.is_pause or before.request.is_cancel
                assert told or (after.state is LeaseState.FAILED) == (after.losses >= MAX_LOSSES)
            if lost:
                assert self.leases.lose(fence, "its worker has ended") is None

    @rule(number=st.integers(0, 20), outcome=st.sampled_from(list(WorkOutcome)), lost=st.booleans())
    def close(self, number: int, outcome: WorkOutcome, *, lost: bool) -> None:
        for fence in self.fence(number):
            is_held = self.holds(fence)
            after = self.leases.close(fence, outcome, "so")
            assert not is_held or after is not None
            if lost and after is not None and after.epoch == fence.epoch:
                assert self.leases.close(fence, outcome, "so") == after

    @rule(number=st.integers(0, 20), kind=st.sampled_from(["store", "kept", "asked"]), lost=st.booleans())
    def append(self, number: int, kind: str, *, lost: bool) -> None:
        for fence in self.fence(number):
            is_held, self.events = self.holds(fence), self.events + 1
            name = f"{kind}{self.events}"
            for _ in range(1 + (lost and kind != "store")):
                try:
                    self.write(fence, kind, name)
                except RunFenced:
                    assert not is_held
                    self.late.add(name)
                else:
                    assert is_held

    def write(self, fence: RunFence, kind: str, name: str) -> None:
        if kind == "kept":
            self.leases.append(fence, Kept(fence.run, fence.hand, fence.epoch, "ref", "abc"), name)
        elif kind == "asked":
            self.leases.append(fence, Asked(fence.run, fence.hand, f"q-{name}", "question", "?"), name)
        else:
            session = self.of(fence.run)[0].session
            store = self.fleet.reopened(fence)
            head = store.session_head(session).head
            store.append(session, Event(name, head, 1, Actor.AGENT, Labelled("x", "y")))

    @rule(run=RUNS, ask=st.sampled_from(list(LeaseRequest)), lost=st.booleans())
    def request(self, run: int, ask: LeaseRequest, *, lost: bool) -> None:
        if self.of(f"r{run}"):
            changed = self.leases.request_stop(f"r{run}", ask)
            if lost:
                assert self.leases.request_stop(f"r{run}", ask) == changed

    @rule(run=RUNS, lost=st.booleans())
    def anew(self, run: int, *, lost: bool) -> None:
        before = self.of(f"r{run}")
        if not before:
            return
        try:
            changed = self.leases.requeue(f"r{run}")
        except Refused:
            return
        if lost:
            assert self.leases.requeue(f"r{run}") == changed
        for lease in changed:
            if lease.state.is_active:
                self.closed.pop((lease.run, lease.hand), None)

    @rule(run=RUNS, lost=st.booleans())
    def answer(self, run: int, *, lost: bool) -> None:
        for question in [question for lease in self.of(f"r{run}") for question in lease.questions][:1]:
            self.events += 1
            for _ in range(1 + lost):
                self.leases.answer(f"r{run}", question, "yes", "ada", f"answer{self.events}")

    @invariant()
    def epochs_only_grow_and_what_is_closed_stays_closed(self) -> None:
        for lease in self.all():
            key = lease.run, lease.hand
            assert lease.epoch >= self.epochs.get(key, 0)
            self.epochs[key] = lease.epoch
            if key in self.closed:
                assert lease.state is self.closed[key]
            elif not lease.state.is_active:
                self.closed[key] = lease.state

    @invariant()
    def a_lease_has_one_holder_and_a_holder_one_lease(self) -> None:
        held = [lease for lease in self.all() if lease.is_held]
        assert len({lease.owner for lease in held}) == len(held)
        assert all(lease.state is LeaseState.OPEN for lease in held)
        for fence, owner in self.given:
            assert all(lease.owner == owner for lease in held if lease.fence == fence)

    @invariant()
    def limits_hold(self) -> None:
        held = [lease for lease in self.all() if lease.is_held]
        assert sum(lease.work.provider == "p" for lease in held) <= LIMIT
        for repo in set(REPOS) - {""}:
            assert len({lease.run for lease in held if lease.work.repo == repo}) <= 1
        for session in SESSIONS:
            living = {lease.run for lease in self.all() if lease.session == session and lease.state.is_active}
            assert len(living) <= 1

    @invariant()
    def the_log_tells_the_same_and_nothing_was_appended_too_late(self) -> None:
        for session in SESSIONS:
            events = list(self.fleet.store.events(session))
            assert not self.late & {event.id for event in events}
            epochs: dict[tuple[str, int], int] = {}
            for event in events:
                if isinstance(event.fact, (*WRITING, Kept)):
                    key = event.fact.run, event.fact.hand
                    assert event.fact.epoch >= epochs.get(key, 0)
                    grows = isinstance(event.fact, RunTaken | RunLost) and key in epochs
                    assert not grows or event.fact.epoch > epochs[key]
                    epochs[key] = event.fact.epoch
            kept = {(lease.run, lease.hand): _recorded(lease) for lease in self.all() if lease.session == session}
            told = {(lease.run, lease.hand): _recorded(lease) for lease in leases_in(session, events)}
            assert told == kept

    def all(self) -> list[Lease]:
        return [view.lease for view in self.leases.look()]

    def of(self, run: str) -> list[Lease]:
        return [view.lease for view in self.leases.look(run)]

    def holds(self, fence: RunFence) -> bool:
        return any(lease.fence == fence and lease.is_held for lease in self.of(fence.run))

    def fence(self, number: int) -> list[RunFence]:
        """Return one of the fences that were given out, if there are any."""
        return [self.given[number % len(self.given)][0]] if self.given else []


def _recorded(lease: Lease) -> tuple[object, ...]:
    """Return what the log tells of a lease."""
    counts = lease.epoch, lease.attempt, lease.fails, lease.losses, lease.task, lease.not_before
    return lease.session, lease.work, lease.state, lease.owner, lease.questions, lease.refused, counts


def check(opened: Callable[[], AbstractContextManager[Fleet]], examples: int) -> None:
    run_machine(lambda: Leasing(opened), settings(max_examples=examples, stateful_step_count=30))


def test_on_sqlite(tmp_path: Path) -> None:
    @contextmanager
    def opened() -> Iterator[Fleet]:
        with TemporaryDirectory(dir=tmp_path) as folder, fleet_on_sqlite(Path(folder)) as fleet:
            yield fleet

    check(opened, settings().max_examples)


@needs_server
def test_on_postgres(url: str) -> None:
    def opened() -> AbstractContextManager[Fleet]:
        execute(url, *EMPTIED)
        return fleet_on_postgres(url)

    # Each takes seconds: a server answers every step.
    check(opened, max(3, settings().max_examples // 10))
