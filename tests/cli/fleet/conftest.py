"""Someone who runs a fleet: the commands run in this process, on a real store of each kind."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.stores.conftest import server, url
from tests.stores.postgres import needs_server
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.cli import main
from tildone.log.store import Store
from tildone.plan.runs import Asked, Claimer, Lease, LeaseState
from tildone.stores.leasing import RunLeases

__all__ = ["server", "url"]
F = TypeVar("F")


@dataclass
class Operator:
    """Runs `tildone` commands in a folder, and sees the leases as a worker does."""

    folder: Path
    store_address: str
    capture: pytest.CaptureFixture[str]

    def run(self, *argv: str) -> tuple[int, str, str]:
        """Return the exit code of a command, and what it printed on both streams."""
        self.capture.readouterr()
        code = main([*argv])
        printed = self.capture.readouterr()
        return code, printed.out, printed.err

    def fleet(self, *argv: str) -> str:
        """Return what a `tildone fleet` command prints that succeeds."""
        code, out, err = self.run("fleet", *argv)
        assert (code, err) == (0, ""), (argv, code, out, err)
        return out

    def refused(self, code: int, *argv: str) -> str:
        """Return what a command says that ends with this exit code."""
        ended, _, err = self.run(*argv)
        assert ended == code, (argv, ended, err)
        return err

    def json(self, *argv: str) -> Any:
        return json.loads(self.fleet(*argv, "--json"))

    def plan(self, name: str, *tasks: str) -> str:
        """Write a plan file, and return its name. Tasks without a command in their text get one in a note."""
        lines = [f"- [ ] {task}\n" if "`" in task else f"- [ ] {task}\n  > $ true\n" for task in tasks]
        (self.folder / name).write_text("".join(lines), encoding="utf-8")
        return name

    def add(self, name: str = "a.md", *options: str) -> str:
        """Queue a plan of two tasks, and return the name of the run."""
        if not (self.folder / name).exists():
            self.plan(name, "one", "two")
        return str(self.json("add", name, *options)["runs"][0]["run"])

    def configure(self, settings: str) -> None:
        """Write the person's settings of fleets."""
        file = self.folder.parent / "home" / ".config" / "tildone" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"[fleet]\n{settings}\n", encoding="utf-8")

    @cached_property
    def store(self) -> Store:
        """The store, as another process uses it."""
        return store_at(self.store_address)

    @cached_property
    def leases(self) -> RunLeases:
        return run_leases(self.store)

    def take(self, worker: str = "elsewhere/1/a") -> Lease:
        """Take the first queued run as a worker."""
        [lease] = self.take_all(1, worker)
        return lease

    def take_all(self, slots: int, worker: str = "here/1/a", *labels: str) -> list[Lease]:
        """Take queued runs as a worker with so many slots."""
        return self.leases.claim(Claimer(worker, labels), [f"{worker}/{slot}" for slot in range(slots)])

    def lease(self, run: str) -> Lease:
        return self.leases.look(run)[0].lease

    def becomes(self, run: str, state: LeaseState) -> None:
        until(lambda: self.lease(run).state is state)

    def asks(self, lease: Lease, question: str, kind: str, text: str) -> None:
        """Let the agent of a run ask a person."""
        self.leases.append(lease.fence, Asked(lease.run, lease.hand, question, kind, text), f"e-{question}")

    def facts(self, run: str, kind: type[F]) -> list[F]:
        """Return what the log of a run tells, of a kind."""
        return [event.fact for event in self.store.events(self.lease(run).session) if isinstance(event.fact, kind)]

    @contextmanager
    def working(self, *options: str, program: Sequence[str | Path] = (PROGRAM,)) -> Iterator["subprocess.Popen[bytes]"]:
        """A worker as a process, which ends at the latest with the block."""
        words = [*program, "fleet", "work", "--grace", "1", *options]
        with subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as worker:
            try:
                yield worker
            finally:
                stop(worker)


def stop(worker: "subprocess.Popen[bytes]") -> None:
    """Send the two signals that stop a worker."""
    # Two of the same number would count as one if the first had not been handled yet.
    for number in (signal.SIGTERM, signal.SIGINT):
        worker.send_signal(number)


def sqlite(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("tmp_path") / "fleet.db")


def postgres(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("url"))


@pytest.fixture(params=[sqlite, pytest.param(postgres, marks=needs_server)], ids=["sqlite", "postgres"])
def operator(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Operator]:
    folder, home = tmp_path / "project", tmp_path / "home"
    (folder / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.chdir(folder)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "TILDONE_SESSION", "TILDONE_LEASE"):
        monkeypatch.delenv(name, raising=False)
    address = request.param(request)
    for name, value in {"HOME": str(home), "TILDONE_USER": "Ada", "TILDONE_STORE": address}.items():
        monkeypatch.setenv(name, value)
    found = Operator(folder, address, capsys)
    yield found
    if "store" in vars(found):
        found.store.close()


@pytest.fixture
def machine(operator: Operator) -> Operator:
    """Someone whose workers find runs soon, outside a repository."""
    os.rmdir(operator.folder / ".git")
    # The other engine of a server takes long to import.
    operator.configure('engine = "table"')
    operator.fleet("up", "--lease", "30")
    operator.leases.configure(replace(operator.leases.settings(), heartbeat=500))
    return operator
