"""Lists of runs read what they return: pages by state, what workers hold, what waits for an answer."""

from collections.abc import Iterable

from tests.stores.leases import HOUR, Fleet
from tildone.plan.lists import FIRST, RunGroup, RunLists, RunPlace, RunView, WorkerInfo, group_of
from tildone.plan.runs import Ask, Asked, WorkOutcome
from tildone.stores import leasing as run_lists


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
    fleet.leases.request_stop("p", Ask.PAUSE)
    fleet.leases.request_stop("c", Ask.CANCEL)


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


def test_what_workers_hold_has_its_remaining_time(fleet: Fleet) -> None:
    fleet.held("a")
    fleet.add("b")

    [view] = lists_of(fleet).held()

    assert view.lease.run == "a"
    assert view.remaining >= 0
    assert names(lists_of(fleet).of_sessions(["plan of b", "plan of a", "none"])) == ["a", "b"]


def test_leases_with_open_questions_are_found(fleet: Fleet) -> None:
    held = fleet.held("a")
    fleet.held("b")
    fleet.leases.append(held.fence, Asked("a", 0, "q1", "question", "Which?"), "e1")

    assert [lease.run for lease in lists_of(fleet).asking()] == ["a"]
    fleet.leases.answer("a", "q1", "this one", "Ada", "e2")
    assert lists_of(fleet).asking() == []


def test_runs_of_the_last_day_and_those_that_lost_a_worker(fleet: Fleet) -> None:
    held = fleet.held("a")
    fleet.add("b")
    since = held.since
    lists = lists_of(fleet)

    assert lists.recent_sessions(since) == ["plan of a"]
    assert lists.taken_over(since) == 0
    fleet.passes(HOUR)
    fleet.leases.reap(10 * HOUR)
    assert lists.taken_over(since) == 1
    assert lists.taken_over(2**50) == 0
    assert lists.recent_sessions(2**50) == []


def test_a_store_without_runs_and_workers_has_no_fleet(fleet: Fleet) -> None:
    lists = lists_of(fleet)

    assert not lists.exists()
    fleet.leases.beat(WorkerInfo("here/1/a"))
    assert lists.exists()
    fleet.leases.leave("here/1/a")
    fleet.add("a")
    assert lists.exists()
    assert lists.now() > 1_600_000_000_000
