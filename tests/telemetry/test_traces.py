"""Spans of runs: one trace for a run of a fleet, whoever works on it.

Of `tildone run`, its tasks and every request of a host.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cli.person import Person
from tests.fleet.agents import processes_of, variables_of, wait_for
from tests.host.models.model_server import ModelServer, Turn
from tests.host.subagent_bench import Scripts, task
from tests.plans import plan_of
from tests.run.run_workspace import CHAT, provider_environment
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS, until
from tests.telemetry.collector import CLIENT, Collector, ReceivedSpan
from tests.test_claims import run, settings_in
from tildone.app.opening import open_store, run_leases, store_at
from tildone.app.traces import FollowedRun, RunTraces, SpanSink
from tildone.base import StoreError, replace
from tildone.base.ids import now
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.history.spans import SpanPlace, TraceSpan, attempt_place
from tildone.plan.model import Check, Phase, Plan, Status, Task
from tildone.plan.runs import Claimer, Lease, LeaseState, NewRun, Work, WorkOutcome
from tildone.run.events import MessageEnd, MessageStart
from tildone.run.host import Host
from tildone.run.messages import AssistantMessage, Cost, StopReason, Usage
from tildone.run.metering import FollowedPlan, HostTraces, ModelCalls, TraceContext
from tildone.stores.leasing import RunLeases

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="supervisors need Linux")
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


@needs_linux
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


@needs_linux
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


@needs_linux
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
    told = [status(span) for span in (one, interrupted, finished)]
    assert told == [(1, "completed"), (2, "interrupted"), (2, "completed")]
    assert [span.parent for span in (one, interrupted, finished)] == [lost.id, lost.id, done.id]
    assert len(collector.named("tildone.queue")) == 2


@needs_linux
def test_a_run_that_is_cancelled_in_the_queue_is_told_by_the_command(fleet: Fleet) -> None:
    fleet.add("r3", "true")

    with Collector() as collector:
        words = [str(PROGRAM), "fleet", "cancel", "r3"]
        subprocess.run(
            words, env=fleet.environ | collector.environ, cwd=fleet.folder, check=True, timeout=LIMIT_SECONDS
        )
        [run] = collector.receives("tildone.run")

    assert (run.error, run.attributes["tildone.outcome"]) == ("cancelled", "cancelled")


@needs_linux
def test_without_a_collector_the_work_is_done(fleet: Fleet) -> None:
    """One worker is told once; with gRPC, that nothing is sent."""
    with Collector() as gone:
        environ = gone.environ
    fleet.add("r4", "true", "true")
    with fleet.worker(**environ):
        fleet.becomes("r4", LeaseState.DONE)

    assert fleet.told.count("traces are not sent") == 1
    fleet.add("r5", "true")
    with fleet.worker(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4317", OTEL_EXPORTER_OTLP_PROTOCOL="grpc"):
        fleet.becomes("r5", LeaseState.DONE)
    assert "traces are off: they are sent by HTTP only" in fleet.told


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
    assert [names(runs[0].look(is_last=True)), names(runs[1].look(is_last=False))] == [["attempt"], ["task"]]
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


SECONDS = 600
"""How long a run may take on a loaded machine; on an idle one, it takes a few."""

SECRET = "sk-0123456789abcdefghijklmnop"  # noqa: S105  not a real one
USAGE = {"prompt_tokens": 120, "completion_tokens": 7}
SCRIPT: list[Turn] = [
    {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}, {"text": f"Two {SECRET}"}]}},
    {"tool": "edit_todos", "args": {"action": "start", "indices": [0]}},
    {"tool": "edit_todos", "args": {"action": "complete", "indices": [0]}, "usage": USAGE},
    {"tool": "edit_todos", "args": {"action": "complete", "indices": [1]}},
    {"error": 400, "message": "no"},
]
OUTER = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"


@dataclass(frozen=True)
class TracedRun:
    """What arrived at the collector of a run."""

    collector: Collector
    began: float


def traced(folder: Path, config: str = "", **environ: str) -> TracedRun:
    """Let a scripted model work. `config` is the person's settings file, in which `URL` is the collector's."""
    project, home = folder / "project", folder / "home"
    (project / ".git").mkdir(parents=True)
    settings = home / ".config" / "tildone" / "config.toml"
    settings.parent.mkdir(parents=True)
    # Nothing is encrypted here, and reading a machine's certificates takes long.
    known = {"TILDONE_COUNTDOWN": "0", "NO_COLOR": "1", "NO_PROXY": "127.0.0.1", "SSL_CERT_DIR": str(folder)}
    person, began = Person(project, home, known), time.time() * 1000
    with Collector() as collector, ModelServer(*SCRIPT) as server:
        settings.write_text(config.replace("URL", collector.url), encoding="utf-8")
        # A repository has no say in it.
        (project / "tildone.toml").write_text('[telemetry]\nendpoint = "http://127.0.0.1:9"\n', encoding="utf-8")
        own = {} if config else collector.environ
        known = person.environment({**provider_environment(server), **own, **environ})
        command = [str(PROGRAM), "run", "Do it", "--mode", "print", "--model", CHAT]
        subprocess.run(command, cwd=project, env=known, capture_output=True, timeout=SECONDS, check=False)
    return TracedRun(collector, began)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> TracedRun:
    """A run that the environment lets be traced."""
    return traced(tmp_path_factory.mktemp("plain"), TRACEPARENT=OUTER)


def test_a_run_is_one_trace_of_a_plan_its_tasks_and_its_requests(plain: TracedRun) -> None:
    collector = plain.collector
    [plan] = collector.named("tildone.plan")
    tasks = collector.named("tildone.task")
    calls = collector.named("chat scripted")

    assert {span.trace for span in collector.spans} == {plan.trace}
    # Another program has started it.
    assert [plan.trace, plan.parent] == OUTER.split("-")[1:3]
    assert [task.parent for task in tasks] == [plan.id] * 2
    assert [status(task) for task in tasks] == [(1, "completed"), (2, "completed")]
    # A request belongs to the task that was in progress when it began.
    assert [call.parent for call in calls] == [plan.id, plan.id, tasks[0].id, plan.id, plan.id]
    for span in collector.spans:
        assert plain.began - 1 <= plan.start <= span.start <= span.end <= plan.end
        assert span.resource["service.name"] == "tildone"


def test_requests_have_the_attributes_of_the_conventions_and_texts_stay_on_the_machine(plain: TracedRun) -> None:
    *_, call, _, failed = plain.collector.named("chat scripted")

    assert (call.kind, call.error) == (CLIENT, "")
    attributes = dict(call.attributes)
    assert attributes.pop("gen_ai.conversation.id")
    assert attributes.pop("gen_ai.response.id", "")
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 7,
    }
    assert (failed.error, failed.attributes["error.type"]) == ("error", "error")
    told = str([span.attributes for span in plain.collector.spans])
    assert ("One" in told, "Do it" in told) == (False, False)


def test_a_person_may_have_texts_sent_but_secrets_never_are(tmp_path: Path) -> None:
    run = traced(tmp_path, '[telemetry]\nendpoint = "URL"\ncontent = true\n\n[prices]\n"scripted" = '
                 "{ input = 1000000.0, output = 0.0 }\n")  # fmt: skip

    collector = run.collector
    texts = [task.attributes["tildone.task.text"] for task in collector.named("tildone.task")]
    assert texts == ["One", "Two [redacted]"]
    calls = [call.attributes for call in collector.named("chat scripted")]
    assert json.loads(calls[0]["gen_ai.input.messages"])[-1]["parts"][-1] == {"type": "text", "content": "Do it"}
    assert json.loads(calls[0]["gen_ai.output.messages"])[0]["parts"][0]["name"] == "write_todos"
    assert json.loads(calls[1]["gen_ai.input.messages"])[0]["role"] == "tool"
    assert calls[2]["tildone.usage.cost"] == 120
    assert SECRET not in str(collector.spans)


PLACE = SpanPlace(7, 70)


async def traced_host(folder: Path, model: Any) -> tuple[Host, list[TraceSpan], HostTraces]:
    """A host that has worked on a prompt."""
    store, kept = open_store(settings_in(folder)), Kept()
    traces = HostTraces(store, "s", cast("SpanSink", kept), TraceContext(), now=now, new_id=lambda: "id")
    host = await run(folder, model, opened=traces.follow)
    return host, kept.spans, traces


async def test_the_requests_of_subagents_are_told_too(tmp_path: Path) -> None:
    model = Scripts(go=[[task("a")]], a=[[("yield", {"result": "done"})]])

    host, spans, traces = await traced_host(tmp_path, model)
    traces.close()

    calls = [span for span in spans if span.is_client]
    conversations = [span.attributes["gen_ai.conversation.id"] for span in calls]
    assert len(calls) == 3
    assert len(set(conversations)) == 2
    assert conversations.count(host.transcript.id) == 2
    assert len({span.id for span in calls}) == 3
    assert [span.name for span in spans[3:]] == ["tildone.plan"]
    assert {span.parent for span in calls} == {spans[-1].id}


def calls_of(host: Host) -> tuple[ModelCalls, list[TraceSpan]]:
    kept, times = Kept(), iter(range(100, 1000, 50))
    return ModelCalls(host, lambda: PLACE, lambda: next(times), cast("SpanSink", kept), None), kept.spans


async def test_a_summary_is_a_request_and_tokens_from_the_cache_are_part_of_the_input(tmp_path: Path) -> None:
    host, known, _ = await traced_host(tmp_path, Scripts(go=[]))
    before = len(known)
    await host.compact("")
    [summary] = known[before:]
    assert (summary.is_client, summary.attributes["tildone.purpose"]) == (True, "summary")

    calls, spans = calls_of(host)
    usage = Usage(10, 5, 100, 20, cost=Cost(total=0.5))
    answer = AssistantMessage((), usage=usage, stop_reason=StopReason.LENGTH, response_model="big", response_id="r1")

    calls.feed(MessageEnd(answer))
    assert spans == []
    calls.feed(MessageStart(answer))
    calls.feed(MessageEnd(answer))

    [span] = spans
    assert (span.trace, span.parent, span.start, span.end, span.error) == (7, 70, 100, 150, "")
    attributes = {name: text for name, text in span.attributes.items() if "usage" in name or "response" in name}
    tokens = {"input": 130, "output": 5, "cache_read.input": 100, "cache_creation.input": 20}
    answered = {"finish_reasons": ("length",), "model": "big", "id": "r1"}
    assert attributes.pop("tildone.usage.cost") == 0.5
    assert attributes == {f"gen_ai.usage.{name}_tokens": count for name, count in tokens.items()} | {
        f"gen_ai.response.{name}": known for name, known in answered.items()
    }
