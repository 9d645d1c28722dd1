"""What an agent types in its shell is shown as the agent's doing wherever a person looks, and is not from the user."""

from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.web.boards import Place, board, place_in
from tildone.plan.model import Task
from tildone.plan.ops import Append

AGENT = {"CLAUDE_CODE_SESSION_ID": "5f0c1234-aaaa-bbbb-cccc-00009e7d"}
TYPED: dict[str, tuple[str, ...]] = {
    "completed #1": ("todo", "done", "1"),
    "blocked #2": ("todo", "block", "2", "why"),
    "removed #3": ("todo", "rm", "3"),
    "added #6": ("todo", "add", "Mine"),
    "noted on #4": ("todo", "note", "4", "hm"),
    "renamed #4": ("todo", "rename", "4", "Fourth"),
    "started #5": ("todo", "start", "5"),
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = place_in(tmp_path)
    made.session(author="Ada").change([Append(tuple(map(Task, ("One", "Two", "Three", "Four", "Five"))), "")])
    (made.folder / "plan.md").write_text("- [ ] Imported\n", encoding="utf-8")
    return made


def test_the_agent_is_named_for_what_it_types(place: Place) -> None:
    person = Person(place.folder, place.home, place.environment(), columns=200)
    for words in TYPED.values():
        answer = person.run(*words, **AGENT)
        assert answer.code == 0, (words, answer)

    blamed, tasks = person.says("blame"), place.session().plan.tasks
    assert person.run("import", "plan.md", **AGENT).code == 0
    logged, rows = person.says("log"), person.run("log", "--json").json["events"]
    [imported] = place.session().plan.tasks
    stats = person.run("stats", "--json").json
    with board(place) as started:
        browser = started.browser()
        [session] = browser.get("/api/sessions").json["sessions"]
        history = browser.get(f"/api/s/{session['key']}/history").json["rows"]

    by_agent = "\n".join(line for line in logged.splitlines() if "claude 9e7d" in line)
    for what in TYPED:
        assert what in by_agent, (what, logged)
    assert "claude 9e7d (import)" in by_agent
    count = len(TYPED) + 1
    assert [row["author"]["agent"] for row in rows] == ["claude:" + AGENT["CLAUDE_CODE_SESSION_ID"]] * count + [None]
    assert [row["who"] for row in history] == ["agent"] * count + ["user"]
    assert [row["kind"] for row in history] == ["change"] * count + ["person"]
    assert len(stats["changes_by_people"]) == 1
    assert "claude 9e7d (shell)  completed" in blamed
    assert [task.text for task in tasks if not task.from_user] == ["Mine"]
    assert not imported.from_user
