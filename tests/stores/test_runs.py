"""Runs on each kind of store that has leases: who may write, lists, schedules, and rows that others changed."""

import json
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from tests.plans import plan_of
from tests.stores.leases import HOUR, LONG, WALL, Fleet, take
from tests.stores.postgres import execute
from tildone.base import NotFound, RunFenced, UsageError, replace
from tildone.fleet.engine import TableEngine
from tildone.fleet.upkeep import Reaper, due_after
from tildone.log.settings import MINUTE_MS, FleetSettings, ProviderLimit
from tildone.plan.claims import Claimant
from tildone.plan.codec import dump, plan_to_json
from tildone.plan.events import Actor, Event, Labelled, PlanChanged, SessionHead
from tildone.plan.lists import FIRST, RunGroup, RunPlace, RunSchedule, RunView, WorkerInfo, group_of
from tildone.plan.names import MAX_NAME
from tildone.plan.runs import (
    Asked,
    Claimer,
    Kept,
    Lease,
    LeaseRequest,
    LeaseState,
    NewRun,
    RunFence,
    RunReleased,
    Work,
    WorkOutcome,
)
from tildone.stores import leasing as run_lists
from tildone.stores.leasing import RunLists
from tildone.stores.sqlite.store import SqliteStore

LEASE = FleetSettings().lease


def test_a_process_of_a_run_writes_while_the_lease_is_held(fleet: Fleet) -> None:
    lease = fleet.held(session="plan")
    store = fleet.reopened(lease.fence)
    head = store.session_head("plan")

    store.append("plan", Event("a", head.head, 1, Actor.AGENT, Labelled("x", "y")))
    store.records.claim("plan", 1, Claimant("test:a"), 1000)
    store.move_head("plan", head, expected="a")

    assert store.session_head("plan") == head


@pytest.mark.parametrize("how", ["lost", "released", "done", "cancelled", "unknown"])
def test_a_process_of_a_run_that_has_passed_on_writes_nothing(fleet: Fleet, how: str) -> None:
    lease = fleet.held(session="plan")
    store = fleet.reopened(RunFence("r9", 0, 1) if how == "unknown" else lease.fence)
    _pass_on(fleet, lease, how)
    head = store.session_head("plan")
    event = Event("late", head.head, 1, Actor.AGENT, Labelled("x", "y"))
    elsewhere = Event("late", None, 1, Actor.AGENT, Labelled("x", "y"))

    for write in (
        lambda: store.append("plan", event),
        lambda: store.append("plan", event, "reader"),
        lambda: store.append("another plan", elsewhere),
        lambda: store.move_head("plan", SessionHead(), expected=head.head),
        lambda: store.import_events("other", [elsewhere], SessionHead("late")),
        lambda: store.delete("plan", expected=head.head),
        lambda: store.records.claim("plan", 1, Claimant("test:a"), 1000),
    ):
        with pytest.raises(RunFenced) as fenced:
            write()
        assert fenced.value.exit_code == 6
    assert fleet.store.session_head("plan") == head
    assert [info.name for info in fleet.store.sessions()] == ["plan"]
    assert list(fleet.store.records.claims("plan")) == []


def _pass_on(fleet: Fleet, lease: Lease, how: str) -> None:
    match how:
        case "lost":
            fleet.passes(LEASE + 1)
            fleet.leases.reap(LONG)
            fleet.claim("here/2/b")
        case "released":
            fleet.leases.release(lease.fence, "")
        case "done":
            fleet.leases.close(lease.fence, WorkOutcome.DONE)
        case "cancelled":
            fleet.leases.close(lease.fence, WorkOutcome.CANCELLED)


@pytest.mark.parametrize("how", ["lost", "released", "done"])
def test_the_claims_of_agents_lapse_with_the_lease_that_they_work_under(fleet: Fleet, how: str) -> None:
    """Those of the other hands of the run, and of agents without a lease, stay."""
    lease = fleet.held(session="plan")
    for task, held in ((1, "r1/0"), (2, "r1/1"), (3, "")):
        fleet.store.records.claim("plan", task, Claimant(f"test:{task}", lease=held), 10 * LONG)

    _pass_on(fleet, lease, how)

    assert [claim.task for claim in fleet.store.records.claims("plan") if claim.is_held] == [2, 3]


def test_facts_about_runs_keep_what_was_undone(fleet: Fleet) -> None:
    """An undone change can be redone after a worker has taken the run."""
    fleet.add(session="plan")
    before = fleet.store.session_head("plan").head
    fleet.store.append("plan", Event("a", before, 1, Actor.USER, PlanChanged(plan_of("x"))))
    fleet.store.move_head("plan", SessionHead(before, ("a",)), expected="a")

    [lease] = fleet.claim()
    assert fleet.store.session_head("plan").redo == ("a",)
    fleet.leases.append(lease.fence, Kept("r1", 0, lease.epoch, "ref", "commit"), "kept")
    assert fleet.store.session_head("plan") == SessionHead("kept", ("a",))

    fleet.leases.close(lease.fence, WorkOutcome.DONE)
    assert fleet.store.session_head("plan").redo == ("a",)


def test_runs_are_listed_with_their_plans_and_workers(fleet: Fleet) -> None:
    worker = WorkerInfo("here/1/r1", "here", 1, "1.2", slots=3, labels=("gpu",))
    fleet.leases.beat(worker)
    fleet.held()
    fleet.add("r2")

    first, second = fleet.leases.look()

    assert first.session is not None
    assert (first.session.name, first.session.events) == ("plan of r1", 3)
    assert first.worker is not None
    assert replace(first.worker, seen=0) == worker
    assert first.worker.seen > 0
    assert 0 < first.remaining <= LEASE
    assert (second.worker, second.remaining) == (None, 0)


def test_the_leases_of_a_run_that_has_ended_or_of_a_deleted_plan_are_forgotten(fleet: Fleet) -> None:
    fleet.leases.close(fleet.held("r1").fence, WorkOutcome.DONE)
    fleet.held("r2")

    assert [fleet.leases.forget(run) for run in ("r1", "r2", "r3")] == [True, False, False]
    assert [view.lease.run for view in fleet.leases.look()] == ["r2"]

    fleet.store.delete("plan of r2", expected=fleet.store.session_head("plan of r2").head)
    assert fleet.leases.look() == []


def test_leases_are_rebuilt_from_the_log(fleet: Fleet) -> None:
    work = Work("/app", "anthropic", ("gpu",), 2, "claude", "sonnet", ("*",), "main")
    fleet.leases.add(NewRun("held", "plan 1", work), [PlanChanged(plan_of("one"))])
    fleet.claim("here/1/held", labels=("gpu",))
    fleet.leases.release(fleet.held("released").fence, "draining")
    fleet.leases.close(fleet.held("tried").fence, WorkOutcome.RETRY, "exit 1")
    asked = fleet.held("asked").fence
    fleet.leases.append(asked, Asked("asked", 0, "q", "question", "?"), "e")
    fleet.leases.close(asked, WorkOutcome.WAITING)
    fleet.leases.close(fleet.held("done").fence, WorkOutcome.DONE)
    fleet.leases.request_stop(fleet.held("paused").run, LeaseRequest.PAUSE)
    before = {(view.lease.run, view.lease.hand): _recorded(view.lease) for view in fleet.leases.look()}

    fleet.leases.request_stop("paused", LeaseRequest.CANCEL)
    assert fleet.leases.rebuild() == 0
    _forget_leases(fleet)
    assert fleet.leases.rebuild() == 6

    rebuilt = {(view.lease.run, view.lease.hand): _recorded(view.lease) for view in fleet.leases.look()}
    assert rebuilt == before
    [renewed] = fleet.leases.renew([fleet.lease("held").fence])
    assert renewed.fence.epoch == 1
    assert fleet.leases.look("held")[0].remaining > 0
    assert fleet.leases.rebuild() == 0


def _recorded(lease: Lease) -> Lease:
    """Return what the log tells of a lease."""
    return replace(lease, until=0, boot="", request=LeaseRequest.NOTHING, made=0, since=0)


def _forget_leases(fleet: Fleet) -> None:
    for view in fleet.leases.look():
        session = view.lease.session
        copy = fleet.store.session_head(session), list(fleet.store.events(session))
        fleet.store.delete(session, expected=copy[0].head)
        fleet.store.import_events(session, copy[1], copy[0])


def test_a_waiting_worker_is_told_of_work_and_of_requests(fleet: Fleet) -> None:
    """Of a request for a held run, too, which no event tells of."""
    revision = fleet.leases.revision()
    assert not fleet.leases.wait(revision, 0)
    lease = fleet.held()
    assert fleet.leases.wait(revision, 60)
    fleet.leases.append(lease.fence, Asked("r1", 0, "q", "question", "?"), "e")
    for change in (
        lambda: fleet.leases.request_stop("r1", LeaseRequest.PAUSE),
        lambda: fleet.leases.requeue("r1"),
        lambda: fleet.leases.answer("r1", "q", "yes", "ada", "f"),
        lambda: fleet.leases.release(lease.fence, ""),
    ):
        revision = fleet.leases.revision()
        change()
        assert fleet.leases.wait(revision, 60)


def test_the_settings_of_a_fleet_are_those_of_its_store(fleet: Fleet) -> None:
    assert fleet.leases.settings() == FleetSettings()

    fleet.leases.configure(FleetSettings(10_000, 2_000, 1_000, 500, 1_000))

    assert fleet.leases.settings() == FleetSettings(10_000, 2_000, 1_000, 500, 1_000)
    fleet.held()
    assert fleet.leases.look()[0].remaining <= 10_000
    with pytest.raises(UsageError, match="a lease of 10 s is too short"):
        fleet.leases.configure(FleetSettings(10_000, 4_000, 1_000, 500, 1_000))
    assert fleet.leases.settings().heartbeat == 2_000


def test_requests_of_a_provider_are_limited(fleet: Fleet) -> None:
    assert fleet.leases.request("anthropic") == 0
    fleet.leases.set_limit(ProviderLimit("anthropic", requests=2))

    assert fleet.leases.request("anthropic") == 0
    wait = fleet.leases.request("anthropic")

    assert 0 < wait <= 30_000
    fleet.passes(wait + 1)
    assert fleet.leases.request("anthropic") == 0
    assert fleet.leases.request("openai") == 0


def test_workers_come_and_go(fleet: Fleet) -> None:
    first, second = WorkerInfo("here/1/a", "here", 1), WorkerInfo("there/2/b", "there", 2, slots=2, labels=("x",))
    for worker in (second, first):
        assert fleet.leases.beat(worker) is LeaseRequest.NOTHING

    assert [replace(worker, seen=0) for worker in fleet.leases.workers()] == [first, second]
    fleet.leases.leave(first.id)
    assert [worker.id for worker in fleet.leases.workers()] == [second.id]
    assert not fleet.leases.drain(first.id)


def test_a_release_tells_why_and_in_which_state(fleet: Fleet) -> None:
    lease = fleet.held()

    fleet.leases.close(lease.fence, WorkOutcome.PAUSED, "for the night")

    assert fleet.facts()[-1] == RunReleased("r1", 0, 2, LeaseState.PAUSED, "for the night")


def lists_of(fleet: Fleet) -> RunLists:
    lists = run_lists.lists_of(fleet.store)
    assert lists is not None
    return lists


def names(views: Iterable[RunView]) -> list[str]:
    return [view.lease.run for view in views]


def one_in_each_group(fleet: Fleet) -> None:
    for run, outcome in (("w", WorkOutcome.WAITING), ("d", WorkOutcome.DONE), ("f", WorkOutcome.FAILED)):
        held = fleet.held(run)
        if outcome is WorkOutcome.WAITING:
            fleet.leases.append(held.fence, Asked(run, 0, "q1", "question", "Which?"), "e1")
        fleet.leases.close(held.fence, outcome)
    fleet.held("r")
    for run in "qpc":
        fleet.add(run)
    fleet.leases.request_stop("p", LeaseRequest.PAUSE)
    fleet.leases.request_stop("c", LeaseRequest.CANCEL)


def test_each_lease_is_in_one_group(fleet: Fleet) -> None:
    one_in_each_group(fleet)
    lists = lists_of(fleet)

    pages = {group: lists.page(group, FIRST, 10) for group in RunGroup}

    assert {group: names(views) for group, views in pages.items()} == {group: [group.value[0]] for group in RunGroup}
    assert all(group_of(view.lease) is group for group, views in pages.items() for view in views)
    assert lists.counts(10) == dict.fromkeys(RunGroup, 1)


def test_pages_follow_each_other_without_gaps(fleet: Fleet) -> None:
    for number in range(7):
        fleet.add(f"r{number}", hands=2)
    lists, found, after = lists_of(fleet), list[tuple[str, int]](), FIRST

    while page := lists.page(RunGroup.QUEUED, after, 3):
        found += [(view.lease.run, view.lease.hand) for view in page]
        last = page[-1].lease
        after = RunPlace(last.since, last.run, last.hand)

    assert sorted(found) == [(f"r{number}", hand) for number in range(7) for hand in (0, 1)]
    assert len(found) == len(set(found))
    assert lists.counts(5)[RunGroup.QUEUED] == 5


def test_held_runs_and_open_questions_and_runs_of_the_last_day_are_found(fleet: Fleet) -> None:
    """And those that lost a worker."""
    held = fleet.held("a")
    fleet.add("b")
    lists = lists_of(fleet)

    [view] = lists.held()
    assert view.lease.run == "a"
    assert view.remaining >= 0
    assert names(lists.of_sessions(["plan of b", "plan of a", "none"])) == ["a", "b"]
    fleet.leases.append(held.fence, Asked("a", 0, "q1", "question", "Which?"), "e1")
    assert [lease.run for lease in lists.asking()] == ["a"]
    fleet.leases.answer("a", "q1", "this one", "Ada", "e2")
    assert lists.asking() == []
    assert (lists.recent_sessions(held.since), lists.taken_over(held.since)) == (["plan of a"], 0)
    fleet.passes(HOUR)
    fleet.leases.reap(10 * HOUR)
    assert lists.taken_over(held.since) == 1
    assert (lists.recent_sessions(2**50), lists.taken_over(2**50)) == ([], 0)


def test_a_store_without_runs_and_workers_has_no_fleet(fleet: Fleet) -> None:
    lists = lists_of(fleet)

    assert not lists.exists()
    fleet.leases.beat(WorkerInfo("here/1/a"))
    assert lists.exists()
    fleet.leases.leave("here/1/a")
    fleet.add("a")
    assert lists.exists()
    assert lists.now() > 1_600_000_000_000


PLAN = plan_of("one", "two")
DUE = 1_700_000_000_000
NIGHTLY = RunSchedule(
    "nightly", "0 3 * * *", dump(plan_to_json(PLAN)), DUE, Work("/app", labels=("gpu",)), "Europe/Berlin"
)
RUN = re.compile("nightly-20231114-2213-[0-9a-z]{6}")


def in_an_hour(_schedule: RunSchedule, now: int) -> int:
    return now + HOUR


def test_schedules_are_kept_by_name(fleet: Fleet) -> None:
    fleet.leases.set_schedule(RunSchedule("weekly", "0 0 * * 0", "{}", WALL * 2))
    fleet.leases.set_schedule(RunSchedule("nightly", "0 4 * * *", "{}", WALL * 2))
    fleet.leases.set_schedule(NIGHTLY)

    assert fleet.leases.schedules()[0] == NIGHTLY
    assert fleet.leases.unschedule("nightly")
    assert [schedule.name for schedule in fleet.leases.schedules()] == ["weekly"]
    assert not fleet.leases.unschedule("nightly")
    assert fleet.leases.tick(in_an_hour) == {}


@pytest.mark.parametrize(
    ("name", "cron", "work"),
    [("a/b", "0 3 * * *", Work()), ("a", "0 25 * * *", Work()), ("a", "0 3 * * *", Work("https://a:b@example.org/x"))],
    ids=["name", "time", "password"],
)
def test_an_invalid_schedule_is_refused(fleet: Fleet, name: str, cron: str, work: Work) -> None:
    with pytest.raises(UsageError):
        fleet.leases.set_schedule(RunSchedule(name, cron, "{}", 0, work))

    assert fleet.leases.schedules() == []


def test_a_missed_time_is_one_run_also_of_a_schedule_with_the_longest_name(fleet: Fleet) -> None:
    """Schedules of one name that are due at the same time make different runs.

    Two fleets on one machine may have such schedules. Folders and processes are found by the name of the run.
    """
    fleet.leases.set_schedule(NIGHTLY)

    run = fleet.leases.tick(in_an_hour)["nightly"]
    assert fleet.leases.tick(in_an_hour) == {}

    assert RUN.fullmatch(run)
    [view] = fleet.leases.look()
    assert (view.lease.run, view.lease.work, view.lease.is_queued) == (run, NIGHTLY.work, True)
    assert next(iter(fleet.store.events(run))).fact == PlanChanged(PLAN)
    [schedule] = fleet.leases.schedules()
    assert schedule.next > DUE
    assert schedule.last == run

    fleet.leases.unschedule("nightly")
    fleet.leases.set_schedule(NIGHTLY)
    other = fleet.leases.tick(in_an_hour)["nightly"]
    assert RUN.fullmatch(other)
    assert {view.lease.run for view in fleet.leases.look()} == {run, other} != {run}

    name = "n" * MAX_NAME
    fleet.leases.set_schedule(replace(NIGHTLY, name=name))
    long = fleet.leases.tick(in_an_hour)[name]
    assert len(long) == MAX_NAME
    assert "n-20231114-2213-" in long
    assert fleet.lease(long).is_queued


DAY = 24 * HOUR
EVERY_NIGHT = replace(NIGHTLY, plan=dump(plan_to_json(plan_of("one"))), next=1, work=Work(agent="shell"))


def runs(fleet: Fleet) -> list[str]:
    return [view.lease.run for view in fleet.leases.look()]


def test_a_schedule_whose_last_run_lives_is_skipped_and_that_is_told(fleet: Fleet) -> None:
    fleet.leases.set_schedule(EVERY_NIGHT)
    told: list[str] = []
    reaper = Reaper(fleet.leases, TableEngine(fleet.leases, Claimer("here/1/a")), tell=told.append)
    reaper.look()
    [run] = runs(fleet)
    fleet.passes(DAY)

    reaper.look()

    assert runs(fleet) == [run]
    assert told[0] == f"schedule nightly: queued {run}"
    assert told[1].startswith("schedule nightly: skipped: its last run has not ended")
    fleet.leases.request_stop(run, LeaseRequest.CANCEL)
    fleet.passes(DAY)
    reaper.look()
    assert len(runs(fleet)) == 2


def test_two_reapers_at_once_queue_one_run(fleet: Fleet) -> None:
    fleet.leases.set_schedule(EVERY_NIGHT)

    with ThreadPoolExecutor(4) as pool:
        ticked = list(pool.map(lambda _: fleet.leases.tick(due_after), range(8)))

    assert len(runs(fleet)) == 1
    assert [run for each in ticked for run in each.values()] == runs(fleet)


@pytest.mark.parametrize("plan", ["{", json.dumps({"phases": 3})])
def test_a_schedule_that_cannot_be_read_does_not_hold_up_others(fleet: Fleet, plan: str) -> None:
    fleet.leases.set_schedule(RunSchedule("broken", "0 3 * * *", plan, 0))
    fleet.leases.set_schedule(EVERY_NIGHT)

    ticked = fleet.leases.tick(due_after)

    assert (ticked["broken"], ticked["nightly"]) == ("", runs(fleet)[0])
    assert fleet.leases.tick(due_after) == {}


def test_the_time_of_a_schedule_is_that_of_its_zone() -> None:
    """02:30 on the day when clocks go forward is left out; the schedule is due when the clock goes on."""
    before = 1_774_695_600_000  # 2026-03-28 12:00 in Berlin
    night = RunSchedule("night", "30 2 * * *", "", 0, zone="Europe/Berlin")

    assert due_after(night, before) - before == 14 * HOUR + HOUR // 2
    assert due_after(RunSchedule("x", "30 2 * * *", "", 0, zone="No/Where"), before) - before == 365 * DAY


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
def test_a_bad_row_is_set_aside_and_the_others_go_on(fleet: Fleet, tamper: Tamper, *, held: bool) -> None:
    rows, leases = fleet.bad_rows, fleet.leases
    for number, change in enumerate(HOSTILE):
        run = f"r{number}"
        fleet.add(run, repo=f"/app{number}")
        if held:
            take(leases, f"{WHO.worker}/{number}", run)
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
    lists = lists_of(fleet)
    assert [view.lease.run for view in lists.page(RunGroup.FAILED, FIRST, 99)] == []
    assert [view.lease.run for view in lists.held()] == ["good"]
    assert lists.asking() == []
    for name in ("../../x", "/abs/victim"):
        with pytest.raises(NotFound):
            leases.request_stop(name, LeaseRequest.CANCEL)


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
    leases.set_limit(ProviderLimit("p", requests=10))
    tamper("providers", "earliest = 4000000000000000000", "name = 'p'")
    assert 0 < leases.request("p") <= MINUTE_MS
    assert leases.beat(WorkerInfo("here/1/a", "here", 1)) is LeaseRequest.NOTHING
    assert {row.table for row in rows} == {"fleet", "workers", "providers"}
    held = fleet.lease("r1")
    assert len(leases.renew([held.fence])) == 1
    assert fleet.lease("r1").until >= held.until
    fleet.add("r2")
    assert [lease.run for lease in leases.claim(WHO, [f"{WHO.worker}/1"])] == ["r2"]


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
