"""Titles of sessions, and the names that people give instead of them."""

import json
from pathlib import Path

from tests.cli.person import Person
from tests.plans import plan_of
from tildone.app.sessions import title_of
from tildone.cli.output.titles import TitledSession
from tildone.plan.events import SessionInfo
from tildone.plan.model import Plan

ID = "0199c0de-7a2b-7000-8000-1234567890ab"


def test_a_title_says_what_the_session_is_about() -> None:
    for name, said, plan, title, beside in (
        ("/home/me/shop", "", Plan(), "shop", "/home/me/shop"),
        ("/home/me/shop/", "", Plan(), "shop", "/home/me/shop/"),
        ("/", "", Plan(), "/", ""),
        (f"/home/me/shop#claude:{ID}", "", Plan(), "shop (claude 0199c0de)", f"/home/me/shop#claude:{ID}"),
        ("/home/c#/shop", "", Plan(), "shop", "/home/c#/shop"),
        ("release", "", plan_of("Tag it"), "release", ""),
        ("decade", "", plan_of("Count"), "decade", ""),
        (ID, "Add a flag\nwith a test", plan_of("Parse"), "Add a flag", "0199c0de"),
        (ID, "", plan_of("Parse"), "Parse", "0199c0de"),
        (ID, "", Plan(), "0199c0de", ""),
        (ID, "x" * 100, Plan(), "x" * 47 + "…", "0199c0de"),
        (ID, "a\x1b[2Jb", Plan(), "a␛[2Jb", "0199c0de"),
    ):
        info = SessionInfo(name, 1, 0, 0, said)

        assert title_of(info, plan) == title, name
        assert TitledSession(info, plan, title).short_name == beside, name


def test_a_session_is_named_by_its_title_or_the_beginning_of_its_name(person: Person) -> None:
    person.says("todo", "append", "Parse", "--session", "/home/me/shop")
    person.says("todo", "append", "Count", "--session", ID)

    assert "Parse" in person.says("todo", "--session", "shop")
    assert "Parse" in person.says("todo", "--session", "SHOP")
    assert "Count" in person.says("todo", "--session", "0199c0de")
    assert "Count" in person.says("todo", "--session", "coun")
    assert "Count" in person.says("log", "--session", "0199")
    assert "No tasks" in person.says("todo", "--session", "sho")  # too short to mean another
    person.says("todo", "start", "Count", "--session", "0199c0de")
    assert "#1 Count" in person.says("status", "--session", "count")


def test_a_name_that_may_mean_several_sessions_is_an_error(person: Person) -> None:
    for place in ("first", "second"):
        person.says("todo", "append", "Parse", "--session", f"/{place}/shop")

    answer = person.run("todo", "--session", "shop")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        "tildone: --session 'shop' may mean several sessions: /second/shop; /first/shop; give more of the name\n"
    )
    assert "Parse" in person.says("todo", "--session", "/first/shop")


def test_a_new_name_begins_a_new_session(person: Person) -> None:
    person.says("todo", "append", "Parse", "--session", "release")
    person.says("todo", "append", "Count", "--session", "another")

    names = {each["name"] for each in person.run("sessions", "--json").json["sessions"]}

    assert names == {"release", "another"}


def test_a_conversation_is_titled_after_its_first_prompt(person: Person) -> None:
    """In a store of session files, which contain the conversation."""
    folder = person.folder / "conversations"
    person.says("todo", "append", "Parse", "--store", f"jsonl:{folder}", "--session", ID)
    [file] = folder.glob("*.jsonl")
    header, *entries = file.read_text(encoding="utf-8").splitlines()
    prompt = {
        "type": "message",
        "id": "aaaaaaaa",
        "parentId": None,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "Add a --version flag"}]},
    }
    file.write_text("\n".join([header, json.dumps(prompt), *entries, ""]), encoding="utf-8")

    [found] = person.run("sessions", "--json", "--store", f"jsonl:{folder}").json["sessions"]

    assert (found["name"], found["title"]) == (ID, "Add a --version flag")


def test_a_narrow_terminal_shows_sessions_on_two_lines(person: Person) -> None:
    person.says("todo", "append", "Parse", "--session", f"/home/me/{'long' * 12}")

    shown = Person(person.folder, person.home, person.environ, 40).at_terminal("sessions", NO_COLOR="1").end().out

    assert all(len(line) <= 40 for line in shown.splitlines())
    assert len(shown.splitlines()) == 2


def test_restoring_lists_titles(person: Person, tmp_path: Path) -> None:
    person.says("todo", "append", "Parse", "--session", ID)
    person.says("backup", str(tmp_path / "kept.db"))
    person.says("todo", "append", "more", "--session", ID)

    said = person.says("restore", str(tmp_path / "kept.db"), "--dry-run")

    assert "  Parse (0199c0de): would return to its state in the backup" in said
    assert "  Parse (0199c0de)\n" in person.says("restore", str(tmp_path / "kept.db"), "--session", "0199c0de")
