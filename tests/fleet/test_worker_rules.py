"""What a worker permits, and when its reaper takes a lease because its time has passed."""

from pathlib import Path

from tests.stores.leases import LONG, fleet_on_sqlite
from tildone.core.check import Check
from tildone.core.plan import Task, flat
from tildone.fleet.engine import TableEngine
from tildone.fleet.permissions import (
    SEEN_MS,
    LeftRuns,
    approved_patterns,
    could_take,
    others_may_permit,
    permitted,
    refused_commands,
    why_not_permitted,
)
from tildone.fleet.upkeep import Reaper
from tildone.log.fleet.lease import PROTOCOL, Claimer, Lease, LeaseState, Work, WorkOutcome
from tildone.log.fleet.settings import FleetSettings
from tildone.log.fleet.workers import WorkerInfo
from tildone.value import replace
from tildone.views.proofs import check_text


def test_a_run_can_only_narrow_what_its_worker_allows() -> None:
    both: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {
        (("make *",), ()): ("make *",),
        (("*",), ("make test",)): ("make test",),
        (("make *",), ("make t*",)): ("make t*",),
        (("make *",), ("*",)): (),
        (("make ?",), ("make *",)): (),
        (("make [ab]",), ("make [abc]",)): (),
        (("*ab]",), ("x[ab]",)): (),
        ((), ("make",)): (),
    }

    assert {(own, asked): permitted(own, asked) for own, asked in both} == both


def test_a_command_that_is_not_in_the_list_is_found_before_anything_runs() -> None:
    plan = flat(Task("Test", check=Check(("make", "test"))), Task("Remove: `rm -rf /`"))
    plan = replace(plan, check=Check(("rm", "x")))

    refused = refused_commands(Work(agent="shell"), plan, ["make *"], {})

    assert refused == ["rm -rf /", "rm x"]
    assert refused_commands(Work(agent="shell"), plan, ["*"], {}) == []
    assert refused_commands(Work(agent="run"), plan, [], {}) == []


def test_what_a_person_has_denied_is_not_left_to_other_workers() -> None:
    """Whoever has the run says that it was denied, and does not run it."""
    plan = flat(Task("Remove", check=Check(("rm", "x"))))

    refused = refused_commands(Work(agent="shell"), plan, [], {"rm x": "no: not here"})

    assert refused == []


def test_an_approved_command_is_permitted_literally() -> None:
    asked = Check(("rm", "[ab]*"))

    patterns = approved_patterns({check_text(asked): "yes", "rm c": "no"}, ["*"])

    assert [refused_by(patterns, check) for check in (asked, Check(("rm", "a")), Check(("rm", "c")))] == [
        False,
        True,
        True,
    ]


def test_an_approval_permits_only_what_the_worker_lets_persons_be_asked_for() -> None:
    answers = {"rm a": "yes", "make a": "yes"}

    assert approved_patterns(answers, ()) == ()
    assert approved_patterns(answers, ["make *"]) == ("make a",)


def refused_by(patterns: tuple[str, ...], check: Check) -> bool:
    return bool(refused_commands(Work(agent="shell"), flat(Task("One", check=check)), patterns, {}))


def test_a_run_that_allows_only_what_its_worker_does_not_is_refused() -> None:
    refused = why_not_permitted(Work(agent="run", allow=("rm *",)), {"run"}, ["make *"])

    assert refused == "not permitted here: the commands that the run allows"
    assert why_not_permitted(Work(agent="other"), {"run"}, ["*"]) == "not permitted here: the agent 'other'"


def test_a_run_is_left_to_other_workers_before_a_person_is_asked(tmp_path: Path) -> None:
    with fleet_on_sqlite(tmp_path) as fleet:
        lease = fleet.held()
        others = [
            WorkerInfo("there/2/b", seen=SEEN_MS + 1000),
            WorkerInfo("old/3/c"),
            WorkerInfo(lease.worker, seen=SEEN_MS + 1000),
        ]
        before = others_may_permit(lease, others, SEEN_MS + 1000)
        after = others_may_permit(replace(lease, refused=("there/2/b",)), others, SEEN_MS + 1000)

    assert (before, after) == (True, False)


def test_a_run_that_was_left_to_others_is_taken_back_when_they_refuse_it(tmp_path: Path) -> None:
    """A person can be asked by this worker, and the others permit nothing."""
    with fleet_on_sqlite(tmp_path) as fleet:
        here, there = Claimer("here/1/a"), Claimer("there/2/b")
        left = LeftRuns(fleet.leases, here.worker)
        for who in (here, there):
            fleet.leases.beat(WorkerInfo(who.worker, who.worker.split("/")[0]))
        fleet.add()
        [lease] = fleet.leases.claim(here, ["here/1/a/0"])
        left.add(lease)
        fleet.leases.close(lease.fence, WorkOutcome.REFUSED, "not permitted here")
        left.look()
        waits_for_it = lease in left
        while_others_may = fleet.leases.claim(here, ["here/1/a/1"])
        [lease] = fleet.leases.claim(there, ["there/2/b/0"])
        left.look()
        fleet.leases.close(lease.fence, WorkOutcome.REFUSED, "not permitted here")
        left.look()
        [again] = fleet.leases.claim(here, ["here/1/a/2"])
        left.look()

    assert (waits_for_it, while_others_may) == (True, [])
    assert again.refused == (there.worker,)


LABELLED = Lease("r", 0, "s", Work(labels=("gpu",)))


def test_what_a_worker_could_take_now_or_later() -> None:
    expected = [
        (LABELLED, True),
        (replace(LABELLED, owner="there/2/b/0", epoch=1), True),
        (replace(LABELLED, not_before=1001, epoch=2), True),
        (replace(LABELLED, not_before=1001), False),
        (replace(LABELLED, refused=("here/1/a",)), False),
        (replace(LABELLED, refused=("there/2/b",)), True),
        (replace(LABELLED, state=LeaseState.WAITING), False),
        (replace(LABELLED, state=LeaseState.PAUSED), False),
        (replace(LABELLED, state=LeaseState.DONE), False),
        (replace(LABELLED, work=Work(labels=("gpu", "mac"))), False),
        (replace(LABELLED, work=Work(protocol=PROTOCOL + 1)), False),
    ]
    worker = Claimer("here/1/a", ("gpu", "linux"))

    assert [(lease, could_take(lease, worker, 1000)) for lease, _ in expected] == expected


def test_a_reaper_takes_a_lease_only_after_it_has_seen_the_store_without_a_gap(tmp_path: Path) -> None:
    """After an outage, or after this worker was stopped, owners get time to renew first."""
    seconds = 100.0
    with fleet_on_sqlite(tmp_path) as fleet:
        fleet.held()
        fleet.passes(LONG)
        reaper = Reaper(fleet.leases, TableEngine(fleet.leases, Claimer("here/2/b")), lambda: seconds)
        settings = FleetSettings()
        reaper.look()
        seconds += settings.grace / 1000
        reaper.look()
        after_a_gap = fleet.lease().is_held
        steps = 0
        while fleet.lease().is_held:
            seconds += settings.reaper / 1000
            reaper.look()
            steps += 1

    assert after_a_gap
    assert steps == settings.grace // settings.reaper
