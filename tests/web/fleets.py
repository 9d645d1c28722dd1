"""Stores with a fleet: workers, runs in every state, and questions, for tests of the board and for pictures."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.stores.leases import take
from tests.web.sample_data import DONE, MINUTE, Story
from tildone.app.opening import run_leases, store_at
from tildone.base.ids import id_maker, now
from tildone.log.lease_rules import Moment
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import latest_state
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Status
from tildone.plan.runs import Answered, Asked, Claimer, Lease, LeaseRequest, NewRun, Published, Work, WorkOutcome
from tildone.stores.leasing import Recorder, RunLeases
from tildone.stores.sqlite.leases import Machine, moment
from tildone.stores.sqlite.store import SqliteStore

T = TypeVar("T")
COUNTER = itertools.count(1)
HOME = "/home/mk/src"


@dataclass
class FleetStore:
    """A store at an address, used as workers and other programs use it: opened for each act."""

    address: str

    def use(self, act: Callable[[Store, RunLeases], T]) -> T:
        with closing(store_at(self.address)) as store:
            return act(store, run_leases(store))

    def beat(self, host: str, *labels: str, slots: int = 4, pid: int = 4711, version: str = "0.5.0") -> str:
        """A sign of life of a worker; return its id."""
        worker = WorkerInfo(f"{host}/{pid}/a", host, pid, version, slots=slots, labels=labels)
        self.use(lambda _, leases: leases.beat(worker))
        return worker.id

    def was_seen(self, host: str, milliseconds: int) -> None:
        """The newest sign of life of a worker, so long ago."""
        self.long_ago(milliseconds, lambda leases: leases.beat(WorkerInfo(f"{host}/1/a", host, 1)))

    def add(self, run: str, signs: str = "", doing: str = "Do it", *, cost: float = 0.0, **work: Any) -> str:
        """Queue a run of a new plan of that shape, whose agent has cost so much; return the name of its session."""
        session = f"{HOME}/{run}"
        new = NewRun(run, session, Work(**{"agent": "claude"} | work))

        def act(store: Store, leases: RunLeases) -> None:
            story = Story(store, session, str(new.work.agent)).shaped(signs or "da.", doing, 5)
            if cost:
                story.works("", minutes=5, cost=cost)
            leases.add(new)

        self.use(act)
        return session

    def long_ago(self, milliseconds: int, act: Callable[[RunLeases], T]) -> T:
        """Let a worker do something as if some time had passed since. Only a SQLite store allows it."""
        at = moment()
        # The clock counts from the start of the machine, which may have been less long ago.
        then = Moment(max(0, at.clock - milliseconds), at.now - milliseconds, at.boot)
        machine = Machine(lambda: then, "elsewhere", lambda _pid: True)
        with closing(store_at(self.address)) as store:
            assert isinstance(store, SqliteStore)
            return act(store.leases(Recorder(id_maker(now, os.urandom), now), machine))

    def take(self, run: str, host: str = "build-01", *, pid: int = 4711) -> Lease:
        """Let a worker take a run."""
        worker = f"{host}/{pid}/a"

        def act(_: Store, leases: RunLeases) -> Lease:
            return take(leases, f"{worker}/{next(COUNTER)}", run)

        return self.use(act)

    def ask(self, lease: Lease, kind: str, text: str, *, question: str = "q1", waits: bool = True) -> None:
        """The agent of a run asks a person, and ends its turn unless it can wait."""

        def act(_: Store, leases: RunLeases) -> None:
            fact = Asked(lease.run, lease.hand, question, kind, text)
            leases.append(lease.fence, fact, f"e-{lease.run}-{next(COUNTER)}-{time.time_ns()}")
            if waits:
                leases.close(lease.fence, WorkOutcome.WAITING)

        self.use(act)

    def close(self, lease: Lease, outcome: WorkOutcome, why: str = "", made: Published | None = None) -> None:
        self.use(lambda _, leases: leases.close(lease.fence, outcome, why, made))

    def request(self, run: str, ask: LeaseRequest) -> None:
        self.use(lambda _, leases: leases.request_stop(run, ask))

    def lease(self, run: str) -> Lease:
        return self.use(lambda _, leases: leases.look(run)[0].lease)

    def answers(self, run: str) -> list[tuple[str, str, str]]:
        """The answers in the log of a run's plan: question, text, by whom."""
        session = self.lease(run).session
        facts = self.use(lambda store, _: [event.fact for event in store.events(session)])
        return [(fact.question, fact.text, fact.who) for fact in facts if isinstance(fact, Answered)]

    def marked(self, session: str, text: str, status: Status) -> None:
        """Another program sets the status of a task."""

        def act(store: Store, _: RunLeases) -> None:
            story = Story(store, session)
            story.head = store.session_head(session).head
            story.plan = latest_state(store.history(session)).plan
            story.at(0).mark(text, status)

        self.use(act)


def fill_fleet(address: str) -> FleetStore:
    """The fleet of the pictures, in a SQLite store. Its leases last long, so that they stay as they are."""
    fleet = FleetStore(address)
    minutes = FleetSettings(lease=10 * MINUTE, heartbeat=3 * MINUTE)
    fleet.use(lambda _, leases: leases.configure(minutes))
    _lose_a_worker(fleet)
    for host, labels in (("build-01", ("linux",)), ("build-02", ("linux", "gpu")), ("build-03", ("macos",))):
        fleet.beat(host, *labels)
    fleet.take("thumbnails", "build-01")
    for run, signs, doing, host, agent, cost in (
        ("importer", "dd dda.... ...", "Read CSV dialects", "build-01", "opencode", 2.1),
        ("terraform", "ddddd da. ...", "Plan the staging change", "build-01", "codex", 1.45),
        ("mobile-sync", "ddd dddda.. ....", "Make the flaky test deterministic", "build-02", "claude", 6.2),
    ):
        fleet.add(run, signs, doing, agent=agent, cost=cost)
        fleet.take(run, host)
    fleet.add("billing-api", "ddd da.. ...", "Merge two migrations", agent="codex", cost=0.8)
    fleet.ask(fleet.take("billing-api", "build-02"), "question", "Merge the two migrations, or keep both?")
    fleet.add("release-2.4", "dddddd ddxd ba", "Sign the release", cost=3.3)
    fleet.ask(fleet.take("release-2.4", "build-03"), "command", "git push origin v2.4.0", waits=False)
    for run in ("docs-site", "search-index", "onboarding"):
        fleet.add(run, "... ....", "Read what is there")
    fleet.request("docs-site", LeaseRequest.PAUSE)
    fleet.add("log-rotation", "dd ddd", "", cost=0.35)
    fleet.close(fleet.take("log-rotation", "build-03"), WorkOutcome.DONE)
    fleet.add("cli-completions", "dd d..", "Complete file names", cost=1.2)
    fleet.close(fleet.take("cli-completions", "build-03"), WorkOutcome.FAILED, "the agent ended with 2 open tasks")
    return fleet


CONFLICT = (
    "what hand 2 has done conflicts with the branch tildone/importer, in src/parser.py; it is on the branch "
    "tildone/importer.hand2\nTo merge it: cd {repo} && git switch tildone/importer && git merge tildone/importer.hand2"
)


def fill_night(address: str) -> FleetStore:
    """A fleet after a night: what waits, conflicts and has failed, and what is done, with what it has changed."""
    fleet = FleetStore(address)
    repo = f"{HOME}/shop"
    fleet.add("release-2.4", "dddddd ddxd ba", "Sign the release")
    fleet.ask(fleet.take("release-2.4", "build-03"), "command", "git push origin v2.4.0")
    fleet.add("importer", "dd ddddddd", "", repo=repo)
    fleet.ask(fleet.take("importer", "build-01"), "conflict", CONFLICT.format(repo=repo))
    fleet.add("cli-completions", "dd d..", "Complete file names", repo=repo)
    why = "the agent ended with 2 open tasks\nE   AssertionError: 'zsh' has no completion for --since"
    fleet.close(fleet.take("cli-completions", "build-03"), WorkOutcome.FAILED, why)
    for run, signs, files, added, removed in (
        ("log-rotation", "dd ddd", 4, 121, 18),
        ("mobile-sync", "ddd dddddd", 11, 480, 207),
        ("search-index", "dddd", 2, 36, 4),
    ):
        fleet.add(run, signs, "", repo=repo)
        made = Published("c" * 40, "b" * 40, files, added, removed)
        fleet.close(fleet.take(run, "build-02"), WorkOutcome.DONE, made=made)
    return fleet


def _lose_a_worker(fleet: FleetStore) -> None:
    """A worker takes a run and is silent; the run can be taken over."""
    lost = WorkerInfo("build-04/812/a", "build-04", 812, "0.4.2", slots=4, labels=("linux",))
    fleet.add("thumbnails", "dddd a... ..", "Resize in a worker pool", cost=2.9)
    fleet.long_ago(40 * MINUTE, lambda leases: leases.beat(lost))
    fleet.long_ago(40 * MINUTE, lambda leases: leases.claim(Claimer(lost.id), [f"{lost.id}/1"]))
    fleet.long_ago(0, lambda leases: leases.reap(60 * MINUTE))


__all__ = ["DONE", "FleetStore", "fill_fleet", "fill_night"]
