"""Every transition of a plan."""

import pytest
from hypothesis import given

from tests import plans
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.core import faults
from tildone.core.ops import (
    Append,
    At,
    Everything,
    InPhase,
    Insert,
    Mark,
    Named,
    Note,
    Op,
    Remove,
    Selector,
    Write,
)
from tildone.core.plan import Phase, Plan, Task, flat
from tildone.core.reduce import Outcome, Step, enforce_focus, reduce
from tildone.core.rules import Focus, Rules, Unit, length

FREE = Rules()
ONE = Rules(focus=Focus.EXACTLY_ONE)
GATHER = Rules(atomic=False)
TWO_PHASES = Plan((Phase("A", (Task("a"), Task("b"))), Phase("B", (Task("c"),))))


def statuses(plan: Plan) -> str:
    return "".join(task.status.value[0] for task in plan.tasks)


def texts(plan: Plan) -> list[str]:
    return [task.text for task in plan.tasks]


def test_one_refused_op_undoes_its_whole_batch() -> None:
    """Atomic rules: the good half of the batch is not kept."""
    plan = plan_of("schema", "migration")
    steps = [Mark(At((0,)), COMPLETED), Mark(At((7,)), COMPLETED)]

    outcome = reduce(plan, steps, FREE)

    assert outcome.after == plan
    assert outcome.faults == (faults.OutOfRange((7,), last=1),)


def test_accumulating_rules_keep_the_good_ops_and_gather_the_faults() -> None:
    """The batch goes on after a fault."""
    steps: list[Step] = [Mark(Named("ghost"), COMPLETED), Mark(Named("a"), COMPLETED), Remove(InPhase("Z"))]

    outcome = reduce(plan_of("a"), steps, GATHER)

    assert statuses(outcome.after) == "c"
    assert outcome.faults == (faults.TaskMissing("ghost", empty=False), faults.PhaseMissing("Z"))


def test_a_batch_may_name_a_task_it_just_appended() -> None:
    """Selectors are resolved when their turn comes."""
    outcome = reduce(Plan(), [Append((Task("new"),), "A"), Mark(Named("new"), IN_PROGRESS)], FREE)

    assert outcome.after == Plan((Phase("A", (Task("new", IN_PROGRESS),)),))


def test_write_puts_other_phases_in_place() -> None:
    """Nothing of the old plan is left."""
    assert reduce(plan_of("a"), [Write((Phase("B"),))], FREE).after == Plan((Phase("B"),))


@pytest.mark.parametrize("op", [Write((Phase("", (Task("ab"),)),)), Append((Task("ab"),)), Insert((Task("ab"),), 0)])
def test_a_text_over_the_limit_is_refused_by_every_way_in(op: Op) -> None:
    """The limit counts for new tasks, however they come."""
    outcome = reduce(plan_of("x"), [op], Rules(max_text=1))

    assert outcome == Outcome(plan_of("x"), plan_of("x"), (faults.TextTooLong(0, 1),))


def test_more_than_one_active_task_is_refused_where_at_most_one_may_be() -> None:
    """A written plan is taken as it is or not at all."""
    two = (Phase("", (Task("a", IN_PROGRESS), Task("b", IN_PROGRESS))),)

    assert reduce(Plan(), [Write(two)], Rules(focus=Focus.AT_MOST_ONE)).faults == (faults.TooManyActive(2),)
    assert reduce(Plan(), [Write(two)], FREE).after == Plan(two)


def test_append_goes_to_the_last_phase_unless_one_is_named() -> None:
    """And makes the named one when it is missing."""
    assert texts(reduce(TWO_PHASES, [Append((Task("d"),))], FREE).after) == ["a", "b", "c", "d"]
    assert texts(reduce(TWO_PHASES, [Append((Task("d"),), "A")], FREE).after) == ["a", "b", "d", "c"]
    assert reduce(Plan(), [Append((Task("d"),))], FREE).after == plan_of("d")
    assert reduce(TWO_PHASES, [Append((), "C")], FREE).after.phases[-1] == Phase("C")


def test_a_double_is_skipped_and_the_rest_appended() -> None:
    """Doubles are looked for in the whole plan and in the request itself."""
    unique = Rules(unique_texts=True, atomic=False)

    outcome = reduce(TWO_PHASES, [Append((Task("a"), Task("d"), Task("d")), "B")], unique)

    assert texts(outcome.after) == ["a", "b", "c", "d"]
    assert outcome.faults == (faults.DuplicateTask("a"), faults.DuplicateTask("d"))


def test_growing_past_the_limit_is_refused() -> None:
    """By appending and by inserting; even nothing cannot be added to a list that is too long already."""
    rules = Rules(max_tasks=2)

    assert reduce(plan_of("a", "b"), [Append((Task("c"),))], rules).faults == (faults.TooManyTasks(1, 2, 2),)
    assert reduce(plan_of("a", "b"), [Insert((Task("c"),), 1)], rules).faults == (faults.TooManyTasks(1, 2, 2),)
    assert reduce(plan_of("a", "b", "c"), [Append(())], rules).faults == (faults.TooManyTasks(0, 2, 3),)
    assert reduce(plan_of("a"), [Append((Task("b"),))], rules).after == plan_of("a", "b")


def test_insert_gives_its_first_task_the_position() -> None:
    """Across phases too, at the end of one rather than the start of the next."""
    for at, expected in enumerate(["nabc", "anbc", "abnc", "abcn"]):
        outcome = reduce(TWO_PHASES, [Insert((Task("n"),), at)], FREE)
        assert texts(outcome.after) == list(expected)
    assert len(reduce(TWO_PHASES, [Insert((Task("n"),), 2)], FREE).after.phases[0].tasks) == 3
    assert reduce(Plan(), [Insert((Task("n"),), 0)], FREE).after == plan_of("n")


@pytest.mark.parametrize("at", [-1, 4])
def test_inserting_outside_the_plan_is_refused(at: int) -> None:
    """The range is told."""
    assert reduce(TWO_PHASES, [Insert((), at)], FREE).faults == (faults.BadPosition(at, 3),)


def test_marking_by_position_needs_tasks() -> None:
    """An empty plan has no range to tell."""
    assert reduce(Plan((Phase("A"),)), [Mark(At((0,)), COMPLETED)], FREE).faults == (faults.NoTasks(),)


def test_every_selector_finds_what_it_names() -> None:
    """By position, text, phase, all."""
    cases: list[tuple[Selector, str]] = [
        (At((2, 0)), "cpc"),
        (Named("b"), "pcp"),
        (InPhase("A"), "ccp"),
        (Everything(), "ccc"),
    ]
    for target, expected in cases:
        assert statuses(reduce(TWO_PHASES, [Mark(target, COMPLETED)], FREE).after) == expected


def test_a_missing_task_says_whether_there_is_any() -> None:
    """A dialect may want to add a hint."""
    assert reduce(Plan((Phase("A"),)), [Remove(Named("x"))], FREE).faults == (faults.TaskMissing("x", empty=True),)


def test_starting_one_task_puts_the_others_back() -> None:
    """Where only one may be in progress; elsewhere they stay."""
    plan = flat(Task("a", IN_PROGRESS), Task("b"))

    assert statuses(reduce(plan, [Mark(Named("b"), IN_PROGRESS)], ONE).after) == "pi"
    assert statuses(reduce(plan, [Mark(Named("b"), IN_PROGRESS)], FREE).after) == "ii"
    assert statuses(reduce(plan, [Mark(Named("a"), IN_PROGRESS)], ONE).after) == "ip"


def test_of_equal_tasks_the_first_open_one_is_meant() -> None:
    """So each can be closed in its turn; when all are closed, the first."""
    plan = plan_of("twin", "twin")

    once = reduce(plan, [Mark(Named("twin"), COMPLETED)], FREE).after
    twice = reduce(once, [Mark(Named("twin"), ABANDONED)], FREE).after
    again = reduce(twice, [Mark(Named("twin"), PENDING)], FREE).after

    assert [statuses(plan) for plan in (once, twice, again)] == ["cp", "ca", "pa"]


def test_removing_leaves_the_phase() -> None:
    """One task, a phase's tasks, all tasks; of equal tasks, the first."""
    assert texts(reduce(TWO_PHASES, [Remove(Named("b"))], FREE).after) == ["a", "c"]
    assert reduce(TWO_PHASES, [Remove(InPhase("B"))], FREE).after.phases[1] == Phase("B")
    assert reduce(TWO_PHASES, [Remove(Everything())], FREE).after == Plan((Phase("A"), Phase("B")))
    twins = flat(Task("twin", COMPLETED), Task("twin"))
    assert statuses(reduce(twins, [Remove(Named("twin"))], FREE).after) == "p"


def test_notes_add_up() -> None:
    """In the order they were given; an empty one is refused."""
    plan = reduce(plan_of("a"), [Note(Named("a"), "one"), Note(At((0,)), "two")], FREE).after

    assert plan.tasks[0].notes == ("one", "two")
    assert reduce(plan, [Note(Named("a"), "")], FREE).faults == (faults.EmptyNote(),)
    assert reduce(plan, [Note(Named("z"), "")], FREE).faults == (faults.TaskMissing("z", empty=False),)


def test_a_fault_among_the_steps_is_a_fault_of_the_batch() -> None:
    """A request that could not be put as a change still has its place in the order."""
    missing = faults.MissingField("task", "start")
    steps: list[Step] = [Mark(Named("a"), COMPLETED), missing]

    assert reduce(plan_of("a"), steps, FREE) == Outcome(plan_of("a"), plan_of("a"), (missing,))
    assert statuses(reduce(plan_of("a"), steps, GATHER).after) == "c"


def test_settling_keeps_the_first_active_task_and_promotes_when_there_is_none() -> None:
    """Each focus in its way."""
    two = flat(Task("a", COMPLETED), Task("b", IN_PROGRESS), Task("c", IN_PROGRESS))
    none = flat(Task("a", COMPLETED), Task("b"), Task("c"))

    assert [statuses(enforce_focus(plan, ONE)) for plan in (two, none)] == ["cip", "cip"]
    assert [statuses(enforce_focus(plan, Rules(focus=Focus.AT_MOST_ONE))) for plan in (two, none)] == ["cip", "cpp"]
    assert [statuses(enforce_focus(plan, FREE)) for plan in (two, none)] == ["cii", "cpp"]
    assert enforce_focus(plan_of(), ONE) == Plan()


def test_length_is_counted_in_the_unit_asked_for() -> None:
    """An emoji is one code point and two UTF-16 units."""
    assert [length("a😀", unit) for unit in (Unit.CODE_POINT, Unit.UTF16)] == [2, 3]


@given(plans.plans, plans.steps, plans.rules)
def test_no_program_breaks_the_focus(plan: Plan, steps: list[Step], rules: Rules) -> None:
    """However wild the batch: afterwards as many tasks are in progress as the rules say."""
    outcome = reduce(plan, steps, rules)

    refused = rules.atomic and outcome.faults
    if not refused:
        found = statuses(outcome.after)
        if rules.focus is not Focus.ANY:
            assert found.count("i") <= 1
        if rules.focus is Focus.EXACTLY_ONE and "p" in found:
            assert found.count("i") == 1


@given(plans.plans, plans.steps, plans.rules)
def test_an_atomic_refusal_changes_nothing(plan: Plan, steps: list[Step], rules: Rules) -> None:
    """Faults and changes never come together under atomic rules."""
    outcome = reduce(plan, steps, rules)

    assert not (rules.atomic and outcome.faults and outcome.changed)


@given(plans.plans, plans.steps, plans.rules)
def test_no_program_grows_a_plan_past_its_limits(plan: Plan, steps: list[Step], rules: Rules) -> None:
    """Without a write, a plan outgrows its limit only if it was over it before; new texts keep to theirs."""
    outcome = reduce(plan, [step for step in steps if not isinstance(step, Write)], rules)

    if rules.max_tasks is not None:
        assert len(outcome.after.tasks) <= max(rules.max_tasks, len(plan.tasks))
    if rules.max_text is not None:
        fresh = set(texts(outcome.after)) - set(texts(plan))
        assert all(length(text, rules.text_unit) <= rules.max_text for text in fresh)


@given(plans.plans, plans.steps, plans.rules)
def test_the_same_program_gives_the_same_outcome_and_mutates_nothing(
    plan: Plan, steps: list[Step], rules: Rules
) -> None:
    """Deterministic, and the plan it was given is as it was."""
    before = repr(plan)

    first, second = reduce(plan, steps, rules), reduce(plan, steps, rules)

    assert first == second
    assert repr(plan) == before
    assert first.before is plan


@given(plans.plans, plans.rules)
def test_settling_twice_is_settling_once(plan: Plan, rules: Rules) -> None:
    """A settled plan has nothing left to settle."""
    assert enforce_focus(enforce_focus(plan, rules), rules) == enforce_focus(plan, rules)
