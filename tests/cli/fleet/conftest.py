"""Someone who runs a fleet: the commands run in this process, on a real store of each kind."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.stores.conftest import server, url
from tests.stores.postgres import needs_server
from tildone.app.opening import run_leases, store_at
from tildone.cli import main
from tildone.log.store import Store
from tildone.plan.runs import Claimer, Lease
from tildone.stores.leasing import RunLeases

__all__ = ["server", "url"]


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

    def with_leases(self, use: Callable[[Store, RunLeases], Any]) -> Any:
        """Use the leases of the store as another process does."""
        store = store_at(self.store_address)
        try:
            return use(store, run_leases(store))
        finally:
            store.close()

    def take(self, worker: str = "elsewhere/1/a", labels: tuple[str, ...] = ()) -> Lease:
        """Take the first queued run as a worker."""
        [lease] = self.with_leases(lambda _, leases: leases.claim(Claimer(worker, labels), [f"{worker}/0"]))
        return lease  # type: ignore[no-any-return]  # of any type above


def sqlite(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("tmp_path") / "fleet.db")


def postgres(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("url"))


@pytest.fixture(params=[sqlite, pytest.param(postgres, marks=needs_server)], ids=["sqlite", "postgres"])
def operator(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Operator:
    folder, home = tmp_path / "project", tmp_path / "home"
    (folder / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.chdir(folder)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "TILDONE_SESSION", "TILDONE_LEASE"):
        monkeypatch.delenv(name, raising=False)
    address = request.param(request)
    for name, value in {"HOME": str(home), "TILDONE_USER": "Ada", "TILDONE_STORE": address}.items():
        monkeypatch.setenv(name, value)
    return Operator(folder, address, capsys)
