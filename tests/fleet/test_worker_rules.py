"""What a worker permits, and when its reaper takes a lease because its time has passed."""

from pathlib import Path

import pytest

from tests.stores.leases import LONG, fleet_on_sqlite
from tildone.core.check import Check
from tildone.core.plan import Task, flat
from tildone.fleet.approving import approved_patterns
from tildone.fleet.engine import TableEngine
from tildone.fleet.permissions import SEEN_MS, others_may_permit, permitted, refused_command, why_not_permitted
from tildone.fleet.upkeep import Reaper
from tildone.log.fleet.lease import Claimer, Work
from tildone.log.fleet.settings import FleetSettings
from tildone.log.fleet.workers import WorkerInfo
from tildone.value import replace
from tildone.views.proofs import check_text


@pytest.mark.parametrize(
    ("own", "asked", "both"),
    [
        (("make *",), (), ("make *",)),
        (("*",), ("make test",), ("make test",)),
        (("make *",), ("make t*",), ("make t*",)),
        (("make *",), ("*",), ()),
        (("make ?",), ("make *",), ()),
        (("make [ab]",), ("make [abc]",), ()),
        (("*ab]",), ("x[ab]",), ()),
        ((), ("make",), ()),
    ],
)
def test_a_run_can_only_narrow_what_its_worker_allows(
    own: tuple[str, ...], asked: tuple[str, ...], both: tuple[str, ...]
) -> None:
    assert permitted(own, asked) == both


def test_a_command_that_is_not_in_the_list_is_found_before_anything_runs() -> None:
    plan = flat(Task("Test", check=Check(("make", "test"))), Task("Remove", check=Check(("rm", "-rf", "/"))))

    refused = refused_command(Work(agent="shell"), plan, ["make *"])

    assert refused == "not permitted here: the command rm -rf /"
    assert refused_command(Work(agent="shell"), plan, ["*"]) == ""
    assert refused_command(Work(agent="run"), plan, []) == ""


def test_an_approved_command_is_permitted_literally() -> None:
    asked = Check(("rm", "[ab]*"))

    patterns = approved_patterns({check_text(asked): "yes", "rm c": "no"})

    assert refused_command(Work(agent="shell"), flat(Task("One", check=asked)), patterns) == ""
    assert refused_command(Work(agent="shell"), flat(Task("One", check=Check(("rm", "a")))), patterns)
    assert refused_command(Work(agent="shell"), flat(Task("One", check=Check(("rm", "c")))), patterns)


def test_a_run_that_allows_only_what_its_worker_does_not_is_refused() -> None:
    refused = why_not_permitted(Work(agent="run", allow=("rm *",)), {"run"}, ["make *"])

    assert refused == "not permitted here: the commands that the run allows"
    assert why_not_permitted(Work(agent="other"), {"run"}, ["*"]) == "not permitted here: the agent 'other'"


def test_a_run_is_left_to_other_workers_before_a_person_is_asked(tmp_path: Path) -> None:
    with fleet_on_sqlite(tmp_path) as fleet:
        lease = fleet.held()
        others = [
            WorkerInfo("there/2/b", seen=1000),
            WorkerInfo("old/3/c", seen=-SEEN_MS),
            WorkerInfo(lease.worker, seen=1000),
        ]
        before = others_may_permit(lease, others, 1000)
        after = others_may_permit(replace(lease, refused=("there/2/b",)), others, 1000)

    assert (before, after) == (True, False)


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
