"""A SQLite store that is overwritten or replaced while it is in use: inconsistent data are never read."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.stores.contract import chain, ids, planned
from tests.stores.processes import finish, start, wait_for
from tildone.base import HeadMoved, StoreDamaged, StoreError
from tildone.plan.events import SessionHead
from tildone.stores.sqlite import file, health
from tildone.stores.sqlite.store import SqliteStore

OVERWRITTEN = r"plans\.db was overwritten while it was in use, and does not fit its write-ahead log"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other process is in a checkpoint that would have to be waited for."""
    monkeypatch.setattr(file, "SETTLE_SECONDS", 0.01)


@pytest.fixture
def never_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if the whole store is checked."""

    def flaws(*_: object) -> Iterator[str]:
        raise AssertionError

    monkeypatch.setattr(health, "integrity_errors", flaws)


def grown(store: SqliteStore, *texts: str) -> None:
    begin = len(ids(store.events("s")))
    for number, text in enumerate(texts, begin):
        store.append("s", planned(str(number), str(number - 1) if number else None, text))


def overwrite(path: Path, backup: Path) -> None:
    """Overwrite the file in place, as `cp` does."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(backup.read_bytes())


def outdated(path: Path) -> tuple[Path, SqliteStore]:
    """A backup of a store that has changed since: some changes are in the file, others in the log."""
    store = SqliteStore(path)
    grown(store, *["long " * 400] * 10)
    store.close()
    backup = shutil.copyfile(path, path.with_name("backup.db"))
    store = SqliteStore(path)
    grown(store, *["long " * 400] * 40)
    store._file.checkpoint()  # noqa: SLF001  what happens by itself after a thousand pages
    grown(store, "newest")
    return backup, store


def test_a_backup_copied_over_an_open_store_is_an_error(path: Path) -> None:
    """For processes that have it open and for those that open it: the log belongs to another file."""
    backup, store = outdated(path)

    overwrite(path, backup)

    next_event = planned("next", "50", "x")
    for use in (lambda: store.append("s", next_event), lambda: store.session_head("s"), lambda: SqliteStore(path)):
        with pytest.raises(StoreDamaged, match=OVERWRITTEN):
            use()


def test_closing_an_overwritten_store_writes_nothing(path: Path) -> None:
    """SQLite by itself would checkpoint the log into a file that it does not belong to."""
    backup, store = outdated(path)
    overwrite(path, backup)

    store.close()

    assert path.read_bytes() == backup.read_bytes()
    with pytest.raises(StoreDamaged, match=OVERWRITTEN):
        SqliteStore(path)


def test_a_process_that_ends_writes_nothing_into_an_overwritten_store(path: Path) -> None:
    """It had the store open and did not use it again."""
    SqliteStore(path).close()
    backup = shutil.copyfile(path, path.with_name("backup.db"))

    with start("keep_open", path) as holder:
        wait_for("held-0", holder)
        overwrite(path, backup)
        finish([holder])

    assert path.read_bytes() == backup.read_bytes()


def test_an_overwritten_store_without_a_log_is_the_backup(path: Path) -> None:
    """Removing the log makes the copy valid; open stores switch to it."""
    backup, store = outdated(path)
    overwrite(path, backup)

    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()

    assert len(ids(store.history("s"))) == 10
    chain(store, "s", "next")
    assert ids(SqliteStore(path).history("s"))[:2] == ["next", "9"]


def test_an_unchanged_open_store_switches_to_the_backup(path: Path) -> None:
    """There is no log, and cached pages are discarded."""
    store = SqliteStore(path)
    grown(store, *["x" * 1000] * 20)
    store.close()
    backup = shutil.copyfile(path, path.with_name("backup.db"))
    changed = SqliteStore(path)
    grown(changed, *["x" * 1000] * 50)
    changed.close()
    reader = SqliteStore(path)
    assert len(ids(reader.events("s"))) == 70

    overwrite(path, backup)

    assert len(ids(reader.events("s"))) == 20
    chain(reader, "s", "next")
    assert ids(SqliteStore(path).history("s"))[:2] == ["next", "19"]


@pytest.mark.parametrize("seed", range(10))
def test_an_overwritten_store_is_never_a_mixture(tmp_path: Path, seed: int) -> None:
    """At any point it is the backup, or the complete store, or an error."""
    luck = random.Random(seed)  # noqa: S311  cases, not secrets
    path = tmp_path / "plans.db"
    store = SqliteStore(path)
    grown(store, *("x" * luck.choice((10, 300, 9000)) for _ in range(luck.randint(1, 30))))
    store.close()
    backup, old = shutil.copyfile(path, tmp_path / "backup.db"), ids(SqliteStore(path).events("s"))
    store = SqliteStore(path)
    for _ in range(2):
        grown(store, *("x" * luck.choice((10, 300, 9000)) for _ in range(luck.randint(0, 30))))
        if luck.random() < 0.5:
            store._file.checkpoint()  # noqa: SLF001  what happens by itself after a thousand pages
    everything = ids(store.events("s"))

    overwrite(path, backup)

    for opener in (None, SqliteStore):
        try:
            opened = opener(path) if opener else store
            found = ids(opened.events("s"))
            assert found in (old, everything)
            assert ids(opened.history("s"))[::-1] == found
            assert opened.sessions()[0].events == len(found)
        except StoreDamaged:
            assert len(everything) > len(old)


def test_a_store_copied_with_its_log_is_valid(path: Path, tmp_path: Path) -> None:
    """Its stamp differs from the recorded one, so it is checked once."""
    store = SqliteStore(path)
    chain(store, "s", "a", "b")
    elsewhere = tmp_path / "elsewhere" / "plans.db"
    elsewhere.parent.mkdir()
    for suffix in ("-wal", ""):
        shutil.copyfile(f"{path}{suffix}", f"{elsewhere}{suffix}")

    copied = SqliteStore(elsewhere)

    assert ids(copied.history("s")) == ["b", "a"]
    chain(copied, "s", "c")
    assert ids(store.history("s")) == ["b", "a"]


@pytest.mark.usefixtures("never_looked_through")
def test_a_checkpoint_of_another_process_is_valid(path: Path) -> None:
    """It records the new stamp, so no check is needed."""
    one, other = SqliteStore(path), SqliteStore(path)

    for number in range(6):
        writer = (one, other)[number % 2]
        chain(writer, "s", str(number))
        writer._file.checkpoint()  # noqa: SLF001  what happens by itself after a thousand pages
        heads = [store.session_head("s") for store in (one, other, SqliteStore(path))]
        assert heads == [SessionHead(str(number))] * 3


@pytest.mark.usefixtures("never_looked_through")
def test_a_long_log_is_checkpointed_by_its_writer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not grow without bound, and other processes are not affected."""
    monkeypatch.setattr(file, "CHECKPOINT_PAGES", 20)
    store, reader = SqliteStore(path), SqliteStore(path)

    grown(store, *["x" * 5000] * 40)

    assert path.stat().st_size > 40 * 5000
    assert os.stat(f"{path}-wal").st_size < 40 * 5000
    assert len(ids(reader.history("s"))) == 40


@pytest.mark.usefixtures("never_looked_through")
@pytest.mark.parametrize("before", [[], ["a", "b"]], ids=["a new store", "an old one"])
def test_the_log_of_a_killed_process_is_valid(path: Path, before: list[str]) -> None:
    store = SqliteStore(path)
    chain(store, "s", *before)
    store.close()
    with start("keep_open", path) as writer:
        wait_for("held-0", writer)
        writer.kill()
    assert os.stat(f"{path}-wal").st_size

    assert ids(SqliteStore(path).history("s")) == ["held-0", *before[::-1]]


def test_a_checkpoint_without_a_recorded_stamp_is_valid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process may have been killed in between: the next one checks the store."""
    store = SqliteStore(path)
    chain(store, "s", "a")
    monkeypatch.setattr(file.SqliteFile, "_record_stamp", lambda _: None)
    store._file.checkpoint()  # noqa: SLF001  what happens by itself after a thousand pages
    monkeypatch.undo()
    monkeypatch.setattr(file, "SETTLE_SECONDS", 0.01)

    other = SqliteStore(path)
    chain(other, "s", "b")

    assert ids(store.history("s")) == ids(other.history("s")) == ["b", "a"]


def test_a_replaced_store_with_a_foreign_log_is_an_error(path: Path) -> None:
    """As after `mv` of a backup without removing the log."""
    backup, store = outdated(path)

    backup.replace(path)

    with pytest.raises(StoreDamaged, match=OVERWRITTEN):
        store.session_head("s")
    with pytest.raises(StoreDamaged, match=OVERWRITTEN):
        SqliteStore(path)


def test_a_writer_whose_store_was_replaced_gets_head_moved(path: Path) -> None:
    """It does not read the deleted file, and does not touch the new one's log."""
    new = path.with_name("new.db")
    chain(SqliteStore(new), "s", "x")
    store = SqliteStore(path)
    chain(store, "s", "a")
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink()
    new.replace(path)
    other = SqliteStore(path)
    chain(other, "s", "y")

    with pytest.raises(HeadMoved):
        store.append("s", planned("b", "a", "late"))

    chain(other, "s", "z")
    assert ids(SqliteStore(path).history("s")) == ids(store.history("s")) == ["z", "y", "x"]


def test_a_store_without_a_recorded_stamp_is_damaged(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    by_hand = apsw.Connection(str(path))
    by_hand.execute("DROP TABLE mark; PRAGMA wal_checkpoint; INSERT INTO sessions VALUES ('x', NULL, '[]', 0, 0, 0, 0)")

    with pytest.raises(StoreDamaged, match=r"plans\.db is damaged: no such table: mark"):
        store.session_head("s")


def test_a_closed_store_cannot_be_used(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    store.close()

    with pytest.raises(StoreError, match=r"plans\.db has been closed"):
        store.session_head("s")
