"""`tildone diff` and `blame`: what changed, and who did it; and how histories look at a terminal."""

import os
import re
from dataclasses import replace

import pytest

from tests.cli.history.histories import kept, labelled, named
from tests.cli.person import Person
from tests.plans import COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.model import Phase, Plan, Task
from tildone.plan.text.styles import display_width

NASTY = "A task with a rather long text, 漢字も, and\x1b[2J more\nof it"
SEEN = "A task with a rather long text, 漢字も, and␛[2J more⏎of it"

at_a_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")


def build(person: Person) -> None:
    kept(
        person,
        Plan((Phase("Build", (Task("Parse"), Task("Wire"))),)),
        Plan((Phase("Build", (Task("Parse", IN_PROGRESS), Task("Wire"))),)),
        Plan((Phase("Build", (Task("Parse", COMPLETED),)), Phase("Ship", (Task("Wire", IN_PROGRESS, ("soon",)),)))),
        tool="todo_write",
    )


def test_diff_shows_the_newest_change(person: Person) -> None:
    build(person)

    assert person.says("diff") == (
        "bbbbbbbbbb → cccccccccc  0/2 → 1/2\n"
        "Build 1/1\n"
        "  ~ #1 Parse: completed\n"
        "\n"
        "+ Ship 0/1\n"
        "  ~ #2 Wire: started, moved from Build\n"
        "    + │ soon\n"
    )


def test_diff_shows_what_changed_since_an_event_or_between_two(person: Person) -> None:
    build(person)
    person.says("label", "begin", "a")

    assert person.says("diff", "begin").startswith("aaaaaaaaaa → ")
    assert person.says("diff", "root", "begin") == (
        "root → aaaaaaaaaa  0/0 → 0/2\n+ Build 0/2\n  + #1 Parse\n  + #2 Wire\n"
    )
    assert person.says("diff", "b", "a") == "bbbbbbbbbb → aaaaaaaaaa  0/2 → 0/2\nBuild 0/2\n  ~ #1 Parse: put back\n"


def test_the_same_plan_does_not_differ(person: Person) -> None:
    build(person)

    answer = person.run("diff", "head", "c")

    assert (answer.code, answer.out) == (
        0,
        "No difference: the plan is the same at cccccccccc and cccccccccc.\n",
    )
    told = person.run("diff", "head", "--json").json
    assert (told["from"]["id"], told["to"]["id"], told["phases"]) == (named("c"), named("c"), [])


def test_a_diff_can_be_read_by_programs(person: Person) -> None:
    build(person)

    told = person.run("diff", "--json").json

    assert (told["from"]["id"], told["to"]["id"]) == (named("b"), named("c"))
    assert [(phase["phase"], phase["sign"], len(phase["tasks"])) for phase in told["phases"]] == [
        ("Build", None, 1),
        ("Ship", "+", 1),
    ]
    assert told["phases"][1]["tasks"][0]["from"] == "Build"
    nothing = {"version": 1, "session": "other", "from": None, "to": None, "phases": []}
    assert person.run("diff", "--json", "--session", "other").json == nothing


def test_blame_says_who_brought_and_who_closed_each_task(person: Person) -> None:
    build(person)
    person.says("todo", "done", "wire")

    lines = person.says("blame").splitlines()

    assert [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", line) for line in lines[:-1]] == [
        "✓ #1 Parse  Build",
        "  aaaaaaaaaa  WHEN  agent  added  todo_write",
        "  cccccccccc  WHEN  agent  completed (1m)  todo_write",
        "✓ #2 Wire  Ship",
        "  aaaaaaaaaa  WHEN  agent  added  todo_write",
    ]
    assert re.match(r"  \w{10}  .*  Ada  completed \(\d+d( \d+h)?\)$", lines[-1])


def test_blame_tells_the_whole_life_of_a_task_with_the_calls(person: Person) -> None:
    build(person)

    by_text, by_number, by_part = (person.says("blame", word) for word in ("WIRE", "2", "ire"))

    assert [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "WHEN", line).strip() for line in by_text.splitlines()] == [
        "● #2 Wire  Ship",
        "aaaaaaaaaa  WHEN  agent  added",
        'todo_write {"n":0}',
        "cccccccccc  WHEN  agent  moved to Ship",
        "started",
        "noted: soon",
        'todo_write {"n":2}',
    ]
    assert by_text == by_number == by_part


def test_blame_can_be_read_by_programs(person: Person) -> None:
    build(person)

    told = person.run("blame", "--json").json
    [parse, wire] = told["tasks"]
    [whole] = person.run("blame", "parse", "--json").json["tasks"]

    nobody = {"name": None, "agent": None, "model": None}
    by = {"actor": "agent", "author": nobody, "tool": "todo_write"}
    closed = {"id": named("c"), "at": "1970-01-01T00:02:00.000Z", **by}
    assert (told["version"], told["session"], told["at"]) == (1, str(person.folder), named("c"))
    assert parse == {
        "number": 1,
        "text": "Parse",
        "status": "completed",
        "phase": "Build",
        "position": 0,
        "from_user": False,
        "added": {"id": named("a"), "at": "1970-01-01T00:00:00.000Z", **by},
        "closed": closed,
    }
    assert wire["closed"] is None
    assert whole["history"][-1] == closed | {"arguments": '{"n":2}', "what": ["completed"], "in_progress_ms": 60_000}


def test_blame_knows_the_plan_as_it_was_and_what_left_it(person: Person) -> None:
    kept(person, plan_of("Old", "Older"), plan_of("Old"), plan_of("New"))

    assert "Older" in person.says("blame", "--at", "head~2")
    assert person.says("blame").startswith("– #1 New\n")
    assert person.says("blame", "older").splitlines()[0] == "– Older"
    assert len(person.run("blame", "old", "--json").json["tasks"]) == 1
    assert len(person.run("blame", "ol", "--json").json["tasks"]) == 2


def test_a_task_that_never_was_is_not_found(person: Person) -> None:
    build(person)
    for words, said in (
        (("blame", "nothing like it"), 'no task on this branch contains "nothing like it"'),
        (("blame", "7"), "there is no task #7: the tasks are #1, #2"),
        (("blame", " "), 'no task on this branch contains " "'),
        (("blame", "7", "--at", "root"), "there is no task #7: the plan is empty"),
        (("blame", "--at", "nope"), "no event has the label or id 'nope', and no id begins with it"),
    ):
        answer = person.run(*words)

        assert (answer.code, answer.out, answer.err) == (4, "", f"tildone: {said}\n"), words


def test_without_tasks_there_is_nobody_to_blame(person: Person) -> None:
    assert person.says("blame") == f"No tasks in {person.folder}. Add one with: tildone todo add TEXT\n"
    nothing = {"version": 1, "session": str(person.folder), "at": None, "tasks": []}
    assert person.run("blame", "--json").json == nothing


def nasty(person: Person) -> None:
    events = kept(
        person,
        Plan((Phase(NASTY, (Task(NASTY), Task("b"))),)),
        Plan((Phase(NASTY, (Task(NASTY, IN_PROGRESS, (NASTY,)), Task("b"))),)),
        Plan((Phase(NASTY, (Task(NASTY, COMPLETED, (NASTY,)),)),)),
        tool=NASTY,
    )
    labelled(person, events[-1], NASTY)


VERBS = [
    ("log", "--all"),
    ("log", "--tasks"),
    ("diff", "root"),
    ("blame",),
    ("blame", "rather"),
    ("branch",),
    ("label",),
]


@at_a_terminal
def test_a_history_fits_a_terminal_however_narrow(person: Person) -> None:
    nasty(person)
    for words in VERBS:
        for columns in (40, 24):
            shown = replace(person, columns=columns).at_terminal(*words, NO_COLOR="1").end()
            assert shown.code == 0, words
            assert max(display_width(line) for line in shown.out.splitlines()) <= columns, words


@at_a_terminal
def test_a_terminal_gets_colours_and_a_pipe_gets_none(person: Person) -> None:
    """Texts cannot get out of their line in either."""
    nasty(person)
    for words in VERBS:
        shown, piped = replace(person, columns=1000).at_terminal(*words).end().out, person.says(*words)

        assert "\x1b[" in shown, words
        assert "\x1b" not in piped, words
        assert re.sub(r"\x1b\[[\d;]*m", "", shown) == piped, words
        assert SEEN in piped, words
        assert not any(line.startswith("of it") for line in piped.splitlines()), words


def test_a_long_history_can_be_looked_at_and_moved_about_in(person: Person) -> None:
    kept(person, *(plan_of(*(f"task {m}" for m in range(n % 7 + 1))) for n in range(90)))

    assert len(person.run("log", "--json", "--limit", "3").json["events"]) == 3
    assert person.says("undo", "40").startswith("Undid 40 changes: ")
    assert person.says("checkout", "head~49").startswith("Moved to ")
    assert person.says("todo") == "– #1 task 0\n"
