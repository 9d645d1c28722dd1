"""A run of a fleet is one trace, whatever agents work on it, on however many workers."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fleet.agents import processes_of, variables_of, wait_for
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, provider_environment
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS, until
from tests.telemetry.collector import Collector, ReceivedSpan
from tildone.app.opening import run_leases, store_at
from tildone.log.lease_port import RunLeases
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import PlanChanged
from tildone.plan.model import Check, Phase, Plan, Task
from tildone.plan.runs import Lease, LeaseState, NewRun, Work

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="supervisors need Linux")

SETTINGS = FleetSettings(lease=20_000, heartbeat=500, margin=1000, reaper=200, renewal=5000)


@dataclass
class Fleet:
    """A fleet in a folder, and a collector of its traces."""

    folder: Path
    store: Store
    leases: RunLeases
    environ: dict[str, str]

    def add(self, run: str, *commands: str, **work: object) -> None:
        """Queue a run, with a task for each shell command."""
        tasks = tuple(
            Task(f"secret {command}", check=Check(("sh", "-c", command)), number=number)
            for number, command in enumerate(commands, 1)
        )
        self.leases.add(
            NewRun(run, f"plan {run}", Work(**({"agent": "shell"} | work))),  # type: ignore[arg-type]  # as given
            [PlanChanged(Plan((Phase("", tasks),), len(tasks)))],
        )

    def lease(self, run: str) -> Lease:
        return self.leases.look(run)[0].lease

    def becomes(self, run: str, state: LeaseState) -> None:
        until(lambda: self.lease(run).state is state)

    @contextmanager
    def worker(self, *options: str, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
        """`tildone fleet work` as a process, which is drained at the end unless it was killed."""
        words = [str(PROGRAM), "fleet", "work", "--allow", "*", *options]
        log = self.folder / "worker.log"
        with log.open("ab") as err:
            process = subprocess.Popen(words, env=self.environ | environ, cwd=self.folder, stderr=err)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                assert process.wait(LIMIT_SECONDS) == 0, log.read_text(encoding="utf-8")

    @property
    def told(self) -> str:
        return (self.folder / "worker.log").read_text(encoding="utf-8")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    store = store_at(str(tmp_path / "fleet.db"))
    leases = run_leases(store)
    leases.configure(SETTINGS)
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("TILDONE_", "XDG_"))}
    own = {"HOME": str(tmp_path), "TILDONE_STORE": str(tmp_path / "fleet.db"), "TILDONE_USER": "Ada"}
    yield Fleet(tmp_path, store, leases, kept | own)
    store.close()


def status(span: ReceivedSpan) -> tuple[object, ...]:
    return span.attributes["tildone.task.number"], span.attributes["tildone.task.status"]


def test_a_run_is_a_trace_of_its_wait_its_attempt_its_tasks_and_its_checks(fleet: Fleet) -> None:
    go = fleet.folder / "go"
    fleet.add("r1", "true", wait_for(go))

    with Collector() as collector:
        with fleet.worker(**collector.environ):
            lease = until(lambda: fleet.lease("r1").is_held and fleet.lease("r1"))
            agent = until(lambda: processes_of(str(lease.fence)))[0]
            known = variables_of(agent)
            go.touch()
            fleet.becomes("r1", LeaseState.DONE)
        [run] = collector.receives("tildone.run")

    [queue], [attempt] = collector.named("tildone.queue"), collector.named("tildone.attempt")
    tasks, checks = collector.named("tildone.task"), collector.named("tildone.check")
    assert {span.trace for span in collector.spans} == {run.trace}
    assert (run.parent, queue.parent, attempt.parent) == ("", run.id, run.id)
    assert [task.parent for task in tasks] == [attempt.id] * 2
    assert [check.parent for check in checks] == [task.id for task in tasks]
    assert [status(task) for task in tasks] == [(1, "completed"), (2, "completed")]
    assert [check.attributes["tildone.check.result"] for check in checks] == ["passed", "passed"]
    assert run.start == queue.start <= queue.end == attempt.start <= tasks[0].start
    assert tasks[-1].end <= attempt.end == run.end
    assert (run.attributes["tildone.run"], run.attributes["tildone.outcome"]) == ("r1", "done")
    assert attempt.attributes["tildone.worker"].startswith(os.uname().nodename)
    # The agent knows where what it does belongs.
    assert f"TRACEPARENT=00-{run.trace}-{attempt.id}-01".encode() in known
    assert "secret" not in str(collector.spans)


def test_the_requests_of_tildone_run_belong_to_the_tasks_that_the_worker_tells_of(fleet: Fleet) -> None:
    """Two processes tell of one trace, and never ask each other."""
    fleet.add("r6", "true", agent="run", model=CHAT)
    script: list[Turn] = [
        {"tool": "edit_todos", "args": {"action": "start", "indices": [0]}},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}},
        {"text": "Done."},
    ]

    with Collector() as collector, ModelServer(*script) as server:
        with fleet.worker(**collector.environ, **provider_environment(server)):
            fleet.becomes("r6", LeaseState.DONE)
        [run] = collector.receives("tildone.run")
        calls = collector.receives("chat scripted", len(script))

    [attempt], [task] = collector.named("tildone.attempt"), collector.named("tildone.task")
    assert {span.trace for span in collector.spans} == {run.trace}
    assert [call.parent for call in calls] == [attempt.id, task.id, attempt.id]
    assert status(task) == (1, "completed")
    assert collector.named("tildone.plan") == []


def test_the_attempts_of_a_takeover_are_one_trace(fleet: Fleet) -> None:
    started, go = fleet.folder / "started", fleet.folder / "go"
    fleet.add("r2", "true", f"touch {started}; {wait_for(go)}")

    with Collector() as collector:
        with fleet.worker(**collector.environ) as first:
            until(started.exists)
            first.kill()
            first.wait()
        with fleet.worker(**collector.environ):
            until(lambda: fleet.lease("r2").epoch > 2 and fleet.lease("r2").is_held)
            go.touch()
            fleet.becomes("r2", LeaseState.DONE)
        [run] = collector.receives("tildone.run")

    lost, done = collector.named("tildone.attempt")
    assert {span.trace for span in collector.spans} == {run.trace}
    assert [span.attributes["tildone.outcome"] for span in (lost, done)] == ["lost", "done"]
    assert (lost.error, done.error) == ("lost", "")
    assert (lost.parent, done.parent) == (run.id, run.id)
    assert lost.attributes["tildone.worker"] != done.attributes["tildone.worker"]
    one, interrupted, finished = collector.named("tildone.task")
    assert [status(span) for span in (one, interrupted, finished)] == [
        (1, "completed"),
        (2, "interrupted"),
        (2, "completed"),
    ]
    assert [span.parent for span in (one, interrupted, finished)] == [lost.id, lost.id, done.id]
    assert len(collector.named("tildone.queue")) == 2


def test_a_run_that_is_cancelled_in_the_queue_is_told_by_the_command(fleet: Fleet) -> None:
    fleet.add("r3", "true")

    with Collector() as collector:
        words = [str(PROGRAM), "fleet", "cancel", "r3"]
        subprocess.run(
            words, env=fleet.environ | collector.environ, cwd=fleet.folder, check=True, timeout=LIMIT_SECONDS
        )
        [run] = collector.receives("tildone.run")

    assert (run.error, run.attributes["tildone.outcome"]) == ("cancelled", "cancelled")


def test_without_a_collector_the_work_is_done(fleet: Fleet) -> None:
    """One worker is told once; another one, without any setting, says nothing."""
    with Collector() as gone:
        environ = gone.environ
    fleet.add("r4", "true", "true")
    with fleet.worker(**environ):
        fleet.becomes("r4", LeaseState.DONE)

    assert fleet.told.count("traces are not sent") == 1


def test_with_grpc_the_worker_says_that_nothing_is_sent_and_works(fleet: Fleet) -> None:
    fleet.add("r5", "true")
    with fleet.worker(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4317", OTEL_EXPORTER_OTLP_PROTOCOL="grpc"):
        fleet.becomes("r5", LeaseState.DONE)

    assert "traces are off: they are sent by HTTP only" in fleet.told
