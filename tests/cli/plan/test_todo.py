"""`tildone todo`: a person reads the plan and changes it by hand."""

import pytest

from tests.cli.person import Person

REPLACE = '{"mode": "replace", "todos": [{"text": "Parse"}, {"text": "Wire up"}]}'


def test_a_plan_is_begun_worked_on_and_finished(person: Person) -> None:
    """Every answer says what was done and what is next."""
    said = [
        person.says("todo", "append", "Build", "Write the parser", "Wire up the CLI"),
        person.says("todo", "append", "Ship", "write the release notes"),
        person.says("todo", "start", "parser"),
        person.says("todo", "note", "parser", "The grammar", "is in docs"),
        person.says("todo", "done", "parser"),
        person.says("todo", "drop", "1"),
        person.says("todo", "done", "ship"),
    ]

    assert said == [
        "Added to the new phase Build: Write the parser; Wire up the CLI\n0 of 2 closed. Next: Write the parser\n",
        "Added to the new phase Ship: Write the release notes\n0 of 3 closed. Next: Write the parser\n",
        "Started: Write the parser\n0 of 3 closed. In progress: Write the parser\n",
        "Noted on: Write the parser\n0 of 3 closed. In progress: Write the parser\n",
        "Done: Write the parser\n1 of 3 closed. Next: Wire up the CLI\n",
        "Dropped: Wire up the CLI\n2 of 3 closed. Next: Write the release notes\n",
        "Done: all of Ship\n3 of 3 closed: nothing is left to do.\n",
    ]
    assert (
        person.says("todo")
        == person.says("todo", "show")
        == (
            "Build 2/2\n"
            "  ✓ [0] Write the parser\n"
            "    │ The grammar is in docs\n"
            "  ✗ [1] Wire up the CLI\n"
            "\n"
            "Ship 1/1\n"
            "  ✓ [2] Write the release notes\n"
        )
    )


def test_an_empty_plan_says_how_to_begin(person: Person) -> None:
    assert person.says("todo") == f"No tasks in {person.folder}. Add one with: tildone todo append TEXT\n"
    assert person.says("todo", "--session", "x") == "No tasks in session 'x'. Add one with: tildone todo append TEXT\n"


def test_everything_can_be_removed_and_the_way_back_is_told(person: Person) -> None:
    person.says("todo", "append", "one")

    said = person.says("todo", "rm")

    assert said == "Removed: everything\nThe plan is now empty.\nTo undo this: tildone undo\n"
    person.says("undo")
    assert "One" in person.says("todo")


def test_what_changes_nothing_is_said(person: Person) -> None:
    person.says("todo", "append", "one")
    person.says("todo", "done")

    assert person.says("todo", "done", "one") == "Done: One\nNothing changed.\n"
    assert len(person.run("log", "--json").json["events"]) == 2


def test_several_unquoted_words_are_not_guessed_at(person: Person) -> None:
    answer = person.run("todo", "append", "write", "the", "parser")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        'tildone: which words form one task? Quote each task: tildone todo append "write the parser", '
        'or with a phase: tildone todo append write "the parser"\n'
    )


@pytest.mark.parametrize(
    ("argv", "code", "complaint"),
    [
        (["start", "nope"], 4, 'no task has "nope" in it'),
        (["done", "t"], 4, '"t" fits 2: Test; Tell'),
        (["rm", "7"], 4, "there is no task 7: the tasks are numbered 0 to 1"),
        (["append", " "], 2, "what is to be done? tildone todo append [PHASE] TEXT"),
        (["note", "test", " "], 2, "note what, and on which task? tildone todo note TASK TEXT"),
        (["start", " "], 2, "tildone todo start was given an empty argument"),
        (["rm", ""], 2, "tildone todo rm was given an empty argument"),
        (["done", "", " "], 2, "tildone todo done was given an empty argument"),
    ],
)
def test_what_cannot_be_done_changes_nothing(person: Person, argv: list[str], code: int, complaint: str) -> None:
    person.says("todo", "import", "-", given="- [ ] Test\n- [ ] Tell\n")

    answer = person.run("todo", *argv)

    assert (answer.code, answer.out, answer.err) == (code, "", f"tildone: {complaint}\n")
    assert len(person.run("log", "--json").json["events"]) == 1


def test_an_edit_by_hand_starts_nothing_in_a_session_that_no_model_wrote(person: Person) -> None:
    person.says("todo", "import", "-", given="- [/] a\n- [/] b\n- [ ] c\n")

    person.says("todo", "done", "a")

    assert person.says("todo", "export", "-") == "- [x] a\n- [/] b\n- [ ] c\n"


def test_an_edit_by_hand_keeps_to_the_rules_of_the_model_that_wrote_the_plan(person: Person) -> None:
    """Tasks of `todo_write` are started one after the other; those of `write_todos` never by themselves."""
    phased = person.environ | {"TILDONE_SESSION": "phased"}
    person.run("call", "todo_write", '{"ops": [{"op": "append", "phase": "A", "items": ["a", "b"]}]}', **phased)
    person.run("call", "write_todos", REPLACE)

    said = [person.says("todo", "done", "0", **phased), person.says("todo", "done", "0")]

    assert said == [
        "Done: a\n1 of 2 closed. In progress: b\n",
        "Done: Parse\n1 of 2 closed. Next: Wire up\n",
    ]


def test_a_task_added_by_hand_waits_until_it_is_started(person: Person) -> None:
    """In a session whose rules would start it at once, too: that is how its own command for people does it."""
    person.run("call", "todo_write", '{"ops": [{"op": "append", "phase": "A", "items": ["a"]}, {"op": "done"}]}')

    assert person.says("todo", "append", "b") == "Added to A: B\n1 of 2 closed. Next: B\n"


def test_a_limit_of_the_models_tools_holds_for_a_person_too(person: Person) -> None:
    person.run("call", "write_todos", REPLACE)

    answer = person.run("todo", "append", "x" * 1001)

    assert (answer.code, answer.out) == (3, "")
    assert answer.err == "tildone: the text of new task 0 is longer than 1000 characters\n"


def test_a_dialect_can_be_named(person: Person) -> None:
    person.says("todo", "append", "one")
    person.says("todo", "append", "two")

    said = person.says("todo", "done", "one", "--dialect", "phased")

    assert said == "Done: One\n1 of 2 closed. In progress: Two\n"


def test_text_cannot_play_with_the_terminal(person: Person) -> None:
    person.says("todo", "append", "a\x1b[2Jb\x07\u202ec")

    shown = person.says("todo")

    assert shown == "Todos 0/1\n  – [0] A␛[2Jb␇<U+202E>c\n"
