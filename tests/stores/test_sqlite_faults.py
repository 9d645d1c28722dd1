"""SQLite stores that are damaged, killed, locked or full: no acknowledged change is lost, no wrong plan is shown."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.stores.contract import by_hand, chain, ids, planned
from tests.stores.damage import TRACEBACK, WRONG_PLAN, results
from tests.stores.leases import LONG, Fleet, fleet_on_sqlite, recorder
from tests.stores.processes import run
from tildone.base import HeadMoved, StoreBusy, StoreDamaged, StoreError, StoreTooNew, UnknownEvent
from tildone.log.kept import Severity
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, Labelled, SessionHead
from tildone.plan.runs import Claimer, NewRun, RunLost
from tildone.stores.agents import machine_name
from tildone.stores.sqlite import schema
from tildone.stores.sqlite.leases import boot, is_alive, moment
from tildone.stores.sqlite.schema import SCHEMA_VERSION
from tildone.stores.sqlite.store import SqliteStore
from tildone.stores.summary import SessionSummary, read_summary

Record = Callable[[str, object], None]

unix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, limits and permissions are Unix's")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.parametrize("marks", ["PRAGMA user_version = 1", "PRAGMA application_id = 7", "", None])
def test_a_foreign_file_is_refused_and_unchanged(path: Path, marks: str | None) -> None:
    """Whatever the header of a database says; without marks, it is none."""
    if marks is None:
        path.write_bytes(b"Dear diary,\n" * 1000)
    else:
        by_hand(path, f"CREATE TABLE theirs (x); {marks}")
    before = path.read_bytes()

    with pytest.raises(StoreDamaged, match=r"plans\.db is not a tildone store") as caught:
        SqliteStore(path)

    assert marks is not None or isinstance(caught.value.__cause__, apsw.NotADBError)
    assert path.read_bytes() == before


def test_a_store_of_a_newer_tildone_is_refused_and_unchanged(path: Path) -> None:
    filled(path)
    by_hand(path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before, newer = path.read_bytes(), f"was written by a newer tildone: it has schema {SCHEMA_VERSION + 1}"

    with pytest.raises(StoreTooNew, match=rf"plans\.db {newer}"):
        SqliteStore(path)

    assert path.read_bytes() == before


@pytest.mark.parametrize("kept", [10, 100, 4096, 30_000, -1])
def test_a_truncated_file_is_an_error(path: Path, kept: int) -> None:
    filled(path)
    size = path.stat().st_size
    os.truncate(path, kept if kept > 0 else size + kept)

    with pytest.raises(StoreDamaged, match=r"plans\.db"):
        list(SqliteStore(path).history("s"))


@pytest.mark.parametrize("body", ["{", "null", '{"v": 99}'])
def test_an_undecodable_event_is_an_error(path: Path, body: str) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    by_hand(path, f"UPDATE events SET body = '{body}'")  # noqa: S608  our own words

    for read in (lambda: store.history("s"), lambda: list(store.events("s"))):
        with pytest.raises(StoreDamaged, match="damaged: not an event of version"):
            read()


def test_a_store_without_its_tables_is_damaged(path: Path) -> None:
    store = SqliteStore(path)
    by_hand(path, "DROP TABLE sessions")

    with pytest.raises(StoreDamaged, match=r"plans\.db is damaged: no such table"):
        store.sessions()


def test_an_impossible_path_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()

    paths = dict.fromkeys(("file/plans.db", "nul\0/plans.db", "half \ud800/plans.db"), "")
    for name, told in (paths | {"folder": "folder: it is a directory"}).items():
        with pytest.raises(StoreError, match=f"cannot open .*{told}"):
            SqliteStore(f"{tmp_path}/{name}")


@unix_only
@pytest.mark.parametrize(
    ("folder", "file", "told"),
    [
        (0o777, 0o444, "read 49\nStoreError: {} can't be written: it is read-only"),
        (0o777, 0, "StoreError: cannot open {}: unable to open"),
        (0o555, None, "StoreError: cannot open {}: Permission denied"),
    ],
    ids=["a read-only file", "an unreadable file", "a folder that cannot be created"],
)
def test_a_user_without_permission_is_told_so(open_folder: Path, folder: int, file: int | None, told: str) -> None:
    path = open_folder / ("below/plans.db" if file is None else "plans.db")
    if file is not None:
        filled(path).chmod(file)
    open_folder.chmod(folder)

    assert run("unprivileged", path).stdout.startswith(told.format(path))


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
    assert is_intact(path)


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
    assert is_intact(path)


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
    assert is_intact(path)


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
    long_chain(store, "s", 50, 1000)
    store.close()
    return path


def long_chain(store: Store, session: str, events: int, letters: int) -> None:
    for number in range(events):
        store.append(session, planned(str(number), str(number - 1) if number else None, "x" * letters))


SEED = 20261116

WRONG_INDEX = "DELETE FROM events WHERE id = 'b'; UPDATE events SET id = 'b' WHERE id = 'c'"
"""What a changed byte in the index amounts to: it leads to another event, whose text and checksum are in order."""


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "plans.db"
    store = SqliteStore(path)
    chain(store, "one", "a", "b", "c")
    chain(store, "two", "x", "y")
    store.close()
    return path


@pytest.mark.parametrize("damages", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_no_damage_shows_a_wrong_plan_or_a_traceback(damages: int) -> None:
    """Changed bytes, lost pages and cut files, seen with the commands that show a plan."""
    bad = [each for each in results(damages, SEED) if each[1] in {WRONG_PLAN, TRACEBACK}]

    assert bad == []


HEADS = {
    "another event": "UPDATE sessions SET head = 'b' WHERE name = 'one'",
    "no event": "UPDATE sessions SET head = NULL WHERE name = 'one'",
    "a redo list": """UPDATE sessions SET ahead = '["b"]' WHERE name = 'one'""",
    "another session": "UPDATE sessions SET name = 'one', head = 'y' WHERE name = 'two'",
}


@pytest.mark.parametrize("what", HEADS)
def test_a_head_that_was_changed_is_noticed(kept: Path, what: str) -> None:
    if what == "another session":
        by_hand(kept, "DELETE FROM sessions WHERE name = 'one'")
    by_hand(kept, HEADS[what])

    with pytest.raises(StoreDamaged, match=r"the head of session 'one' does not match its checksum; .* tildone doctor"):
        SqliteStore(kept).session_head("one")
    assert read_summary(str(kept), "one") is None
    found = [each.what for each in SqliteStore(kept).check() if each.severity is Severity.ERROR]
    assert "session 'one' has a head that does not match its checksum" in found


def test_a_redo_list_of_an_older_schema_that_cannot_be_decoded_is_noticed(kept: Path) -> None:
    for redo in ("'{'", "'7'", "'[7]'"):
        by_hand(kept, f"UPDATE sessions SET ahead = {redo}")  # noqa: S608  the list above
        by_hand(kept, "UPDATE sessions SET head_check = quote(name) || quote(head) || ahead")
        with pytest.raises(StoreDamaged, match="the redo list of session 'one' cannot be decoded"):
            SqliteStore(kept).session_head("one")


READERS: dict[str, Callable[[Store], object]] = {
    "session_head": lambda store: store.session_head("one"),
    "history": lambda store: list(store.history("one")),
    "events": lambda store: list(store.events("one")),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_session_that_was_lost_is_not_an_empty_one(kept: Path, reader: str) -> None:
    by_hand(kept, "DELETE FROM sessions WHERE name = 'one'")

    with pytest.raises(StoreDamaged, match="session 'one' does not have the events that it should have"):
        READERS[reader](SqliteStore(kept))
    assert read_summary(str(kept), "one") is None
    assert SqliteStore(kept).session_head("new") == SessionHead()
    assert read_summary(str(kept), "new") == SessionSummary()


def test_an_event_that_was_lost_is_noticed(kept: Path) -> None:
    by_hand(kept, "DELETE FROM events WHERE id = 'b'")
    store = SqliteStore(kept)

    with pytest.raises(StoreDamaged, match="session 'one' has lost event 'b'"):
        list(store.history("one"))
    with pytest.raises(StoreDamaged, match="session 'one' does not have the events"):
        list(store.events("one"))
    with pytest.raises(UnknownEvent):
        store.history("one", "b")


def test_an_index_that_leads_to_another_event_is_noticed(kept: Path) -> None:
    """The text of that event matches its own checksum."""
    by_hand(kept, WRONG_INDEX)
    store = SqliteStore(kept)

    with pytest.raises(StoreDamaged, match="the index has event 'c' as 'b'"):
        store.history("one", "b")
    by_hand(kept, "UPDATE events SET id = 'c' WHERE id = 'b'; UPDATE events SET parent = 'a' WHERE id = 'c'")
    assert read_summary(str(kept), "one") is None


def test_an_event_that_the_index_has_and_the_table_has_not_is_noticed(kept: Path) -> None:
    """The rows of another session are not taken for those of this one."""
    store = SqliteStore(kept)
    events = store.events("one")
    by_hand(kept, "UPDATE events SET session = 'two' WHERE id = 'b'")

    with pytest.raises(StoreDamaged, match="session 'one' has lost events"):
        ids(events)


def test_a_summary_of_a_changed_event_is_not_given(kept: Path) -> None:
    by_hand(kept, "UPDATE events SET body = replace(body, 'pending', 'blocked') WHERE id = 'c'")

    assert read_summary(str(kept), "one") is None


def test_numbers_of_a_session_that_are_none_are_noticed(kept: Path) -> None:
    schema = "UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT, ', ''), 'events INTEGER', 'events')"
    by_hand(kept, f"PRAGMA writable_schema = 1; {schema}")
    by_hand(kept, "UPDATE sessions SET events = 'many'")

    with pytest.raises(StoreDamaged, match=r"session '.*' has no valid times"):
        SqliteStore(kept).sessions()


def test_compacting_returns_the_space_of_deleted_sessions(path: Path) -> None:
    store = SqliteStore(path)
    kept = chain(store, "s", "a", "b")
    long_chain(store, "old", 50, 5000)
    store._file.checkpoint()  # noqa: SLF001  what happens by itself after a thousand pages
    before = path.stat().st_size

    store.delete("old", expected="49")
    freed = store.compact()

    assert freed == before - path.stat().st_size > 200_000
    assert list(store.events("s")) == kept
    chain(store, "s", "c")
    assert ids(SqliteStore(path).history("s")) == ["c", "b", "a"]
    assert is_intact(path)


def test_a_store_with_little_unused_space_is_not_compacted(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", *map(str, range(30)))

    assert store.compact() == 0


@unix_only
def test_compacting_without_disk_space_loses_nothing(path: Path) -> None:
    """It is an error, and the store can still be used."""
    store = SqliteStore(path)
    for session in ("old", "new"):
        long_chain(store, session, 60, 5000)
    store.close()

    done = run("packed", path)

    assert done.stderr.startswith("StoreError: ")
    assert done.stdout == "after-0\n"
    assert len(ids(SqliteStore(path).events("new"))) == 60
    assert is_intact(path)


def is_intact(path: Path) -> bool:
    return all(finding.severity is not Severity.ERROR for finding in SqliteStore(path, read_only=True).check())


LEASE = FleetSettings().lease


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Fleet]:
    with fleet_on_sqlite(tmp_path) as fleet:
        yield fleet


def test_the_lease_of_a_process_that_has_ended_lapses_at_once(machine: Fleet) -> None:
    """Even for a reaper that has just begun."""
    machine.add()
    machine.claim("here/7/a")
    machine.clock.ended.add(7)

    assert len(machine.leases.reap(0)) == 1

    assert machine.facts()[-1] == RunLost("r1", 0, 2, "its worker has ended", 1, 1)


def test_a_lease_of_another_start_of_the_machine_lapses_at_once(machine: Fleet) -> None:
    """Its clock counts from another time."""
    machine.held()
    machine.clock.boot = "boot-2/pid:1"
    machine.clock.time = 5

    assert len(machine.leases.reap(0)) == 1


def test_a_process_of_another_machine_or_container_is_not_looked_up(machine: Fleet) -> None:
    machine.clock.ended.add(7)
    machine.add("r1")
    machine.claim("there/7/a")
    machine.add("r2")
    machine.claim("here/7/b")
    machine.clock.boot = "boot-1/pid:2"

    assert machine.leases.reap(0) == []


def test_a_renewal_after_a_restart_counts_from_it(machine: Fleet) -> None:
    lease = machine.held()
    machine.clock.boot = "boot-2/pid:1"

    machine.leases.renew([lease.fence])

    assert machine.leases.reap(0) == []


def test_this_machine_has_a_clock_and_knows_its_processes() -> None:
    first, second = moment(), moment()
    assert first.clock <= second.clock
    assert first.boot == second.boot == boot()
    assert is_alive(os.getpid())
    assert is_alive(1)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    # It has ended, but its parent has not been told.
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(ended.pid)
    ended.wait()
    assert not is_alive(ended.pid)


def test_the_lease_of_a_killed_worker_is_taken_at_once(tmp_path: Path) -> None:
    """On the real clock, with a real process."""
    store = SqliteStore(tmp_path / "plans.db")
    store.append("plan", Event("a", None, 1, Actor.USER, Labelled("x", "y")))
    leases = store.leases(recorder())
    leases.add(NewRun("r1", "plan"))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        name = f"{machine_name()}/{worker.pid}/n"
        leases.claim(Claimer(name), [f"{name}/1"])
        assert leases.reap(LONG) == []

        worker.kill()

    assert [lease.run for lease in leases.reap(0)] == ["r1"]
    store.close()


def test_the_store_itself_refuses_a_second_holder_of_a_repository(tmp_path: Path, machine: Fleet) -> None:
    machine.held("r1", repo="/app")
    machine.add("r2", repo="/app")

    with pytest.raises(apsw.ConstraintError, match="repo"):
        apsw.Connection(str(tmp_path / "plans.db")).execute("UPDATE leases SET owner = 'x' WHERE run = 'r2'")
