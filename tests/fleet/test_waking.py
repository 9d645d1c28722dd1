"""Hands that wait for tasks of others are woken when a task is closed and another one is left for them."""

import pytest

from tests.fleet.workers import Bench
from tests.plans import plan_of
from tildone.core.plan import Plan, Status, Task, flat
from tildone.fleet.hands import Waker
from tildone.log.claims import Claimant
from tildone.log.events import PlanChanged
from tildone.log.fleet.lease import Claimer, NewRun, Work

LONG = 600_000
HERE, THERE = 0, 1
"""The hand that looks, and the one that waits."""


def tasks(first: Status, *others: Task) -> Plan:
    return flat(Task("first", first, number=1), *others)


def after(number: int, *touches: str, status: Status = Status.PENDING) -> Task:
    """A task after the first one."""
    return Task(f"task {number}", status, number=number, after=(1,), touches=touches)


def waker(bench: Bench, plan: Plan, *, hands: int = 2) -> Waker:
    """Return the waker of the hand that looks; the other one waits."""
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh"), 2), [PlanChanged(plan_of("one"))])
    own, other = (bench.leases.take(Claimer("there/1/a"), f"there/1/a/{n}", bench.run, n, 1) for n in (HERE, THERE))
    assert own is not None
    assert other is not None
    bench.leases.release(other.fence, "other hands have the rest", LONG)
    found = Waker(bench.store, bench.leases, own)
    found.begin(plan, hands)
    return found


def is_woken(bench: Bench) -> bool:
    return not bench.leases.look(bench.run)[THERE].lease.not_before


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(
    ("left", "claimed", "expected"),
    [
        ([after(2), after(3)], {}, {True: True, False: True}),
        ([after(2)], {}, {True: False, False: True}),
        ([after(2), after(3)], {2: HERE}, {True: True, False: True}),
        ([after(2), after(3)], {2: THERE}, {True: False, False: True}),
        ([after(2)], {2: HERE}, {True: False, False: False}),
        ([after(2, "src", status=Status.IN_PROGRESS), after(3, "src")], {2: HERE}, {True: False, False: False}),
        ([after(2), after(3)], {1: HERE}, {True: True, False: True}),
        ([after(2), Task("later", number=3, after=(2,))], {}, {True: False, False: True}),
        ([], {}, {True: False, False: False}),
    ],
    ids=["two", "one", "own begun", "another begun", "begun", "same files", "claim of a closed task", "chain", "none"],
)
def test_a_hand_is_woken_if_a_task_is_left_for_it(
    bench: Bench, left: list[Task], claimed: dict[int, int], expected: dict[bool, bool], *, goes_on: bool
) -> None:
    """A hand that goes on starts one itself."""
    found = waker(bench, tasks(Status.IN_PROGRESS, *left))
    for task, hand in claimed.items():
        bench.store.records.claim("s", task, Claimant(f"claude:{hand}", lease=f"{bench.run}/{hand}"), LONG)

    found.look(tasks(Status.COMPLETED, *left), goes_on=goes_on)

    assert is_woken(bench) is expected[goes_on]


def test_nobody_is_woken_unless_a_task_was_closed(bench: Bench) -> None:
    """Hands that find nothing to do would wake each other for ever."""
    both = after(2), after(3)
    found = waker(bench, tasks(Status.COMPLETED, *both))

    found.look(tasks(Status.COMPLETED, *both), goes_on=False)

    assert not is_woken(bench)


def test_a_closed_task_wakes_once(bench: Bench) -> None:
    both = after(2), after(3)
    found = waker(bench, tasks(Status.IN_PROGRESS, *both))
    found.look(tasks(Status.COMPLETED, *both), goes_on=False)
    other = bench.leases.take(Claimer("there/1/a"), "there/1/a/9", bench.run, THERE, 2)
    assert other is not None
    bench.leases.release(other.fence, "other hands have the rest", LONG)

    found.look(tasks(Status.COMPLETED, *both), goes_on=False)

    assert not is_woken(bench)


def test_a_run_of_one_hand_wakes_nobody(bench: Bench) -> None:
    both = after(2), after(3)
    found = waker(bench, tasks(Status.IN_PROGRESS, *both), hands=1)

    found.look(tasks(Status.COMPLETED, *both), goes_on=False)

    assert not is_woken(bench)
