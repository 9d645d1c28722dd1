"""What a change records, what it does to the tasks of others, and when finished tasks are removed."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of, plans
from tildone.base import replace
from tildone.plan.changing import (
    ClearResult,
    Schedule,
    change_plan,
    clear_due,
    fact_after_move,
    next_due,
    schedule,
    without_unproved,
)
from tildone.plan.claims import Claim, Claimant, fence_of, is_start, named_active, next_free, settled
from tildone.plan.events import Bound, Call, Directive, DirectiveSet, Ledger, Nudged, PlanChanged, State, Tripped
from tildone.plan.guard import PLAN
from tildone.plan.holding import fact_of_reset, subagent_nudge, with_counts_of, without_taken
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Rules, Status, Task, TaskInPhase, flat
from tildone.plan.ops import Append, Everything, Mark, Named, Note, Numbered, Op, Origin, Remove, Rename
from tildone.plan.reduce import reduce

ONE, TWO = Numbered((1,)), Numbered((2,))
DONE = Mark(ONE, COMPLETED)
COUNTED = State(
    "e", plan_of("a", "b"), drift=4, since=9, directive=Directive.PAUSE, ledger=Ledger(continued=2, began=5)
)


def test_a_change_that_is_progress_resets_the_drift_and_keeps_the_directive() -> None:
    call = Call("todo", "{}")

    outcome, fact = change_plan(COUNTED, [DONE], Rules(), call, Origin, frozenset)

    assert isinstance(fact, PlanChanged)
    assert (fact.plan, fact.call, fact.directive) == (outcome.after, call, Directive.PAUSE)
    assert (fact.drift, fact.since, fact.ledger.continued) == (0, 0, 2)


def test_another_change_keeps_the_counts_and_none_leaves_no_fact() -> None:
    _, noted = change_plan(COUNTED, [Note(ONE, "why")], Rules(), None, Origin, frozenset)
    unchanged, nothing = change_plan(COUNTED, [], Rules(), None, Origin, frozenset)

    assert isinstance(noted, PlanChanged)
    assert (noted.drift, noted.since) == (4, 9)
    assert (unchanged.changed, nothing) == (False, None)


def test_a_change_is_recorded_without_what_the_agent_must_not_do() -> None:
    _, fact = change_plan(COUNTED, [DONE], Rules(), None, Origin, frozenset, settle=lambda before, _: before)

    assert fact is None


def test_a_person_who_moves_the_head_keeps_the_directive_only() -> None:
    earlier = State("d", plan_of("a", "b"))

    assert fact_after_move(COUNTED, earlier, by_agent=False) == DirectiveSet(Directive.PAUSE)
    assert fact_after_move(earlier, State(), by_agent=False) is None


def test_an_agent_that_moves_the_head_keeps_what_was_counted() -> None:
    """A task that it reopens in that way does not count as closed again."""
    closed = State("f", reduce(COUNTED.plan, [DONE], Rules()).after, drift=1, since=7, ledger=Ledger(continued=2))

    fact = fact_after_move(closed, COUNTED, by_agent=True)

    assert fact == DirectiveSet(Directive.GO, 1, 7, Ledger(continued=2, reopened=(1,)))
    assert fact_after_move(State("f", closed.plan), State("e", COUNTED.plan), by_agent=True) is None


ACTIVE, OPEN, CLOSED = Status.IN_PROGRESS, Status.PENDING, Status.COMPLETED


def plan(*statuses: Status) -> Plan:
    """Three tasks, the third of which comes after the others."""
    tasks = [Task(f"task {number}", status, number=number) for number, status in enumerate(statuses[:2], 1)]
    return flat(*tasks, Task("task 3", statuses[2], number=3, after=(1, 2)))


def test_what_comes_after_a_task_that_another_agent_has_is_not_started() -> None:
    """The agent closes a task that has passed to another one, and thereby starts the next."""
    other = Claim(2, 2, 9, Claimant("another"), remaining=9)

    result = settled(plan(CLOSED, ACTIVE, OPEN), plan(CLOSED, CLOSED, ACTIVE), {2: other}, frozenset)

    assert [task.status for task in result.plan.tasks] == [CLOSED, ACTIVE, OPEN]
    assert result.refused == (2,)


def claim_of(number: int) -> Claim:
    return Claim(number, 1, 9, Claimant("another"), remaining=9)


def statuses(given: Plan) -> list[Status]:
    return [task.status for task in given.tasks]


def with_files(given: Plan, *globs: str) -> Plan:
    tasks = (replace(task, touches=(glob,)) for task, glob in zip(given.tasks, globs, strict=True))
    return replace(given, phases=flat(*tasks).phases)


def test_steps_that_name_tasks_in_progress_are_found() -> None:
    """Those that start them change nothing in the plan, but the agent is to have these tasks."""
    before = plan(ACTIVE, ACTIVE, OPEN)
    marks: list[Op] = [Mark(ONE, ACTIVE), Mark(Named("no such task"), ACTIVE), Mark(Numbered((2, 3)), CLOSED)]
    notes: list[Op] = [Note(TWO, "n"), Append((Task("new"),))]
    changes: list[Op] = [Rename(ONE, "x"), Remove(TWO), Mark(Everything(), ACTIVE)]

    def named(steps: Sequence[Op]) -> list[list[int]]:
        return [sorted(numbers) for numbers in named_active(before, steps)]

    assert [is_start(step) for step in marks] == [True, True, False]
    assert [named(steps) for steps in (marks, changes, notes)] == [[[1], [2]], [[1, 2], []], [[], []]]


def test_what_another_agent_has_stays_as_it_was() -> None:
    """Of an atomic change, nothing remains."""
    before, after = plan(OPEN, OPEN, OPEN), plan(ACTIVE, CLOSED, OPEN)

    rest, nothing = (settled(before, after, {1: claim_of(1)}, frozenset, atomic=atomic) for atomic in (False, True))

    assert (statuses(rest.plan), rest.refused) == ([OPEN, CLOSED, OPEN], (1,))
    assert (nothing.plan, nothing.refused) == (before, (1,))
    assert statuses(settled(before, after, {}, frozenset, atomic=True).plan) == [ACTIVE, CLOSED, OPEN]


def test_the_text_of_a_task_that_another_agent_has_stays_as_it_was() -> None:
    before = plan(ACTIVE, OPEN, OPEN)
    after = replace(before, phases=flat(*(replace(task, text=task.text.upper()) for task in before.tasks)).phases)

    result = settled(before, after, {1: claim_of(1)}, frozenset)

    assert ([task.text for task in result.plan.tasks], result.refused) == (["task 1", "TASK 2", "TASK 3"], (1,))
    assert fence_of(before, after, Claimant("me"), 60).beside == {1, 2, 3}


def test_a_list_that_removes_a_task_of_another_agent_changes_nothing() -> None:
    before = plan(ACTIVE, OPEN, OPEN)

    result = settled(before, flat(Task("task 2", CLOSED, number=2)), {1: claim_of(1)}, frozenset)

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
    before, after = plan(CLOSED, OPEN, OPEN), plan(ACTIVE, OPEN, OPEN)

    unaware = settled(before, after, {}, frozenset, known=plan(OPEN, OPEN, OPEN))
    aware = settled(before, after, {}, frozenset, known=before)

    assert (statuses(unaware.plan), unaware.closed) == ([CLOSED, OPEN, OPEN], (1,))
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

    assert (result.refused, result.conflicts) == ((1,), ((2, 1),))


def test_the_store_is_told_what_a_change_starts_and_which_tasks_it_may_conflict_with() -> None:
    before = with_files(plan(ACTIVE, OPEN, OPEN), "src/*", "src/a.py", "docs")
    after = with_files(plan(ACTIVE, ACTIVE, CLOSED), "src/*", "src/a.py", "docs")

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


def test_the_next_free_task_is_the_first_after_another_one() -> None:
    four = flat(*(Task(f"task {number}", number=number) for number in range(1, 5)))
    found = [
        next_free(four, frozenset(taken), after) for taken, after in [((), 2), ((3, 4), 2), ((1, 3, 4), 2), ((), 9)]
    ]

    assert [task and task.number for task in found] == [3, 1, None, 1]


TWO_TASKS = State(plan=flat(Task("a", number=1), Task("b", number=2)))


def test_tasks_of_others_need_not_be_done() -> None:
    """A tool that sends the whole list must not learn that they are done."""
    statuses = {
        sends: [task.status for task in without_taken(TWO_TASKS, frozenset({2}), sends_whole_list=sends).plan.tasks]
        for sends in (True, False)
    }

    assert statuses == {True: [Status.PENDING, Status.BLOCKED], False: [Status.PENDING, Status.COMPLETED]}
    assert without_taken(TWO_TASKS, frozenset(), sends_whole_list=True) is TWO_TASKS


def test_what_waits_for_tasks_of_others_is_blocked() -> None:
    """Whether it comes after them, directly or not, or may change the same files."""
    plan = flat(
        Task("a", Status.IN_PROGRESS, number=1, touches=("src/*",)),
        Task("after it", number=2, after=(1,)),
        Task("after that", number=3, after=(2,)),
        Task("the same files", number=4, touches=("src/b.py",)),
        Task("after those", number=5, after=(4,)),
        Task("free", number=6, touches=("docs/*",)),
    )

    held = without_taken(State(plan=plan), frozenset({1}), sends_whole_list=False).plan.tasks

    assert [task.number for task in held if task.status is Status.BLOCKED] == [2, 3, 4, 5]
    assert [task.number for task in held if task.status is Status.PENDING] == [6]


def test_what_comes_after_a_task_of_others_is_blocked_if_no_files_are_named() -> None:
    plan = flat(Task("a", Status.IN_PROGRESS, number=1), Task("b", number=2, after=(1,)), Task("c", number=3))

    held = without_taken(State(plan=plan), frozenset({1}), sends_whole_list=False).plan.tasks

    assert [task.status for task in held] == [Status.COMPLETED, Status.BLOCKED, Status.PENDING]


def test_a_person_resets_every_count_and_a_new_chain_its_own() -> None:
    ledger = Ledger(continued=5, began=1)
    tripped = State(drift=3, nudges=3, tripped=Tripped(Bound.SAME, 3), ledger=ledger, directive=Directive.PAUSE)

    assert fact_of_reset(tripped, by_person=True) == DirectiveSet(Directive.PAUSE)
    assert fact_of_reset(tripped, by_person=False) == DirectiveSet(Directive.PAUSE, ledger=ledger)
    assert fact_of_reset(State(ledger=ledger), by_person=False) is None
    assert fact_of_reset(State(), by_person=True) is None


def test_a_subagent_shares_the_nudges_of_its_parent() -> None:
    """The first nudge of either began the chain."""
    own, parent = State(ledger=Ledger(continued=2, began=50)), State(ledger=Ledger(continued=7, began=90))

    assert with_counts_of(own, parent).ledger == Ledger(continued=7, began=50)
    assert with_counts_of(parent, own).ledger == Ledger(continued=7, began=50)
    assert with_counts_of(State(), parent).ledger == parent.ledger
    assert with_counts_of(State(), State()).ledger == Ledger()


def test_the_nudge_of_a_subagent_leaves_the_counts_of_its_parent() -> None:
    assert subagent_nudge(State(plan=TWO_TASKS.plan, nudges=3, drift=4)) == Nudged(3, 4, of_subagent=True)
    assert subagent_nudge(State()) is None


WIRED, TESTED = Task("wire", COMPLETED), Task("test", ABANDONED)
WRITING = Task("write", IN_PROGRESS)


def one_phase(*tasks: Task) -> Plan:
    return Plan((Phase("A", tasks),))


def test_every_finished_task_is_due_after_the_delay() -> None:
    """A minute, unless given; without a delay, tasks are cleared when the host next calls `clear_due`."""
    failed = Task("wire", IN_PROGRESS, check=Check(("make",)), proof=Proof(Result.FAILED, ("make",)))
    scheduled = schedule(one_phase(WIRED, WRITING, TESTED), Schedule(), now=7)

    assert scheduled == Schedule(((("A", "wire"), 60_007), (("A", "test"), 60_007)))
    assert next_due(scheduled) == 60_007
    assert next_due(schedule(one_phase(WRITING), Schedule(), now=0)) is None
    assert schedule(one_phase(WIRED), Schedule(), now=0, delay_ms=-1000) == Schedule()
    assert next_due(schedule(one_phase(WIRED), Schedule(), now=7, delay_ms=0)) == 7
    assert schedule(one_phase(failed), Schedule(), now=0) == Schedule()


def test_a_scheduled_task_keeps_its_due_time() -> None:
    """Even if it is abandoned after it was completed, or another task is finished."""
    first = schedule(one_phase(WIRED, WRITING), Schedule(), now=0, delay_ms=60)
    dropped = Task("wire", ABANDONED)

    second = schedule(one_phase(dropped, TESTED), first, now=50, delay_ms=60)

    assert second == Schedule(((("A", "wire"), 60), (("A", "test"), 110)))


def test_a_reopened_task_loses_its_due_time() -> None:
    first = schedule(one_phase(WIRED), Schedule(), now=0, delay_ms=60)

    reopened = schedule(one_phase(Task("wire")), first, now=30, delay_ms=60)
    again = schedule(one_phase(WIRED), reopened, now=40, delay_ms=60)

    assert reopened == Schedule()
    assert again == Schedule(((("A", "wire"), 100),))


def test_only_due_tasks_are_cleared() -> None:
    plan = one_phase(WIRED, TESTED, WRITING)
    scheduled = Schedule(((("A", "wire"), 60), (("A", "test"), 90)))

    early, late = clear_due(plan, scheduled, now=59), clear_due(plan, scheduled, now=60)

    assert early == ClearResult(plan, scheduled)
    assert late == ClearResult(one_phase(TESTED, WRITING), Schedule(((("A", "test"), 90),)), (TaskInPhase("A", WIRED),))


CLEARED: dict[str, tuple[Plan, Plan]] = {
    "phases that it emptied, and those that were empty": (
        Plan((Phase("A", (WIRED,)), Phase("B"), Phase("C", (WRITING,)))),
        Plan((Phase("C", (WRITING,)),)),
    ),
    "no finished task after an equal open one": (
        one_phase(Task("wire", IN_PROGRESS), WIRED),
        one_phase(Task("wire", IN_PROGRESS), WIRED),
    ),
    "equal tasks of two phases": (
        Plan((Phase("A", (WIRED,)), Phase("B", (WIRED, WRITING)))),
        Plan((Phase("B", (WRITING,)),)),
    ),
}


def test_clearing_nothing_keeps_empty_phases() -> None:
    plan = Plan((Phase("A", (Task("wire"),)), Phase("B")))

    assert clear_due(plan, Schedule(((("A", "wire"), 60),)), now=60) == ClearResult(plan, Schedule())


@pytest.mark.parametrize("what", CLEARED)
def test_clearing_removes(what: str) -> None:
    before, after = CLEARED[what]

    cleared = clear_due(before, schedule(before, Schedule(), now=0), now=60_000)

    assert (cleared.plan, cleared.schedule) == (after, Schedule())
    assert [each.task for each in cleared.removed] == [WIRED] * (len(before.tasks) - len(after.tasks))


def test_equal_tasks_of_one_phase_are_cleared_one_at_a_time() -> None:
    """The second is scheduled when the plan changes again, as in the original."""
    plan = one_phase(WIRED, WIRED, WRITING)
    scheduled = schedule(plan, Schedule(), now=0)

    after = clear_due(plan, scheduled, now=60_000)

    assert after == ClearResult(one_phase(WIRED, WRITING), Schedule(), (TaskInPhase("A", WIRED),))
    assert next_due(schedule(after.plan, after.schedule, now=70_000)) == 130_000


@given(plans, st.integers(0, 100))
def test_no_open_task_is_ever_cleared(plan: Plan, delay_ms: int) -> None:
    """Open tasks keep their order."""
    scheduled = schedule(plan, Schedule(), now=0, delay_ms=delay_ms)

    after = clear_due(plan, scheduled, now=delay_ms)

    assert after.schedule == Schedule()
    assert len(after.removed) + len(after.plan.tasks) == len(plan.tasks)
    assert [task for task in after.plan.tasks if task.status.is_open] == [
        task for task in plan.tasks if task.status.is_open
    ]


def test_tasks_whose_checks_have_to_pass_again_are_not_cleared() -> None:
    """Nor is any task if the check of the plan has to pass: an empty plan holds nobody."""
    check, proof = Check(("make",)), Proof(Result.PASSED, ("make",))
    proved = Task("wire", COMPLETED, number=1, check=check, proof=proof)
    plan = one_phase(proved, Task("test", COMPLETED, number=2))
    due = schedule(plan, Schedule(), now=0, delay_ms=0)

    def left(plan: Plan, *stale: int) -> list[str]:
        return [task.text for task in clear_due(plan, without_unproved(due, plan, frozenset(stale)), 0).plan.tasks]

    assert (left(plan), left(plan, 1)) == ([], ["wire"])
    assert left(replace(plan, check=check)) == ["wire", "test"]
    assert left(replace(plan, check=check, proof=proof)) == []
    assert left(replace(plan, check=check, proof=proof), PLAN) == ["wire", "test"]
