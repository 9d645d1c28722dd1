"""What a change of an agent does to the tasks of others."""

from tildone.base import replace
from tildone.plan.claims import Claim, Claimant, fence_of, is_start, next_free, settled, started_again
from tildone.plan.model import Plan, Status, Task, flat
from tildone.plan.ops import Everything, Mark, Named, Numbered

ACTIVE, OPEN, DONE = Status.IN_PROGRESS, Status.PENDING, Status.COMPLETED


def plan(*statuses: Status) -> Plan:
    """Three tasks, the third of which comes after the others."""
    tasks = [Task(f"task {number}", status, number=number) for number, status in enumerate(statuses[:2], 1)]
    return flat(*tasks, Task("task 3", statuses[2], number=3, after=(1, 2)))


def test_what_comes_after_a_task_that_another_agent_has_is_not_started() -> None:
    """The agent closes a task that has passed to another one, and thereby starts the next."""
    other = Claim(2, 2, 9, Claimant("another"), remaining=9)

    result = settled(plan(DONE, ACTIVE, OPEN), plan(DONE, DONE, ACTIVE), {2: other}, frozenset)

    assert [task.status for task in result.plan.tasks] == [DONE, ACTIVE, OPEN]
    assert result.refused == (2,)


def claim_of(number: int) -> Claim:
    return Claim(number, 1, 9, Claimant("another"), remaining=9)


def statuses(given: Plan) -> list[Status]:
    return [task.status for task in given.tasks]


def with_files(given: Plan, *globs: str) -> Plan:
    tasks = (replace(task, touches=(glob,)) for task, glob in zip(given.tasks, globs, strict=True))
    return replace(given, phases=flat(*tasks).phases)


def test_steps_that_start_tasks_in_progress_are_found() -> None:
    """They change nothing in the plan, but the agent is to have these tasks."""
    before = plan(ACTIVE, OPEN, OPEN)
    steps = [Mark(Everything(), ACTIVE), Mark(Named("no such task"), ACTIVE), Mark(Numbered((2,)), DONE)]

    assert [is_start(step) for step in steps] == [True, True, False]
    assert started_again(before, steps) == {1}


def test_the_next_ready_task_is_started_in_place_of_one_that_another_agent_has() -> None:
    before, after = plan(OPEN, OPEN, OPEN), plan(ACTIVE, OPEN, OPEN)

    result = settled(before, after, {1: claim_of(1)}, frozenset)

    assert (statuses(result.plan), result.refused, result.instead) == ([OPEN, ACTIVE, OPEN], (1,), 2)
    assert statuses(settled(before, after, {1: claim_of(1)}, frozenset, offers=False).plan) == [OPEN, OPEN, OPEN]


def test_no_task_is_offered_to_an_agent_that_has_one() -> None:
    result = settled(plan(ACTIVE, OPEN, OPEN), plan(ACTIVE, ACTIVE, OPEN), {2: claim_of(2)}, frozenset)

    assert (statuses(result.plan), result.instead) == ([ACTIVE, OPEN, OPEN], 0)


def test_the_tasks_before_a_refused_one_are_offered_last() -> None:
    before = flat(*(Task(f"task {number}", number=number) for number in range(1, 5)))
    wants_2 = replace(
        before, phases=flat(*(replace(t, status=ACTIVE if t.number == 2 else OPEN) for t in before.tasks)).phases
    )

    assert settled(before, wants_2, {2: claim_of(2)}, frozenset).instead == 3
    assert settled(before, wants_2, {2: claim_of(2)}, lambda: frozenset({3, 4})).instead == 1
    assert settled(before, wants_2, {2: claim_of(2)}, lambda: frozenset({1, 3, 4})).instead == 0


def test_a_list_that_removes_a_task_of_another_agent_changes_nothing() -> None:
    before = plan(ACTIVE, OPEN, OPEN)

    result = settled(before, flat(Task("task 2", DONE, number=2)), {1: claim_of(1)}, frozenset)

    assert (result.plan, result.refused) == (before, (1,))


def test_a_new_task_that_another_agent_has_claimed_meanwhile_is_not_started() -> None:
    result = settled(Plan(), flat(Task("new", ACTIVE, number=1)), {1: claim_of(1)}, frozenset)

    assert (statuses(result.plan), result.refused) == ([OPEN], (1,))


def test_a_rule_that_puts_the_task_of_another_agent_back_is_not_the_doing_of_the_agent() -> None:
    """With one task in progress at a time, starting one puts the others back."""
    result = settled(plan(ACTIVE, OPEN, OPEN), plan(OPEN, ACTIVE, OPEN), {1: claim_of(1)}, lambda: frozenset({1}))

    assert (statuses(result.plan), result.refused) == ([ACTIVE, ACTIVE, OPEN], ())


def test_the_task_of_an_agent_stays_in_progress_beside_that_of_another() -> None:
    """A rule that allows one task in progress puts the second back, although the first is with another agent."""
    both, first = plan(ACTIVE, ACTIVE, OPEN), plan(ACTIVE, OPEN, OPEN)

    assert statuses(settled(both, first, {}, lambda: frozenset({1})).plan) == [ACTIVE, ACTIVE, OPEN]
    assert statuses(settled(both, first, {}, frozenset).plan) == [ACTIVE, OPEN, OPEN]
    assert statuses(settled(both, plan(ACTIVE, OPEN, ACTIVE), {}, lambda: frozenset({1})).plan) == [
        ACTIVE,
        OPEN,
        ACTIVE,
    ]


def test_a_task_that_others_closed_meanwhile_is_not_reopened() -> None:
    """Unless the agent knew that it was closed."""
    before, after = plan(DONE, OPEN, OPEN), plan(ACTIVE, OPEN, OPEN)

    unaware = settled(before, after, {}, frozenset, known=plan(OPEN, OPEN, OPEN))
    aware = settled(before, after, {}, frozenset, known=before)

    assert (statuses(unaware.plan), unaware.closed, unaware.instead) == ([DONE, ACTIVE, OPEN], (1,), 2)
    assert (statuses(aware.plan), aware.closed) == ([ACTIVE, OPEN, OPEN], ())


def test_a_task_that_may_change_the_files_of_another_agent_is_not_started() -> None:
    before = with_files(plan(ACTIVE, OPEN, OPEN), "src/*", "src/a.py", "docs")
    after = with_files(plan(ACTIVE, ACTIVE, OPEN), "src/*", "src/a.py", "docs")

    others = settled(before, after, {}, lambda: frozenset({1}))
    own = settled(before, after, {}, frozenset)

    assert (statuses(others.plan), others.conflicts) == ([ACTIVE, OPEN, OPEN], ((2, 1),))
    assert (statuses(own.plan), own.conflicts) == ([ACTIVE, ACTIVE, OPEN], ())


def test_a_task_in_progress_that_the_agent_cannot_have_is_told_with_its_rival() -> None:
    before = plan(ACTIVE, ACTIVE, OPEN)

    result = settled(before, before, {}, lambda: frozenset({1, 2}), {1: 0, 2: 1})

    assert (result.refused, result.conflicts, result.instead) == ((1,), ((2, 1),), 0)


def test_the_store_is_told_what_a_change_starts_and_which_tasks_it_may_conflict_with() -> None:
    before = with_files(plan(ACTIVE, OPEN, OPEN), "src/*", "src/a.py", "docs")
    after = with_files(plan(ACTIVE, ACTIVE, DONE), "src/*", "src/a.py", "docs")

    fence = fence_of(before, after, Claimant("me"), 60)
    removed = fence_of(before, flat(*after.tasks[:2], Task("new", number=4)), Claimant("me"), 60)

    assert [sorted(each) for each in (fence.changes, fence.starts, fence.active, fence.beside)] == [
        [2, 3],
        [2],
        [1, 2],
        [1],
    ]
    assert removed.changes == {2, 3}


def test_the_next_free_task_is_ready_and_shares_no_files_with_those_of_others() -> None:
    given = with_files(plan(ACTIVE, OPEN, OPEN), "src/*", "src/a.py", "docs")

    assert next_free(given, frozenset({1})) is None
    assert next_free(given, frozenset()) is None
    assert next_free(plan(ACTIVE, OPEN, OPEN), frozenset({1})) == plan(ACTIVE, OPEN, OPEN).tasks[1]
