"""Leases and records in PostgreSQL: statements, locks, restarts, lost connections, rights, and older databases."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.plans import plan_of
from tests.stores.contract import NOW, QUESTION, WORKING, chain
from tests.stores.leases import LONG, Fleet, fleet_on_postgres, names, recorder
from tests.stores.postgres import Server, execute, needs_server
from tests.stores.postgres_line import Cut, line_to
from tests.stores.postgres_stores import USE_OF_ALL_TABLES, Connect, Statements, guest, older_tildone
from tests.suite.waiting import until
from tildone.base import RunFenced, StoreError
from tildone.log.kept import KeptSummary
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.events import Actor, Event, Labelled, PlanChanged
from tildone.plan.runs import Claimer, Kept, NewRun, RunFence, Work, WorkOutcome
from tildone.stores.leasing import Recorder, RunLeases
from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


LEASE = FleetSettings().lease
HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"
SHARE = "SELECT tildone.holds('r1', 0, 1)"


@pytest.fixture
def server_fleet(url: str) -> Iterator[Fleet]:
    with fleet_on_postgres(url) as fleet:
        yield fleet


def waiting(url: str) -> None:
    """Wait until a connection waits for another."""
    until(lambda: execute(url, HELD_UP) != [(0,)])


def test_no_lease_is_taken_soon_after_the_server_was_started(server_fleet: Fleet, url: str) -> None:
    """Owners that could not renew while it was down do so first."""
    server_fleet.held()
    server_fleet.passes(LEASE + 1)
    started = execute(url, "SELECT pg_get_functiondef('tildone.started'::regproc)")[0][0]
    just_now = f"SELECT tildone.clock() - {LEASE // 2 - 10_000}"
    execute(url, f"CREATE OR REPLACE FUNCTION tildone.started() RETURNS bigint LANGUAGE sql AS '{just_now}'")
    try:
        assert server_fleet.leases.reap(LONG) == []
        server_fleet.leases.configure(FleetSettings(20_000, 4_000, 1_000, 500, 1_000))
        assert len(server_fleet.leases.reap(LONG)) == 1
    finally:
        execute(url, started)


def test_many_runs_are_queued_though_they_take_longer_than_one_may(url: str) -> None:
    """The time limit is that of a statement, not of the transaction."""
    slow = "BEGIN PERFORM pg_sleep(0.7); RETURN NEW; END"
    execute(url, f"CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS '{slow}'")
    execute(url, "CREATE TRIGGER slow BEFORE INSERT ON tildone.leases FOR EACH ROW EXECUTE FUNCTION slow()")
    store = PostgresStore(url, timeout=2)
    runs = [NewRun(f"r{number}", f"s{number}") for number in range(5)]
    try:
        added = store.leases(recorder()).add_all([(run, [PlanChanged(plan_of("x"))]) for run in runs])
    finally:
        store.close()
        execute(url, "DROP FUNCTION slow CASCADE")

    assert [leases[0].run for leases in added] == [run.run for run in runs]


def test_the_server_tells_when_it_was_started(url: str) -> None:
    [(difference,)] = execute(
        url, "SELECT tildone.started() - floor(extract(epoch FROM pg_postmaster_start_time()) * 1000)::bigint"
    )
    [(now,)] = execute(url, "SELECT abs(tildone.clock() - extract(epoch FROM now()) * 1000) < 60000")
    assert (difference, now) == (0, True)


def test_a_lease_is_not_taken_between_the_check_and_the_append(server_fleet: Fleet, url: str) -> None:
    """A reaper leaves it alone, and a release waits for the transaction that has checked it."""
    lease = server_fleet.held()
    server_fleet.passes(LEASE + 1)
    with psycopg.connect(url) as writer, ThreadPoolExecutor() as pool:
        assert writer.execute(SHARE).fetchone() == (True,)
        assert server_fleet.leases.reap(LONG) == []
        released = pool.submit(server_fleet.leases.release, lease.fence, "")
        waiting(url)
        assert not released.done()
        writer.commit()
        assert released.result(60) is not None


def test_an_append_that_waits_for_a_reaper_is_refused(server_fleet: Fleet, url: str) -> None:
    lease = server_fleet.held(session="plan")
    store = server_fleet.reopened(lease.fence)
    head = store.session_head("plan").head
    late = Event("late", head, 1, Actor.AGENT, Labelled("x", "y"))
    with psycopg.connect(url) as reaper, ThreadPoolExecutor() as pool:
        reaper.execute("UPDATE tildone.leases SET epoch = epoch + 1, owner = NULL")
        appended = pool.submit(store.append, "plan", late)
        waiting(url)
        reaper.commit()
        with pytest.raises(RunFenced):
            appended.result(60)
    assert store.session_head("plan").head == head


def test_a_deletion_waits_for_whoever_changes_a_lease(server_fleet: Fleet, url: str) -> None:
    """Leases are locked before sessions, so neither waits for the other in a circle."""
    server_fleet.held(session="plan")
    head = server_fleet.store.session_head("plan").head
    with psycopg.connect(url) as other, ThreadPoolExecutor() as pool:
        other.execute("SELECT FROM tildone.leases FOR UPDATE")
        deleted = pool.submit(server_fleet.store.delete, "plan", expected=head)
        waiting(url)
        other.execute("SELECT FROM tildone.sessions FOR UPDATE NOWAIT")
        other.commit()
        deleted.result(60)
    assert server_fleet.leases.look() == []


def test_a_renewal_changes_no_column_with_an_index(url: str) -> None:
    """It finds room beside the row, so that the table does not grow with time."""
    indexes = execute(url, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'tildone' AND tablename = 'leases'")
    options = execute(url, "SELECT reloptions FROM pg_class WHERE oid = 'tildone.leases'::regclass")

    assert len(indexes) == 10
    assert not [index for (index,) in indexes if "until" in index or "boot" in index]
    assert options == [(["fillfactor=50"],)]


def test_the_database_itself_refuses_a_second_holder_of_a_repository(server_fleet: Fleet, url: str) -> None:
    server_fleet.held("r1", repo="/app")
    server_fleet.add("r2", repo="/app")

    with pytest.raises(psycopg.errors.UniqueViolation, match="one_run_per_repository"):
        execute(url, "UPDATE tildone.leases SET owner = 'x' WHERE run = 'r2'")


CALLS: dict[str, tuple[bytes, Callable[[RunLeases], object]]] = {
    "add": (
        b"INSERT INTO tildone.leases",
        lambda leases: leases.add(NewRun("r2", "plan 2"), [PlanChanged(plan_of("x"))]),
    ),
    "claim": (b"UPDATE tildone.leases", lambda leases: leases.claim(Claimer("w"), ["w/1"])),
    "append": (b"tildone.append", lambda leases: leases.append(RunFence("r1", 0, 1), Kept("r1", 0, 1, "r", "c"), "e")),
    "close": (b"UPDATE tildone.leases", lambda leases: leases.close(RunFence("r1", 0, 1), WorkOutcome.DONE)),
}


@pytest.mark.parametrize(
    ("call", "word"),
    # An append is one statement, without a commit of its own.
    [(call, word) for call in CALLS for word in ("statement", "commit") if (call, word) != ("append", "commit")],
)
@pytest.mark.parametrize("cut", Cut)
def test_a_change_is_made_once_when_the_connection_is_lost(
    server: Server, server_fleet: Fleet, url: str, call: str, word: str, cut: Cut
) -> None:
    """At the statement or at the commit, before or after the server has done it."""
    statement, change = CALLS[call]
    if call == "claim":
        server_fleet.add("r1")
    else:
        server_fleet.held("r1")
    with line_to(server) as line:
        far = PostgresStore(line.url(url))
        line.break_next(cut, word=b"COMMIT" if word == "commit" else statement)
        result = change(far.leases(scribe_far()))
        far.close()

    assert result is None if call == "append" else result
    expected = {
        "add": ["RunQueued"],
        "claim": ["RunQueued", "RunTaken"],
        "append": ["RunQueued", "RunTaken", "Kept"],
        "close": ["RunQueued", "RunTaken", "RunEnded"],
    }
    assert names(server_fleet.facts("r2" if call == "add" else "r1")) == expected[call]


def scribe_far() -> Recorder:
    """Return what makes events of another process."""
    near = recorder()
    return Recorder(lambda: f"far-{near.new_id()}", near.now)


def test_a_fenced_event_is_appended_once_when_the_connection_is_lost(
    server: Server, server_fleet: Fleet, url: str
) -> None:
    """Also if the lease has passed on before the writer asks again: the event was written while it was held."""
    lease = server_fleet.held(session="plan")
    with line_to(server) as line:
        far = PostgresStore(line.url(url), fence=lease.fence)
        event = Event("far", far.session_head("plan").head, 1, Actor.AGENT, Labelled("x", "y"))
        line.break_next(Cut.ANSWER, lambda: server_fleet.leases.release(lease.fence, ""), word=b"append_held")
        far.append("plan", event)
        far.close()

    assert [each.id for each in server_fleet.events()].count("far") == 1


WHO = Claimer("here/1/a")
JustBefore = Callable[[bytes, Callable[[], object]], list[bytes]]


def test_an_append_under_a_fence_is_one_statement(server_fleet: Fleet, work: Statements) -> None:
    lease = server_fleet.held(session="plan")
    store = server_fleet.reopened(lease.fence)
    head = store.session_head("plan").head
    work.statements.clear()

    store.append("plan", Event("a", head, 1, Actor.AGENT, Labelled("x", "y")))
    store.append("plan", Event("b", "a", 1, Actor.AGENT, Labelled("x", "z")), seen_by="me")

    assert [statement.split("(")[0] for statement in work.statements] == ["SELECT tildone.append_held"] * 2
    assert store.records.seen("plan", "me") == "b"


def test_a_fact_under_a_lease_is_two_statements(server_fleet: Fleet, work: Statements) -> None:
    """The first reads the head, the second checks the lease and appends."""
    lease = server_fleet.held()
    work.statements.clear()

    server_fleet.leases.append(lease.fence, Kept("r1", 0, lease.epoch, "ref", "commit"), "kept")

    assert len(work.statements) == 2
    assert "tildone.append_held" in work.statements[1]


def test_only_limits_that_apply_are_locked(server_fleet: Fleet, work: Statements) -> None:
    server_fleet.leases.set_limit(ProviderLimit("limited", runs=1))
    server_fleet.leases.set_limit(ProviderLimit("slow", requests=1))
    locks = []
    for number, limited in enumerate(({}, {"provider": "slow"}, {"provider": "limited"}, {"repo": "/app"})):
        server_fleet.add(f"r{number}", **limited)  # type: ignore[arg-type]  # as given
        work.statements.clear()
        assert len(server_fleet.leases.claim(WHO, [f"{WHO.worker}/{number}"])) == 1
        locks.append(len([statement for statement in work.statements if "limits_in_use" in statement]))

    assert locks == [0, 0, 1, 1]


@pytest.fixture
def just_before(monkeypatch: pytest.MonkeyPatch) -> JustBefore:
    """Does something once, just before the first statement with some text; returns that statement when it was sent."""
    execute_really = psycopg.Connection.execute

    def arranged(text: bytes, act: Callable[[], object]) -> list[bytes]:
        done: list[bytes] = []

        def execute(self: Any, query: Any, *rest: Any, **more: Any) -> Any:
            if text in query and not done:
                done.append(query)
                act()
            return execute_really(self, query, *rest, **more)

        monkeypatch.setattr(psycopg.Connection, "execute", execute)
        return done

    return arranged


def test_a_limit_that_is_removed_meanwhile_is_none(server_fleet: Fleet, just_before: JustBefore) -> None:
    server_fleet.leases.set_limit(ProviderLimit("p", runs=1))
    server_fleet.add("r1", provider="p")
    just_before(b"limits_in_use", lambda: server_fleet.leases.set_limit(ProviderLimit("p")))

    assert [lease.run for lease in server_fleet.claim()] == ["r1"]


def test_a_worker_that_has_locked_limits_waits_for_no_others(server_fleet: Fleet, url: str) -> None:
    """So two workers never wait for each other: what another one is about to take is left to it."""
    for run, repo in (("r1", "/a"), ("r2", "/a"), ("r3", "/b")):
        server_fleet.add(run, repo=repo)
    with psycopg.connect(url) as other:
        other.execute("SELECT tildone.limits_in_use('{}', '{/b}', true, false)")
        assert [lease.run for lease in server_fleet.claim(slots=2)] == ["r1"]
    assert [lease.run for lease in server_fleet.claim(slots=2)] == ["r1", "r3"]


def test_a_change_is_repeated_when_the_head_has_moved(server_fleet: Fleet, just_before: JustBefore) -> None:
    """An agent appends between the look at the lease and the record of the change."""
    lease = server_fleet.held(session="plan")
    moved = just_before(b"tildone.append_keeping", lambda: chain(server_fleet.store, "plan", "a"))
    server_fleet.leases.close(lease.fence, WorkOutcome.DONE)

    assert moved
    assert names(server_fleet.facts()) == ["RunQueued", "RunTaken", "RunEnded"]
    assert [event.id for event in server_fleet.events()].count("a") == 1


def test_a_fact_under_a_lease_is_appended_after_a_head_that_has_moved(
    server_fleet: Fleet, just_before: JustBefore
) -> None:
    lease = server_fleet.held(session="plan")
    just_before(b"tildone.append_held", lambda: chain(server_fleet.store, "plan", "a"))
    server_fleet.leases.append(lease.fence, Kept("r1", 0, lease.epoch, "ref", "commit"), "kept")

    [kept] = [event for event in server_fleet.events() if event.id == "kept"]
    assert kept.parent == "a"


SUMMARY = KeptSummary("a", "0/1")


@pytest.fixture
def store(url: str, connect: Connect) -> PostgresStore:
    return connect(url)


def of_older_tildone(url: str, version: int) -> None:
    """Create the store of an older tildone, with a session."""
    with older_tildone(version):
        store = PostgresStore(url)
        chain(store, "s", "a")
        store.close()


@pytest.mark.parametrize("version", [3, 5])
def test_a_database_of_an_older_schema_can_be_read_and_gets_leases(empty: str, connect: Connect, version: int) -> None:
    of_older_tildone(empty, version)
    reader = connect(empty, read_only=True)
    records, leases = reader.records, reader.leases(recorder())

    records.keep_summaries({"s": SUMMARY})

    assert (records.presences(), records.needs(), records.need("n1")) == ([], [], None)
    # The table of summaries came with schema 4.
    assert records.kept_summaries() == ({"s": SUMMARY} if version >= 4 else {})
    assert sum(records.density("s", 0, 10, 2)) == 1
    assert (leases.look(), leases.workers(), leases.schedules(), leases.limits()) == ([], [], [], [])
    assert (leases.settings(), leases.revision()) == (FleetSettings(), 0)
    writer = connect(empty)
    writer.leases(recorder()).add(NewRun("r1", "s", Work("/app")))
    assert writer.leases(recorder()).look()[0].lease.session == "s"


@pytest.mark.parametrize("version", [2, 3, 5])
def test_users_of_the_older_tables_can_write_and_delete_after_a_migration(
    empty: str, version: int, connect: Connect
) -> None:
    """They were granted the tables that existed then, and need to be granted the others for what is in them."""
    of_older_tildone(empty, version)
    with guest(empty, *USE_OF_ALL_TABLES) as url:
        owner = connect(empty)
        owner.records.beat(WORKING)
        owner.records.ask(QUESTION)
        owner.records.keep_summaries({"s": SUMMARY})
        owner.leases(recorder()).add(NewRun("r1", "s"))
        before = owner.records.revision()
        worker = connect(url)
        if version < 3:
            with pytest.raises(StoreError, match="permission denied for table changes"):
                worker.records.revision()
        if version < 4:
            with pytest.raises(StoreError, match="permission denied for table presence"):
                worker.records.beat(WORKING)
        newer = KeptSummary("b", "x")
        worker.records.keep_summaries({"s": newer})
        kept = owner.records.kept_summaries()
        chain(worker, "s", "b")
        changed = owner.records.changed(before)
        worker.delete("s", expected="b")

        assert kept == {"s": SUMMARY if version < 4 else newer}
        assert [(change.session, change.head) for change in changed] == [("s", "b")]
        assert (owner.records.presences(), owner.records.needs(), owner.records.kept_summaries()) == ([], [], {})
        assert owner.leases(recorder()).look() == []


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
