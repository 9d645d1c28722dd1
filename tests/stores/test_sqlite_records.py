"""Records beside the log in a SQLite file: other processes, older schemas, and files that cannot be written."""

from pathlib import Path

import apsw
import pytest

from tests.stores.contract import chain
from tests.stores.processes import finish, start, wait_for
from tests.stores.records_contract import NOW, QUESTION, WORKING
from tests.stores.test_sqlite_schema import first_schema
from tildone.base.errors import StoreError
from tildone.log.kept import KeptSummary, Severity
from tildone.log.needs import Need
from tildone.stores.sqlite.schema import SCHEMA_VERSION
from tildone.stores.sqlite.store import SqliteStore

SUMMARY = KeptSummary("a", "0/1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plans.db"


def test_of_several_processes_that_answer_at_once_one_counts(path: Path) -> None:
    store = SqliteStore(path)
    store.records.ask(Need("n", "s", "confirm", "?"))
    with start("answer", path, "a") as one, start("answer", path, "b") as two, start("answer", path, "c") as three:
        processes = [one, two, three]
        for process in processes:
            wait_for("ready", process)
        told = sorted(done.stdout.strip() for done in finish(processes))

    decided = store.records.need("n")
    assert decided is not None
    assert told == sorted([decided.answer, *[f"after {decided.answer}"] * 2])


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_any_older_schema_can_be_read(path: Path, version: int) -> None:
    """It has no records, and keeps no summaries until it is migrated."""
    reader = SqliteStore(first_schema(path, version), read_only=True)

    reader.records.keep_summaries({"s": SUMMARY})

    assert (
        reader.records.presences(),
        reader.records.needs(),
        reader.records.need("n1"),
        reader.records.kept_summaries(),
    ) == ([], [], None, {})
    assert sum(reader.records.density("s", 0, 10, 2)) == 2
    writer = SqliteStore(path)
    writer.records.keep_summaries({"s": SUMMARY})
    writer.records.ask(QUESTION)
    assert (writer.records.kept_summaries(), writer.records.needs()) == ({"s": SUMMARY}, [QUESTION])


def test_a_store_that_may_only_be_read_keeps_no_summary_and_refuses_the_rest(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    store.records.ask(QUESTION)
    reader = SqliteStore(path, read_only=True)

    reader.records.keep_summaries({"s": SUMMARY})

    assert reader.records.kept_summaries() == {}
    assert reader.records.needs() == [QUESTION]
    with pytest.raises(StoreError, match="read-only"):
        reader.records.beat(WORKING)
    with pytest.raises(StoreError, match="read-only"):
        reader.records.answer("n1", "no", "Ada", NOW)


def test_a_store_that_another_process_writes_to_keeps_no_summary_and_does_not_wait(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    with start("hold", path) as other:
        wait_for("held", other)
        store.records.keep_summaries({"s": SUMMARY})
        busy = other.poll() is None
        kept = store.records.kept_summaries()
        finish([other])

    assert busy
    assert kept == {}
    store.records.keep_summaries({"s": SUMMARY})
    assert store.records.kept_summaries() == {"s": SUMMARY}


def test_a_full_disk_keeps_no_summary(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    with store._file as connection:  # noqa: SLF001  the limit belongs to a connection
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').get}")

    store.records.keep_summaries({"s": KeptSummary("a", "x" * 100_000)})

    assert store.records.kept_summaries() == {}
    chain(store, "s", "b")
    assert store.session_head("s").head == "b"


def test_a_presence_and_a_summary_are_not_flushed_but_the_next_event_is(path: Path) -> None:
    """SQLite flushes commits again afterwards, also after an error."""
    store = SqliteStore(path)
    chain(store, "s", "a")

    store.records.beat(WORKING)
    store.records.leave(WORKING.agent)
    store.records.keep_summaries({"s": SUMMARY})

    with store._file as connection:  # noqa: SLF001  the setting belongs to a connection
        assert connection.execute("PRAGMA synchronous").get == 2


def test_records_are_no_part_of_a_check(path: Path) -> None:
    """What cannot be decoded is left out, and plans stay usable."""
    store = SqliteStore(path)
    chain(store, "s", "a")
    store.records.beat(WORKING)
    store.records.ask(QUESTION)
    store.close()
    apsw.Connection(str(path)).execute("UPDATE presence SET body = '{'; UPDATE needs SET body = '[]'")

    again = SqliteStore(path)

    assert (again.records.presences(), again.records.needs(), again.records.need("n1")) == ([], [], None)
    assert [found.severity for found in again.check()] == [Severity.OK, Severity.OK]


def test_a_density_is_counted_by_the_index_of_the_session(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", "a")
    from tildone.stores.sqlite import schema as queries  # noqa: PLC0415  only this test looks at a plan

    row = {"session": "s", "begin": 0, "end": 10, "buckets": 2}
    steps = apsw.Connection(str(path)).execute(f"EXPLAIN QUERY PLAN {queries.DENSITY}", row).fetchall()

    assert any("SEARCH events USING INDEX" in str(step) for step in steps)
