"""Origins: which tasks a person added."""

from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tildone.base import replace
from tildone.plan.model import Phase, Plan, Proof, Result, Rules, Task, flat, with_imported_proofs, with_source
from tildone.plan.ops import Op, Origin, keep_origins
from tildone.plan.reduce import reduce


def origins(plan: Plan) -> dict[str, bool]:
    return {task.text: task.from_user for task in plan.tasks}


def sources(plan: Plan) -> dict[str, str]:
    return {task.text: task.source for task in plan.tasks}


def test_the_tasks_that_a_person_adds_are_from_the_user() -> None:
    before = flat(Task("a", number=1))
    after = flat(Task("a", number=1), Task("b", number=2))

    assert origins(keep_origins(before, after, Origin(by_user=True))) == {"a": False, "b": True}
    assert origins(keep_origins(before, after, Origin())) == {"a": False, "b": False}


def test_a_task_keeps_its_origin_when_it_is_renamed() -> None:
    """Whoever renames it."""
    before = flat(Task("a", number=1, from_user=True), Task("b", number=2))
    after = flat(Task("x", number=1), Task("y", number=2))

    for by_user in (True, False):
        assert origins(keep_origins(before, after, Origin(by_user))) == {"x": True, "y": False}


def test_a_list_that_is_written_anew_keeps_the_origins_of_equal_texts() -> None:
    """Each counts once: a second task of the same text is another one."""
    before = flat(Task("a", from_user=True), Task("b"))
    after = flat(Task("b"), Task("a"), Task("a"))

    kept = keep_origins(before, after, Origin())

    assert [task.from_user for task in kept.tasks] == [False, True, False]


def test_new_tasks_have_a_source_and_keep_it_with_their_text() -> None:
    """A task with a source of its own is not from the user, even if a person imports it."""
    here = Origin(by_user=True, source="Ada")
    before = keep_origins(Plan(), flat(Task("a", number=1), Task("b", number=2, source="the file x")), here)
    after = flat(Task("a", number=1), Task("changed", number=2), Task("new", number=3))

    assert sources(before) == {"a": "Ada", "b": "the file x"}
    assert origins(before) == {"a": True, "b": False}
    assert sources(keep_origins(before, after, Origin(source="Bob"))) == {"a": "Ada", "changed": "Bob", "new": "Bob"}
    assert sources(keep_origins(before, after, Origin())) == {"a": "Ada", "changed": "", "new": ""}


def test_a_plan_gets_a_source_for_the_tasks_without_one() -> None:
    plan = Plan((Phase("one", (Task("a"),)), Phase("two", (Task("b", source="x"),))))

    assert sources(with_source(plan, "y")) == {"a": "y", "b": "x"}


def test_the_origin_is_no_difference_between_tasks() -> None:
    """Files and tools that lists come from do not record it."""
    assert Task("a") == Task("a", from_user=True, source="x")
    assert hash(Task("a")) == hash(Task("a", from_user=True))


@given(plans.plans, st.lists(plans.ops, max_size=6), st.booleans())
def test_only_the_origins_change(plan: Plan, program: list[Op], by_user: bool) -> None:  # noqa: FBT001  drawn
    after = reduce(plan, program, Rules()).after

    kept = keep_origins(plan, after, Origin(by_user))

    assert kept == after
    assert keep_origins(kept, kept, Origin(by_user)) == kept
    if not by_user:
        assert not any(task.from_user for task in kept.tasks)


def test_the_proofs_of_a_file_are_marked_as_imported() -> None:
    proof = Proof(Result.PASSED, ("make",))
    plan = replace(flat(Task("a", proof=proof), Task("b")), proof=proof)

    marked = with_imported_proofs(plan)

    assert [task.proof for task in marked.tasks] == [replace(proof, imported=True), None]
    assert marked.proof == replace(proof, imported=True)
    assert marked.proof != proof
    assert with_imported_proofs(flat(Task("b"))) == flat(Task("b"))
