"""`tildone log`, `undo`, `redo` and `sessions`: nothing is lost, and everything can be told."""

import re
from pathlib import Path

import pytest

from tests.cli.history.histories import kept, named
from tests.cli.person import Person
from tests.plans import COMPLETED, IN_PROGRESS
from tests.plans import unnumbered_plan_of as plan_of
from tests.trusted import write_trusted
from tildone.plan.model import Phase, Plan, Task, flat


def test_what_happened_is_told_newest_first(person: Person) -> None:
    person.says("todo", "append", "Build", "Parse")
    person.says("todo", "start", "parse")

    lines = person.says("log").splitlines()

    assert [re.sub(r"\w{4,20}  \d{4}-\d\d-\d\d \d\d:\d\d", "ID WHEN", line) for line in lines] == [
        "* ID WHEN  Ada  started #1 “Parse”",
        "│ ID WHEN  Ada  added phase “Build”",
        f"{' ' * (lines[1].index('added'))}added #1 “Parse”",
    ]


def test_as_many_events_are_told_as_asked_for(person: Person) -> None:
    for text in ("a", "b", "c", "d"):
        person.says("todo", "append", text)

    told = [event["what"] for event in person.run("log", "--json", "--limit", "2").json["events"]]

    assert told == [["added #4 “d”"], ["added #3 “c”"]]
    assert len(person.run("log", "--json").json["events"]) == 4


def test_what_was_undone_is_told_with_all_branches_only(person: Person) -> None:
    for text in ("a", "b"):
        person.says("todo", "append", text)
    person.says("undo")
    person.says("todo", "append", "c")

    here, everywhere = (person.run("log", "--json", *words).json["events"] for words in ((), ("--all",)))

    assert [event["what"][-1] for event in here] == ["added #2 “c”", "added #1 “a”"]
    assert [(event["what"][-1], event["place"]) for event in everywhere] == [
        ("added #2 “c”", "head"),
        ("added #2 “b”", "elsewhere"),
        ("added #1 “a”", "on_branch"),
    ]


def test_nothing_happened_yet_is_a_sentence(person: Person) -> None:
    assert person.says("log") == (f"{person.folder} has no events yet. Start with: tildone todo add TEXT\n")
    assert person.run("log", "--json").json == {"version": 1, "session": str(person.folder), "events": []}


def test_the_end_of_a_tasks_time_in_progress_says_how_long_that_was(person: Person) -> None:
    kept(person, plan_of("Parse"), flat(Task("Parse", IN_PROGRESS)), flat(Task("Parse", COMPLETED)))

    lines = person.says("log", "--limit", "1").splitlines()
    told = person.run("log", "--limit", "1", "--json").json["events"]

    assert [line.partition("agent")[2] for line in lines] == ["  completed “Parse” (1m)"]
    assert [(event["what"], event["in_progress_ms"]) for event in told] == [(["completed “Parse”"], [60_000])]


def test_how_long_each_task_took_is_a_table(person: Person) -> None:
    kept(
        person,
        plan_of("Parse", "Wire", "Old"),
        flat(Task("Parse", IN_PROGRESS), Task("Wire")),
        flat(Task("Parse", COMPLETED), Task("Wire")),
    )

    assert person.says("log", "--tasks").splitlines() == [
        "worked on  in all  closed by  task",
        "       1m      2m  agent      ✓ #1 Parse",
        "        –       –  –          – #2 Wire",
        "",
        "No longer in the plan:",
        "        –       –  –          – Old",
    ]
    nobody = {"name": None, "agent": None, "model": None}
    by = {"actor": "agent", "author": nobody, "tool": None}
    assert person.run("log", "--tasks", "--json").json["tasks"][0] == {
        "number": 1,
        "text": "Parse",
        "status": "completed",
        "phase": "",
        "position": 0,
        "from_user": False,
        "added": {"id": named("a"), "at": "1970-01-01T00:00:00.000Z", **by},
        "closed": {"id": named("c"), "at": "1970-01-01T00:02:00.000Z", **by},
        "in_progress_ms": 60_000,
        "lifetime_ms": 120_000,
    }


def test_a_task_that_is_still_in_progress_counts_until_now(person: Person) -> None:
    person.says("todo", "append", "Parse")
    person.says("todo", "start", "parse")

    [told] = person.run("log", "--tasks", "--json").json["tasks"]

    assert 0 <= told["in_progress_ms"] < 60_000
    assert told["lifetime_ms"] is None


def test_the_table_tells_when_there_is_nothing_to_tell(person: Person) -> None:
    before = person.says("log", "--tasks")
    person.says("todo", "append", "x")
    person.says("undo")

    assert before == person.says("log", "--session", "other").replace("session 'other'", str(person.folder))
    assert person.says("log", "--tasks") == (
        "This is before the first change. Later changes are on a branch: tildone branch\n"
    )
    assert person.run("log", "--tasks", "--json").json["tasks"] == []
    kept(person, Plan((Phase("Empty"),)), session="empty")
    assert person.says("log", "--tasks", "--session", "empty") == "This branch has no tasks yet.\n"


@pytest.mark.parametrize("other", [("--all",), ("--limit", "3")])
def test_the_table_is_of_every_task_of_this_branch(person: Person, other: tuple[str, ...]) -> None:
    answer = person.run("log", "--tasks", *other)

    assert (answer.code, answer.err) == (
        2,
        "tildone: log --tasks lists every task of this branch; it takes neither --all nor --limit\n",
    )


def test_undo_and_redo_say_what_they_did(person: Person) -> None:
    person.says("todo", "append", "Build", "Parse")
    person.says("todo", "done", "parse")

    said = [person.says("undo"), person.says("undo"), person.says("redo"), person.says("redo")]

    assert said == [
        "Undid: completed #1 “Parse”\n0 of 1 closed. Next: #1 Parse\n",
        "Undid: added phase “Build”; added #1 “Parse”\nThe plan is now empty.\n",
        "Redid: added phase “Build”; added #1 “Parse”\n0 of 1 closed. Next: #1 Parse\n",
        "Redid: completed #1 “Parse”\n1 of 1 closed: nothing is left to do.\n",
    ]


def test_several_changes_are_undone_and_made_again_at_once(person: Person) -> None:
    for text in ("a", "b", "c"):
        person.says("todo", "append", text)

    said = [person.says("undo", "2"), person.says("redo", "2")]

    assert said == [
        "Undid 2 changes: added #2 “b”; added #3 “c”\n0 of 1 closed. Next: #1 a\n",
        "Redid 2 changes: added #2 “b”; added #3 “c”\n0 of 3 closed. Next: #1 a\n",
    ]


def test_more_than_there_is_cannot_be_undone_and_nothing_is(person: Person) -> None:
    for text in ("a", "b"):
        person.says("todo", "append", text)

    answers = [person.run("undo", "3"), person.run("redo", "1")]

    assert [(answer.code, answer.err) for answer in answers] == [
        (3, "tildone: there are only 2 changes to undo\n"),
        (3, "tildone: nothing to redo\n"),
    ]
    assert "#2 b" in person.says("todo")


@pytest.mark.parametrize("count", ["0", "x", "1.5", "9" * 5000])
def test_a_number_of_changes_is_a_number(person: Person, count: str) -> None:
    answer = person.run("undo", count)

    assert (answer.code, answer.err) == (
        2,
        f"tildone: tildone undo requires a positive number of changes, not '{count}'\n",
    )


def test_a_models_change_is_undone_as_well(person: Person) -> None:
    person.says("call", "write_todos", '{"mode": "replace", "todos": [{"text": "Parse"}]}')

    assert person.says("undo").startswith("Undid: added #1 “Parse”\n")


def test_sessions_are_listed_with_the_current_one_marked(person: Person) -> None:
    person.says("todo", "append", "one")
    person.says("todo", "append", "two", "--session", "other")
    person.says("todo", "done", "two", "--session", "other")

    lines = person.says("sessions").splitlines()

    assert [line.split() for line in lines] == [
        ["other", "1/1", "just", "now"],
        ["●", "project", "0/1", "just", "now", str(person.folder)],
    ]
    found = person.run("sessions", "--json").json["sessions"]
    assert [(each["name"], each["current"], each["closed"]) for each in found] == [
        ("other", False, 1),
        (str(person.folder), True, 0),
    ]


def test_no_session_yet_is_a_sentence(person: Person) -> None:
    store = person.folder / "plans.db"

    said = person.says("sessions", "--store", "plans.db")

    assert said == f"{store} has no sessions yet. Start one with: tildone todo add TEXT\n"


def test_every_folder_of_a_project_shares_its_plan_and_no_other_does(person: Person, tmp_path: Path) -> None:
    below, outside = person.folder / "src", tmp_path / "outside"
    below.mkdir()
    outside.mkdir()
    person.says("todo", "append", "one")

    shown = [Person(folder, person.home, person.environ).says("todo") for folder in (below, outside)]

    assert shown[0] == person.says("todo")
    assert shown[1].startswith(f"No tasks in {outside}.")


def test_a_settings_file_is_heeded(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", 'session = "mine"\nstore = "plans.db"\n', person.environment({}))

    person.says("todo", "append", "one")

    assert (person.folder / "plans.db").exists()
    assert person.run("sessions", "--json").json["sessions"][0]["name"] == "mine"
