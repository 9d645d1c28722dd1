"""`tildone import` of whole histories: pi's session files and tildone's own archives, with every branch."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person

FILES = Path(__file__).parent / "files"
PI = "01a1dcac-0000-7000-8000-00000000000"


def shape(person: Person, *words: str) -> tuple[list[int | None], int | None]:
    """The tree of a session: which event each follows, by its place, and at which the session stands."""
    data: dict[str, Any] = person.run("export", "--as", "json", *words).json
    places = {event["id"]: place for place, event in enumerate(data["events"])}
    return [places.get(event["parent"]) for event in data["events"]], places.get(data["place"]["head"])


@pytest.mark.parametrize(("version", "messages"), [("1", 3), ("2", 4)])
def test_a_session_of_any_version_is_taken_over(person: Person, version: str, messages: int) -> None:
    """Into a session of its own, named by the file; the conversation stays where it is, and that is said."""
    answer = person.run("import", str(FILES / f"pi-v{version}.jsonl"))

    assert answer.code == 0
    assert answer.out.splitlines()[-2:] == [
        "1 of 2 closed. Next: #2 Wire up",
        f"To show it: tildone todo --session {PI}{version}",
    ]
    assert answer.out.splitlines()[0].endswith(f": 2 events, into session '{PI}{version}'")
    assert answer.err.splitlines()[1] == f"  {messages} messages not imported"
    assert person.says("todo", "--session", f"{PI}{version}") == "✓ #1 [0] Parse\n– #2 [1] Wire up\n"
    assert person.says("todo").startswith("No tasks")


def test_a_session_is_taken_over_with_all_its_branches(person: Person) -> None:
    """It stands where the file stands, and what was left there can be gone back to."""
    assert person.run("import", str(FILES / "pi-v3.jsonl"), "--session", "s").code == 0

    assert shape(person, "--session", "s") == ([None, 0, 0], 2)
    assert person.says("todo", "--session", "s") == "– #1 [0] Parse\n● #2 [1] Wire up\n"


def test_a_session_on_standard_input_is_taken_over(person: Person) -> None:
    """Found by what it holds."""
    answer = person.run("import", "-", given=(FILES / "pi-v3.jsonl").read_bytes())

    assert answer.out.startswith(f"Imported standard input: 3 events, into session '{PI}3'\n")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="there is no such file here")
def test_a_session_through_a_pipe_is_taken_over(person: Person) -> None:
    """Which can be read only once."""
    answer = person.run("import", "/dev/stdin", given=(FILES / "pi-v3.jsonl").read_bytes())

    assert answer.out.startswith(f"Imported /dev/stdin: 3 events, into session '{PI}3'\n")


def test_archives_that_are_called_like_tasks_are_archives(person: Person) -> None:
    """What a file holds counts more than its name."""
    for name in ("1", "2"):
        person.says("todo", "append", "a", "--session", name)
        person.says("export", f"{name}.json", "--session", name)

    answer = person.run("import", "1.json", "2.json", "--store", "other.db", "--json")

    assert [imported["session"] for imported in answer.json["imported"]] == ["1", "2"]


def test_taking_it_over_again_changes_nothing(person: Person) -> None:
    """And what was added since is all that is new."""
    path = person.folder / "run.jsonl"
    lines = (FILES / "pi-v3.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]), encoding="utf-8")
    first = person.run("import", "run.jsonl", "--json").json["imported"][0]

    again = person.run("import", "run.jsonl").out
    path.write_text("".join(lines), encoding="utf-8")
    later = person.run("import", "run.jsonl", "--dry-run", "--json").json["imported"][0]
    last = person.run("import", "run.jsonl").out

    assert (first["new_events"], later["new_events"]) == (1, 2)
    assert again.splitlines()[:2] == [
        f"Imported run.jsonl: 1 event, 0 of them new, into session '{PI}3'",
        "Nothing changed.",
    ]
    assert last.splitlines()[0] == f"Imported run.jsonl: 3 events, 2 of them new, into session '{PI}3'"


def test_what_was_done_here_meanwhile_is_kept_on_a_branch(person: Person) -> None:
    """The session goes to where the file stands; nothing of it is lost."""
    person.run("import", str(FILES / "pi-v1.jsonl"), "--session", "s")
    person.says("todo", "append", "Mine", "--session", "s")

    person.run("import", str(FILES / "pi-v1.jsonl"), "--session", "s")

    assert person.says("todo", "--session", "s") == "✓ #1 [0] Parse\n– #2 [1] Wire up\n"
    assert shape(person, "--session", "s") == ([None, 0, 1], 1)


def test_a_session_without_a_plan_is_refused(person: Person) -> None:
    """Rather than made empty."""
    header = (FILES / "pi-v3.jsonl").read_text(encoding="utf-8").partition("\n")[0]
    (person.folder / "run.jsonl").write_text(f"{header}\n", encoding="utf-8")

    answer = person.run("import", "run.jsonl")

    assert (answer.code, answer.err) == (3, "tildone: run.jsonl contains no plan\n")


def test_a_conversation_of_another_program_is_refused(person: Person) -> None:
    """A file of lines of JSON need not be pi's."""
    (person.folder / "rollout.jsonl").write_text('{"timestamp": "x", "type": "session_meta"}\n', encoding="utf-8")

    answer = person.run("import", "rollout.jsonl")

    assert answer.code == 5
    assert "is not a session file" in answer.err


def test_an_archive_is_the_session_again(person: Person) -> None:
    """In another store: every event, the undone ones, and the way forward."""
    for text in ("one", "two", "three"):
        person.says("todo", "append", text)
    person.says("undo")
    person.says("todo", "done", "one")
    person.says("undo")
    person.says("export", "plan.json")

    answer = person.run("import", "plan.json", "--store", "other.db")

    assert answer.out.startswith("Imported plan.json: 4 events\n")
    assert person.says("export", "--as", "json") == person.says("export", "--as", "json", "--store", "other.db")
    assert person.says("redo", "--store", "other.db") == person.says("redo")


def test_an_archive_whose_plan_was_edited_is_said(person: Person) -> None:
    """Because nothing comes of the edit."""
    person.says("todo", "append", "one")
    text = person.says("export", "--as", "json").replace('"text":"one"', '"text":"two"', 1)

    answer = person.run("import", "-", "--into", "copy", given=text)

    assert answer.err == (
        "Not imported from standard input:\n  the plan in it is not what its events lead to; the events are imported\n"
    )
    assert person.says("todo", "--session", "copy") == "– #1 one\n"


def test_events_that_clash_are_refused_with_a_way_out(person: Person) -> None:
    """Two histories that call different things the same do not fit into one session."""
    shutil.copy(FILES / "pi-v3.jsonl", person.folder / "run.jsonl")
    person.run("import", "run.jsonl", "--session", "s")
    text = (person.folder / "run.jsonl").read_text(encoding="utf-8")
    (person.folder / "run.jsonl").write_text(text.replace("Wire up", "Wire down"), encoding="utf-8")

    answer = person.run("import", "run.jsonl", "--session", "s")

    assert (answer.code, answer.err) == (
        5,
        "tildone: session 's' has different events with the same ids; import run.jsonl into another with --session\n",
    )
    assert person.says("todo", "--session", "s") == "– #1 [0] Parse\n● #2 [1] Wire up\n"


def test_several_histories_go_each_into_its_own_session(person: Person) -> None:
    """And beside them, a plan into this one; but they do not go into one."""
    (person.folder / "plan.md").write_text("- [ ] a\n", encoding="utf-8")
    files = [str(FILES / f"pi-v{version}.jsonl") for version in (1, 2)]

    assert person.run("import", *files, "--session", "s").code == 2
    answer = person.run("import", files[0], "plan.md", files[1], "--json")

    sessions = [imported["session"] for imported in answer.json["imported"]]
    assert sessions == [f"{PI}1", f"{PI}2", str(person.folder.resolve())]
    assert {info["name"] for info in person.run("sessions", "--json").json["sessions"]} == set(sessions)
