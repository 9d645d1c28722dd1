"""Import of Claude Code's task lists: fields, order and warnings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, unnumbered_plan_of
from tildone.plan import codec
from tildone.plan.formats import ConversionWarning
from tildone.plan.formats.claude_tasks import is_task_file, is_todo_list, read_task_files, read_todo_list
from tildone.plan.model import Plan, Task, flat

Fields = dict[str, object]

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
fields = st.dictionaries(
    st.sampled_from(["id", "status", "description", "owner", "metadata", "blocks", "blockedBy", "priority", "other"]),
    json | st.sampled_from(["1", "2", "pending", "deleted", ["1", "2"], [2]]),
)


def task(number: int | str, subject: str, **more: object) -> Fields:
    """Return the content of a task file."""
    base: Fields = {"id": str(number), "subject": subject, "description": "", "status": "pending"}
    return base | {"blocks": [], "blockedBy": []} | more


def test_each_file_is_a_task() -> None:
    """Its description becomes a note, unless it equals the subject."""
    imported = read_task_files(
        [
            task(1, "Parse", description="The grammar is in docs/.", status="completed"),
            task(2, "Wire up", status="in_progress", description="Wire up"),
            task(3, "Tell"),
        ]
    )

    assert imported.plan == flat(
        Task("Parse", COMPLETED, ("The grammar is in docs/.",)), Task("Wire up", IN_PROGRESS), Task("Tell")
    )
    assert imported.warnings == ()


def test_unsupported_fields_become_notes_or_warnings() -> None:
    """Owner and metadata are kept, the spinner text is not."""
    imported = read_task_files(
        [task(7, "a", activeForm="Doing a", owner="ada", metadata={"pr": 12, "area": "api"}, extra=1)]
    )

    assert imported.plan == flat(Task("a", notes=("owner: ada", "pr: 12\narea: api")))
    assert imported.warnings == (
        ConversionWarning("the field activeForm is not imported", (7,), "task"),
        ConversionWarning("the field extra is not imported", (7,), "task"),
        ConversionWarning("its owner is kept as a note", (7,), "task"),
        ConversionWarning("its metadata is kept as a note", (7,), "task"),
    )


def test_deleted_tasks_are_not_imported() -> None:
    """With a warning."""
    imported = read_task_files([task(1, "a", status="deleted"), task(2, "b")])

    assert (imported.plan, [str(warning) for warning in imported.warnings]) == (
        unnumbered_plan_of("b"),
        ["task 1: it is marked as deleted and is not imported"],
    )


def test_tasks_are_sorted_by_number_not_by_file_name() -> None:
    """10 comes after 9; tasks without a number are numbered by their place."""
    assert read_task_files([task(10, "ten"), task(9, "nine"), task("first", "third file")]).plan == unnumbered_plan_of(
        "third file", "nine", "ten"
    )


def test_a_task_comes_after_its_blockers() -> None:
    """Whichever of the two tasks names the other; missing blockers are ignored."""
    imported = read_task_files(
        [
            task(1, "ship", blockedBy=["3", "99"]),
            task(2, "sleep"),
            task(3, "test"),
            task(4, "build", blocks=[3, "98"], blockedBy=["2"]),
            task(5, "tell", blockedBy=["1", "2"]),
        ]
    )

    assert imported.plan == unnumbered_plan_of("sleep", "build", "test", "ship", "tell")
    assert imported.warnings == (
        ConversionWarning("it is placed after its blockers; the dependency is not imported", (1, 3, 4, 5), "task"),
    )


def test_a_blocked_task_keeps_its_place_if_possible() -> None:
    assert read_task_files([task(1, "a"), task(2, "b", blockedBy=["1"]), task(3, "c")]).plan == unnumbered_plan_of(
        "a", "b", "c"
    )


def test_tasks_that_block_each_other_come_last() -> None:
    imported = read_task_files([task(1, "a", blockedBy=["2"]), task(2, "b", blockedBy=["1"]), task(3, "c")])

    assert imported.plan == unnumbered_plan_of("c", "a", "b")
    assert imported.warnings[-1] == ConversionWarning("they block each other, so they come last", (1, 2), "task")


def test_the_older_form_is_a_list() -> None:
    """Priorities become notes."""
    data = [
        {"content": "a", "status": "completed", "activeForm": "Doing a", "id": "1", "priority": "high"},
        {"content": "b", "status": "cancelled", "activeForm": "Doing b"},
    ]

    imported = read_todo_list(data)

    assert imported.plan == flat(Task("a", COMPLETED, ("priority: high",)), Task("b", ABANDONED))
    assert [str(warning) for warning in imported.warnings] == [
        "tasks 1 and 2: the field activeForm is not imported",
        "task 1: its priority is kept as a note",
    ]
    assert read_todo_list([]).plan == Plan()


@pytest.mark.parametrize(("status", "shown"), [("later", "later"), (7, "7"), (None, "null"), ("a\nb", "a⏎b")])
def test_a_task_with_an_unknown_status_is_pending(status: object, shown: str) -> None:
    """The warning shows the status, sanitized."""
    imported = read_todo_list([{"content": "a", "status": status}])

    assert imported.plan == unnumbered_plan_of("a")
    assert imported.warnings[0].message == f"unknown status “{shown}”; it is imported as pending"


@pytest.mark.parametrize("data", [None, [], {}, {"subject": 1}, {"content": "a"}, "subject"])
def test_other_data_is_not_a_task_file(data: object) -> None:
    assert not is_task_file(data)
    with pytest.raises(ValueError, match="it has no subject"):
        read_task_files([data])


@pytest.mark.parametrize("data", [None, {}, [1], [{"content": 1}], [{"subject": "a"}], "content"])
def test_other_data_is_not_a_todo_list(data: object) -> None:
    assert not is_todo_list(data)
    with pytest.raises(ValueError, match="not a list of todos"):
        read_todo_list(data)


@given(st.lists(st.builds(lambda text, more: {"subject": text} | more, st.text(), fields), max_size=6))
def test_every_task_is_imported_whatever_its_fields_contain(files: list[Fields]) -> None:
    """Except deleted ones; each once."""
    imported = read_task_files(files)

    kept = [each["subject"] for each in files if each.get("status") != "deleted"]
    assert sorted(each.text for each in imported.plan.tasks) == sorted(map(str, kept))
    assert codec.dump([warning.text() for warning in imported.warnings])
