"""A fleet whose agents are real ones: the commands of a person, workers as processes, and a scripted model."""

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.clients.agents import AGENTS, Sandbox, environment
from tests.clients.inside import WAIT, PatientModel, as_after_a_first_start
from tests.clients.supervisor import supervised
from tests.host.models.model_server import ReceivedRequest, Turn
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.fleet.git import Git
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged, latest_state
from tildone.plan.model import Status
from tildone.plan.runs import Kept, Lease
from tildone.stores.leasing import RunLeases

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
SHELLS = {"claude": "Bash", "codex": "exec_command", "gemini": "run_shell_command", "opencode": "bash", "pi": "bash"}
IN_BACKGROUND = '"$@" & echo $!; cat'


def command(agent: str, text: str) -> Turn:
    """A turn in which the model of an agent runs a shell command."""
    name = "cmd" if agent == "codex" else "command"
    given = {name: text} | ({"description": "Work on it"} if agent in ("claude", "opencode") else {})
    return {"tool": SHELLS[agent], "args": given}


def done(number: int) -> Turn:
    """A turn in which the model completes a task."""
    return {"tool": "todo", "args": {"done": number}}


def work(agent: str, *numbers: int) -> list[Turn]:
    """The turns for some tasks: each has a file to write."""
    turns = [(command(agent, f"echo made > {FILES[number - 1]}"), done(number)) for number in numbers]
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

    def tildone(self, *words: str) -> str:
        """What a command of a person prints."""
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.repository,
            env=self.environ,
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
    def worker(self, home: str = "here", *options: str, **environ: str) -> Iterator[int]:
        """A worker with a home of its own; its process id. Nothing that it started outlives it."""
        words = [
            "sh",
            "-c",
            IN_BACKGROUND,
            "sh",
            str(PROGRAM),
            "fleet",
            "work",
            "--allow",
            "*",
            "--grace",
            "2",
            *options,
        ]
        env = {**self.environ, "XDG_DATA_HOME": str(self.folder / home), **environ}
        with (
            open(self.folder / f"{home}.log", "ab") as log,
            supervised(
                words,
                seconds=SECONDS,
                cwd=self.folder,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            ) as process,
        ):
            assert process.stdout
            yield int(process.stdout.readline())

    def lease(self, run: str) -> Lease:
        return self.leases.look(run)[0].lease

    def ended(self, run: str) -> Lease:
        """Wait until a run has ended, and return its lease."""
        eventually(lambda: not self.lease(run).state.is_active)
        return self.lease(run)

    def events(self, run: str) -> list[Event]:
        return list(self.store.events(self.lease(run).session))

    def tasks(self, run: str) -> list[tuple[str, str]]:
        plan = latest_state(self.store.history(self.lease(run).session)).plan
        return [(task.text, task.status.value) for task in plan.tasks]

    def completions(self, run: str) -> Counter[int]:
        """How often each task was completed."""
        found: Counter[int] = Counter()
        before: set[int] = set()
        for event in self.events(run):
            if isinstance(event.fact, PlanChanged):
                now = {task.number for task in event.fact.plan.tasks if task.status is Status.COMPLETED}
                found.update(now - before)
                before = now
        return found

    def files(self, run: str) -> set[str]:
        """The files on the branch of a run."""
        return set(Git(str(self.repository)).run("ls-tree", "--name-only", f"tildone/{run}").splitlines())

    def worktree(self, run: str) -> Path:
        return self.folder / "here" / "tildone" / "fleet" / "worktrees" / run

    def output(self, run: str, lease: Lease) -> str:
        """What the agent under a lease has printed."""
        path = self.folder / "here" / "tildone" / "fleet" / "runs" / f"{run}.{lease.epoch}.output"
        return path.read_text(encoding="utf-8", errors="replace")

    def kept(self, run: str) -> str:
        """The message of the newest checkpoint of a run."""
        [*_, kept] = [event.fact for event in self.events(run) if isinstance(event.fact, Kept)]
        return Git(str(self.repository)).run("log", "-1", "--format=%B", kept.commit)

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
    """The process ids of a process and all its descendants."""
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
    """Send a signal to processes that may have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
