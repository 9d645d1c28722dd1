"""Rows that somebody else has changed: nobody gets a lease of them, they are told of, and the others go on."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.plans import plan_of
from tests.stores.leases import Fleet
from tests.stores.postgres import execute
from tildone.base.errors import NotFound
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.codec import dump, plan_to_json
from tildone.plan.lists import FIRST, RunGroup, RunSchedule, WorkerInfo
from tildone.plan.runs import Ask, Claimer, LeaseState
from tildone.stores.leasing import lists_of
from tildone.stores.sqlite.store import SqliteStore

WHO = Claimer("here/1/a")
Tamper = Callable[[str, str, str], None]


@pytest.fixture
def tamper(fleet: Fleet, request: pytest.FixtureRequest, tmp_path: Path) -> Tamper:
    """What somebody does who can write to the database: sets a column of the rows that a condition chooses."""

    def change_rows(table: str, change: str, where: str) -> None:
        if isinstance(fleet.store, SqliteStore):
            statement = f"UPDATE {table} SET {change} WHERE {where}"  # noqa: S608  our own words
            apsw.Connection(str(tmp_path / "plans.db")).execute(statement)
        else:
            execute(request.getfixturevalue("url"), f"UPDATE tildone.{table} SET {change} WHERE {where}")  # noqa: S608  the same

    return change_rows


HOSTILE = (
    *((f"run = '{name}'") for name in ("/abs/victim", "../../x", "-x", "", "a b")),
    *("repo = 'ext::sh -c x'", "repo = '../../x'", "ref = '--upload-pack=x'", "model = '--yolo'", "session = ''"),
    *("hand = -1", "hand = 99", "epoch = -1", "attempt = 2000000", "made = -1", "not_before = -1"),
    *("ask = 'x'", "questions = '{'", "refused = '[7]'", "allow = '{}'", "boot = 'a\nb'"),
)


@pytest.mark.parametrize("held", [False, True], ids=["queued", "held"])
def test_a_bad_row_is_set_aside_and_the_others_go_on(
    fleet: Fleet,
    tamper: Tamper,
    *,
    held: bool,
) -> None:
    rows, leases = fleet.bad_rows, fleet.leases
    for number, change in enumerate(HOSTILE):
        run = f"r{number}"
        fleet.add(run, repo=f"/app{number}")
        if held:
            assert leases.take(WHO, f"{WHO.worker}/{number}", run, 0, 1)
        tamper("leases", change, f"run = '{run}'")
    fleet.add("good", repo="/app0")
    fleet.passes(10**7)

    reaped = leases.reap(10**9)
    claimed = leases.claim(WHO, [f"{WHO.worker}/{100 + number}" for number in range(30)])

    assert ([lease.run for lease in reaped], [lease.run for lease in claimed]) == ([], ["good"])
    assert {row.table for row in rows} == {"leases"}
    assert len({(row.name, row.why) for row in rows}) == len(HOSTILE)
    assert [lease.run for lease in leases.active()] == ["good"]
    assert {view.lease.run for view in leases.look()} == {"good"}
    lists = lists_of(fleet.store)
    assert lists is not None
    assert [view.lease.run for view in lists.page(RunGroup.FAILED, FIRST, 99)] == []
    assert [view.lease.run for view in lists.held()] == ["good"]
    assert lists.asking() == []
    for name in ("../../x", "/abs/victim"):
        assert leases.take(WHO, f"{WHO.worker}/99", name, 0, 1) is None
        with pytest.raises(NotFound):
            leases.request_stop(name, Ask.CANCEL)


def test_a_run_that_nobody_holds_is_in_nobodys_way(fleet: Fleet, tamper: Tamper) -> None:
    """An owner without a name would use up a limit for ever."""
    fleet.leases.set_limit(ProviderLimit("p", runs=1))
    fleet.add("r1", provider="p")
    fleet.add("r2", provider="p")
    tamper("leases", "owner = ''", "run = 'r1'")
    fleet.passes(10**7)

    assert fleet.leases.reap(10**9) == []
    assert [lease.run for lease in fleet.claim(slots=2)] == ["r2"]
    assert [(row.name, row.why) for row in fleet.bad_rows] == [("r1", "its owner has no name")]
    assert fleet.lease("r1").state is LeaseState.FAILED


def test_a_bad_schedule_is_set_aside_and_the_others_are_queued(fleet: Fleet, tamper: Tamper) -> None:
    rows, leases = fleet.bad_rows, fleet.leases
    plan = dump(plan_to_json(plan_of("one")))
    changes = ("name = '../../x'", "last = '/abs'", "work = '{'", """work = '{"repo": "ext::x"}'""", "work = '7'")
    for number, change in enumerate(changes):
        leases.set_schedule(RunSchedule(f"s{number}", "* * * * *", plan, 1))
        tamper("schedules", change, f"name = 's{number}'")
    leases.set_schedule(RunSchedule("good", "* * * * *", plan, 2))

    assert list(leases.tick(lambda _schedule, _now: 2**45)) == ["good"]

    assert [schedule.name for schedule in leases.schedules()] == ["good"]
    assert {row.table for row in rows} == {"schedules"}
    assert len({row.name for row in rows}) == len(changes)


def test_settings_workers_and_limits_that_cannot_be_are_ignored(fleet: Fleet, tamper: Tamper) -> None:
    rows, leases = fleet.bad_rows, fleet.leases
    leases.beat(WorkerInfo("here/1/a", "here", 1))
    leases.beat(WorkerInfo("there/2/b", "there", 2))
    leases.set_limit(ProviderLimit("p", requests=1))
    leases.set_limit(ProviderLimit("q", runs=1))
    fleet.held("r1")
    tamper("workers", "ask = 'x'", "id = 'here/1/a'")
    tamper("workers", "id = 'a\nb'", "id = 'there/2/b'")
    tamper("providers", "requests = -5, earliest = 4000000000000000000", "name = 'p'")
    tamper("fleet", "lease = -1, heartbeat = 0, engine = 'dbos'", "id = 1")

    assert leases.settings() == FleetSettings(engine="dbos")
    tamper("fleet", "engine = '../../x'", "id = 1")
    assert leases.settings() == FleetSettings()
    assert leases.workers() == []
    assert [limit.provider for limit in leases.limits()] == ["q"]
    assert leases.request("p") == 0
    assert leases.beat(WorkerInfo("here/1/a", "here", 1)) is Ask.NOTHING
    assert {row.table for row in rows} == {"fleet", "workers", "providers"}
    held = fleet.lease("r1")
    assert len(leases.renew([held.fence])) == 1
    assert fleet.lease("r1").until >= held.until
    fleet.add("r2")
    assert [lease.run for lease in leases.claim(WHO, [f"{WHO.worker}/1"])] == ["r2"]


def test_a_limit_of_requests_is_for_a_minute_whatever_the_row_says(fleet: Fleet, tamper: Tamper) -> None:
    fleet.leases.set_limit(ProviderLimit("p", requests=10))
    tamper("providers", "earliest = 4000000000000000000", "name = 'p'")

    assert 0 < fleet.leases.request("p") <= 60_000


def test_a_number_that_tells_of_changes_goes_on_from_any(fleet: Fleet, tamper: Tamper) -> None:
    is_file = isinstance(fleet.store, SqliteStore)
    tamper(*(("fleet", f"revision = {2**63 - 1}") if is_file else ("announcements", f"revision = {2**62}")), "true")
    before = fleet.leases.revision()

    fleet.add("r1")

    assert fleet.leases.revision() != before
    assert fleet.lease("r1").state is LeaseState.OPEN


def test_a_repository_that_is_no_path_is_not_in_the_way_of_new_runs(fleet: Fleet, tamper: Tamper) -> None:
    """New runs name their repository as the runs before, so all names are compared."""
    fleet.add("r1", repo="/app")
    nul = "char(0)" if isinstance(fleet.store, SqliteStore) else "chr(10)"
    tamper("leases", f"repo = '/a' || {nul} || 'b'", "run = 'r1'")

    assert [lease.work.repo for lease in fleet.add("r2", repo="/other")] == ["/other"]
