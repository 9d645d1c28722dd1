"""`python -m tests.fleet.drills many`: 100 plans on four workers, for each kind of agent, and a line about each.

The command of a task notes when it begins and when it ends in the file `marks`, and makes a file in the folder it runs
in. It is `mark PLAN TASK`, which workers permit, or `deploy PLAN TASK`, which a person has to approve. The scripted
model speaks the protocols of its providers: a request for each command, one for each task that is done, and one for
the end. What became of the plans follows from their logs, from the marks, and from the requests that the model got.
None of it is a sample: each take and each end of a lease is in a log, with its time.
"""

import argparse
import json
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import count as count_from
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Self

from tests.cli.person import Person
from tests.fleet.drills.harness import signal_all, tree_of
from tests.fleet.drills.outcome import completions
from tests.fleet.drills.places import Ground, Grounds, Place
from tests.fleet.workers import repository
from tests.host.models.model_server import ModelServer, ReceivedRequest, Turn
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS
from tildone.app.answering import open_questions
from tildone.app.opening import run_leases, store_at
from tildone.fleet.git import Git
from tildone.log.settings import BURST_PART, MINUTE_MS, ProviderLimit
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged
from tildone.plan.model import Status
from tildone.plan.runs import Answered, Lease, LeaseState, RunEnded, RunLost, RunReleased, RunTaken, Work, worker_of
from tildone.stores.leasing import RunLeases

TASKS, REPOSITORIES = 5, 3
SHELL, MODEL = "shell", "run"
AGENTS = (SHELL, MODEL)
PROVIDERS = ("anthropic", "openai")
MODELS = {"anthropic": "anthropic:scripted", "openai": "openai-chat:scripted"}
LABEL = "special"
ASKED, CHECKED = 3, TASKS
"""The task before which a person is asked, and the one whose command is its check."""

SCRIPT = """#!/bin/sh
echo "begin $1 $2 $(date +%s%3N)" >> '{marks}'
: > "made-$2"
echo "end $1 $2 $(date +%s%3N)" >> '{marks}'
"""


class Needs(Enum):
    """What a run needs."""

    REPOSITORY = "a repository that other runs need, too"
    LABEL = "a worker with a label"
    APPROVAL = "the approval of a person"
    NOTHING = "nothing more"


@dataclass(frozen=True)
class ManyPlan:
    """A plan: the agent that works on it, and what it needs. Of those with the same agent, it is the `index`th."""

    number: int
    agent: str
    index: int

    @property
    def needs(self) -> Needs:
        return list(Needs)[self.index % len(Needs)]

    @property
    def round(self) -> int:
        return self.index // len(Needs)

    @property
    def provider(self) -> str:
        return PROVIDERS[(self.index + self.round) % len(PROVIDERS)] if self.agent == MODEL else ""

    @property
    def asked(self) -> int:
        """The task that a person has to approve; 0 if there is none."""
        if self.needs is not Needs.APPROVAL:
            return 0
        return CHECKED if self.agent == SHELL and self.round % 2 else ASKED

    def command(self, folder: Path, task: int) -> str:
        return f"{folder / ('deploy' if task == self.asked else 'mark')} {self.number} {task}"

    def text(self, folder: Path) -> str:
        """The plan in Markdown. A model is not told the commands, but for that of the check."""
        lines = []
        for task in range(1, TASKS + 1):
            command = self.command(folder, task)
            in_text = f": `{command}`" if self.agent == SHELL and task != CHECKED else ""
            lines += [f"- [ ] Step {task} of plan {self.number}{in_text}", *[f"  $ {command}"] * (task == CHECKED)]
        return "\n".join(lines) + "\n"

    def options(self, repositories: list[Path]) -> tuple[str, ...]:
        """The options with which it is queued."""
        model = ("--model", MODELS[self.provider]) if self.provider else ()
        match self.needs:
            case Needs.REPOSITORY:
                needed: tuple[str, ...] = ("--repo", str(self.repository(repositories)))
            case Needs.LABEL:
                needed = ("--labels", LABEL)
            case _:
                needed = ()
        return ("--agent", self.agent, *model, *needed)

    def repository(self, repositories: list[Path]) -> Path:
        return repositories[self.round % len(repositories)]


def plans_for(agents: tuple[str, ...], count: int) -> list[ManyPlan]:
    """Return so many plans, for each of the agents in turn."""
    indices = {agent: count_from(0) for agent in agents}
    chosen = islice(cycle(agents), count)
    return [ManyPlan(number, agent, next(indices[agent])) for number, agent in enumerate(chosen)]


def write_scripts(folder: Path) -> None:
    """Write the commands of the tasks."""
    for name in ("mark", "deploy"):
        script = folder / name
        script.write_text(SCRIPT.format(marks=folder / "marks"), encoding="utf-8")
        script.chmod(0o755)


@dataclass(frozen=True)
class NotedRequest:
    """When a request of a plan arrived, in milliseconds since 1970."""

    plan: int
    provider: str
    at: int


class ManyPlansModel(ModelServer):
    """The model. `noted` are the requests that it got."""

    def __init__(self, folder: Path, plans: list[ManyPlan]) -> None:
        super().__init__()
        self._folder, self._plans = folder, plans
        self.noted: list[NotedRequest] = []

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that connect both providers to this server."""
        urls = {"OPENAI_BASE_URL": f"{self.url}/v1", "ANTHROPIC_BASE_URL": self.url, "NO_PROXY": "127.0.0.1"}
        return urls | {"OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}

    def next_turn(self, request: ReceivedRequest) -> Turn:
        """Note a request, and return the turn that its conversation is at."""
        at = time.time_ns() // 1_000_000
        found = re.search(r"of plan (\d+)", json.dumps(request.body))
        assert found, request.body
        plan = self._plans[int(found[1])]
        self.noted.append(NotedRequest(plan.number, PROVIDERS[not request.path.startswith("/v1/messages")], at))
        done = [message for message in request.messages if message["role"] == "assistant"]
        turns = self._turns(plan)
        return turns[min(len(done), len(turns) - 1)]

    def _turns(self, plan: ManyPlan) -> list[Turn]:
        turns: list[Turn] = []
        for task in range(1, TASKS + 1):
            if task != CHECKED:
                turns.append({"tool": "bash", "args": {"command": plan.command(self._folder, task)}})
            turns.append({"tool": "edit_todos", "args": {"action": "complete", "indices": [task - 1]}})
        return [*turns, {"text": "Finished."}]


WORKERS, SLOTS, WITH_LABEL = 4, 2, 2
PAUSE_SECONDS = 0.2
QUIET_SECONDS = 5 * LIMIT_SECONDS
"""For how long nothing may happen: on a loaded machine, agents take minutes to start."""


@dataclass
class ManyFleet:
    """The fleet in a folder, on the store of a place, with the limits of its providers."""

    folder: Path
    ground: Ground
    plans: list[ManyPlan]
    limits: tuple[ProviderLimit, ...]
    runs: dict[str, ManyPlan] = field(default_factory=dict)
    """The runs by name, each with its plan."""

    answered: dict[str, str] = field(default_factory=dict)
    """The questions that the person has answered, each with its run."""

    labelled: frozenset[str] = frozenset()
    """The process ids of the workers with a label."""

    seconds: float = 0.0

    def __post_init__(self) -> None:
        write_scripts(self.folder)
        for name in ("plans", "home"):
            (self.folder / name).mkdir()
        self.repositories = [_repository(self.folder / f"repository{number}") for number in range(REPOSITORIES)]
        self.model = ManyPlansModel(self.folder, self.plans)
        environ = self.model.environ | {"TILDONE_STORE": self.ground.address}
        self.environ = Person(self.folder, self.folder / "home", environ).environment({})
        self.store: Store = store_at(self.ground.address)
        self.leases: RunLeases = run_leases(self.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.store.close()

    def work(self) -> None:
        """Queue the plans, have four workers do them, and approve what they ask for."""
        with ExitStack() as stack:
            stack.enter_context(self.model)
            self._prepare()
            began = monotonic()
            workers = [stack.enter_context(self._worker(number)) for number in range(WORKERS)]
            self.labelled = frozenset(str(worker.pid) for worker in workers[:WITH_LABEL])
            self._attend()
            self.seconds = monotonic() - began
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
            assert [worker.wait(LIMIT_SECONDS) for worker in workers] == [0] * WORKERS

    def tildone(self, *words: str) -> dict[str, list[dict[str, str]]]:
        """Run a command of the person, and return what it prints as JSON."""
        done = subprocess.run(
            [PROGRAM, "fleet", *words, "--json"],
            cwd=self.folder / "plans",
            env=self.environ,
            capture_output=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, (words, done)
        printed: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
        return printed

    def marks(self) -> list[tuple[str, int, int, int]]:
        """Return what the commands have noted, in its order: `begin` or `end`, plan, task, milliseconds since 1970."""
        path = self.folder / "marks"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
        return [(what, int(plan), int(task), int(at)) for what, plan, task, at in lines]

    def _prepare(self) -> None:
        limits = [f"--limit={each.provider}={each.runs}/{each.requests}" for each in self.limits]
        self.tildone("up", *limits)
        alike: dict[tuple[str, ...], list[ManyPlan]] = {}
        for plan in self.plans:
            (self.folder / "plans" / f"{plan.number}.md").write_text(plan.text(self.folder), encoding="utf-8")
            alike.setdefault(plan.options(self.repositories), []).append(plan)
        for options, plans in alike.items():
            added = self.tildone("add", *(f"{plan.number}.md" for plan in plans), *options)["runs"]
            self.runs |= {each["run"]: plan for each, plan in zip(added, plans, strict=True)}

    @contextmanager
    def _worker(self, number: int) -> Iterator[subprocess.Popen[bytes]]:
        labels = ["--labels", LABEL] if number < WITH_LABEL else []
        permitted = ["--allow", f"{self.folder / 'mark'} *", "--ask", "*", "--slots", str(SLOTS), "--grace", "1"]
        environ = self.environ | {"XDG_DATA_HOME": str(self.folder / f"worker{number}")}
        with open(self.folder / f"worker{number}.log", "wb") as log:
            words = [str(PROGRAM), "fleet", "work", *permitted, *labels]
            process = subprocess.Popen(
                words, cwd=self.folder, env=environ, stdin=subprocess.DEVNULL, stderr=log, start_new_session=True
            )
            try:
                yield process
            finally:
                tree = tree_of(process)
                process.kill()
                process.wait()
                signal_all(tree, signal.SIGKILL)

    def _attend(self) -> None:
        """Answer questions until all runs have ended, as long as anything happens."""
        seen: set[str] = set()
        progress, until = 0, monotonic() + QUIET_SECONDS
        while living := [lease for lease in self.leases.active() if lease.run in self.runs]:
            seen = self._answer(living, seen)
            now = len(self.marks()) + len(self.model.noted) + len(self.answered) - len(living)
            progress, until = now, (monotonic() + QUIET_SECONDS if now != progress else until)
            held = {lease.run: lease.owner for lease in living if lease.owner}
            assert monotonic() < until, f"nothing happens: {len(living)} runs are left, of which are held: {held}"
            sleep(PAUSE_SECONDS)

    def _answer(self, living: list[Lease], seen: set[str]) -> set[str]:
        """Answer the questions that were open at the last look; return those that are open now.

        What is asked for has not begun by then.
        """
        asked = {question.id: question.run for question in open_questions(self.store, living)}
        for question in set(asked) & seen:
            run = asked[question]
            begun = {(plan, task) for what, plan, task, _ in self.marks() if what == "begin"}
            assert (self.runs[run].number, self.runs[run].asked) not in begun, f"{run} has not waited"
            verb, text = ("answer", ["yes"]) if len(self.answered) % 2 else ("approve", [])
            self.tildone(verb, run, "--question", question, *text)
            self.answered[question] = run
        return set(asked)


def _repository(folder: Path) -> Path:
    folder.mkdir()
    return repository(folder)


FILES = {"file", *(f"made-{task}" for task in range(1, TASKS + 1))}


@dataclass
class ManyResults:
    """The results of a fleet. `faults` is what went wrong; `peaks` are the most that a limit had at any moment."""

    plans: int
    seconds: float
    lost: int = 0
    twice: int = 0
    """Tasks that were completed twice in the log, or whose command was begun or ended twice."""

    asked: int = 0
    delays: tuple[float, ...] = ()
    """Seconds from an answer to the beginning of what it approves."""

    def __post_init__(self) -> None:
        self.peaks: dict[str, int] = {}
        self.faults: list[str] = []

    def __str__(self) -> str:
        waits = f"{min(self.delays):.2f} – {median(self.delays):.2f} – {max(self.delays):.2f} s" if self.delays else ""
        peaks = ", ".join(f"{name} {peak}" for name, peak in sorted(self.peaks.items()))
        return (
            f"{self.plans} plans, {self.plans * TASKS} tasks in {self.seconds:.0f} s: lost {self.lost}, "
            f"twice {self.twice}; at most: {peaks}; {self.asked} approved, going on after {waits}"
            + "".join(f"\n  {fault}" for fault in self.faults)
        )


def results_of(fleet: ManyFleet) -> ManyResults:
    """Return what became of the plans of a fleet whose runs have ended."""
    found = ManyResults(len(fleet.plans), fleet.seconds)
    leases = {lease.run: lease for lease in (view.lease for view in fleet.leases.look()) if lease.run in fleet.runs}
    events = {run: list(fleet.store.events(lease.session)) for run, lease in leases.items()}
    for run, plan in fleet.runs.items():
        _count_tasks(found, fleet, plan, leases[run], events[run])
    check_commands(found, fleet)
    check_holders(found, fleet, leases, events)
    _check_requests(found, fleet, events)
    check_answers(found, fleet, events)
    return found


def _count_tasks(found: ManyResults, fleet: ManyFleet, plan: ManyPlan, lease: Lease, events: list[Event]) -> None:
    states = [event.fact.plan for event in events if isinstance(event.fact, PlanChanged)]
    done = sum(task.status is Status.COMPLETED for task in states[-1].tasks)
    found.lost += TASKS - done
    found.twice += sum(count > 1 for count in completions(states).values())
    if lease.state is not LeaseState.DONE or done != TASKS:
        found.faults.append(f"run {lease.run} is {lease.state.value}: {events[-1].fact}")
    if plan.needs is Needs.REPOSITORY:
        git = Git(str(plan.repository(fleet.repositories)))
        files = set(git.run("ls-tree", "--name-only", f"tildone/{lease.run}").splitlines())
        if files != FILES:
            found.faults.append(f"the branch of {lease.run} has {sorted(files)}")


def check_commands(found: ManyResults, fleet: ManyFleet) -> None:
    """Check that the command of each task has run once, and in a repository only for one run at a time."""
    marks = fleet.marks()
    counts = Counter((what, plan, task) for what, plan, task, _ in marks)
    expected = [
        (what, plan.number, task) for plan in fleet.plans for task in range(1, TASKS + 1) for what in ("begin", "end")
    ]
    found.twice += sum(count > 1 for (what, _, _), count in counts.items() if what == "begin")
    found.faults += [f"{mark} was noted {counts[mark]} times" for mark in expected if counts[mark] != 1]
    working: dict[object, int] = {}
    for what, number, _, _ in marks:
        plan = fleet.plans[number]
        if plan.needs is Needs.REPOSITORY:
            other = working.setdefault(plan.repository(fleet.repositories), number)
            if other != number:
                found.faults.append(f"plans {other} and {number} were worked on in one repository at the same time")
            if what == "end":
                del working[plan.repository(fleet.repositories)]


def check_holders(
    found: ManyResults, fleet: ManyFleet, leases: dict[str, Lease], events: dict[str, list[Event]]
) -> None:
    """Check from the logs who had what at every moment."""
    steps: list[tuple[int, int, str]] = []
    limits: dict[str, int] = {}
    for run, lease in leases.items():
        keys: list[str] = []
        for event in events[run]:
            match event.fact:
                case RunTaken(owner=owner):
                    if lease.work.labels and owner.split("/")[1] not in fleet.labelled:
                        found.faults.append(f"{owner} has taken {run} without the label")
                    used = _used(lease.work, owner, fleet.limits)
                    limits |= used
                    keys = list(used)
                    steps += [(event.at, 1, key) for key in keys]
                case RunEnded() | RunReleased() | RunLost():
                    steps += [(event.at, -1, key) for key in keys]
                    keys = []
    held: Counter[str] = Counter()
    for _, change, key in sorted(steps):
        held[key] += change
        kind = key if key.startswith("runs") else key.split(" ")[0]
        found.peaks[kind] = max(held[key], found.peaks.get(kind, 0))
        if held[key] > limits[key]:
            found.faults.append(f"{key}: {held[key]}, which is more than {limits[key]}")
    found.faults += [f"{key} were held to the end" for key, count in held.items() if count]


def _used(work: Work, owner: str, limits: Iterable[ProviderLimit]) -> dict[str, int]:
    """Return what a run of an owner uses that is limited, each with its limit."""
    runs = {f"runs of {limit.provider}": limit.runs for limit in limits if limit.provider == work.provider}
    return {f"slots of {worker_of(owner)}": SLOTS} | ({f"repository {work.repo}": 1} if work.repo else {}) | runs


def _check_requests(found: ManyResults, fleet: ManyFleet, events: dict[str, list[Event]]) -> None:
    for limit in fleet.limits:
        noted = [each for each in fleet.model.noted if each.provider == limit.provider]
        if not noted:
            continue
        spans = []
        for run, plan in fleet.runs.items():
            taken = next((event.at for event in events[run] if isinstance(event.fact, RunTaken)), 0)
            times = [each.at for each in noted if each.plan == plan.number]
            # It was taken from the rate after the request before it, which is as much as can be known from here.
            spans += list(zip([taken, *times], times, strict=False))
        arrived = sorted(each.at for each in noted)
        peak = max((sum(at <= other < at + MINUTE_MS for other in arrived) for at in arrived), default=0)
        found.peaks[f"requests a minute to {limit.provider}"] = peak
        if over := over_rate(spans, limit):
            found.faults.append(f"{limit.provider} got {over[0]} requests in {over[1] / 1000:.1f} s")


def over_rate(spans: list[tuple[int, int]], limit: ProviderLimit) -> tuple[int, int] | None:
    """Return how many requests were sent in how many milliseconds, if that is more than the limit permits.

    A span is the time within which a request was taken from the rate. A part of the requests of a minute may be sent at
    once, the others at equal intervals.
    """
    at_once = max(1, limit.requests // BURST_PART)
    for begin in {begin for begin, _ in spans}:
        ends = sorted(end for first, end in spans if first >= begin)
        for count, end in enumerate(ends, 1):
            permitted = at_once + (end - begin) * limit.requests / MINUTE_MS
            if count > (min(permitted, limit.requests) if end - begin <= MINUTE_MS else permitted):
                return count, end - begin
    return None


def check_answers(found: ManyResults, fleet: ManyFleet, events: dict[str, list[Event]]) -> None:
    """Check that what a person has to approve has begun after the answer, and note how long that took."""
    begun = {(plan, task): at for what, plan, task, at in fleet.marks() if what == "begin"}
    answers: dict[int, int] = {}
    for question, run in fleet.answered.items():
        need = fleet.store.records.need(question)
        logged = (
            event for event in events[run] if isinstance(event.fact, Answered) and event.fact.question == question
        )
        answers[fleet.runs[run].number] = need.answered_at if need else next(logged).at
    delays = []
    for plan in fleet.plans:
        if not plan.asked:
            continue
        began = begun.get((plan.number, plan.asked), 0)
        if plan.number not in answers or began < answers[plan.number]:
            found.faults.append(f"task {plan.asked} of plan {plan.number} has not waited for a person")
        else:
            delays.append((began - answers[plan.number]) / 1000)
    found.asked, found.delays = len(answers), tuple(sorted(delays))
    if set(answers) != {plan.number for plan in fleet.plans if plan.asked}:
        found.faults.append("other runs have asked")


PLACES = (Place.SQLITE, Place.DBOS)
LIMITS = (ProviderLimit("anthropic", runs=2, requests=150), ProviderLimit("openai", runs=3, requests=200))


def main(argv: Sequence[str]) -> int:
    """Run the plans in each place with each kind of agent, print what came of them, and return the exit code."""
    asked = _parser().parse_args(argv)
    places = [Place(name) for name in asked.place or [place.value for place in PLACES]]
    code = 0
    with Grounds() as grounds:
        for place in places:
            for agent in asked.agent or AGENTS:
                with tempfile.TemporaryDirectory(prefix="tildone-many-", ignore_cleanup_errors=True) as name:
                    folder = Path(name)
                    with grounds.ground(place, folder, own_server=False) as ground:
                        results = run_many(folder, ground, (agent,), asked.plans, LIMITS)
                print(f"{place.value} {agent}: {results}", flush=True)
                code = code or int(bool(results.faults))
    return code


def run_many(
    folder: Path, ground: Ground, agents: tuple[str, ...], plans: int, limits: tuple[ProviderLimit, ...]
) -> ManyResults:
    """Run so many plans, for each of the agents in turn, and return what became of them."""
    with ManyFleet(folder, ground, plans_for(agents, plans), limits) as fleet:
        fleet.work()
        return results_of(fleet)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="do.py drills many", description=__doc__)
    parser.add_argument("--plans", type=int, default=100, metavar="N", help="how many plans of five tasks")
    parser.add_argument("--place", action="append", choices=[place.value for place in Place], help="where")
    parser.add_argument("--agent", action="append", choices=AGENTS, help="who works: commands alone, or a model")
    return parser
