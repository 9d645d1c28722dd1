"""`tildone todo`: a person changes the plan."""

import os
import shlex
import subprocess

import pytest

from tests.cli.history.histories import kept
from tests.cli.person import CTRL_C, Person
from tests.plans import unnumbered_plan_of
from tests.suite.forking import PROGRAM

REPLACE = '{"mode": "replace", "todos": [{"text": "Parse"}, {"text": "Wire up"}]}'
UNDO = "To undo: tildone undo\n"


def abc(person: Person) -> None:
    person.says("todo", "add", "task a", "task b", "task c")


def test_a_plan_is_begun_worked_on_and_finished(person: Person) -> None:
    """Every reply says what was done, what is next, and how to undo what closed a task."""
    said = [
        person.says("todo", "add", "--phase", "Build", "Write the parser", "Wire it up"),
        person.says("todo", "add", "--phase", "Ship", "write the release notes"),
        person.says("todo", "start", "parser"),
        person.says("todo", "note", "parser", "The grammar", "is in docs"),
        person.says("todo", "done", "1"),
        person.says("todo", "drop", "#2"),
        person.says("todo", "done", "ship"),
    ]

    assert said == [
        "Added to the new phase Build: #1 Write the parser; #2 Wire it up\n0 of 2 closed. Next: #1 Write the parser\n",
        "Added to the new phase Ship: #3 write the release notes\n0 of 3 closed. Next: #1 Write the parser\n",
        "Started: #1 Write the parser\n0 of 3 closed. In progress: #1 Write the parser\n",
        "Noted on: #1 Write the parser\n0 of 3 closed. In progress: #1 Write the parser\n",
        f"Done: #1 Write the parser\n1 of 3 closed. Next: #2 Wire it up\n{UNDO}",
        f"Dropped: #2 Wire it up\n2 of 3 closed. Next: #3 write the release notes\n{UNDO}",
        f"Done: all of Ship\n3 of 3 closed: nothing is left to do.\n{UNDO}",
    ]
    assert person.says("todo") == (
        "Build 2/2\n"
        "  ✓ #1 Write the parser\n"
        "    │ The grammar is in docs\n"
        "  ✗ #2 Wire it up\n"
        "\n"
        "Ship 1/1\n"
        "  ✓ #3 write the release notes\n"
    )


def test_each_argument_is_a_task_and_its_text_is_kept(person: Person) -> None:
    """No letter is capitalized, and the first argument is no phase."""
    person.says("todo", "add", "Buy milk", "npm install", "iOS build", "  two  spaces ")

    tasks = person.run("todo", "--json").json["tasks"]

    assert [task["text"] for task in tasks] == ["Buy milk", "npm install", "iOS build", "  two  spaces "]
    assert {task["phase"] for task in tasks} == {""}


def test_tasks_can_come_from_standard_input(person: Person) -> None:
    said = person.says("todo", "add", "before", "-", "--phase", "A", given="\ufeffone\r\n\r\n- two\nlast")

    assert said.startswith("Added to the new phase A: #1 before; #2 one; #3 - two; #4 last\n")
    assert person.refused(2, "todo", "add", "-", given=" \n") == "tildone: standard input has no tasks\n"
    assert person.refused(2, "todo", "add", "-", given=b"\xff") == "tildone: standard input is not UTF-8 text\n"


def test_unquoted_words_are_tasks_for_add_and_append_does_not_guess(person: Person) -> None:
    assert person.says("todo", "add", "buy", "milk") == (
        "Added: #1 buy; #2 milk\n0 of 2 closed. Next: #1 buy\n"
        'Each argument is a task. If you meant one: tildone undo, then quote it: "buy milk"\n'
    )

    assert person.refused(2, "todo", "append", "write", "the", "parser") == (
        'tildone: which words form one task? Quote each task: tildone todo append "write the parser", '
        'or with a phase: tildone todo append write "the parser"\n'
    )


def test_a_phase_is_found_by_its_name_in_any_case_and_created_as_typed(person: Person) -> None:
    """A part of a name is another name."""
    person.says("todo", "add", "--phase", "integration tests", "a")
    person.says("todo", "add", "--phase", "INTEGRATION TESTS", "b")
    person.says("todo", "add", "--phase", "tests", "c")

    assert person.run("todo", "--json").json["phases"] == ["integration tests", "tests"]


def test_append_is_add_with_the_phase_first(person: Person) -> None:
    said = [
        person.says("todo", "append", "build", "write it", "test it"),
        person.says("todo", "append", "bui", "ship it"),
        person.says("todo", "append", "one more"),
    ]

    assert [line.splitlines()[0] for line in said] == [
        "Added to the new phase build: #1 write it; #2 test it",
        "Added to build: #3 ship it",
        "Added to build: #4 one more",
    ]


@pytest.mark.parametrize("typed", ["2", "#2", "[2]", "task b", "B"])
def test_a_task_is_named_by_its_number_or_a_part_of_its_text(person: Person, typed: str) -> None:
    abc(person)

    assert person.says("todo", "done", typed).startswith("Done: #2 task b\n")


def test_several_numbers_name_several_tasks_and_other_words_one(person: Person) -> None:
    person.says("todo", "add", "release notes", "notes for 1", "c", "d", "e", "f", "g")

    assert person.says("todo", "done", "release", "notes").startswith("Done: #1 release notes\n")
    assert person.says("todo", "done", "1", "#2", "[3]", "3").startswith(
        "Done: #1 release notes; #2 notes for 1; #3 c\n"
    )
    assert person.says("todo", "rm", "1", "2", "4", "5", "6", "7").startswith("Removed: 6 tasks (#1-#2, #4-#7)\n")
    start = person.run("todo", "start", "3", "3")
    two = person.run("todo", "add", "x", "y"), person.run("todo", "start", "8", "9")
    assert start.code == 0
    assert (two[1].code, two[1].err) == (2, "tildone: name one task, not 2\n")


def test_a_number_stays_with_its_task(person: Person) -> None:
    """Whatever is removed or moved, and it is not given to another task."""
    abc(person)
    person.says("todo", "rm", "1")
    person.says("todo", "move", "3", "--first")
    person.says("todo", "add", "task d")

    assert person.says("todo") == "– #3 task c\n– #2 task b\n– #4 task d\n"
    assert person.says("todo", "done", "3").startswith("Done: #3 task c\n")


def test_a_plan_of_an_earlier_version_gets_numbers_that_stay(person: Person) -> None:
    """Its events have none. Showing the plan writes nothing; the next change records them."""
    kept(person, unnumbered_plan_of("old a", "old b"))

    before = person.says("todo")
    person.says("todo", "rm", "1")

    assert before == "– #1 old a\n– #2 old b\n"
    assert person.says("todo") == "– #2 old b\n"


def test_where_the_agent_uses_positions_the_list_shows_both(person: Person) -> None:
    """A number in brackets is the position that the list shows in brackets."""
    person.run("call", "write_todos", REPLACE)
    person.says("todo", "rm", "1")
    person.says("todo", "add", "Test")

    assert person.says("todo") == "– #2 [0] Wire up\n– #3 [1] Test\n"
    assert [task["position"] for task in person.run("todo", "--json").json["tasks"]] == [0, 1]
    assert person.says("todo", "next") == "– #2 [0] Wire up\n"
    assert person.says("todo", "start", "[1]").startswith("Started: #3 Test\n")
    assert person.says("todo", "done", "2").startswith("Done: #2 Wire up\n")
    assert (
        person.refused(4, "todo", "done", "[2]")
        == "tildone: there is no task at position [2]: positions are [0] to [1]\n"
    )


@pytest.mark.parametrize(
    ("verb", "question", "done"),
    [
        ("done", "Mark all 2 open tasks as completed?", "Done: all 2 open tasks\n"),
        ("drop", "Mark all 2 open tasks as abandoned?", "Dropped: all 2 open tasks\n"),
        ("rm", "Remove all 3 tasks?", "Removed: all 3 tasks\n"),
    ],
)
def test_a_change_of_all_tasks_is_asked_for_first(person: Person, verb: str, question: str, done: str) -> None:
    abc(person)
    person.says("todo", "done", "1")

    for answer in (b"\n", b"n\n", b"\x04"):
        terminal = person.at_terminal("todo", verb)
        terminal.until(f"{question} [y/N]")
        terminal.type(answer)
        ended = terminal.end()
        assert ended.code == 0
        assert "Nothing changed: not confirmed." in ended.out
    terminal = person.at_terminal("todo", verb)
    terminal.until(question)
    terminal.type(CTRL_C)
    assert terminal.end().code == 130
    assert len(person.run("log", "--json").json["events"]) == 2

    terminal = person.at_terminal("todo", verb)
    terminal.until(question)
    terminal.type(b"y\n")
    assert done in terminal.end().out
    assert person.run("todo", "--open", "--json").json["tasks"] == []


@pytest.mark.parametrize("verb", ["done", "drop", "rm"])
def test_without_a_terminal_a_change_of_all_tasks_needs_all(person: Person, verb: str) -> None:
    abc(person)

    which = f"tildone: which task? tildone todo {verb} TASK; for all tasks: tildone todo {verb} --all\n"
    assert person.refused(2, "todo", verb) == which
    assert person.refused(2, "todo", verb, "1", "--all") == "tildone: --all means all tasks; leave out '1'\n"
    assert person.says("todo", verb, "--all").endswith(UNDO)
    assert person.says("todo", verb, "--all").startswith("Nothing changed: ")
    person.says("undo")
    assert len(person.run("todo", "--open", "--json").json["tasks"]) == 3


def test_closing_all_tasks_leaves_closed_ones_as_they_are(person: Person) -> None:
    abc(person)
    person.says("todo", "done", "1")

    person.says("todo", "drop", "--all")

    assert [task["status"] for task in person.run("todo", "--json").json["tasks"]] == [
        "completed",
        "abandoned",
        "abandoned",
    ]


def test_every_change_that_takes_something_away_says_how_to_undo_it(person: Person) -> None:
    abc(person)
    (person.folder / "plan.md").write_text("- [ ] task a\n", encoding="utf-8")

    taking = [
        person.says("todo", "rename", "1", "task A"),
        person.says("todo", "drop", "2"),
        person.says("todo", "rm", "2"),
        person.says("todo", "import", "plan.md"),
    ]
    adding = [
        person.says("todo", "add", "x y"),
        person.says("todo", "start", "x"),
        person.says("todo", "note", "x", "n"),
        person.says("todo", "move", "x", "--first"),
        person.says("todo", "block", "x"),
    ]

    assert all(said.endswith(f"\n{UNDO}") for said in taking), taking
    assert not any(UNDO in said for said in adding)
    for _ in range(9):
        person.says("todo", "undo")
    assert person.says("todo") == "– #1 task a\n– #2 task b\n– #3 task c\n"


def test_the_undo_that_is_named_is_that_of_the_session(person: Person) -> None:
    there = ("--session", "my plan", "--store", "s.db")
    person.says("todo", "add", "a", *there)

    said = person.says("todo", "rm", "a", *there)

    assert said.splitlines()[-1] == "To undo: tildone undo --session 'my plan' --store s.db"


def test_the_undo_that_is_named_works_for_a_program_that_is_not_on_path(person: Person) -> None:
    person.says("todo", "add", "a")

    hint = person.says("todo", "rm", "a", PATH=os.defpath).splitlines()[-1].removeprefix("To undo: ")
    without_path = person.environment({"PATH": os.defpath})
    undone = subprocess.run(["sh", "-c", hint], cwd=person.folder, env=without_path, capture_output=True, check=False)

    assert undone.returncode == 0
    assert hint == f"{shlex.quote(str(PROGRAM))} undo"
    assert "#1 a" in person.says("todo")


def test_a_blocked_task_has_a_reason_and_can_be_unblocked(person: Person) -> None:
    abc(person)

    said = [
        person.says("todo", "block", "1", "Waiting", "for the key"),
        person.says("todo", "next"),
        person.says("todo", "list", "1"),
        person.says("todo", "unblock", "1"),
        person.says("todo", "unblock", "1"),
    ]

    assert said == [
        "Blocked: #1 task a (Waiting for the key)\n0 of 3 closed. Next: #2 task b\n",
        "– #2 task b\n",
        "! #1 task a\n  │ Waiting for the key\n",
        "Unblocked: #1 task a\n0 of 3 closed. Next: #1 task a\n",
        "Nothing changed: #1 task a is not blocked.\n",
    ]
    person.says("todo", "done", "1")
    assert (
        person.refused(3, "todo", "block", "1") == "tildone: #1 task a is completed; only an open task can be blocked\n"
    )


def test_a_closed_task_can_be_reopened_and_a_renamed_one_keeps_its_number_status_and_notes(person: Person) -> None:
    abc(person)

    person.says("todo", "drop", "1")

    assert person.says("todo", "reopen", "1") == "Reopened: #1 task a\n0 of 3 closed. Next: #1 task a\n"
    assert person.says("todo", "reopen", "1") == "Nothing changed: #1 task a is open.\n"

    person.says("todo", "start", "2")
    person.says("todo", "note", "2", "why")

    assert person.says("todo", "rename", "2", "npm", "install").startswith("Renamed: #2 npm install (was: task b)\n")
    assert person.says("todo") == "– #1 task a\n● #2 npm install\n  │ why\n– #3 task c\n"


@pytest.mark.parametrize(
    ("argv", "said", "order"),
    [
        (["3", "--before", "1"], "Moved: #3 task c before #1 task a", "3 1 2 | 4"),
        (["1", "--after", "#2"], "Moved: #1 task a after #2 task b", "2 1 3 | 4"),
        (["1", "--after", "3"], "Moved: #1 task a after #3 task c", "2 3 1 | 4"),
        (["4", "--after", "task c"], "Moved: #4 task d after #3 task c", "1 2 3 4 |"),
        (["1", "--phase", "end"], "Moved: #1 task a to End", "2 3 | 4 1"),
        (["1", "--phase", "New one"], "Moved: #1 task a to New one", "2 3 | 4 | 1"),
        (["4", "--first"], "Moved: #4 task d to the start", "4 1 2 3 |"),
        (["task", "b", "--last"], "Moved: #2 task b to the end", "1 3 | 4 2"),
        (["2", "--after", "1"], "Moved: #2 task b after #1 task a\nNothing changed.", "1 2 3 | 4"),
        (["2", "--before", "2"], "Nothing changed: #2 task b is that task.", "1 2 3 | 4"),
        (["1", "--first"], "Moved: #1 task a to the start\nNothing changed.", "1 2 3 | 4"),
    ],
)
def test_a_task_can_be_moved(person: Person, argv: list[str], said: str, order: str) -> None:
    person.says("todo", "add", "task a", "task b", "task c", "--phase", "Begin")
    person.says("todo", "add", "task d", "--phase", "End")

    assert person.says("todo", "move", *argv).startswith(f"{said}\n")
    data = person.run("todo", "--json").json
    by_phase = {
        name: [str(task["number"]) for task in data["tasks"] if task["phase"] == name] for name in data["phases"]
    }
    assert " | ".join(" ".join(numbers) for numbers in by_phase.values()).strip() == order


def test_what_changes_nothing_is_said(person: Person) -> None:
    person.says("todo", "add", "one")
    person.says("todo", "done", "1")

    assert person.says("todo", "done", "one") == "Done: #1 one\nNothing changed.\n"
    assert person.says("todo", "rename", "1", "one") == "Renamed: #1 one (was: one)\nNothing changed.\n"


def test_what_cannot_be_done_changes_nothing(person: Person) -> None:
    person.says("todo", "import", "-", given="- [ ] Test\n- [ ] Tell\n")
    for argv, code, complaint in (
        (["start", "nope"], 4, 'no task has "nope" in it'),
        (["done", "nope"], 4, 'no task or phase has "nope" in it'),
        (["done", "t"], 4, '"t" fits 2; name one by its number: #1 Test; #2 Tell'),
        (["rm", "7"], 4, "there is no task #7: the plan has #1-#2"),
        (["rm", "#0"], 4, "there is no task #0: the plan has #1-#2"),
        (["add", " "], 2, "a task needs a text"),
        (["rename", "1", " "], 2, "tildone todo rename was given an empty argument"),
        (["note", "test", " "], 2, "tildone todo note was given an empty argument"),
        (["start", " "], 2, "tildone todo start was given an empty argument"),
        (["done", "1", ""], 2, "tildone todo done was given an empty argument"),
        (["move", "1"], 2, "where to? tildone todo move requires one of --before, --after, --phase, --first, --last"),
        (["move", "1", "--first", "--last"], 2, "where to? tildone todo move requires one of "),
        (["move", "9", "--first"], 4, "there is no task #9: the plan has #1-#2"),
        (["move", "1", "--before", "9"], 4, "there is no task #9: the plan has #1-#2"),
        (["block", "9"], 4, "there is no task #9: the plan has #1-#2"),
    ):
        assert person.refused(code, "todo", *argv).startswith(f"tildone: {complaint}"), argv
        assert len(person.run("log", "--json").json["events"]) == 1, argv


def test_a_word_that_is_no_verb_is_answered_with_likely_ones_and_how_to_search(person: Person) -> None:
    for typed, hint in (
        ("nxt", "did you mean tildone todo next?"),
        ("parser", "to search: tildone todo list parser"),
        ("two words", "to search: tildone todo list 'two words'"),
    ):
        said = person.refused(2, "todo", typed)

        assert said.startswith(f"tildone: tildone todo has no verb {typed!r}; "), typed
        assert hint in said.replace("'tildone todo next'", "tildone todo next"), typed
        assert "to search: tildone todo list " in said, typed


def test_an_edit_by_hand_starts_nothing_in_a_session_that_no_model_wrote(person: Person) -> None:
    person.says("todo", "import", "-", given="- [/] a\n- [/] b\n- [ ] c\n")

    person.says("todo", "done", "a")

    assert person.says("todo", "export", "-") == "- [x] a\n- [/] b\n- [ ] c\n"


def test_an_edit_by_hand_follows_the_rules_of_the_model_that_wrote_the_plan(person: Person) -> None:
    """Tasks of `todo_write` are started one after the other; those of `write_todos` never by themselves."""
    phased = person.environ | {"TILDONE_SESSION": "phased"}
    person.run("call", "todo_write", '{"ops": [{"op": "append", "phase": "A", "items": ["a", "b"]}]}', **phased)
    person.run("call", "write_todos", REPLACE)

    said = [person.says("todo", "done", "1", **phased), person.says("todo", "done", "1")]

    assert said == [
        f"Done: #1 a\n1 of 2 closed. In progress: #2 b\n{UNDO}",
        f"Done: #1 Parse\n1 of 2 closed. Next: #2 Wire up\n{UNDO}",
    ]
    assert person.refused(3, "todo", "rename", "2", "a", **phased) == "tildone: a task already says “a”\n"
    too_long = "tildone: the text of new task 1 is longer than 1000 characters\n"
    assert person.refused(3, "todo", "add", "x" * 1001) == too_long


def test_a_task_added_by_hand_waits_until_it_is_started(person: Person) -> None:
    """In a session whose rules would start it at once, too: that is how its own command for people does it."""
    person.run("call", "todo_write", '{"ops": [{"op": "append", "phase": "A", "items": ["a"]}, {"op": "done"}]}')

    assert person.says("todo", "add", "b") == "Added to A: #2 b\n1 of 2 closed. Next: #2 b\n"


def test_a_dialect_can_be_named(person: Person) -> None:
    person.says("todo", "add", "one of", "two of")

    said = person.says("todo", "done", "1", "--dialect", "phased")

    assert said == f"Done: #1 one of\n1 of 2 closed. In progress: #2 two of\n{UNDO}"


def test_text_cannot_play_with_the_terminal(person: Person) -> None:
    said = person.says("todo", "add", "a\x1b[2Jb\x07\u202ec\nDone: all")

    assert said.startswith("Added: #1 a␛[2Jb␇<U+202E>c⏎Done: all\n")
    assert person.says("todo") == "– #1 a␛[2Jb␇<U+202E>c⏎Done: all\n"
