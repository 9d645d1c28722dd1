"""Queueing and claiming runs, on each kind of store that has leases."""

from pathlib import Path

import pytest

from tests.plans import plan_of
from tests.stores.leases import Fleet, names
from tildone.base import replace
from tildone.base.errors import NotFound, Refused, UsageError
from tildone.base.json import dump
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.codec import plan_to_json
from tildone.plan.events import PlanChanged
from tildone.plan.lists import RunSchedule, WorkerInfo
from tildone.plan.runs import Ask, Claimer, LeaseState, NewRun, RunQueued, RunTaken, Work, WorkOutcome

LEASE = FleetSettings().lease


def test_a_run_is_queued_with_its_plan_in_one_transaction(fleet: Fleet) -> None:
    work = Work("/src/app", "anthropic", ("gpu", "linux"), 3, "claude", "sonnet", ("git *",), "main")

    leases = fleet.leases.add(NewRun("r1", "plan", work, hands=2), [PlanChanged(plan_of("one"))])

    assert [(lease.run, lease.hand, lease.session, lease.work) for lease in leases] == [
        ("r1", 0, "plan", work),
        ("r1", 1, "plan", work),
    ]
    assert [view.lease for view in fleet.leases.look("r1")] == leases
    assert fleet.facts() == [RunQueued("r1", hand, 0, 1, work) for hand in (0, 1)]
    assert isinstance(next(iter(fleet.events())).fact, PlanChanged)


def test_a_run_that_is_added_again_is_the_same_run(fleet: Fleet) -> None:
    """The answer may have been lost."""
    before = fleet.add()

    assert fleet.add() == before
    assert names(fleet.facts()) == ["RunQueued"]


def test_a_second_run_of_a_living_plan_is_refused(fleet: Fleet) -> None:
    fleet.add("r1", "plan")

    with pytest.raises(Refused, match=r"run r1 of this plan has not ended"):
        fleet.add("r2", "plan")

    assert [view.lease.run for view in fleet.leases.look()] == ["r1"]
    assert len(list(fleet.events())) == 2


@pytest.mark.parametrize("hand", [0, 1])
def test_a_plan_lives_while_one_of_its_hands_does(fleet: Fleet, hand: int) -> None:
    fleet.add("r1", "plan", hands=2)
    for lease in fleet.claim(slots=2):
        if lease.hand == hand:
            fleet.leases.close(lease.fence, WorkOutcome.DONE)

    with pytest.raises(Refused, match="r1"):
        fleet.add("r2", "plan")


def test_a_plan_can_be_run_again_after_its_run_has_ended(fleet: Fleet) -> None:
    fleet.leases.close(fleet.held("r1", session="plan").fence, WorkOutcome.DONE)

    [lease] = fleet.add("r2", "plan")

    assert lease.state is LeaseState.OPEN


def test_a_run_needs_a_plan(fleet: Fleet) -> None:
    with pytest.raises(NotFound, match="there is no plan 'nothing'"):
        fleet.leases.add(NewRun("r1", "nothing"))

    assert fleet.leases.look() == []


def test_a_run_with_a_password_is_refused(fleet: Fleet) -> None:
    with pytest.raises(UsageError, match="password"):
        fleet.add(repo="https://ada:secret@example.org/app")

    assert fleet.leases.look() == []


def test_a_worker_claims_as_many_runs_as_it_has_free_slots(fleet: Fleet) -> None:
    for number in range(4):
        fleet.add(f"r{number}")

    leases = fleet.claim(slots=3)

    assert [(lease.run, lease.owner, lease.epoch) for lease in leases] == [
        (f"r{number}", f"here/1/a/{number}", 1) for number in range(3)
    ]
    assert fleet.facts("r0")[1:] == [RunTaken("r0", 0, 1, "here/1/a/0")]
    assert fleet.claim("here/2/b", slots=2)[0].run == "r3"


def test_an_owner_that_claims_again_gets_what_it_has(fleet: Fleet) -> None:
    fleet.add("r1")
    fleet.add("r2")
    first = fleet.claim()

    assert fleet.claim() == first
    assert names(fleet.facts()) == ["RunQueued", "RunTaken"]


def test_runs_are_taken_by_priority_then_by_age(fleet: Fleet) -> None:
    for run, priority in [("c", 0), ("d", 0), ("a", 5), ("b", -1)]:
        fleet.add(run, priority=priority)

    assert [lease.run for lease in fleet.claim(slots=9)] == ["b", "c", "d", "a"]


@pytest.mark.parametrize(("labels", "runs"), [((), ["plain"]), (("gpu", "big"), ["plain", "gpu"])])
def test_a_worker_needs_all_labels_of_a_run(fleet: Fleet, labels: tuple[str, ...], runs: list[str]) -> None:
    fleet.add("plain")
    fleet.add("gpu", labels=("gpu",))
    fleet.add("both", labels=("gpu", "mac"))

    assert [lease.run for lease in fleet.claim(slots=9, labels=labels)] == runs


def test_one_run_works_on_a_repository_however_it_is_named(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever queues it. A run that has ended counts, because it may be retried."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").mkdir()
    (tmp_path / "link").symlink_to("app")
    app = str((tmp_path / "app").resolve())
    folders = [f"file://{app}", f"{app}/", "~/app", str(tmp_path / "link")]
    addresses = ["git@example.org:a/b.git", "ssh://git@EXAMPLE.org/a/b", "git@example.org:a/b"]
    for number, repo in enumerate((*folders, *addresses)):
        fleet.add(f"r{number}", repo=repo)
        if not number:
            fleet.leases.request_stop("r0", Ask.CANCEL)

    assert [fleet.lease(f"r{number}").work.repo for number in range(7)] == [folders[0]] * 4 + [addresses[0]] * 3
    assert len(fleet.claim(slots=9)) == 2


def test_the_run_of_a_schedule_names_its_repository_as_other_runs_do(fleet: Fleet) -> None:
    plan = dump(plan_to_json(plan_of("one")))
    fleet.add("r1", repo="https://example.org/a.git")
    fleet.leases.set_schedule(RunSchedule("nightly", "* * * * *", plan, 1, Work(repo="https://example.org/a/")))

    [run] = fleet.leases.tick(lambda _schedule, _now: 2**45).values()

    assert fleet.lease(run).work.repo == "https://example.org/a.git"


def test_a_repository_has_one_run_at_a_time(fleet: Fleet) -> None:
    """But a run may have several hands in it, and runs without a repository have no such limit."""
    fleet.add("r1", repo="/app", hands=2)
    fleet.add("r2", repo="/app")
    fleet.add("r3")
    fleet.add("r4")

    held = fleet.claim(slots=9)

    assert [(lease.run, lease.hand) for lease in held] == [("r1", 0), ("r1", 1), ("r3", 0), ("r4", 0)]
    fleet.leases.close(held[0].fence, WorkOutcome.DONE)
    assert fleet.claim("here/2/b") == []
    fleet.leases.close(held[1].fence, WorkOutcome.DONE)
    assert [lease.run for lease in fleet.claim("here/2/b")] == ["r2"]


def test_a_provider_has_as_many_runs_as_its_limit(fleet: Fleet) -> None:
    fleet.leases.set_limit(ProviderLimit("anthropic", runs=2))
    for number in range(4):
        fleet.add(f"r{number}", provider="anthropic")
    fleet.add("other", provider="openai")

    assert [lease.run for lease in fleet.claim(slots=9)] == ["r0", "r1", "other"]

    fleet.leases.set_limit(ProviderLimit("anthropic"))
    assert fleet.leases.limits() == []
    assert [lease.run for lease in fleet.claim("here/2/b", slots=9)] == ["r2", "r3"]


def test_an_older_worker_leaves_runs_of_a_newer_protocol(fleet: Fleet) -> None:
    fleet.add("new", protocol=2)

    assert fleet.claim() == []
    assert fleet.leases.claim(Claimer("w", protocol=2), ["w/1"])[0].run == "new"


def test_a_worker_that_is_to_drain_takes_nothing(fleet: Fleet) -> None:
    fleet.leases.beat(WorkerInfo("here/1/a", "here", 1))
    fleet.add()

    assert fleet.leases.drain("here/1/a")

    assert fleet.leases.beat(WorkerInfo("here/1/a", "here", 1)) is Ask.DRAIN
    assert fleet.claim() == []
    assert fleet.claim("here/2/b") != []


def test_a_dispatched_attempt_is_taken_once(fleet: Fleet) -> None:
    fleet.add()
    who = Claimer("here/1/a", version="1.2")

    taken = fleet.leases.take(who, "here/1/a/0", "r1", 0, 1)

    assert taken is not None
    assert taken.owner == "here/1/a/0"
    assert fleet.leases.take(who, "here/1/a/0", "r1", 0, 1) == taken
    assert fleet.leases.take(Claimer("here/2/b"), "here/2/b/0", "r1", 0, 1) is None
    assert fleet.facts()[1:] == [RunTaken("r1", 0, 1, "here/1/a/0", "1.2")]


def test_a_late_dispatch_of_an_earlier_attempt_takes_nothing(fleet: Fleet) -> None:
    fleet.leases.release(fleet.held().fence, "draining")

    assert fleet.leases.take(Claimer("w"), "w/1", "r1", 0, 1) is None
    assert fleet.leases.take(Claimer("w"), "w/1", "r1", 0, 2) is not None


def test_a_dispatch_is_held_to_the_limits(fleet: Fleet) -> None:
    fleet.held("r1", repo="/app")
    fleet.add("r2", repo="/app")

    assert fleet.leases.take(Claimer("w"), "w/1", "r2", 0, 1) is None


def test_a_lease_is_sent_once(fleet: Fleet) -> None:
    fleet.add("r1")
    fleet.add("r2", labels=("gpu",))
    fleet.add("r3")

    sent = [lease.run for _ in range(3) for lease in fleet.leases.dispatch(Claimer("w"), 1)]

    assert sent == ["r1", "r3"]
    assert [lease.run for lease in fleet.leases.sent()] == sent
    assert not fleet.lease("r1").is_held


def test_what_is_sent_counts_for_the_limits_of_what_is_sent_later(fleet: Fleet) -> None:
    fleet.leases.set_limit(ProviderLimit("p", runs=1))
    for run in ("r1", "r2"):
        fleet.add(run, repo="/app")
    for run in ("r3", "r4"):
        fleet.add(run, provider="p")

    first, more = fleet.leases.dispatch(Claimer("w"), 4), fleet.leases.dispatch(Claimer("w"), 4)

    assert [lease.run for lease in first] == ["r1", "r3"]
    assert more == []


def test_an_attempt_that_has_not_begun_is_sent_anew_under_the_next_number(fleet: Fleet) -> None:
    fleet.add()
    [lease] = fleet.leases.dispatch(Claimer("w"), 1)

    assert fleet.leases.resend("r1", 0, 2) is None
    assert fleet.leases.resend("r2", 0, 1) is None
    after = fleet.leases.resend("r1", 0, 1)

    assert after == replace(lease, attempt=2, sent=False)
    assert fleet.lease() == after
    assert fleet.leases.take(Claimer("w"), "w/1", "r1", 0, 1) is None
    assert [lease.attempt for lease in fleet.leases.dispatch(Claimer("w"), 1)] == [2]


def test_an_attempt_that_has_begun_is_not_sent_anew(fleet: Fleet) -> None:
    fleet.held()

    assert fleet.leases.resend("r1", 0, 1) is None
    assert fleet.leases.sent() == []
