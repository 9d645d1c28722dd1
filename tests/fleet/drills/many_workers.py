"""A fleet for many plans: the commands of a person, and workers as they start them."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Self

from tests.cli.person import Person
from tests.fleet.drills.harness import signal_all, tree_of
from tests.fleet.drills.many_models import ManyPlansModel
from tests.fleet.drills.many_plans import LABEL, REPOSITORIES, ManyPlan, write_scripts
from tests.fleet.drills.places import Ground
from tests.fleet.workers import repository
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS
from tildone.app.answering import open_questions
from tildone.app.opening import run_leases, store_at
from tildone.log.lease_port import RunLeases
from tildone.log.settings import ProviderLimit
from tildone.log.store import Store
from tildone.plan.runs import Lease

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
