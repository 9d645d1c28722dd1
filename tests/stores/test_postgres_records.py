"""Records beside the log in PostgreSQL: other processes, older schemas, users without rights, lost connections."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.stores.contract import chain
from tests.stores.postgres import Server, end_input, ended, execute, needs_server, next_line, program
from tests.stores.records_contract import NOW, QUESTION, WORKING
from tildone.base.errors import StoreError
from tildone.log.kept import KeptSummary
from tildone.log.needs import Need

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

from tildone.stores.postgres import schema
from tildone.stores.postgres.rows import migrations
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server
SUMMARY = KeptSummary("a", "0/1")


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.fixture
def older(empty: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database of the schema before records."""
    with monkeypatch.context() as before:
        before.setattr(schema, "migrations", lambda: migrations()[:3])
        store = PostgresStore(empty)
        chain(store, "s", "a")
        store.close()
    return empty


def test_of_several_processes_that_answer_at_once_one_counts(url: str, store: PostgresStore) -> None:
    store.records.ask(Need("n", "s", "confirm", "?"))
    with ExitStack() as running:
        processes = [running.enter_context(program("answer", url, word)) for word in "abc"]
        assert [next_line(each) for each in processes] == ["ready"] * 3
        for each in processes:
            end_input(each)
        told = sorted(next_line(each) for each in processes)
        for each in processes:
            ended(each)

    decided = store.records.need("n")
    assert decided is not None
    assert told == sorted([decided.answer, *[f"after {decided.answer}"] * 2])


def test_a_database_of_an_older_schema_can_be_read(older: str) -> None:
    reader = PostgresStore(older, read_only=True)

    reader.records.keep_summaries({"s": SUMMARY})

    assert (
        reader.records.presences(),
        reader.records.needs(),
        reader.records.need("n1"),
        reader.records.kept_summaries(),
    ) == ([], [], None, {})
    assert sum(reader.records.density("s", 0, 10, 2)) == 1
    reader.close()


def test_users_of_the_older_tables_can_write_and_delete_plans(server: Server, older: str) -> None:
    """They cannot tell a presence until the new tables are granted to them."""
    server.run("CREATE ROLE worker LOGIN")
    try:
        execute(
            older,
            "GRANT USAGE ON SCHEMA tildone TO worker",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tildone TO worker",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA tildone TO worker",
        )
        owner = PostgresStore(older)
        owner.records.beat(WORKING)
        owner.records.ask(QUESTION)
        owner.records.keep_summaries({"s": SUMMARY})
        worker = PostgresStore(older.replace("postgres@", "worker@"))
        with pytest.raises(StoreError, match="permission denied for table presence"):
            worker.records.beat(WORKING)
        worker.records.keep_summaries({"s": KeptSummary("b", "x")})
        kept = owner.records.kept_summaries()
        chain(worker, "s", "b")
        worker.delete("s", expected="b")

        assert kept == {"s": SUMMARY}
        assert (owner.records.presences(), owner.records.needs(), owner.records.kept_summaries()) == ([], [], {})
        worker.close()
        owner.close()
    finally:
        execute(older, "DROP OWNED BY worker", "DROP ROLE worker")


def test_an_answer_that_was_not_acknowledged_is_found_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost after the commit, and the operation is repeated."""
    store.records.ask(QUESTION)
    pool = store._database.connections  # noqa: SLF001  it repeats what a lost connection interrupted
    run = pool.run

    def twice(work, **_):  # type: ignore[no-untyped-def]  # of the pool
        run(lambda connection, _attempts: work(connection, 0))
        return run(lambda connection, _attempts: work(connection, 1))

    monkeypatch.setattr(pool, "run", twice)

    assert store.records.answer("n1", "once", "Ada", NOW).answer == "once"
