"""Rows of a fleet's tables that somebody else has changed: nothing outside of its folders is touched.

Every column of every table is set to hostile values, each in a row of its own; there are rows of runs that wait and of
runs that ended long ago. Then a worker runs until it is idle, and a person lists, shows and removes runs. Folders that
the values name, and others beside those of the fleet, stay as they are, byte for byte. A run, and a schedule, that
nobody has touched are done all the same.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from tests.faults.tally import Plan, Tally
from tests.fleet.repositories import project
from tests.plans import plan_of
from tests.stores.postgres import running_server
from tests.stores.postgres_keeper import why_not
from tests.suite.forking import PROGRAM
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.fleet.engine import DBOS
from tildone.fleet.engines import prepare_engine
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.codec import dump, plan_to_json
from tildone.plan.events import PlanChanged
from tildone.plan.lists import RunSchedule, WorkerInfo
from tildone.plan.runs import LeaseState, NewRun, Work
from tildone.stores import parse_address
from tildone.stores.leasing import RunLeases

SECONDS, YEARLY, SHELL = 900, "0 0 1 1 *", Work(agent="shell")
PLAN = plan_of("Do nothing: `true`")
GOOD = "good"
"""How the names of the runs begin that nobody touches."""

PATH_COLUMNS = ("run", "session", "repo", "ref", "model", "hand", "epoch")
"""The columns of leases that become paths, refs or arguments."""

OF_SHORT_FORM = {
    "leases": ("run", "repo", "hand", "labels"),
    "workers": ("id", "labels"),
    "schedules": ("name", "last"),
    "providers": ("name",),
}
TEXTS_OF_SHORT_FORM = 4

OUTSIDE = "x"
"""Beside the fleet's folders there are some of this name, with suffixes, where `../../x` leads to."""

SUFFIXES = ("", "1", "2", "3")
"""A run has one row, so names of runs differ."""


@dataclass
class Ground:
    """The folders around a fleet, its store, and what must not change."""

    root: Path
    address: str
    is_long: bool
    victim: Path = field(init=False)
    data: Path = field(init=False)
    tampered: int = 0

    def __post_init__(self) -> None:
        self.victim, self.data = self.root / "victim", self.root / "data"
        beside = [self.data / "tildone" / OUTSIDE, self.data / OUTSIDE, self.root / OUTSIDE]
        folders = [f.with_name(f"{f.name}{suffix}") for f in (self.victim, *beside) for suffix in SUFFIXES]
        for folder in folders:
            (folder / "deep").mkdir(parents=True)
            (folder / "deep" / "kept.txt").write_text("as it was\n")
            folder.with_name(f"{folder.name}.md").write_text("no report\n")
        self._before = self._outside()

    def touched(self) -> list[str]:
        """What is not as it was before."""
        now = self._outside()
        return sorted(str(path) for path in self._before.keys() | now.keys() if self._before.get(path) != now.get(path))

    def started(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start `tildone fleet`, as somebody whose folders are here. `told` has what it says."""
        own = {"HOME": str(self.root / "home"), "XDG_DATA_HOME": str(self.data), "TILDONE_STORE": self.address}
        own |= {"XDG_CONFIG_HOME": str(self.root / "home"), "TILDONE_NAME": "Ada"}
        environ = {name: text for name, text in os.environ.items() if not name.startswith("TILDONE_")} | own
        # A file, because nobody reads what a worker says until it has ended.
        with open(self.root / "here" / "told", "wb") as told:
            command = [str(PROGRAM), "fleet", *words]
            here, nothing = self.root / "here", subprocess.DEVNULL
            return subprocess.Popen(command, env=environ, cwd=here, stdin=nothing, stdout=nothing, stderr=told)

    @property
    def told(self) -> str:
        """What the last command said."""
        return (self.root / "here" / "told").read_text(encoding="utf-8", errors="replace")

    def texts(self, *, has_nul: bool) -> list[str]:
        """Hostile texts. With `ext::`, git would run a program."""
        found = [str(self.victim), "../../x", f"ext::sh -c touch% {self.victim}/run", "-x", "x/../../../x", ".."]
        found += ["--upload-pack=touch x", "a\nb", "", "x" * 5000, '["../../x', '["../../x"]', "{}", "7", "\x1b[2J"]
        found += ["a\0b"] if has_nul else []
        return found if self.is_long else found[:TEXTS_OF_SHORT_FORM]

    def _outside(self) -> dict[Path, bytes]:
        """All files but the store, and what the fleet and its agents have beside the folder `x`."""
        own = self.data / "tildone"
        kept = [path for path in self.root.rglob("*") if "here" not in path.parts and "home" not in path.parts]
        kept = [path for path in kept if own not in path.parents or path.relative_to(own).parts[0].startswith(OUTSIDE)]
        found = [path for path in kept if not path.name.startswith("plans.db") and "project" not in path.parts]
        return {path: path.read_bytes() if path.is_file() else b"" for path in found}


class Tables:
    """The tables of a fleet, as whoever can write to the database sees them."""

    def __init__(self, address: str) -> None:
        self.is_file = "://" not in address
        if self.is_file:
            self._connection: Any = apsw.Connection(address)
            self._connection.set_busy_timeout(10_000)
        else:
            import psycopg  # noqa: PLC0415  where it is missing, there is no server

            self._connection = psycopg.connect(address, autocommit=True, client_encoding="utf8")

    def close(self) -> None:
        self._connection.close()

    def columns(self, table: str) -> dict[str, str]:
        """The types of the columns of a table, by name."""
        query = (
            "SELECT name, lower(type) FROM pragma_table_info(?)"
            if self.is_file
            else "SELECT column_name::text, data_type::text FROM information_schema.columns "
            "WHERE table_schema = 'tildone' AND table_name = %s"
        )
        return dict(self._connection.execute(query, (table,)).fetchall())

    def set(self, table: str, column: str, value: object, where: str = "", key: object = None) -> bool:
        """Set a column of the rows of that key, or of all rows; return whether the database took it."""
        name, mark = (table, "?") if self.is_file else (f"tildone.{table}", "%s")
        condition = f" WHERE {where} = {mark}" if where else ""
        values = (value, key) if where else (value,)
        try:
            self._connection.execute(f"UPDATE {name} SET {column} = {mark}{condition}", values)  # noqa: S608  our names
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("apsw", "psycopg"):
                raise
            return False
        return True

    def values(self, ground: Ground, kind: str) -> Iterator[object]:
        """Hostile values for a column of a type."""
        if kind in ("text", "any"):
            yield from ground.texts(has_nul=self.is_file)
        if kind == "any":
            yield from (b"\xff\0", 7)
        if kind == "array":
            yield from ([text] for text in ground.texts(has_nul=False))
        if kind in ("integer", "bigint"):
            yield from (-1, 2**62 if self.is_file or kind == "bigint" else 2**31 - 1)


def tampered_rows(plan: Plan, tally: Tally) -> None:
    """Change rows on SQLite and, in the long form, on PostgreSQL with both engines if a server can be started."""
    with tempfile.TemporaryDirectory() as name:
        tamper(tally, Path(name), str(Path(name, "plans.db")), is_long=plan.is_long)
    if not plan.is_long or why_not():
        return
    for engine in ("table", DBOS):
        with running_server() as server, server.database() as url, tempfile.TemporaryDirectory() as name:
            tamper(tally, Path(name), url, is_long=True, engine=engine)


def tamper(tally: Tally, folder: Path, address: str, *, is_long: bool, engine: str = "table") -> None:
    """Change the rows of a fleet, let it work, and count what happened."""
    (folder / "here").mkdir()
    (folder / "home").mkdir()
    ground = Ground(folder, address, is_long)
    store = store_at(address)
    leases = run_leases(store)
    prepare_engine(engine, parse_address(address))
    leases.configure(_settings(engine))
    with closing(store), closing(Tables(address)) as tables:
        for number, (column, value) in enumerate(_pairs(tables, ground, "fleet") if is_long else ()):
            # Without an engine, the workers of a server do not begin: a person has to choose one again.
            if column != "id" and (column != "engine" or tables.is_file):
                leases.configure(_settings(engine))
                _add(leases, f"{GOOD}-{number}")
                ground.tampered += tables.set("fleet", column, value)
                check(tally, ground, leases)
        leases.configure(_settings(engine))
        _queue_all(ground, tables, leases)
        check(tally, ground, leases)
        # At last, because it adds the runs again that were set aside.
        _ended(tally, ground, ground.started("up", "--rebuild"))
        check_files(tally, ground)


def check(tally: Tally, ground: Ground, leases: RunLeases) -> None:
    """Let a worker work, list and remove runs, and count what was touched, what crashed, and what was not done."""
    undone = _worked(tally, ground, leases)
    named = ("../../x", str(ground.victim), GOOD)
    for words in (
        *(["ls", "--all"], ["ls", "--json"], *(["show", "--", name] for name in named), ["doctor"]),
        *(["gc", "--older-than", "1d"], ["doctor"], ["ls", "--all"]),
    ):
        _ended(tally, ground, ground.started(*words))
    if undone:
        _show(f"not done: {undone}")
    tally.add(inputs=ground.tampered, left_undone=len(undone))
    ground.tampered = 0
    check_files(tally, ground)


def check_files(tally: Tally, ground: Ground) -> None:
    """Count what was touched outside of the folders of the fleet."""
    touched = ground.touched()
    if touched:
        _show(f"touched: {touched}")
    tally.add(touched=len(touched))


def _worked(tally: Tally, ground: Ground, leases: RunLeases) -> list[str]:
    """Let a worker work until the runs that nobody touched are done; return those that are not.

    They come last, so it has met all others before.
    """

    def undone() -> list[str]:
        found = [view.lease for view in leases.look() if view.lease.run.startswith(GOOD)]
        return [lease.run for lease in found if lease.state is not LeaseState.DONE]

    # A schedule that nobody touched is one of them, as soon as a worker has looked for those that are due.
    is_scheduled = {schedule.name for schedule in leases.schedules() if schedule.name.startswith(GOOD)}
    worker = ground.started("work", "--allow", "*", "--grace", "1", "--slots", "4")
    try:
        until(lambda: worker.poll() is not None or (not undone() and _has_run(leases, is_scheduled)), seconds=SECONDS)
    except AssertionError:
        tally.add(hangs=1)
    if worker.poll() is not None:
        tally.add(crashes=1)
    worker.send_signal(signal.SIGINT)
    _ended(tally, ground, worker)
    return undone()


def _has_run(leases: RunLeases, schedules: Iterable[str]) -> bool:
    runs = [view.lease.run for view in leases.look()]
    return all(any(run.startswith(f"{name}-") for run in runs) for name in schedules)


def _ended(tally: Tally, ground: Ground, process: "subprocess.Popen[bytes]") -> None:
    """Wait for a command, and count what it must not do."""
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        tally.add(hangs=1)
        process.kill()
        process.wait()
    if "Traceback" in ground.told or process.returncode < 0:
        tally.add(crashes=1)
        _show(ground.told)


def _queue_all(ground: Ground, tables: Tables, leases: RunLeases) -> None:
    """Add rows to every table, one for each column and value, and those that nobody touches."""
    here = str(project(ground.root))
    for number, (column, value) in enumerate(_pairs(tables, ground, "leases")):
        # Runs that wait, and runs that ended long ago, each without a repository and with one.
        kinds = (("open", ""), ("open", here), ("done", ""), ("done", here))
        for suffix, (state, repo) in zip(SUFFIXES, kinds, strict=True):
            if repo and column not in PATH_COLUMNS:
                continue
            run = f"{state}-{'git' if repo else 'folder'}-{number}"
            _add(leases, run, repo)
            if state == "done":
                tables.set("leases", "state", state, "run", run)
                tables.set("leases", "since", 1, "run", run)
            own = f"{value}{suffix}" if column == "run" else value
            ground.tampered += tables.set("leases", column, own, "run", run)
    _queue_others(ground, tables, leases)
    _add(leases, GOOD)
    _add(leases, f"{GOOD}-git", here)


def _queue_others(ground: Ground, tables: Tables, leases: RunLeases) -> None:
    """Add workers, limits and schedules."""
    plan, texts = dump(plan_to_json(PLAN)), (*ground.texts(has_nul=True), 7, ["x"], {"a": 1}, None)
    works = [("work", dump({"agent": "shell", name: text})) for name in ("repo", "ref", "model") for text in texts]
    works = works if ground.is_long else works[:TEXTS_OF_SHORT_FORM]
    adding: dict[tuple[str, str, str], Callable[[str], object]] = {
        ("workers", "id", "gone/{}/x"): lambda worker: leases.beat(WorkerInfo(worker, "gone", 1)),
        ("providers", "name", "p{}"): lambda name: leases.set_limit(ProviderLimit(name, 1, 1)),
        ("schedules", "name", "s{}"): lambda name: leases.set_schedule(RunSchedule(name, YEARLY, plan, 1, SHELL)),
    }
    for (table, key, form), add in adding.items():
        pairs = [*_pairs(tables, ground, table), *(works if table == "schedules" else ())]
        for number, (column, value) in enumerate(pairs):
            add(form.format(number))
            ground.tampered += tables.set(table, column, value, key, form.format(number))
    if not tables.is_file:
        ground.tampered += tables.set("announcements", "revision", 2**62)
    leases.set_schedule(RunSchedule(f"{GOOD}-schedule", YEARLY, plan, 2, SHELL))


def _pairs(tables: Tables, ground: Ground, table: str) -> list[tuple[str, object]]:
    """The columns of a table, each with each value."""
    columns = tables.columns(table)
    chosen = columns if ground.is_long else OF_SHORT_FORM[table]
    return [(column, value) for column in chosen for value in tables.values(ground, columns[column])]


def _add(leases: RunLeases, run: str, repo: str = "") -> None:
    leases.add(NewRun(run, f"plan of {run}", Work(agent="shell", repo=repo)), [PlanChanged(PLAN)])


def _settings(engine: str) -> FleetSettings:
    return FleetSettings(lease=4_000, heartbeat=500, margin=500, reaper=200, renewal=1_000, engine=engine)


def _show(text: str) -> None:
    sys.stderr.write(f"{text.rstrip()}\n")
