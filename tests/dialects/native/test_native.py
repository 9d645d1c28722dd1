"""Text for models that use the todo tool of their coding agent, and reports of changes by others."""

from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, plan_of
from tildone.plan.dialects.native import MAX_TEXT_CHARACTERS, NATIVE, carry_on, context, describe_changes, user_tasks
from tildone.plan.model import Plan, Task, flat

MIXED = flat(
    Task("Parse", COMPLETED),
    Task("Wire\nit up", IN_PROGRESS),
    Task("Ask Ada", BLOCKED, ("first", "She is away")),
    Task("Ask Bob", BLOCKED),
    Task("Ship"),
)


def test_open_tasks_are_listed_with_their_status() -> None:
    assert context(MIXED) == (
        "Your plan (1 of 5 done); open:\n- Wire⏎it up (in progress)\n- Ask Ada (waits: She is away)\n"
        "- Ask Bob (waits for somebody else)\n- Ship"
    )


def test_without_open_tasks_there_is_no_context() -> None:
    assert context(Plan()) is None
    assert context(flat(Task("Parse", COMPLETED))) is None


def test_the_nudge_names_no_tool() -> None:
    assert carry_on(plan_of("Parse")) == (
        "Your todo list is not done:\n- Parse\n"
        "Go on. Keep the list up to date: complete what is done, take out what is not needed."
    )


def test_long_lists_and_texts_are_truncated() -> None:
    told = carry_on(plan_of(*(f"{number} {'x' * 500}" for number in range(25))))

    assert "- and 15 more\n" in told
    assert max(map(len, told.splitlines())) == MAX_TEXT_CHARACTERS + len("- ")


def test_changes_are_listed_in_one_truncated_sentence() -> None:
    assert describe_changes(["added “A”", "dropped “B”"]) == (
        "Your plan was changed since you last saw it: added “A”; dropped “B”."
    )
    many = describe_changes([f"added “{number}”" for number in range(20)])
    assert many.endswith("added “7”; and 12 more changes.")
    assert len(describe_changes(["x" * 5000])) < 300


def test_the_native_record_has_no_tools() -> None:
    assert NATIVE.tools == ()
    assert NATIVE.recover([]) is None
    assert NATIVE.refuse(None, (), None).is_error  # type: ignore[arg-type]  # there is no tool to hand in


def test_tasks_that_a_person_added_have_another_bullet() -> None:
    """No text can imitate it. If all tasks have it, one line says so."""
    theirs, own = Task("b", from_user=True), Task("a (* from the user)")

    assert context(flat(own, theirs)) == (
        "Your plan (0 of 2 done); open:\n- a (* from the user)\n* b\n(* from the user)"
    )
    assert carry_on(flat(theirs)).startswith("Your todo list is not done:\n- b\n(all from the user)\nGo on.")


def test_a_text_of_another_dialect_is_followed_by_the_tasks_of_the_person() -> None:
    """Task text is in a list, one line each, and only a few are named."""
    theirs = [Task(f"task\n{number}", from_user=True) for number in range(5)]

    assert user_tasks(flat(Task("own"), *theirs)) == ("From the user:\n- task⏎0\n- task⏎1\n- task⏎2\n- and 2 more")
    assert user_tasks(flat(Task("own"), theirs[0])) == "From the user:\n- task⏎0"
    assert user_tasks(flat(Task("own", COMPLETED), *theirs)) == "All open tasks are from the user."
    assert user_tasks(flat(Task("own"), Task("theirs", COMPLETED, from_user=True))) == user_tasks(Plan()) == ""


def test_changes_are_reported_with_their_authors() -> None:
    assert describe_changes(["added “a”"], ["the user", "codex 1"]) == (
        "Your plan was changed since you last saw it (by the user, codex 1): added “a”."
    )
