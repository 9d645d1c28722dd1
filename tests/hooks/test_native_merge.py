"""The merge of a native list into a plan, without the hooks around it."""

from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.hooks.agent import plan_of, tasks_of
from tildone.agents.hooks.context import NativeTask
from tildone.agents.hooks.native import follow, numbered_list, tick_off
from tildone.plan.model import Phase, Plan, Status, Task, flat, numbered

TASKS = [("Parse", "completed"), ("Wire", "in_progress"), ("Measure", "pending")]


def native(*tasks: tuple[str, str], of: Plan | None = None) -> list[NativeTask]:
    """A native list, whose tasks are those of a plan with the same texts."""
    known = {task.text: task for task in of.tasks} if of else {}
    return [
        NativeTask(text, Status(status), number=known[text].number if text in known else 0, from_user=text in known)
        for text, status in tasks
    ]


@given(st.lists(plans.tasks, max_size=4), st.lists(plans.tasks, max_size=4))
def test_without_changes_by_others_the_merge_is_the_native_list(before: list[Task], after: list[Task]) -> None:
    """In its order, with its texts and statuses, whatever the texts."""
    plan = numbered(flat(*(Task(task.text, task.status) for task in before)))
    base = [NativeTask(task.text, task.status, number=task.number) for task in plan.tasks]
    theirs = [NativeTask(task.text, task.status) for task in after]

    merged = follow(base, plan, theirs, reorder=True)

    assert [(task.text, task.status) for task in merged.tasks] == [(task.text, task.status) for task in theirs]


@given(plans.plans, st.lists(plans.tasks, max_size=4))
def test_ticking_off_closes_and_starts_open_tasks_only(plan: Plan, theirs: list[Task]) -> None:
    plan = numbered(plan)
    tasks = {task.number: task for task in plan.tasks}

    marks = tick_off([], plan, [NativeTask(task.text, task.status) for task in theirs])

    assert all(tasks[number].status.is_open and status is not Status.PENDING for number, status in marks)
    assert len(marks) == len({number for number, _ in marks})


def test_a_list_is_merged_into_phases_that_people_made() -> None:
    plan = numbered(Plan((Phase("A", (Task("Parse"), Task("By hand"))), Phase("B", (Task("Wire"),)))))
    base = [NativeTask(task.text, number=task.number) for task in plan.tasks if task.text != "By hand"]

    after = follow(base, plan, native(*TASKS), reorder=True)

    assert [(phase.name, [task.text for task in phase.tasks]) for phase in after.phases] == [
        ("A", ["Parse", "By hand"]),
        ("B", ["Wire", "Measure"]),
    ]


def test_two_tasks_with_the_same_text_stay_two() -> None:
    plan = numbered(plan_of([("Run the tests", "completed"), ("Run the tests", "pending")]))
    base = [NativeTask(task.text, task.status, number=task.number) for task in plan.tasks]

    after = follow(base, plan, native(("Run the tests", "completed"), ("Run the tests", "in_progress")), reorder=True)

    assert tasks_of(after) == [("Run the tests", "completed"), ("Run the tests", "in_progress")]


def test_a_task_that_was_added_again_is_closed_with_the_one_in_the_list() -> None:
    """The model has one task of that text, so it can do no more than close it."""
    plan = numbered(flat(Task("Wire"), Task("wire.", from_user=True), Task("Ship")))
    base = [NativeTask("Wire", number=1), NativeTask("Ship", number=3)]

    after = follow(base, plan, native(("Wire", "completed"), ("Ship", "pending")), reorder=False)

    assert tasks_of(after) == [("Wire", "completed"), ("wire.", "completed"), ("Ship", "pending")]
    assert tick_off(base, plan, native(("Wire", "completed"), ("Ship", "pending"))) == [
        (1, Status.COMPLETED),
        (2, Status.COMPLETED),
    ]


def test_a_task_that_was_reworded_in_its_place_keeps_its_number_and_notes() -> None:
    plan = numbered(flat(Task("Write the parser", notes=("Mind the tabs",)), Task("Ship")))
    base = native(("Write the parser", "pending"), ("Ship", "pending"), of=plan)

    after = follow(base, plan, native(("Write the parser with tests", "pending"), ("Ship", "pending")), reorder=True)

    assert after.tasks[0] == Task("Write the parser with tests", notes=("Mind the tabs",), number=1)


def test_a_replaced_task_is_another_one() -> None:
    """Also if the new one has similar words and is completed at once: the old one was not done."""
    plan = numbered(flat(Task("Write the parser", from_user=True), Task("Ship")))
    base = native(("Write the parser", "pending"), ("Ship", "pending"), of=plan)

    after = follow(base, plan, native(("Write the lexer", "completed"), ("Ship", "pending")), reorder=True)

    assert tasks_of(after) == [("Write the lexer", "completed"), ("Ship", "pending"), ("Write the parser", "pending")]


def test_a_number_that_was_assigned_again_after_an_undo_names_another_task() -> None:
    """The model completes what it created, not what a person added later under the same number."""
    plan = numbered(flat(Task("Pay the bill", from_user=True)))

    after = follow([NativeTask("Wire", number=1)], plan, native(("Wire", "completed")), reorder=True)

    assert tasks_of(after) == [("Pay the bill", "pending")]


def test_the_list_remembers_which_tasks_it_consists_of() -> None:
    """Also of tasks that were removed from the plan, so that they do not return."""
    plan = numbered(flat(Task("Parse", from_user=True), Task("Wire")))
    base = [NativeTask("Gone", number=9), NativeTask("Wire", number=2)]
    theirs = native(("Gone", "completed"), ("Wire", "pending"), ("parse", "pending"), ("New", "pending"))
    after = numbered(follow(base, plan, theirs, reorder=True))

    linked = numbered_list(base, plan, after, theirs)

    assert [(task.text, task.number, task.from_user) for task in linked] == [
        ("Gone", 9, False),
        ("Wire", 2, False),
        ("parse", 1, True),
        ("New", 3, False),
    ]
    assert tasks_of(follow(linked, after, theirs, reorder=True)) == tasks_of(after)
