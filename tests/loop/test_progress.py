"""Progress counts once: a task is closed once in its life, and a text is new once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.plan.changing import MAX_ADDED, MAX_DROPPED, MAX_REMEMBERED, progress_of
from tildone.plan.events import Ledger
from tildone.plan.model import Plan, Status, Task, assign_numbers, flat, numbered

AB = numbered(plan_of("a", "b"))


def played(*plans: Plan) -> list[bool]:
    """Whether each plan is progress compared with the one before, from `AB` on."""
    before, ledger, found = AB, Ledger(), []
    for plan in plans:
        after = assign_numbers(before, plan)
        counts, ledger = progress_of(before, after, ledger)
        found.append(counts)
        before = after
    return found


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (flat(Task("a", COMPLETED), Task("b")), True),
        (flat(Task("a", ABANDONED), Task("b")), True),
        (plan_of("a", "b", "c"), True),
        (plan_of("a", "other"), False),
        (flat(Task("a", IN_PROGRESS), Task("b")), False),
        (plan_of("b", "a"), False),
        (plan_of("a"), False),
        (Plan(), False),
    ],
)
def test_progress_is_a_task_closed_or_added(after: Plan, *, expected: bool) -> None:
    """Reordering, starting, removing and rewording tasks are not progress."""
    assert played(after) == [expected]


@pytest.mark.parametrize("closed", [COMPLETED, ABANDONED])
def test_a_task_that_is_closed_and_reopened_counts_once(closed: Status) -> None:
    done, again = flat(Task("a", closed), Task("b")), plan_of("a", "b")

    assert played(done, again, done, again, done) == [True, False, False, False, False]


def test_a_task_that_is_renamed_between_counts_once() -> None:
    """By its number, whatever it is called."""

    def first(text: str, status: Status = PENDING) -> Plan:
        return Plan(flat(Task(text, status, number=1), Task("b", number=2)).phases, 2)

    assert played(first("a", COMPLETED), first("a"), first("A"), first("A", COMPLETED)) == [True, False, False, False]


def test_a_list_that_grows_and_shrinks_counts_once() -> None:
    assert played(plan_of("a", "b", "c"), plan_of("a", "b"), plan_of("a", "b", "c")) == [True, False, False]


def test_a_task_that_is_removed_and_added_again_counts_as_closed_once() -> None:
    done = flat(Task("a"), Task("b"), Task("c", COMPLETED))

    assert played(plan_of("a", "b", "c"), done, AB, plan_of("a", "b", "c"), done) == [True, True, False, False, False]


def test_adding_counts_within_a_budget_until_a_task_is_closed() -> None:
    texts = [f"more {number}" for number in range(MAX_ADDED + 2)]
    growing = [plan_of("a", "b", *texts[: count + 1]) for count in range(len(texts))]
    closed = flat(Task("a", COMPLETED), *(Task(text) for text in ("b", *texts)))
    more = flat(*closed.tasks, Task("after that"))

    assert played(*growing, closed, more) == [True] * MAX_ADDED + [False] * 2 + [True, True]


def test_dropping_counts_within_a_budget() -> None:
    """An agent that splits its tasks drops one and adds two, for ever. Completing a task does not renew the budget."""
    many = plan_of(*(f"task {number}" for number in range(MAX_DROPPED + 3)))

    def dropped(count: int, last: Status) -> Plan:
        kept = many.tasks[count:-1]
        return flat(
            *(Task(task.text, ABANDONED) for task in many.tasks[:count]), *kept, Task(many.tasks[-1].text, last)
        )

    plans = [dropped(count, PENDING) for count in range(1, MAX_DROPPED + 2)]
    completed, one_more = dropped(MAX_DROPPED + 1, COMPLETED), dropped(MAX_DROPPED + 2, COMPLETED)

    assert played(many, *plans, completed, one_more) == [False, *[True] * MAX_DROPPED, False, True, False]


def test_what_is_remembered_is_bounded() -> None:
    ledger = Ledger()
    many = numbered(plan_of(*(f"text {number}" for number in range(3 * MAX_REMEMBERED))))
    closed = numbered(flat(*(Task(task.text, COMPLETED) for task in many.tasks)))

    _, ledger = progress_of(closed, many, ledger)
    _, ledger = progress_of(many, Plan(), ledger)

    assert (len(ledger.reopened), len(ledger.gone)) == (0, MAX_REMEMBERED)
    assert len(progress_of(closed, many, Ledger())[1].reopened) == MAX_REMEMBERED


@given(st.lists(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(list(Status))), max_size=4)))
def test_few_texts_make_little_progress_whatever_happens_to_them(lists: list[list[tuple[str, Status]]]) -> None:
    """Each of the four texts is new once and closed once, as one of the tasks that ever had it."""
    counted = played(*(flat(*(Task(text, status) for text, status in tasks)) for tasks in lists))

    assert sum(counted) <= 3 * len("abcd") + 2
