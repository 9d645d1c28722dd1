"""Finishing a task starts the next one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING
from tildone.plan.model import Phase, Plan, Rules, Status, Task, flat, numbered
from tildone.plan.ops import Append, Mark, Numbered, StartNext
from tildone.plan.reduce import Step, reduce

LETTERS = {"p": PENDING, "i": IN_PROGRESS, "c": COMPLETED, "a": ABANDONED, "b": BLOCKED}


def written(statuses: str) -> Plan:
    """A flat plan, each task by the initial of its status."""
    return numbered(flat(*(Task(f"task {i}", LETTERS[letter]) for i, letter in enumerate(statuses))))


def initials(plan: Plan) -> str:
    return "".join(task.status.value[0] for task in plan.tasks)


def mark(number: int, status: Status) -> Mark:
    return Mark(Numbered((number,)), status)


def after(plan: Plan, *steps: Step) -> str:
    outcome = reduce(plan, [*steps, StartNext()], Rules())
    assert not outcome.faults
    return initials(outcome.after)


@pytest.mark.parametrize(
    ("before", "finished", "expected"),
    [
        ("ipp", 1, "cip"),
        ("ppp", 1, "cip"),
        ("ppp", 2, "pci"),
        ("ppi", 3, "ipc"),
        ("ibcap", 1, "cbcai"),
        ("bpi", 3, "bic"),
        ("ib", 1, "cb"),
        ("i", 1, "c"),
        ("bp", 1, "ci"),
    ],
)
def test_the_next_pending_task_starts(before: str, finished: int, expected: str) -> None:
    """In the order of the plan, else from the top; blocked and closed tasks are skipped."""
    assert after(written(before), mark(finished, COMPLETED)) == expected


@pytest.mark.parametrize(("status", "expected"), [(ABANDONED, "aip"), (BLOCKED, "bip")])
def test_leaving_the_task_in_progress_starts_the_next(status: Status, expected: str) -> None:
    assert after(written("ipp"), mark(1, status)) == expected


@pytest.mark.parametrize(("status", "expected"), [(ABANDONED, "pap"), (BLOCKED, "pbp"), (PENDING, "ppp")])
def test_a_task_that_nobody_worked_on_leaves_no_gap(status: Status, expected: str) -> None:
    """To drop or block a pending task finishes nothing."""
    assert after(written("ppp"), mark(2, status)) == expected


def test_a_task_that_was_finished_before_starts_nothing() -> None:
    """So a repeated call changes nothing."""
    assert after(written("cpp"), mark(1, COMPLETED)) == "cpp"


def test_a_task_that_is_put_back_starts_nothing() -> None:
    assert after(written("ipp"), mark(1, PENDING)) == "ppp"


def test_nothing_starts_while_a_task_is_in_progress() -> None:
    assert after(written("iip"), mark(1, COMPLETED)) == "cip"
    assert after(written("ipp"), mark(1, COMPLETED), mark(3, IN_PROGRESS)) == "cpi"


def test_the_last_of_several_finished_tasks_counts() -> None:
    plan = written("pppp")

    assert after(plan, mark(3, COMPLETED), mark(1, COMPLETED)) == "cpci"


def test_a_task_of_the_same_batch_can_start_or_be_finished() -> None:
    plan = written("i")

    assert after(plan, mark(1, COMPLETED), Append((Task("b"),))) == "ci"
    assert after(plan, mark(1, COMPLETED), Append((Task("b"), Task("c"))), mark(2, COMPLETED)) == "cci"


def test_the_next_phase_follows() -> None:
    plan = numbered(Plan((Phase("A", (Task("a", IN_PROGRESS),)), Phase("B", (Task("b"),)))))

    assert after(plan, mark(1, COMPLETED)) == "ci"


def test_tasks_of_other_agents_do_not_count() -> None:
    """They are in progress already, so they are not taken either."""
    shared = written("iipip")
    finish = mark(1, COMPLETED)

    assert initials(reduce(shared, [finish, StartNext(lambda: {2, 4})], Rules()).after) == "ciiip"
    assert initials(reduce(shared, [finish, StartNext(lambda: {2})], Rules()).after) == "cipip"


def test_other_agents_are_looked_up_only_if_a_task_is_in_progress() -> None:
    """The lookup reads files."""

    def others() -> frozenset[int]:
        raise AssertionError("looked up")

    assert initials(reduce(written("ip"), [mark(1, COMPLETED), StartNext(others)], Rules()).after) == "ci"
    assert initials(reduce(written("ip"), [StartNext(others)], Rules()).after) == "ip"


@given(plans.numbered_plans, plans.steps, st.sampled_from([Rules(), Rules(atomic=False)]))
def test_at_most_one_pending_task_starts(plan: Plan, steps: list[Step], rules: Rules) -> None:
    """Whatever the batch does, and only if nothing is in progress."""
    without = reduce(plan, steps, rules).after
    outcome = reduce(plan, [*steps, StartNext()], rules).after

    changed = [(a, b) for a, b in zip(without.tasks, outcome.tasks, strict=True) if a != b]
    assert [(a.status, b.status) for a, b in changed] in ([], [(PENDING, IN_PROGRESS)])
    assert not changed or all(task.status is not IN_PROGRESS for task in without.tasks)
