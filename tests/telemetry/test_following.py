"""Who tells of what, if several hands or workers are at a run."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.plans import plan_of
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.app.traces import FollowedRun, RunTraces, SpanSink, spans_of_end
from tildone.base import replace
from tildone.base.errors import StoreError
from tildone.log.lease_port import RunLeases
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.history.spans import SpanPlace, TraceSpan, attempt_place
from tildone.plan.model import Status
from tildone.plan.runs import Ask, Claimer, Lease, NewRun, WorkOutcome
from tildone.run.traces import FollowedPlan

WORKER = f"{os.uname().nodename}/{2**22 + 1}/a"
"""A worker of this machine whose process does not exist: no process id is that high."""


class Kept:
    """Keeps spans, in place of a sink that sends them."""

    def __init__(self) -> None:
        self.spans: list[TraceSpan] = []
        self.closed = False

    def add(self, spans: list[TraceSpan]) -> None:
        self.spans += spans

    def close(self, _seconds: float = 0) -> None:
        self.closed = True


class Bench:
    """A store with a run of some hands."""

    def __init__(self, folder: Path) -> None:
        self.store: Store = store_at(str(folder / "plans.db"))
        self.leases: RunLeases = run_leases(self.store)
        self.leases.configure(FleetSettings())
        self._count = 0

    def add(self, hands: int = 1) -> None:
        self.leases.add(NewRun("r", "s", hands=hands), [PlanChanged(plan_of("one", "two"))])

    def take(self, count: int = 1) -> list[Lease]:
        return self.leases.claim(Claimer(WORKER), [f"{WORKER}/{number}" for number in range(count)])

    def mark(self, *statuses: Status) -> None:
        """Change the plan as an agent does."""
        self._count += 1
        plan = plan_of("one", "two")
        [phase] = plan.phases
        tasks = tuple(replace(task, status=status) for task, status in zip(phase.tasks, statuses, strict=True))
        changed = PlanChanged(replace(plan, phases=(replace(phase, tasks=tasks),)))
        head = self.store.session_head("s").head
        self.store.append("s", Event(f"zz{self._count}", head, 10**13 + self._count, Actor.AGENT, changed))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path)
    yield found
    found.store.close()


def names(spans: list[TraceSpan]) -> list[str]:
    return [span.name.removeprefix("tildone.") for span in spans]


def test_of_several_hands_the_lowest_tells_of_the_tasks(bench: Bench) -> None:
    bench.add(hands=2)
    first, second = bench.take(2)
    runs = [FollowedRun(bench.store, lease, None) for lease in (first, second)]
    assert [names(run.look(is_last=False)) for run in runs] == [["queue"], ["queue"]]

    bench.mark(Status.COMPLETED, Status.PENDING)
    assert [names(run.look(is_last=False)) for run in runs] == [["task"], []]
    bench.leases.close(first.fence, WorkOutcome.DONE)
    bench.mark(Status.COMPLETED, Status.COMPLETED)
    assert [names(run.look(is_last=is_last)) for run, is_last in zip(runs, (True, False), strict=True)] == [
        ["attempt"],
        ["task"],
    ]
    bench.leases.close(second.fence, WorkOutcome.DONE)
    assert names(runs[1].look(is_last=True)) == ["attempt", "run"]


def test_a_worker_that_has_lost_its_run_leaves_it_to_the_next(bench: Bench) -> None:
    bench.add()
    [lease] = bench.take()
    bench.mark(Status.IN_PROGRESS, Status.PENDING)
    run = FollowedRun(bench.store, lease, None)
    run.look(is_last=False)
    bench.leases.reap(0)
    [successor] = bench.take()

    assert run.look(is_last=True) == []
    assert names(FollowedRun(bench.store, successor, None).look(is_last=False)) == ["queue", "task", "attempt", "queue"]


def test_a_run_that_ends_without_a_worker_is_told_by_whoever_ended_it(bench: Bench) -> None:
    bench.add()
    [ended] = bench.leases.request_stop("r", Ask.CANCEL)

    assert names(spans_of_end(bench.store, ended, None)) == ["run"]
    kept = Kept()
    traces = RunTraces(bench.store, cast("SpanSink", kept))
    traces.over(ended)
    traces.close(60)
    assert names(kept.spans) == ["run"]
    assert kept.closed


def test_runs_are_followed_in_the_background_until_they_end(bench: Bench) -> None:
    bench.add()
    kept = Kept()
    traces = RunTraces(bench.store, cast("SpanSink", kept))
    [lease] = bench.take()
    environ = traces.begin(lease)
    until(lambda: names(kept.spans) == ["queue"])
    bench.mark(Status.COMPLETED, Status.PENDING)
    until(lambda: names(kept.spans) == ["queue", "task"])
    bench.leases.close(lease.fence, WorkOutcome.DONE)
    traces.end(lease)
    until(lambda: names(kept.spans) == ["queue", "task", "attempt", "run"])
    traces.close(60)

    task, attempt = kept.spans[1:3]
    assert environ == {"TRACEPARENT": SpanPlace(attempt.trace, attempt.id).traceparent}
    assert task.parent == attempt.id


def test_a_store_that_fails_delays_what_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.add()
    kept = Kept()
    failures = ["down"] * 3
    head = bench.store.session_head

    def failing(session: str) -> object:
        if failures:
            raise StoreError(failures.pop())
        return head(session)

    [lease] = bench.take()
    bench.leases.close(lease.fence, WorkOutcome.DONE)
    monkeypatch.setattr(bench.store, "session_head", failing)
    traces = RunTraces(bench.store, cast("SpanSink", kept))
    traces.begin(lease)
    traces.end(lease)
    until(lambda: names(kept.spans) == ["queue", "attempt", "run"])
    traces.close(60)

    assert failures == []


def test_an_agent_knows_the_span_of_its_task_without_asking(bench: Bench) -> None:
    """Also of one that was in progress when its worker took the run, and whenever it begins to look."""
    bench.add()
    bench.mark(Status.IN_PROGRESS, Status.PENDING)
    [lease] = bench.take()
    run = FollowedRun(bench.store, lease, None)
    run.look(is_last=False)
    place = attempt_place("s", lease.fence)
    early = FollowedPlan(bench.store, "s", place, lease.fence, 0, None)
    first = early.tasks.current
    bench.mark(Status.COMPLETED, Status.IN_PROGRESS)
    [one] = run.look(is_last=False)
    late = FollowedPlan(bench.store, "s", place, lease.fence, 0, None)
    second = late.tasks.current
    early.read()
    assert early.tasks.current == second
    bench.mark(Status.COMPLETED, Status.COMPLETED)
    [two] = run.look(is_last=False)

    assert (first.parent, second.parent) == (one.id, two.id)
    assert late.read() == [two]
