"""Faults around a SQLite store, such as killed processes, locks and full disks: no acknowledged change is lost."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.processes import finish, run, start, wait_for
from tildone.base.errors import HeadMoved, StoreBusy, StoreDamaged, StoreError, StoreTooNew
from tildone.plan.events import Event, PlanChanged, SessionHead
from tildone.plan.model import Plan
from tildone.stores.sqlite import schema
from tildone.stores.sqlite.schema import SCHEMA_VERSION
from tildone.stores.sqlite.store import SqliteStore

Record = Callable[[str, object], None]

unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, limits and permissions are Unix's")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.parametrize(("writers", "changes"), [(3, 20), pytest.param(8, 500, marks=pytest.mark.slow)])
def test_concurrent_processes_lose_no_change(path: Path, record_property: Record, writers: int, changes: int) -> None:
    """Each makes many changes to one plan, as an agent or as a user. None fails, and none undoes another's."""
    store = SqliteStore(path)
    todos = [{"text": f"of worker {worker}"} for worker in range(writers)]
    session_on(store).call("write_todos", {"mode": "replace", "todos": todos})

    finish([start("toggle", path, worker, changes) for worker in range(writers)])

    written = list(store.history("s"))[::-1]
    wanted = [f"{worker}-{number}" for worker in range(writers) for number in range(changes)]
    record_property("changes acknowledged", len(wanted))
    record_property("changes kept", len(written) - 1)
    assert sorted(ids(written)) == sorted(["e0", *wanted])
    for before, after in pairwise(written):
        assert changed_positions(plan_of(before), plan_of(after)) == [int(after.id.partition("-")[0])]
    assert ids(store.events("s")) == ids(written)
    assert check(path) == "ok"


@unix_only
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_no_acknowledged_change(path: Path, record_property: Record, kills: int) -> None:
    """The file is intact, and contains every acknowledged change."""
    told = run("killed", path, kills, 20261115).stdout.split()

    store = SqliteStore(path)
    written = ids(store.history("s"))
    record_property("writers killed", kills)
    record_property("changes acknowledged", len(told))
    record_property("acknowledged and lost", len(set(told) - set(written)))
    assert len(told) >= kills / 2
    assert set(told) <= set(written)
    assert written == ids(store.events("s"))[::-1]
    assert plan_of(next(store.history("s"))).tasks[0].text == written[0]
    assert check(path) == "ok"


def test_a_file_that_is_not_a_store_is_refused_and_unchanged(path: Path) -> None:
    path.write_bytes(b"Dear diary,\n" * 1000)

    with pytest.raises(StoreDamaged, match=r"plans\.db is not a tildone store") as caught:
        SqliteStore(path)

    assert isinstance(caught.value.__cause__, apsw.NotADBError)
    assert path.read_bytes() == b"Dear diary,\n" * 1000


@pytest.mark.parametrize("marks", ["PRAGMA user_version = 1", "PRAGMA application_id = 7", ""])
def test_a_foreign_database_is_refused_and_unchanged(path: Path, marks: str) -> None:
    """Whatever its header says."""
    with_sqlite(path, f"CREATE TABLE theirs (x); {marks}")
    before = path.read_bytes()

    with pytest.raises(StoreDamaged, match=r"plans\.db is not a tildone store"):
        SqliteStore(path)

    assert path.read_bytes() == before


def test_a_store_of_a_newer_tildone_is_refused_and_unchanged(path: Path) -> None:
    chain(SqliteStore(path), "s", "a")
    with_sqlite(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")

    with pytest.raises(
        StoreTooNew, match=rf"plans\.db was written by a newer tildone: it has schema {SCHEMA_VERSION + 1}"
    ):
        SqliteStore(path)


@pytest.mark.parametrize("kept", [10, 100, 4096, 30_000, -1])
def test_a_truncated_file_is_an_error(path: Path, kept: int) -> None:
    """On opening or on reading; it is never read as a shorter history."""
    filled(path)
    size = path.stat().st_size
    os.truncate(path, kept if kept > 0 else size + kept)

    with pytest.raises(StoreDamaged, match=r"plans\.db"):
        list(SqliteStore(path).history("s"))


@pytest.mark.parametrize("body", ["{", "null", '{"v": 99}'])
def test_an_undecodable_event_is_an_error(path: Path, body: str) -> None:
    """In every operation that reads it."""
    store = SqliteStore(path)
    chain(store, "s", "a")
    with_sqlite(path, "UPDATE events SET body = ?", body)

    with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
        store.history("s")
    with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
        list(store.events("s"))


def test_a_store_without_its_tables_is_damaged(path: Path) -> None:
    store = SqliteStore(path)
    with_sqlite(path, "DROP TABLE sessions")

    with pytest.raises(StoreDamaged, match=r"plans\.db is damaged: no such table"):
        store.sessions()


def test_a_folder_instead_of_the_file_is_an_error(path: Path) -> None:
    path.mkdir()

    with pytest.raises(StoreError, match=r"cannot open .*plans\.db: it is a directory"):
        SqliteStore(path)


@pytest.mark.parametrize("name", ["file/plans.db", "nul\0/plans.db", "half \ud800/plans.db"])
def test_an_impossible_path_is_an_error(tmp_path: Path, name: str) -> None:
    """A file where a folder is needed, or an invalid name."""
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="cannot open"):
        SqliteStore(f"{tmp_path}/{name}")


@unix_only
def test_a_read_only_file_can_be_read(open_folder: Path) -> None:
    """Writing raises an error with the reason."""
    path = filled(open_folder / "plans.db")
    open_folder.chmod(0o777)
    path.chmod(0o444)

    answer = run("unprivileged", path).stdout.splitlines()

    assert answer == ["read 49", f"StoreError: {path} can't be written: it is read-only"]


@unix_only
def test_an_unreadable_file_is_an_error(open_folder: Path) -> None:
    path = filled(open_folder / "plans.db")
    path.chmod(0)

    [answer] = run("unprivileged", path).stdout.splitlines()

    assert answer.startswith(f"StoreError: cannot open {path}: ")


@unix_only
def test_a_folder_that_cannot_be_created_is_an_error(open_folder: Path) -> None:
    path = open_folder / "below" / "plans.db"
    open_folder.chmod(0o555)

    [answer] = run("unprivileged", path).stdout.splitlines()

    assert answer.startswith(f"StoreError: cannot open {path}: ")
    assert "Permission denied" in answer


def test_a_lock_held_too_long_is_reported(path: Path) -> None:
    """Reading continues meanwhile, and writing after the lock is released."""
    store = SqliteStore(path, timeout=0.05)
    chain(store, "s", "a")

    with start("hold", path) as holder:
        wait_for("held", holder)
        with pytest.raises(StoreBusy, match=r"plans\.db is in use by another process") as caught:
            store.append("s", planned("b", "a", "x"))
        with pytest.raises(StoreBusy):
            store.move_head("s", SessionHead(None), expected="a")
        read = ids(store.history("s"))
        holder.communicate()
    chain(store, "s", "b")

    assert isinstance(caught.value.__cause__, apsw.BusyError)
    if Path("/proc/locks").exists():
        assert f"by another process ({holder.pid}), for longer" in str(caught.value)
    assert read == ["a"]
    assert ids(store.history("s")) == ["b", "a"]


def test_creating_a_store_waits_for_a_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite does not apply its timeout there, so the store polls."""
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        SqliteStore(path, timeout=0)

    monkeypatch.setattr(schema, "sleep", lambda _: other.execute("ROLLBACK"))
    store = SqliteStore(path)

    assert store.sessions() == []


def test_a_store_that_another_process_creates_meanwhile_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file appears between the attempt to open it and the look whether it exists."""
    exists = os.path.exists

    def created_meanwhile(name: str) -> bool:
        Path(name).touch()
        return exists(name)

    monkeypatch.setattr(os.path, "exists", created_meanwhile)

    assert SqliteStore(path).sessions() == []


def test_a_store_that_another_process_creates_while_sqlite_opens_it_can_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite tries to open a file for writing, then only for reading; the file appears between the two."""
    connect = apsw.Connection
    only_reading = [apsw.SQLITE_OPEN_READONLY]
    path.touch()

    def opened(name: str, *, flags: int) -> apsw.Connection:
        return connect(name, flags=only_reading.pop() if only_reading else flags)

    monkeypatch.setattr(apsw, "Connection", opened)
    store = SqliteStore(path)
    chain(store, "s", "a")

    assert ids(store.history("s")) == ["a"]


def test_a_full_disk_is_an_error(path: Path, on_connection: Callable[[str], None]) -> None:
    """Earlier changes stay, and writing continues when there is space again."""
    filled(path)
    before = path.stat().st_size // 4096
    on_connection(f"PRAGMA max_page_count = {before + 2}")
    store = SqliteStore(path)
    head = store.session_head("s")

    with pytest.raises(StoreError, match=r"plans\.db can't grow: the disk is full") as caught:
        store.append("s", planned("big", head.head, "x" * 100_000))
    small = planned("small", head.head, "x")
    store.append("s", small)

    assert isinstance(caught.value.__cause__, apsw.FullError)
    assert next(SqliteStore(path).history("s")) == small
    assert check(path) == "ok"


@pytest.fixture
def on_connection(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Run statements on every connection that is opened from now on."""
    hooks: list[Callable[[apsw.Connection], object]] = []
    monkeypatch.setattr(apsw, "connection_hooks", hooks)
    return lambda sql: hooks.append(lambda connection: connection.execute(sql))


@unix_only
def test_a_file_size_limit_is_an_error(path: Path) -> None:
    answer = run("cramped", path)

    told = answer.stdout.split()
    assert answer.stderr.startswith(f"StoreError: {path}: ")
    assert told[-3:] == ["free-0", "free-1", "free-2"]
    assert ids(SqliteStore(path).events("s")) == told
    assert check(path) == "ok"


@pytest.mark.parametrize("left_behind", [("-wal", "-shm"), ()])
def test_a_deleted_store_is_created_again(path: Path, left_behind: tuple[str, ...]) -> None:
    """Changes written to the deleted file would be lost although they were acknowledged."""
    store = SqliteStore(path)
    chain(store, "s", "a", "b")
    path.unlink()
    for suffix in {"-wal", "-shm"} - {*left_behind}:
        Path(f"{path}{suffix}").unlink()

    with pytest.raises(HeadMoved):
        store.append("s", planned("c", "b", "x"))
    chain(store, "s", "d")

    assert ids(store.history("s")) == ["d"]
    assert ids(SqliteStore(path).history("s")) == ["d"]
    assert check(path) == "ok"


def test_a_replaced_store_is_opened_again(path: Path) -> None:
    """As when a backup is restored while an agent runs."""
    backup = path.with_name("backup.db")
    filled(backup)
    store = SqliteStore(path)
    chain(store, "s", "a")

    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()
    shutil.move(backup, path)
    chain(store, "s", "next")

    assert len(ids(store.history("s"))) == 51
    assert ids(SqliteStore(path).history("s"))[:2] == ["next", "49"]


def test_a_store_that_cannot_be_reopened_can_be_later(path: Path) -> None:
    """The error is not permanent."""
    store = SqliteStore(path)
    chain(store, "s", "a")
    path.unlink()
    path.mkdir()

    with pytest.raises(StoreError, match="it is a directory"):
        store.session_head("s")
    path.rmdir()

    assert store.session_head("s") == SessionHead()


def filled(path: Path) -> Path:
    """A closed store of fifty long events: one file."""
    store = SqliteStore(path)
    for number in range(50):
        store.append("s", planned(str(number), str(number - 1) if number else None, "x" * 1000))
    store.close()
    return path


def plan_of(event: Event) -> Plan:
    assert isinstance(event.fact, PlanChanged)
    return event.fact.plan


def changed_positions(before: Plan, after: Plan) -> list[int]:
    pairs = zip(before.tasks, after.tasks, strict=True)
    return [position for position, (old, new) in enumerate(pairs) if old != new]


def with_sqlite(path: Path, sql: str, *values: str) -> object:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql, values).get
    finally:
        connection.close()


def check(path: Path) -> object:
    """Return the result of SQLite's own check of the file."""
    return with_sqlite(path, "PRAGMA integrity_check")
