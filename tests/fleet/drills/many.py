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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Self

from tests.cli.person import Person
from tests.fleet.drills.harness import kill_tree
from tests.fleet.drills.marks import read_words
from tests.fleet.drills.outcome import completions
from tests.fleet.drills.places import Ground, Grounds, Place
from tests.fleet.repositories import project
from tests.host.models.model_server import ModelServer, ReceivedRequest, Turn
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS
from tildone.app.answering import open_questions
from tildone.app.opening import run_leases, store_at
from tildone.fleet.git import Git
from tildone.log.settings import BURST_PART, MINUTE_MS, ProviderLimit
from tildone.plan.events import Event, PlanChanged
from tildone.plan.model import Status
from tildone.plan.runs import Answered, Lease, LeaseState, RunEnded, RunLost, RunReleased, RunTaken, worker_of

TASKS = 5
SHELL, MODEL = "shell", "run"
MODELS = {"anthropic": "anthropic:scripted", "openai": "openai-chat:scripted"}
LABEL = "special"
ASKED, CHECKED = 3, TASKS
"""The task before which a person is asked, and the one whose command is its check."""

SCRIPT = """#!/bin/sh
echo "begin $1 $2 $(date +%s%3N)" >> '{marks}'
: > "made-$2"
echo "end $1 $2 $(date +%s%3N)" >> '{marks}'
"""

Needs = Enum("Needs", "REPOSITORY LABEL APPROVAL NOTHING")
"""What a run needs: a repository that others need, too, a worker with a label, the approval of a person, or nothing."""


@dataclass(frozen=True)
class ManyPlan:
    """A plan: the agent that works on it, and what it needs. Of those with the same agent, it is the `index`th."""

    folder: Path
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
        return list(MODELS)[(self.index + self.round) % len(MODELS)] if self.agent == MODEL else ""

    @property
    def asked(self) -> int:
        """The task that a person has to approve; 0 if there is none."""
        if self.needs is not Needs.APPROVAL:
            return 0
        return CHECKED if self.agent == SHELL and self.round % 2 else ASKED

    @property
    def repository(self) -> Path | None:
        return self.folder / f"repository{self.round % REPOSITORIES}" if self.needs is Needs.REPOSITORY else None

    def command(self, task: int) -> str:
        return f"{self.folder / ('deploy' if task == self.asked else 'mark')} {self.number} {task}"

    def text(self) -> str:
        """The plan in Markdown. A model is not told the commands, but for that of the check."""
        lines = []
        for task in range(1, TASKS + 1):
            in_text = f": `{self.command(task)}`" if self.agent == SHELL and task != CHECKED else ""
            lines.append(f"- [ ] Step {task} of plan {self.number}{in_text}\n")
        return "".join(lines) + f"  $ {self.command(CHECKED)}\n"

    def options(self) -> tuple[str, ...]:
        """The options with which it is queued."""
        model = ("--model", MODELS[self.provider]) if self.provider else ()
        labels = ("--labels", LABEL) if self.needs is Needs.LABEL else ()
        return ("--agent", self.agent, *model, *labels, *(("--repo", str(self.repository)) if self.repository else ()))

    def turns(self) -> list[Turn]:
        """What a model does that works on it."""
        turns: list[Turn] = []
        for task in range(1, TASKS + 1):
            if task != CHECKED:
                turns.append({"tool": "bash", "args": {"command": self.command(task)}})
            turns.append({"tool": "edit_todos", "args": {"action": "complete", "indices": [task - 1]}})
        return [*turns, {"text": "Finished."}]


class ManyPlansModel(ModelServer):
    """The model. `noted` are the requests that it got: the provider, the plan, and the milliseconds since 1970."""

    def __init__(self, plans: list[ManyPlan]) -> None:
        super().__init__()
        self._plans = plans
        self.noted: list[tuple[str, int, int]] = []

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
        self.noted.append(("anthropic" if request.path.startswith("/v1/messages") else "openai", plan.number, at))
        done = [message for message in request.messages if message["role"] == "assistant"]
        return plan.turns()[: len(done) + 1][-1]


WORKERS, SLOTS, WITH_LABEL, REPOSITORIES = 4, 2, 2, 3
PAUSE_SECONDS = 0.2
QUIET_SECONDS = 5 * LIMIT_SECONDS
"""For how long nothing may happen: on a loaded machine, agents take minutes to start."""


@dataclass
class ManyFleet:
    """The fleet in a folder, on the store of a place, with the limits of its providers, and plans for its agents."""

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
        for name in ("mark", "deploy"):
            script = self.folder / name
            script.write_text(SCRIPT.format(marks=self.folder / "marks"), encoding="utf-8")
            script.chmod(0o755)
        (self.folder / "plans").mkdir()
        (self.folder / "home").mkdir()
        for number in range(REPOSITORIES):
            project(self.folder, f"repository{number}")
        self.model = ManyPlansModel(self.plans)
        environ = self.model.environ | {"TILDONE_STORE": self.ground.address}
        self.person = Person(self.folder / "plans", self.folder / "home", environ)
        self.store = store_at(self.ground.address)
        self.leases = run_leases(self.store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.store.close()

    def work(self) -> None:
        """Queue the plans, have four workers do them, and approve what they ask for."""
        with ExitStack() as stack:
            stack.enter_context(self.model)
            self._queue()
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
        done = self.person.run("fleet", *words, "--json")
        assert done.code == 0, (words, done)
        return dict(done.json)

    def marks(self) -> list[tuple[str, int, int, int]]:
        """Return what the commands have noted, in its order: `begin` or `end`, plan, task, milliseconds since 1970."""
        lines = read_words(self.folder / "marks")
        return [(what, int(plan), int(task), int(at)) for what, plan, task, at in lines]

    def begun(self) -> dict[tuple[int, int], int]:
        """Return when the command of a plan and a task has begun."""
        return {(plan, task): at for what, plan, task, at in self.marks() if what == "begin"}

    def _queue(self) -> None:
        self.tildone("up", *(f"--limit={each.provider}={each.runs}/{each.requests}" for each in self.limits))
        alike: dict[tuple[str, ...], list[ManyPlan]] = {}
        for plan in self.plans:
            (self.person.folder / f"{plan.number}.md").write_text(plan.text(), encoding="utf-8")
            alike.setdefault(plan.options(), []).append(plan)
        for options, plans in alike.items():
            added = self.tildone("add", *(f"{plan.number}.md" for plan in plans), *options)["runs"]
            self.runs |= {each["run"]: plan for each, plan in zip(added, plans, strict=True)}

    @contextmanager
    def _worker(self, number: int) -> Iterator[subprocess.Popen[bytes]]:
        labels = ["--labels", LABEL] if number < WITH_LABEL else []
        permitted = ["--allow", f"{self.folder / 'mark'} *", "--ask", "*", "--slots", str(SLOTS), "--grace", "1"]
        environ = self.person.environment({"XDG_DATA_HOME": str(self.folder / f"worker{number}")})
        words, quiet = [str(PROGRAM), "fleet", "work", *permitted, *labels], subprocess.DEVNULL
        with open(self.folder / f"worker{number}.log", "wb") as log:
            process = subprocess.Popen(
                words, cwd=self.folder, env=environ, stdin=quiet, stderr=log, start_new_session=True
            )
            try:
                yield process
            finally:
                kill_tree(process)

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
            assert (self.runs[run].number, self.runs[run].asked) not in self.begun(), f"{run} has not waited"
            verb, text = ("answer", ["yes"]) if len(self.answered) % 2 else ("approve", [])
            self.tildone(verb, run, "--question", question, *text)
            self.answered[question] = run
        return set(asked)


FILES = {".gitignore", "old.py", "parser.py", *(f"made-{task}" for task in range(1, TASKS + 1))}


@dataclass
class ManyResults:
    """What became of the plans of a fleet whose runs have ended, from its marks, its leases and their logs."""

    fleet: ManyFleet
    leases: dict[str, Lease]
    events: dict[str, list[Event]]
    lost: int = 0
    twice: int = 0
    """Tasks that were completed twice in the log, or whose command was begun or ended twice."""

    asked: int = 0
    delays: list[float] = field(default_factory=list)
    """Seconds from an answer to the beginning of what it approves."""

    peaks: dict[str, int] = field(default_factory=dict)
    """The most that a limit had at any moment."""

    faults: list[str] = field(default_factory=list)
    """What went wrong."""

    def __str__(self) -> str:
        times = self.delays
        waits = f"{min(times):.2f} – {median(times):.2f} – {max(times):.2f} s" if times else ""
        peaks = ", ".join(f"{name} {peak}" for name, peak in sorted(self.peaks.items()))
        plans = len(self.fleet.plans)
        return (
            f"{plans} plans, {plans * TASKS} tasks in {self.fleet.seconds:.0f} s: lost {self.lost}, "
            f"twice {self.twice}; at most: {peaks}; {self.asked} approved, going on after {waits}"
            + "".join(f"\n  {fault}" for fault in self.faults)
        )

    def count_tasks(self) -> None:
        """Count the tasks that were lost or completed twice, and check that the branches have all files."""
        for run, plan in self.fleet.runs.items():
            lease, events = self.leases[run], self.events[run]
            states = [event.fact.plan for event in events if isinstance(event.fact, PlanChanged)]
            done = sum(task.status is Status.COMPLETED for task in states[-1].tasks)
            self.lost += TASKS - done
            self.twice += sum(count > 1 for count in completions(states).values())
            if lease.state is not LeaseState.DONE or done != TASKS:
                self.faults.append(f"run {run} is {lease.state.value}: {events[-1].fact}")
            if plan.repository:
                files = set(Git(str(plan.repository)).run("ls-tree", "--name-only", f"tildone/{run}").splitlines())
                if files != FILES:
                    self.faults.append(f"the branch of {run} has {sorted(files)}")

    def check_commands(self) -> None:
        """Check that the command of each task has run once, and in a repository only for one run at a time."""
        marks, plans = self.fleet.marks(), self.fleet.plans
        counts = Counter(mark[:3] for mark in marks)
        every = [(what, plan.number, n) for plan in plans for n in range(1, TASKS + 1) for what in ("begin", "end")]
        self.twice += sum(count > 1 for (what, _, _), count in counts.items() if what == "begin")
        self.faults += [f"{mark} was noted {counts[mark]} times" for mark in every if counts[mark] != 1]
        working: dict[Path, int] = {}
        for what, number, _, _ in marks:
            if where := plans[number].repository:
                other = working.setdefault(where, number)
                if other != number:
                    self.faults.append(f"plans {other} and {number} were worked on in one repository at the same time")
                if what == "end":
                    del working[where]

    def check_holders(self) -> None:
        """Check from the logs who had what at every moment."""
        steps: list[tuple[int, int, str]] = []
        limits: dict[str, int] = {}
        for run, lease in self.leases.items():
            keys: list[str] = []
            for event in self.events[run]:
                match event.fact:
                    case RunTaken(owner=owner):
                        if lease.work.labels and owner.split("/")[1] not in self.fleet.labelled:
                            self.faults.append(f"{owner} has taken {run} without the label")
                        used = self._used(lease, owner)
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
            self.peaks[kind] = max(held[key], self.peaks.get(kind, 0))
            if held[key] > limits[key]:
                self.faults.append(f"{key}: {held[key]}, which is more than {limits[key]}")
        self.faults += [f"{key} were held to the end" for key, count in held.items() if count]

    def _used(self, lease: Lease, owner: str) -> dict[str, int]:
        """Return what a run of an owner uses that is limited, each with its limit."""
        work, limits = lease.work, self.fleet.limits
        runs = {f"runs of {limit.provider}": limit.runs for limit in limits if limit.provider == work.provider}
        return {f"slots of {worker_of(owner)}": SLOTS} | ({f"repository {work.repo}": 1} if work.repo else {}) | runs

    def check_requests(self) -> None:
        """Check that no provider got more requests than its limit permits."""
        for limit in self.fleet.limits:
            arrived = sorted(at for provider, _, at in self.fleet.model.noted if provider == limit.provider)
            if not arrived:
                continue
            spans = []
            for run, plan in self.fleet.runs.items():
                taken = next((event.at for event in self.events[run] if isinstance(event.fact, RunTaken)), 0)
                noted = self.fleet.model.noted
                times = [at for provider, number, at in noted if (provider, number) == (limit.provider, plan.number)]
                # It was taken from the rate after the request before it, which is as much as can be known from here.
                spans += list(zip([taken, *times], times, strict=False))
            peak = max(sum(at <= other < at + MINUTE_MS for other in arrived) for at in arrived)
            self.peaks[f"requests a minute to {limit.provider}"] = peak
            if over := over_rate(spans, limit):
                self.faults.append(f"{limit.provider} got {over[0]} requests in {over[1] / 1000:.1f} s")

    def check_answers(self) -> None:
        """Check that what a person has to approve has begun after the answer, and note how long that took."""
        begun, answers = self.fleet.begun(), dict[int, int]()
        for question, run in self.fleet.answered.items():
            need, events = self.fleet.store.records.need(question), self.events[run]
            logged = (e.at for e in events if isinstance(e.fact, Answered) and e.fact.question == question)
            answers[self.fleet.runs[run].number] = need.answered_at if need else next(logged)
        asking = {plan.number: plan.asked for plan in self.fleet.plans if plan.asked}
        for number, task in asking.items():
            began = begun.get((number, task), 0)
            if number not in answers or began < answers[number]:
                self.faults.append(f"task {task} of plan {number} has not waited for a person")
            else:
                self.delays.append((began - answers[number]) / 1000)
        self.asked = len(answers)
        if set(answers) != set(asking):
            self.faults.append("other runs have asked")


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


def run_many(
    folder: Path, ground: Ground, agents: tuple[str, ...], count: int, limits: tuple[ProviderLimit, ...]
) -> ManyResults:
    """Run so many plans, for each of the agents in turn, and return what became of them."""
    chosen = [agents[number % len(agents)] for number in range(count)]
    plans = [ManyPlan(folder, number, agent, chosen[:number].count(agent)) for number, agent in enumerate(chosen)]
    with ManyFleet(folder, ground, plans, limits) as fleet:
        fleet.work()
        leases = {view.lease.run: view.lease for view in fleet.leases.look() if view.lease.run in fleet.runs}
        events = {run: list(fleet.store.events(lease.session)) for run, lease in leases.items()}
        results = ManyResults(fleet, leases, events)
        results.count_tasks()
        results.check_commands()
        results.check_holders()
        results.check_requests()
        results.check_answers()
    return results


LIMITS = (ProviderLimit("anthropic", runs=2, requests=150), ProviderLimit("openai", runs=3, requests=200))


def main(argv: Sequence[str]) -> int:
    """Run the plans in each place with each kind of agent, print what came of them, and return the exit code."""
    parser = argparse.ArgumentParser(prog="do.py drills many", description=__doc__)
    parser.add_argument("--plans", type=int, default=100, metavar="N", help="how many plans of five tasks")
    parser.add_argument("--place", action="append", choices=[place.value for place in Place], help="where")
    parser.add_argument("--agent", action="append", choices=(SHELL, MODEL), help="who works: commands, or a model")
    asked, code = parser.parse_args(argv), 0
    with Grounds() as grounds:
        for place in map(Place, asked.place or (Place.SQLITE, Place.DBOS)):
            for agent in asked.agent or (SHELL, MODEL):
                with tempfile.TemporaryDirectory(prefix="tildone-many-", ignore_cleanup_errors=True) as name:
                    folder = Path(name)
                    with grounds.ground(place, folder, own_server=False) as ground:
                        results = run_many(folder, ground, (agent,), asked.plans, LIMITS)
                print(f"{place.value} {agent}: {results}", flush=True)
                code = code or int(bool(results.faults))
    return code
