"""A flat list is arranged into the phases of a plan, and keeps what its author did not know."""

from tildone.base import replace
from tildone.plan.asked import arrange, keep_unseen, with_unseen, written
from tildone.plan.model import Check, Phase, Plan, Status, Task, flat
from tildone.plan.ops import Mark, Numbered, SetCheck, Write

PLAN = Plan(
    (
        Phase("One", (Task("a", notes=("why",), number=1), Task("b", number=2))),
        Phase("Empty"),
        Phase("Two", (Task("c", number=3),)),
    ),
    3,
)


def test_tasks_keep_their_phase_notes_and_number() -> None:
    arranged = arrange(PLAN, [Task("c", Status.COMPLETED), Task("a", Status.IN_PROGRESS), Task("b")])

    assert arranged.phases == (
        Phase("One", (Task("a", Status.IN_PROGRESS, ("why",), 1), Task("b", number=2))),
        Phase("Empty"),
        Phase("Two", (Task("c", Status.COMPLETED, number=3),)),
    )


def test_a_new_task_is_in_the_phase_of_the_one_before_it() -> None:
    arranged = arrange(PLAN, [Task("first"), Task("c"), Task("last")])

    assert [(phase.name, [task.text for task in phase.tasks]) for phase in arranged.phases] == [
        ("One", ["first"]),
        ("Empty", []),
        ("Two", ["c", "last"]),
    ]


def test_a_phase_that_loses_its_tasks_is_dropped() -> None:
    assert [phase.name for phase in arrange(PLAN, [Task("c")]).phases] == ["Empty", "Two"]


def test_of_two_tasks_with_one_text_each_is_used_once() -> None:
    plan = Plan((Phase("One", (Task("a", number=1),)), Phase("Two", (Task("a", number=2),))))

    arranged = arrange(plan, [Task("a", Status.COMPLETED), Task("a"), Task("a")])

    assert [[task.number for task in phase.tasks] for phase in arranged.phases] == [[1], [2, 0]]


def test_a_list_for_an_empty_plan_is_flat() -> None:
    assert arrange(Plan(), [Task("a")]) == flat(Task("a"))


def test_tasks_that_the_author_did_not_know_are_kept_in_their_phases() -> None:
    known = Plan((Phase("One", (Task("a"), Task("b"))),))
    wanted = Plan((Phase("One", (Task("b"),)),))

    kept = with_unseen(Plan((Phase("One", (*known.tasks, Task("new"))), Phase("Two", (Task("c"),)))), known, wanted)

    assert kept.phases == (Phase("One", (Task("b"), Task("new"))), Phase("Two", (Task("c"),)))


def test_a_task_that_the_author_left_out_is_not_kept() -> None:
    assert with_unseen(PLAN, PLAN, flat(Task("a"))) == flat(Task("a"))


def test_a_plan_from_elsewhere_brings_its_own_check_if_it_has_one() -> None:
    check = Check(("make",))

    assert written(PLAN) == (Write(PLAN.phases),)
    assert written(replace(PLAN, check=check)) == (Write(PLAN.phases), SetCheck(None, check))


def test_only_the_lists_among_the_steps_of_a_tool_keep_what_others_added() -> None:
    known = flat(Task("a"))
    mark = Mark(Numbered((1,)), Status.COMPLETED)

    steps = keep_unseen(lambda _: [Write(flat(Task("b")).phases), mark], known)(flat(Task("a"), Task("added")))

    assert steps == [Write(flat(Task("b"), Task("added")).phases), mark]
