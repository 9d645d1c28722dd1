"""Every transition of a plan, the task that starts when another ends, and the table that the documentation shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.core.transitions import EVENTS, table
from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.plan import faults
from tildone.plan.model import Focus, Phase, Plan, Result, Rules, Status, Task, Unit, flat, length, numbered
from tildone.plan.ops import (
    Append,
    At,
    Everything,
    InPhase,
    Insert,
    Mark,
    Named,
    Note,
    Numbered,
    Op,
    Remove,
    Selector,
    StartNext,
    Write,
)
from tildone.plan.reduce import Outcome, Step, reduce
from tildone.plan.selection import enforce_focus

FREE = Rules()
ONE = Rules(focus=Focus.EXACTLY_ONE)
GATHER = Rules(atomic=False)
TWO_PHASES = Plan((Phase("A", (Task("a"), Task("b"))), Phase("B", (Task("c"),))))


def statuses(plan: Plan) -> str:
    return "".join(task.status.value[0] for task in plan.tasks)


def texts(plan: Plan) -> list[str]:
    return [task.text for task in plan.tasks]


def test_one_refused_op_undoes_its_whole_batch_unless_rules_are_not_atomic() -> None:
    """Then the valid ops are applied, and all faults collected."""
    plan = plan_of("schema", "migration")
    half = [Mark(At((0,)), COMPLETED), Mark(At((7,)), COMPLETED)]
    assert reduce(plan, half, FREE) == Outcome(plan, plan, (faults.OutOfRange((7,), last=1),))

    steps: list[Step] = [Mark(Named("ghost"), COMPLETED), Mark(Named("a"), COMPLETED), Remove(InPhase("Z"))]

    outcome = reduce(plan_of("a"), steps, GATHER)

    assert statuses(outcome.after) == "c"
    assert outcome.faults == (faults.TaskMissing("ghost", empty=False), faults.PhaseMissing("Z"))


def test_append_goes_to_the_last_phase_unless_one_is_named() -> None:
    """A named phase that is missing is created. A later step may select what was appended."""
    assert texts(reduce(TWO_PHASES, [Append((Task("d"),))], FREE).after) == ["a", "b", "c", "d"]
    assert texts(reduce(TWO_PHASES, [Append((Task("d"),), "A")], FREE).after) == ["a", "b", "d", "c"]
    assert reduce(Plan(), [Append((Task("d"),))], FREE).after == plan_of("d")
    assert reduce(TWO_PHASES, [Append((), "C")], FREE).after.phases[-1] == Phase("C")

    outcome = reduce(Plan(), [Append((Task("new"),), "A"), Mark(Named("new"), IN_PROGRESS)], FREE)

    assert outcome.after == numbered(Plan((Phase("A", (Task("new", IN_PROGRESS),)),)))

    unique = Rules(unique_texts=True, atomic=False)

    outcome = reduce(TWO_PHASES, [Append((Task("a"), Task("d"), Task("d")), "B")], unique)

    assert texts(outcome.after) == ["a", "b", "c", "d"]
    assert outcome.faults == (faults.DuplicateTask("a"), faults.DuplicateTask("d"))


def test_write_replaces_all_phases_unless_too_many_tasks_are_active() -> None:
    assert reduce(plan_of("a"), [Write((Phase("B"),))], FREE).after.phases == (Phase("B"),)

    two = (Phase("", (Task("a", IN_PROGRESS), Task("b", IN_PROGRESS))),)

    assert reduce(Plan(), [Write(two)], Rules(focus=Focus.AT_MOST_ONE)).faults == (faults.TooManyActive(2),)
    assert reduce(Plan(), [Write(two)], FREE).after == numbered(Plan(two))


@pytest.mark.parametrize("op", [Write((Phase("", (Task("ab"),)),)), Append((Task("ab"),)), Insert((Task("ab"),), 0)])
def test_every_op_that_adds_tasks_refuses_a_text_over_the_limit(op: Op) -> None:
    outcome = reduce(plan_of("x"), [op], Rules(max_text=1))

    assert outcome == Outcome(plan_of("x"), plan_of("x"), (faults.TextTooLong(0, 1),))


def test_adding_tasks_beyond_the_limit_is_refused() -> None:
    """Appending and inserting; adding no tasks to a plan over the limit is refused as well."""
    rules = Rules(max_tasks=2)

    assert reduce(plan_of("a", "b"), [Append((Task("c"),))], rules).faults == (faults.TooManyTasks(1, 2, 2),)
    assert reduce(plan_of("a", "b"), [Insert((Task("c"),), 1)], rules).faults == (faults.TooManyTasks(1, 2, 2),)
    assert reduce(plan_of("a", "b", "c"), [Append(())], rules).faults == (faults.TooManyTasks(0, 2, 3),)
    assert reduce(plan_of("a"), [Append((Task("b"),))], rules).after == plan_of("a", "b")


def test_insert_places_its_first_task_at_the_position() -> None:
    """At a phase boundary, at the end of the earlier phase."""
    for at, expected in enumerate(["nabc", "anbc", "abnc", "abcn"]):
        outcome = reduce(TWO_PHASES, [Insert((Task("n"),), at)], FREE)
        assert texts(outcome.after) == list(expected)
    assert len(reduce(TWO_PHASES, [Insert((Task("n"),), 2)], FREE).after.phases[0].tasks) == 3
    assert reduce(Plan(), [Insert((Task("n"),), 0)], FREE).after == plan_of("n")


@pytest.mark.parametrize("at", [-1, 4])
def test_inserting_outside_the_plan_is_refused(at: int) -> None:
    """The fault contains the valid range."""
    assert reduce(TWO_PHASES, [Insert((), at)], FREE).faults == (faults.BadPosition(at, 3),)


def test_every_selector_selects_its_tasks_or_says_that_there_are_none() -> None:
    cases: list[tuple[Selector, str]] = [
        (At((2, 0)), "cpc"),
        (Named("b"), "pcp"),
        (InPhase("A"), "ccp"),
        (Everything(), "ccc"),
    ]
    for target, expected in cases:
        assert statuses(reduce(TWO_PHASES, [Mark(target, COMPLETED)], FREE).after) == expected

    assert reduce(Plan((Phase("A"),)), [Mark(At((0,)), COMPLETED)], FREE).faults == (faults.NoTasks(),)
    assert reduce(Plan((Phase("A"),)), [Remove(Named("x"))], FREE).faults == (faults.TaskMissing("x", empty=True),)

    plan = plan_of("twin", "twin")

    once = reduce(plan, [Mark(Named("twin"), COMPLETED)], FREE).after
    twice = reduce(once, [Mark(Named("twin"), ABANDONED)], FREE).after
    again = reduce(twice, [Mark(Named("twin"), PENDING)], FREE).after

    assert [statuses(plan) for plan in (once, twice, again)] == ["cp", "ca", "pa"]


def test_starting_a_task_resets_the_others_to_pending() -> None:
    """If only one may be in progress; otherwise they stay."""
    plan = flat(Task("a", IN_PROGRESS), Task("b"))

    assert statuses(reduce(plan, [Mark(Named("b"), IN_PROGRESS)], ONE).after) == "pi"
    assert statuses(reduce(plan, [Mark(Named("b"), IN_PROGRESS)], FREE).after) == "ii"
    assert statuses(reduce(plan, [Mark(Named("a"), IN_PROGRESS)], ONE).after) == "ip"


def test_removing_tasks_keeps_their_phases() -> None:
    """One task, the tasks of a phase, all tasks; of equal tasks, the first."""
    assert texts(reduce(TWO_PHASES, [Remove(Named("b"))], FREE).after) == ["a", "c"]
    assert reduce(TWO_PHASES, [Remove(InPhase("B"))], FREE).after.phases[1] == Phase("B")
    assert reduce(TWO_PHASES, [Remove(Everything())], FREE).after.phases == (Phase("A"), Phase("B"))
    twins = flat(Task("twin", COMPLETED), Task("twin"))
    assert statuses(reduce(twins, [Remove(Named("twin"))], FREE).after) == "p"


def test_notes_accumulate() -> None:
    """In order; an empty note is refused."""
    plan = reduce(plan_of("a"), [Note(Named("a"), "one"), Note(At((0,)), "two")], FREE).after

    assert plan.tasks[0].notes == ("one", "two")
    assert reduce(plan, [Note(Named("a"), "")], FREE).faults == (faults.EmptyNote(),)
    assert reduce(plan, [Note(Named("z"), "")], FREE).faults == (faults.TaskMissing("z", empty=False),)


def test_a_fault_among_the_steps_is_a_fault_of_the_batch() -> None:
    """A request that could not be expressed as an op keeps its place in the order."""
    missing = faults.MissingField("task", "start")
    steps: list[Step] = [Mark(Named("a"), COMPLETED), missing]

    assert reduce(plan_of("a"), steps, FREE) == Outcome(plan_of("a"), plan_of("a"), (missing,))
    assert statuses(reduce(plan_of("a"), steps, GATHER).after) == "c"


def test_enforcing_the_focus_keeps_the_first_active_task_or_promotes_one() -> None:
    """Depending on the focus."""
    two = flat(Task("a", COMPLETED), Task("b", IN_PROGRESS), Task("c", IN_PROGRESS))
    none = flat(Task("a", COMPLETED), Task("b"), Task("c"))

    assert [statuses(enforce_focus(plan, ONE)) for plan in (two, none)] == ["cip", "cip"]
    assert [statuses(enforce_focus(plan, Rules(focus=Focus.AT_MOST_ONE))) for plan in (two, none)] == ["cip", "cpp"]
    assert [statuses(enforce_focus(plan, FREE)) for plan in (two, none)] == ["cii", "cpp"]
    assert enforce_focus(plan_of(), ONE) == Plan()


def test_length_is_measured_in_the_given_unit() -> None:
    """An emoji is one code point and two UTF-16 code units."""
    assert [length("a😀", unit) for unit in (Unit.CODE_POINT, Unit.UTF16)] == [2, 3]


@given(plans.plans, plans.steps, plans.rules)
def test_no_batch_violates_the_focus(plan: Plan, steps: list[Step], rules: Rules) -> None:
    """The number of tasks in progress always follows the rules."""
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
    """Under atomic rules, an outcome never has both faults and changes."""
    outcome = reduce(plan, steps, rules)

    assert not (rules.atomic and outcome.faults and outcome.changed)


@given(plans.plans, plans.steps, plans.rules)
def test_no_batch_grows_a_plan_beyond_its_limits(plan: Plan, steps: list[Step], rules: Rules) -> None:
    """Without a write, a plan exceeds its limit only if it did before; new texts respect theirs."""
    outcome = reduce(plan, [step for step in steps if not isinstance(step, Write)], rules)

    if rules.max_tasks is not None:
        assert len(outcome.after.tasks) <= max(rules.max_tasks, len(plan.tasks))
    if rules.max_text is not None:
        fresh = set(texts(outcome.after)) - set(texts(plan))
        assert all(length(text, rules.text_unit) <= rules.max_text for text in fresh)


@given(plans.plans, plans.steps, plans.rules)
def test_reduce_is_deterministic_and_mutates_nothing(plan: Plan, steps: list[Step], rules: Rules) -> None:
    before = repr(plan)

    first, second = reduce(plan, steps, rules), reduce(plan, steps, rules)

    assert first == second
    assert repr(plan) == before
    assert first.before == numbered(plan)


@given(plans.plans, plans.rules)
def test_enforcing_the_focus_is_idempotent(plan: Plan, rules: Rules) -> None:
    assert enforce_focus(enforce_focus(plan, rules), rules) == enforce_focus(plan, rules)


LETTERS = {"p": PENDING, "i": IN_PROGRESS, "c": COMPLETED, "a": ABANDONED, "b": BLOCKED}


def written(initials: str) -> Plan:
    """A flat plan, each task by the initial of its status."""
    return numbered(flat(*(Task(f"task {i}", LETTERS[letter]) for i, letter in enumerate(initials))))


def mark(number: int, status: Status) -> Mark:
    return Mark(Numbered((number,)), status)


def after(plan: Plan, *steps: Step) -> str:
    outcome = reduce(plan, [*steps, StartNext()], Rules())
    assert not outcome.faults
    return statuses(outcome.after)


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


def test_only_a_task_that_is_finished_now_starts_another() -> None:
    """A repeated call changes nothing; nothing starts while a task is in progress."""
    assert after(written("cpp"), mark(1, COMPLETED)) == "cpp"
    assert after(written("ipp"), mark(1, PENDING)) == "ppp"
    assert after(written("iip"), mark(1, COMPLETED)) == "cip"
    assert after(written("ipp"), mark(1, COMPLETED), mark(3, IN_PROGRESS)) == "cpi"


def test_the_last_of_several_finished_tasks_counts() -> None:
    """Tasks of the same batch can start or be finished; the next phase follows."""
    plan = written("pppp")

    assert after(plan, mark(3, COMPLETED), mark(1, COMPLETED)) == "cpci"

    plan = written("i")

    assert after(plan, mark(1, COMPLETED), Append((Task("b"),))) == "ci"
    assert after(plan, mark(1, COMPLETED), Append((Task("b"), Task("c"))), mark(2, COMPLETED)) == "cci"

    plan = numbered(Plan((Phase("A", (Task("a", IN_PROGRESS),)), Phase("B", (Task("b"),)))))

    assert after(plan, mark(1, COMPLETED)) == "ci"


def test_tasks_of_other_agents_do_not_count() -> None:
    """They are looked up, which reads files, only if a task is in progress."""
    shared = written("iipip")
    finish = mark(1, COMPLETED)

    assert statuses(reduce(shared, [finish, StartNext(lambda: {2, 4})], Rules()).after) == "ciiip"
    assert statuses(reduce(shared, [finish, StartNext(lambda: {2})], Rules()).after) == "cipip"

    def others() -> frozenset[int]:
        raise AssertionError("looked up")

    assert statuses(reduce(written("ip"), [mark(1, COMPLETED), StartNext(others)], Rules()).after) == "ci"
    assert statuses(reduce(written("ip"), [StartNext(others)], Rules()).after) == "ip"


@given(plans.numbered_plans, plans.steps, st.sampled_from([Rules(), Rules(atomic=False)]))
def test_at_most_one_pending_task_starts(plan: Plan, steps: list[Step], rules: Rules) -> None:
    """Whatever the batch does, and only if nothing is in progress."""
    without = reduce(plan, steps, rules).after
    outcome = reduce(plan, [*steps, StartNext()], rules).after

    changed = [(a, b) for a, b in zip(without.tasks, outcome.tasks, strict=True) if a != b]
    assert [(a.status, b.status) for a, b in changed] in ([], [(PENDING, IN_PROGRESS)])
    assert not changed or all(task.status is not IN_PROGRESS for task in without.tasks)


def test_only_a_passing_check_or_none_at_all_leaves_a_task_completed() -> None:
    """What is completed already stays so unless its check says otherwise."""
    completing = {
        (event.name, before) for event, row in table().items() for before, now in row.items() if now is COMPLETED
    }

    assert {name for name, before in completing if before is not COMPLETED} == {"done, check passed"}
    assert {name for name, before in completing if before is COMPLETED} == {
        "done, check passed",
        "done, check not run",
        "verify, check passed",
        "remove the check",
        "edit the check, by a model",
        "remove the check, by a model",
    }


def test_the_table_has_the_states_that_were_decided() -> None:
    """A model drops only what is proved, and leaves the check as it is."""
    rows = {event.name: [*row.values()] for event, row in table().items()}

    assert rows["done, check failed"] == [IN_PROGRESS] * 5
    assert rows["done, check inconclusive"] == rows["done, check refused"] == [BLOCKED] * 5
    assert rows["edit the check"] == [PENDING, IN_PROGRESS, PENDING, ABANDONED, BLOCKED]
    assert rows["its files change"] == [PENDING, IN_PROGRESS, IN_PROGRESS, ABANDONED, BLOCKED]
    assert [event.result for event in EVENTS if event.name.startswith("verify")] == list(Result)

    rows = {event.name: [*row.values()] for event, row in table().items()}

    assert rows["drop, by a model"] == [PENDING, IN_PROGRESS, ABANDONED, ABANDONED, BLOCKED]
    assert rows["edit the check, by a model"] == rows["remove the check, by a model"] == list(Status)
