"""A call that finishes a task and starts the next one is one change, and everything that shows it shows both."""

from tests.cli.person import Person


def with_a_finished_task(person: Person) -> Person:
    person.says("call", "todo", '{"add": ["One", "Two", "Three"], "start": 1}', "--dialect", "brief")
    person.says("call", "todo", '{"done": 1}')
    return person


def test_log_shows_both_effects(person: Person) -> None:
    newest, second = with_a_finished_task(person).says("log").splitlines()[:2]

    assert "completed #1 “One”" in newest
    assert second.strip() == "started #2 “Two”"


def test_blame_names_the_call_at_both_tasks(person: Person) -> None:
    lines = with_a_finished_task(person).says("blame").splitlines()

    first, second = lines.index("✓ #1 One"), lines.index("● #2 Two")
    assert "completed" in lines[first + 2]
    assert "started" in lines[second + 2]
    assert lines[first + 2].split()[0] == lines[second + 2].split()[0]


def test_one_undo_takes_back_both(person: Person) -> None:
    undone = with_a_finished_task(person).says("undo").splitlines()

    assert undone[0] == "Undid: completed #1 “One”; started #2 “Two”"
    assert person.says("todo").splitlines() == ["● #1 One", "– #2 Two", "– #3 Three"]


def test_the_status_line_shows_the_task_that_was_started(person: Person) -> None:
    assert with_a_finished_task(person).says("status").strip() == "✓ 1/3 · #2 Two"
