"""`tildone export`: the plan for others to read, the session to be kept.

Nobody's file is overwritten, and models learn a plan's file.
"""

import json
import os

import pytest

from tests.cli.person import Person

PLAN = "# Build it\n- [x] Parse\n  > see the grammar\n- [/] Wire up\n\n# Ship\n- [ ] Tell\n- [-] Wait\n"
NASTY = r'{"mode": "replace", "todos": [{"text": "a\n- [x] b +p\u001b \ud800"}, {"text": "x # c "}, {"text": "+p"}]}'


@pytest.fixture
def planner(person: Person) -> Person:
    person.says("import", "-", given=PLAN)
    return person


def held(person: Person, name: str) -> str:
    return (person.folder / name).read_bytes().decode()


def content(person: Person, session: str) -> list[tuple[str, str, str, list[str]]]:
    """The tasks of a session without their numbers."""
    tasks = person.run("todo", "--json", "--session", session).json["tasks"]
    return [(task["phase"], task["text"], task["status"], task["notes"]) for task in tasks]


@pytest.mark.parametrize("name", ["plan.md", "todo.txt", "plan.json"])
@pytest.mark.parametrize("plan", ["ordinary", "nasty"])
def test_what_was_exported_comes_back(planner: Person, name: str, plan: str) -> None:
    if plan == "nasty":
        planner.says("call", "write_todos", NASTY)
    before = content(planner, str(planner.folder))
    planner.run("export", name)

    assert planner.run("import", name, "--session", "copy").code == 0

    assert content(planner, "copy") == before


def test_a_session_of_pis_holds_every_branch(planner: Person) -> None:
    """It comes back as it was, and is never replaced."""
    planner.says("undo")
    planner.says("todo", "append", "Another way")

    assert planner.says("export", "run.jsonl") == "Wrote the session to run.jsonl\n"

    header, *entries = map(json.loads, held(planner, "run.jsonl").splitlines())
    assert (header["type"], header["version"], header["cwd"]) == ("session", 3, str(planner.folder.resolve()))
    assert {"id", "parentId", "timestamp", "type"} <= set(entries[0])
    planner.run("import", "run.jsonl", "--session", "copy")
    here, there = (planner.run("export", "--as", "json", *words).json for words in ([], ["--session", "copy"]))
    assert [event["plan"] for event in there["events"]] == [event["plan"] for event in here["events"]]
    assert [event["parent"] for event in there["events"]] == [None, None]
    assert there["place"]["head"] == there["events"][1]["id"]
    before = held(planner, "run.jsonl")
    for words in ([], ["--force"]):
        assert (
            planner.refused(3, "export", "run.jsonl", *words)
            == "tildone: run.jsonl already exists, and a pi session is never overwritten; choose another name\n"
        )
    assert held(planner, "run.jsonl") == before


@pytest.mark.skipif(os.name == "nt", reason="needs the limits of a POSIX shell")
@pytest.mark.parametrize("name", ["plan.md", "plan.json", "run.jsonl"])
def test_half_a_file_is_never_written(planner: Person, name: str) -> None:
    """Where there is no room for all of it, the file that was there is there still, and nothing beside it."""
    if name != "run.jsonl":
        planner.says("export", name)
    before = {each: (planner.folder / each).read_bytes() for each in os.listdir(planner.folder) if each != ".git"}
    planner.says("import", "-", given=f"{PLAN}- [ ] {'x' * 300_000}\n")

    answer = planner.shell(f"ulimit -f 200; tildone export {name}")

    assert answer.code in {1, 5}
    assert name in answer.err
    after = {each: (planner.folder / each).read_bytes() for each in os.listdir(planner.folder) if each != ".git"}
    assert after == before


def test_at_a_terminal_the_plan_is_harmless(planner: Person) -> None:
    """Into a pipe it goes with the exact text in a comment, escaped."""
    planner.says("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "a \u001b[2J"}]}')

    assert planner.at_terminal("export", NO_COLOR="1").end().out == "- [ ] a ␛[2J\n"
    assert planner.says("export") == '- [ ] a ␛[2J <!--tildone "a \\u001b[2J"-->\n'
