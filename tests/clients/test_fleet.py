"""Real agents in a fleet, up to the branch with the results, also if a worker is lost or an agent is stopped."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from tests.clients.agents import AGENTS, Sandbox, environment
from tests.clients.driving import shell
from tests.clients.inside import (
    GO_ON,
    WAIT,
    PatientModel,
    as_after_a_first_start,
    completions,
    last_message,
    without_tools,
)
from tests.clients.supervisor import supervised
from tests.fleet.agents import processes_of
from tests.host.models.model_server import ReceivedRequest, Turn
from tests.stores.conftest import server, url
from tests.stores.postgres import needs_server
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.fleet.agent_reports import WHY_REFUSED
from tildone.fleet.git import Git
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.dialects.native import FENCED
from tildone.plan.dialects.prompts import BEGUN, LAST_MESSAGES, TAKEN_OVER, WHY
from tildone.plan.events import Actor, Event, latest_state
from tildone.plan.runs import AgentEnded, Answered, Asked, Claimer, CommandRefused, Lease, LeaseState
from tildone.stores.leasing import RunLeases

pytestmark = pytest.mark.slow

SECONDS = 600.0
"""How long a worker may take; on an idle machine, it takes some seconds."""
TASKS = ("Write the parser", "Wire it up", "Write the tests")
FILES = ("parser", "wiring", "tests")
MODELS = {
    "claude": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "opencode": "local/scripted",
    "pi": "local/scripted",
}
IN_BACKGROUND = '"$@" & echo $!; cat'


def done(number: int) -> Turn:
    return {"tool": "todo", "args": {"done": number}}


def work(agent: str, *numbers: int) -> list[Turn]:
    """The turns for some tasks: each has a file to write."""
    turns = [(shell(agent, f"echo made > {FILES[number - 1]}"), done(number)) for number in numbers]
    return [turn for pair in turns for turn in pair]


class FleetModel(PatientModel):
    """A model whose turns go on where the last agent was; a turn that `waits` blocks until `go` is set."""

    def __init__(self, agent: str, *script: Turn) -> None:
        super().__init__(*script, wait=WAIT.get(agent))
        self.waits, self.go = threading.Event(), threading.Event()

    def respond(self, request: ReceivedRequest) -> Turn:
        turn = super().respond(request)
        if turn.get("waits"):
            self.waits.set()
            self.go.wait(SECONDS)
        return turn


@dataclass
class AgentFleet:
    """A fleet with runs of one agent; `address` is that of its store."""

    agent: str
    folder: Path
    model: FleetModel
    address: str
    environ: dict[str, str] = field(init=False)
    store: Store = field(init=False)

    def __post_init__(self) -> None:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        # opencode looks for its settings there.
        sandbox = Sandbox(home, home / ".config" / "opencode", self.model.url)
        if self.agent == "opencode":
            as_after_a_first_start(sandbox.work)
        start = AGENTS[self.agent](sandbox, "")
        self.environ = environment(self.agent, sandbox) | start.environ | {"TILDONE_STORE": self.address}
        self.repository = _repository(self.folder / "repository")
        self.store = store_at(self.address)

    @property
    def leases(self) -> RunLeases:
        return run_leases(self.store)

    def tildone(self, *words: str, **environ: str) -> str:
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.repository,
            env=self.environ | environ,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done
        return done.stdout

    def add(self, *options: str) -> str:
        """Queue a plan of three tasks, and return the name of its run."""
        plan = self.folder / "plan.md"
        plan.write_text("".join(f"- [ ] {task}\n" for task in TASKS), encoding="utf-8")
        repository = () if "--repo" in options else ("--repo", str(self.repository))
        words = ["fleet", "add", str(plan), "--agent", self.agent, "--json", *repository, *options]
        words += ["--model", MODELS[self.agent]] if self.agent in MODELS else []
        run: str = json.loads(self.tildone(*words))["runs"][0]["run"]
        return run

    @contextlib.contextmanager
    def worker(self, home: str = "here", *options: str, allow: str = "*", **environ: str) -> Iterator[int]:
        """A worker with a home of its own; its process id. Nothing that it started outlives it."""
        words = [
            "sh",
            "-c",
            IN_BACKGROUND,
            "sh",
            str(PROGRAM),
            *["fleet", "work", "--allow", allow, "--grace", "2"],
            *options,
        ]
        env = {**self.environ, "XDG_DATA_HOME": str(self.folder / home), **environ}
        pipe = subprocess.PIPE
        with (
            open(self.folder / f"{home}.log", "ab") as log,
            supervised(
                words, seconds=SECONDS, cwd=self.folder, env=env, stdin=pipe, stdout=pipe, stderr=log
            ) as process,
        ):
            assert process.stdout
            yield int(process.stdout.readline())

    def lease(self, run: str) -> Lease:
        return self.leases.look(run)[0].lease

    def hands(self, run: str) -> list[Lease]:
        return [view.lease for view in self.leases.look(run)]

    def ended(self, run: str) -> Lease:
        eventually(lambda: not self.lease(run).state.is_active)
        return self.lease(run)

    def events(self, run: str) -> list[Event]:
        return list(self.store.events(self.lease(run).session))

    def tasks(self, run: str) -> list[tuple[str, str]]:
        plan = latest_state(self.store.history(self.lease(run).session)).plan
        return [(task.text, task.status.value) for task in plan.tasks]

    def completions(self, run: str) -> Counter[int]:
        return completions(self.events(run))

    def files(self, run: str) -> set[str]:
        return set(Git(str(self.repository)).run("ls-tree", "--name-only", f"tildone/{run}").splitlines())

    def output(self, run: str, lease: Lease) -> str:
        path = self.folder / "here" / "tildone" / "fleet" / "runs" / f"{run}.{lease.epoch}.output"
        return path.read_text(encoding="utf-8", errors="replace")

    def report(self, run: str) -> Path:
        return self.folder / "here" / "tildone" / "fleet" / "reports" / f"{run}.md"


def _repository(path: Path) -> Path:
    if not path.exists():
        path.mkdir()
        git = Git(str(path))
        git.run("init", "-q", "-b", "main")
        (path / "readme").write_text("one\n")
        git.run("add", "readme")
        git.run("commit", "-q", "-m", "one")
    return path


def eventually(condition: Callable[[], object]) -> None:
    """Wait until a condition is true. Real agents on a loaded machine take minutes."""
    until(condition, seconds=SECONDS)


def tree(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            _state, parent, *_ = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents.setdefault(int(parent), []).append(int(entry.parent.name))
    found = [pid]
    for each in found:
        found += parents.get(each, [])
    return found


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


__all__ = ["server", "url"]
STOP = {"text": "I stop early."}
F = TypeVar("F")
Database = Callable[[pytest.FixtureRequest], str]


def sqlite(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("tmp_path") / "plans.db")


def postgres(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("url"))


@pytest.mark.parametrize(
    ("name", "database"),
    [
        ("claude", sqlite),
        pytest.param("codex", postgres, marks=needs_server),
        pytest.param("codex", sqlite, marks=pytest.mark.long),
        ("gemini", sqlite),
        pytest.param("opencode", sqlite, marks=pytest.mark.long),
        ("pi", sqlite),
    ],
)
def test_it_finishes_the_plan_of_its_run(
    name: str, database: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """It is held to it, or started again: it goes on after it has stopped with a task open."""
    with FleetModel(name, *work(name, 1, 2), STOP, *work(name, 3)) as model:
        fleet = AgentFleet(name, tmp_path, model, database(request))
        fleet.tildone("fleet", "up")
        run = fleet.add()
        with fleet.worker():
            lease = fleet.ended(run)
            eventually(fleet.report(run).exists)

        assert lease.state is LeaseState.DONE, fleet.events(run)[-1]
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}
        assert fleet.files(run) >= set(FILES)
        report = fleet.report(run).read_text(encoding="utf-8")
        assert all(f"- [x] {task}" in report for task in TASKS)
        assert {path.name for path in fleet.repository.iterdir()} == {".git", "readme"}
        ended = [event for event in fleet.events(run) if isinstance(event.fact, AgentEnded)]
        authors = {event.author.agent for event in fleet.events(run) if event not in ended}
        assert [event.usage is not None and event.author.agent in authors for event in ended] == [True] * (
            name in ("claude", "codex", "gemini")
        )
        told = fleet.tildone("fleet", "transcript", run, XDG_DATA_HOME=str(tmp_path / "here"))
        assert "echo made > wiring" in told or not ended
        has_gone_on = GO_ON in last_message(model.requests[5]) or name == "opencode"
        assert has_gone_on, last_message(model.requests[5])


SHORT = FleetSettings(lease=8000, heartbeat=1000, margin=1000, reaper=300, renewal=1000)
CROSSES_LEASE, LONG = 9.0, 70.0
"""For how many seconds an agent is stopped."""
KEY = "ghp_0123456789abcdefghijklmnop"
NOTE: Turn = {"tool": "todo", "args": {"note": "2 the wiring is in wiring"}}


def begun(name: str) -> list[Turn]:
    """The turns of an agent that has done one task, and waits for its model in the middle of the next."""
    told = {"text": f"I found the key {KEY}."}
    first = [shell(name, "echo made > parser") | told, done(1), NOTE, shell(name, "echo half > wiring")]
    return [*first, {**shell(name, "echo made > wiring"), "waits": True}]


def successor(name: str) -> list[Turn]:
    return [*work(name, 2, 3), {"text": "Finished."}]


def fleet_of(name: str, folder: Path, model: FleetModel) -> AgentFleet:
    fleet = AgentFleet(name, folder, model, str(folder / "plans.db"))
    fleet.tildone("fleet", "up")
    return fleet


def agent_of(lease: Lease) -> list[int]:
    return processes_of(str(lease.fence))


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("claude", "here"),
        ("codex", "there"),
        pytest.param("claude", "there", marks=pytest.mark.long),
        pytest.param("codex", "here", marks=pytest.mark.long),
    ],
)
def test_another_worker_goes_on_where_a_killed_one_left_off(name: str, home: str, tmp_path: Path) -> None:
    """On the same machine, it gets the working tree; on another one, the newest checkpoint. It is told which."""
    with FleetModel(name, *begun(name), *successor(name)) as model:
        fleet = fleet_of(name, tmp_path, model)
        run = fleet.add("--repo", fleet.repository.as_uri())
        with fleet.worker() as worker:
            assert model.waits.wait(600)
            first = fleet.lease(run)
            os.kill(worker, signal.SIGKILL)
            eventually(lambda: not agent_of(first))
            requests = len(model.requests)
            with fleet.worker(home):
                lease = fleet.ended(run)
            model.go.set()

        assert lease.state is LeaseState.DONE, fleet.events(run)[-1]
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}
        assert fleet.files(run) >= set(FILES)
        told = without_tools(model.requests[requests])
        for expected in (TAKEN_OVER, WHY, BEGUN, LAST_MESSAGES, "- [x] Write the parser", "the wiring is in wiring"):
            assert expected in told
        assert "assistant: I found the key [redacted]." in told
        assert KEY not in told
        assert ("is lost" in told) == (home == "there")
        assert ("echo half" in told) == (home == "here")


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("claude", CROSSES_LEASE),
        pytest.param("codex", CROSSES_LEASE, marks=pytest.mark.long),
        pytest.param("claude", LONG, marks=pytest.mark.long),
        pytest.param("codex", LONG, marks=pytest.mark.long),
    ],
)
def test_an_agent_that_was_stopped_in_a_request_goes_on(name: str, seconds: float, tmp_path: Path) -> None:
    """Its worker holds the lease all the time."""
    with FleetModel(name, *begun(name), *successor(name)) as model:
        fleet = fleet_of(name, tmp_path, model)
        fleet.leases.configure(SHORT)
        run = fleet.add()
        with fleet.worker():
            assert model.waits.wait(600)
            first = fleet.lease(run)
            stopped = agent_of(first)
            send(signal.SIGSTOP, stopped)
            # Not a wait for anything: the time itself is what the agent has to survive.
            time.sleep(seconds)
            model.go.set()
            send(signal.SIGCONT, stopped)
            lease = fleet.ended(run)

        assert lease.state is LeaseState.DONE, fleet.events(run)[-1]
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}
        # An agent that had ended with an error would count as a failure.
        assert lease.fails == 0


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_agent_that_wakes_after_its_run_was_taken_is_told_once_to_stop(name: str, tmp_path: Path) -> None:
    """Nothing is changed and nothing is nudged; the new holder's agent finishes the plan."""
    with FleetModel(name, *begun(name), shell(name, "echo again > wiring"), done(2), *successor(name)) as model:
        fleet = fleet_of(name, tmp_path, model)
        fleet.leases.configure(SHORT)
        run = fleet.add()
        with fleet.worker() as worker:
            assert model.waits.wait(600)
            first = fleet.lease(run)
            everything, agents = tree(worker), agent_of(first)
            send(signal.SIGSTOP, everything)
            eventually(lambda: fleet.leases.reap(SHORT.lease))
            [taken] = fleet.leases.claim(Claimer("there/2/b"), ["there/2/b/1"])
            before = len(fleet.events(run))
            model.go.set()
            # Its supervisor and its worker are still stopped: only the hooks keep it from going on.
            send(signal.SIGCONT, agents)
            eventually(lambda: not agent_of(first))
            told = [request for request in model.requests if FENCED in last_message(request)]
            late = [event for event in fleet.events(run)[before:] if event.actor is Actor.AGENT]
            send(signal.SIGCONT, everything)
            fleet.leases.release(taken.fence, "stopped")
            # The turns that are left begin with those of the successor.
            model.script = (*model.script[: len(model.requests)], *successor(name))
            lease = fleet.ended(run)

        assert late == []
        assert len(told) <= 1
        assert fleet.output(run, first).count(FENCED) + len(told) >= 1
        assert not any(GO_ON in last_message(request) for request in model.requests)
        assert lease.state is LeaseState.DONE
        assert fleet.completions(run) == {1: 1, 2: 1, 3: 1}


MAKE = "sh -c 'echo made > parser'"


def facts(fleet: AgentFleet, run: str, kind: type[F]) -> list[F]:
    return [event.fact for event in fleet.events(run) if isinstance(event.fact, kind)]


@pytest.mark.parametrize("answer", ["approved", "denied"])
def test_claude_asks_for_a_command_and_waits_for_the_answer(answer: str, tmp_path: Path) -> None:
    """A denial ends it at once."""
    with FleetModel("claude", shell("claude", MAKE), done(1), *work("claude", 2, 3)) as model:
        fleet = fleet_of("claude", tmp_path, model)
        run = fleet.add()
        with fleet.worker("here", "--ask", "sh *", allow="echo *"):
            eventually(lambda: fleet.lease(run).questions)
            [row] = json.loads(fleet.tildone("fleet", "ls", "--json"))["runs"]
            fleet.tildone("fleet", "approve", run, *(["--deny", "--reason", "not now"] if answer == "denied" else []))
            eventually(lambda: facts(fleet, run, AgentEnded))
            requests = len(model.requests)
            lease = fleet.ended(run)

    assert row["asks"] == MAKE
    assert [(fact.kind, fact.text) for fact in facts(fleet, run, Asked)] == [("command", MAKE)]
    [answered] = facts(fleet, run, Answered)
    refused = facts(fleet, run, CommandRefused)
    shown = fleet.tildone("fleet", "show", run)
    if answer == "approved":
        assert (lease.state, refused) == (LeaseState.DONE, [])
        assert "parser" in fleet.files(run)
    else:
        assert (lease.state, lease.attempt, requests) == (LeaseState.FAILED, 1, 1)
        assert refused == [CommandRefused(run, 0, MAKE, "not now", answered.who)]
        assert f"was refused “{MAKE}” in run {run} by {answered.who}: not now" in shown


def test_what_claude_is_refused_and_what_it_uses_is_recorded_once(tmp_path: Path) -> None:
    """Nobody is asked here. Reading needs no permission."""
    turns = [shell("claude", MAKE), shell("claude", MAKE), shell("claude", "ls")]
    with FleetModel("claude", *turns, done(1), done(2), done(3), {"text": "Finished."}) as model:
        fleet = fleet_of("claude", tmp_path, model)
        run = fleet.add()
        with fleet.worker("here", "--no-ask", allow="echo *"):
            lease = fleet.ended(run)
            eventually(fleet.report(run).exists)

    assert lease.state is LeaseState.DONE
    assert facts(fleet, run, CommandRefused) == [CommandRefused(run, 0, MAKE, WHY_REFUSED)]
    words = f"was refused “{MAKE}” in run {run}: {WHY_REFUSED}"
    assert words in fleet.tildone("fleet", "show", run)
    assert MAKE in fleet.report(run).read_text(encoding="utf-8")
    [ended] = [event for event in fleet.events(run) if isinstance(event.fact, AgentEnded)]
    used = ended.usage
    assert used is not None
    assert (used.tokens_in, used.tokens_out) == (10 * len(model.requests), 5 * len(model.requests))
    # The calls of its tools are those of the same agent.
    assert ended.author.agent in {event.author.agent for event in fleet.events(run) if event is not ended}
    [row] = json.loads(fleet.tildone("fleet", "ls", "--json"))["runs"]
    stats = json.loads(fleet.tildone("stats", "--json", "--session", lease.session))
    assert used.cost is not None
    assert row["cost"] == stats["cost"] == used.cost > 0
    told = fleet.tildone("fleet", "transcript", run, XDG_DATA_HOME=str(tmp_path / "here")).splitlines()
    assert [line for line in told if "call: Bash" in line and "made > parser" in line]
    assert "result: This command requires approval" in told
    assert told[-1] == "assistant: Finished."


def test_what_is_blocked_holds_what_comes_after_it_in_claude(tmp_path: Path) -> None:
    """Nobody is there to say what may go on without it."""
    block: Turn = {"tool": "todo", "args": {"block": "1 the key is missing"}}
    with FleetModel("claude", block, done(2), {"text": "I cannot go on."}) as model:
        fleet = fleet_of("claude", tmp_path, model)
        run = fleet.add()
        with fleet.worker():
            lease = fleet.ended(run)

    assert fleet.tasks(run) == list(zip(TASKS, ("blocked", "pending", "pending"), strict=True))
    refusal = "“Wire it up” comes after #1 “Write the parser”, which is blocked: it waits, too"
    assert refusal in last_message(model.requests[2])
    assert lease.state is LeaseState.FAILED


class SameForEach(FleetModel):
    """A model that has each conversation run one command first, and then end."""

    def __init__(self, command: str) -> None:
        super().__init__("claude")
        self._command = command

    def respond(self, request: ReceivedRequest) -> Turn:
        self.requests.append(request)
        has_run = "tool_result" in json.dumps(request.body["messages"])
        return {"text": "Finished."} if has_run else shell("claude", self._command)


def test_what_two_of_claude_write_to_one_file_needs_a_person(tmp_path: Path) -> None:
    """Each does a task of its own, and writes when the other has begun."""
    here = "n=$(( $(echo $TILDONE_LEASE | cut -d/ -f2) + 1 ))"
    begin = f"touch {tmp_path}/begun$n; until [ -e {tmp_path}/begun1 ] && [ -e {tmp_path}/begun2 ]; do sleep 0.2; done"
    command = f"{here}; {PROGRAM} todo start $n; {begin}; echo $n > shared; {PROGRAM} todo done $n"
    with SameForEach(command) as model:
        fleet = fleet_of("claude", tmp_path, model)
        plan = fleet.folder / "both.md"
        plan.write_text("- [ ] One\n- [ ] Two\n", encoding="utf-8")
        words = ["fleet", "add", str(plan), "--agent", "claude", "--hands", "2", "--json"]
        run = json.loads(fleet.tildone(*words, "--repo", str(fleet.repository)))["runs"][0]["run"]
        with fleet.worker("here", "--slots", "2"):
            eventually(lambda: {lease.state for lease in fleet.hands(run)} == {LeaseState.DONE, LeaseState.WAITING})

    [asking] = [lease.hand for lease in fleet.hands(run) if lease.state is LeaseState.WAITING]
    [found] = json.loads(fleet.tildone("fleet", "results", "--json"))["needs"]
    own = f"tildone/{run}.hand{asking + 1}"
    assert (found["run"], found["state"], found["closed"]) == (run, "conflict", 2)
    assert "in shared" in found["why"]
    assert f"git switch tildone/{run} && git merge {own}" in found["why"]
    git = Git(str(fleet.repository))
    assert {git.run("show", f"{branch}:shared") for branch in (f"tildone/{run}", own)} == {"1", "2"}
