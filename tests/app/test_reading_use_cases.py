"""Every use case that reads, steers or answers, through every surface that offers it: the same facts and refusals.

What changes a plan is in `test_use_cases.py`, requests of runs in the tests of their surfaces, and what an agent may
not do in `test_who.py`.
"""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import Person
from tests.web.boards import Answered, Browser, Place, board, place_in
from tildone.agents.mcp.protocol import CURRENT_JSON
from tildone.agents.mcp.resources import SessionSnapshot, contents, parse_uri
from tildone.app.apply import Editor
from tildone.app.opening import open_session
from tildone.base import replace
from tildone.log.needs import Need
from tildone.plan import codec
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Directive
from tildone.plan.model import Check, Plan, Status, Task
from tildone.plan.ops import Append, Mark, Note, Numbered, Order, SetCheck, Touch

NUMBERS = count(1)
FIELDS = {
    "command line": ("number", "text", "status", "notes", "phase", "check", "after", "touches"),
    "board": ("number", "text", "status", "notes", "check", "after", "touches"),
    "MCP": ("number", "text", "status", "notes"),
}
"""What each surface tells of a task, of what the others tell as well."""


class World:
    """One store, and a person at every surface of it."""

    def __init__(self, place: Place, browser: Browser) -> None:
        self.place, self.browser = place, browser
        self.store = place.store()
        self.person = Person(place.folder, place.home, place.environment())
        self.editor = Editor(place.settings(), self.store)

    def asked(self, kind: str, *options: str) -> str:
        need = Need(f"q{next(NUMBERS):03}x", "asked", kind, "Which?", options, 1)
        self.store.records.ask(need)
        return need.id

    def told(self, need: str) -> tuple[str, str]:
        found = self.store.records.need(need)
        return (found.answer, found.answered_by) if found else ("gone", "")

    def directive(self, name: str) -> Directive:
        return open_session(replace(self.place.settings(), session=name), BY_HAND, self.store).state.directive


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    place = place_in(tmp_path_factory.mktemp("reading"))
    with board(place) as running:
        yield World(place, running.browser())


def planned(world: World) -> str:
    """A new session with tasks that have everything."""
    name = f"plan {next(NUMBERS)}"
    session = world.place.session(name)
    session.change([Append((Task("One \x1b[2J"), Task("Two")), "Build"), Append((Task("Three"),), "Ship")])
    session.change([Note(Numbered((1,)), "why\u202e"), SetCheck(Numbered((2,)), Check(("true", "a b")))])
    session.change([Order(Numbered((3,)), (2,)), Touch(Numbered((3,)), ("src/*",))])
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    return name


def board_tasks(world: World, name: str) -> list[dict[str, Any]]:
    plan = world.browser.get(f"/api/s/{world.browser.key(name)}").json["plan"]
    return [task | {"phase": phase["name"]} for phase in plan["phases"] for task in phase["tasks"]]


def mcp_tasks(world: World, name: str) -> list[dict[str, Any]]:
    parsed = parse_uri(CURRENT_JSON)
    assert parsed
    state = open_session(replace(world.place.settings(), session=name), BY_HAND, world.store).state
    data = codec.parse_strictly(contents(parsed, SessionSnapshot(name, state))["text"])
    return [task | {"phase": phase["name"]} for phase in data["phases"] for task in phase["tasks"]]


def expected(plan: Plan) -> list[dict[str, Any]]:
    def told(task: Task) -> dict[str, Any]:
        more = {"notes": [*task.notes], "after": [*task.after], "touches": [*task.touches]}
        check = list(task.check.command) if task.check else None
        return {"number": task.number, "text": task.text, "status": task.status.value, "check": check, **more}

    return [told(task) | {"phase": phase.name} for phase in plan.phases for task in phase.tasks]


def typed_tasks(world: World, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.person.run("todo", "--json", "--session", name).json["tasks"]
    return found


LOOKS = {"command line": typed_tasks, "board": board_tasks, "MCP": mcp_tasks}


@pytest.mark.parametrize("surface", LOOKS)
def test_a_plan_has_the_same_facts_everywhere(world: World, surface: str) -> None:
    name = planned(world)
    plan = open_session(replace(world.place.settings(), session=name), BY_HAND, world.store).plan

    found = LOOKS[surface](world, name)

    for task in found:
        task["check"] = (task.get("check") or {}).get("command")
    fields = FIELDS[surface]
    shown = [{field: task.get(field) or [] for field in fields if field != "check"} for task in found]
    assert shown == [{field: task[field] or [] for field in fields if field != "check"} for task in expected(plan)]
    if "check" in fields:
        assert [task["check"] for task in found] == [task["check"] for task in expected(plan)]


def typed(world: World, need: str, text: str) -> str:
    answer = world.person.run("answer", need, text)
    return answer.err if answer.code else ""


def pressed(world: World, need: str, text: str) -> str:
    notice = world.editor.answer(need, text)
    return notice.text if notice.failed else ""


def posted(world: World, need: str, text: str) -> str:
    answered = world.browser.post(f"/api/needs/{need}", {"answer": text})
    return "" if answered.status == 200 else f"{answered.status} {answered.json['error']}"


ANSWERS = {"command line": typed, "watch": pressed, "board": posted}
"""Answers a question on a surface; the refusal."""


SIDES = ("left side", "right side")


@pytest.mark.parametrize("surface", ANSWERS)
@pytest.mark.parametrize(
    ("kind", "options", "given", "answer"),
    [
        ("command", ("once", "always", "no"), "once", "once"),
        ("command", ("once", "no"), "no: use rg", "no: use rg"),
        *(("select", SIDES, "right side", "right side"), ("select", SIDES, "1", "left side")),
        *(("input", (), "a b", "a b"), ("select", SIDES, "3", None)),
        *(("command", ("once", "no"), wrong, None) for wrong in ("yes", "once: now")),
    ],
)
def test_a_question_takes_the_answers_that_it_offers(
    world: World, surface: str, kind: str, options: tuple[str, ...], given: str, answer: str | None
) -> None:
    need = world.asked(kind, *options)

    refused = ANSWERS[surface](world, need, given)

    assert (refused == "") == (answer is not None), refused
    assert world.told(need) == ((answer, "Ada") if answer else ("", ""))
    if refused:
        assert all(option in refused for option in options)
        assert refused.startswith("422 ") is (surface == "board")


@pytest.mark.parametrize("surface", ANSWERS)
def test_the_first_answer_counts_and_the_second_is_told_of_it(world: World, surface: str) -> None:
    need = world.asked("command", "once", "no")
    world.store.records.answer(need, "no", "Grace", 5)

    refused = ANSWERS[surface](world, need, "once")
    gone = ANSWERS[surface](world, "never", "once")

    assert refused
    assert gone
    assert ("Grace" in refused, "no" in refused, world.told(need)) == (True, True, ("no", "Grace"))
    assert [told.startswith(status) for told, status in ((refused, "409 "), (gone, "404 "))] == [surface == "board"] * 2


VERBS = {Directive.PAUSE: "pause", Directive.STOP: "stop", Directive.GO: "resume"}
STEERS: dict[str, Callable[[World, str, Directive], str]] = {
    "command line": lambda world, name, directive: world.person.says(VERBS[directive], "--session", name),
    "watch": lambda world, name, directive: world.editor.steer(name, directive).text,
    "board": lambda world, name, directive: str(steered(world, name, directive.value).json["what"]),
}


def steered(world: World, name: str, directive: str) -> Answered:
    return world.browser.post(f"/api/s/{world.browser.key(name)}/directive", {"directive": directive})


@pytest.mark.parametrize("surface", STEERS)
def test_an_agent_is_paused_stopped_and_resumed_in_the_same_words(world: World, surface: str) -> None:
    name = planned(world)
    for directive, word in ((Directive.PAUSE, "paused"), (Directive.STOP, "stopped"), (Directive.GO, "resumed")):
        said = STEERS[surface](world, name, directive)

        assert said.lower().startswith(word)
        assert world.directive(name) is directive
    events = world.person.run("log", "--json", "--session", name).json["events"]
    assert [event["author"]["name"] for event in events if event["kind"] == "directive_set"] == ["Ada"] * 3


def test_the_board_takes_no_other_directive_and_clients_of_older_boards_name_it_course(world: World) -> None:
    name = planned(world)

    assert steered(world, name, "faster").status == 400
    assert world.browser.post(f"/api/s/{world.browser.key(name)}/course", {"course": "pause"}).status == 200
    assert world.directive(name) is Directive.PAUSE


def test_sessions_are_listed_with_the_same_figures(world: World) -> None:
    name = planned(world)

    [typed] = [each for each in world.person.run("sessions", "--json").json["sessions"] if each["name"] == name]
    [shown] = [each for each in world.browser.sessions() if each["name"] == name]

    fields = ("title", "closed", "total", "events")
    assert [typed[field] for field in fields] == [shown[field] for field in fields]


@pytest.mark.parametrize(("words", "numbers"), [("two", [2]), ("THREE", [3]), ("nothing", [])])
def test_a_search_finds_tasks_by_their_words(world: World, words: str, numbers: list[int]) -> None:
    name = planned(world)
    found = world.person.run("todo", "list", words, "--json", "--session", name).json["tasks"]

    assert [task["number"] for task in found] == numbers


def test_statistics_count_the_same(world: World) -> None:
    name = planned(world)

    typed = world.person.run("stats", "--json", "--session", name).json
    shown = world.browser.get(f"/api/s/{world.browser.key(name)}/stats").json

    assert (typed["closed"], typed["total"]) == (shown["closed"], shown["total"]) == (1, 3)


AGENT = {"CLAUDE_CODE_SESSION_ID": "5f0c1234-aaaa-bbbb-cccc-00009e7d"}
TYPED = {"completed #1": "done 1", "blocked #2": "block 2 why", "removed #3": "rm 3", "added #6": "add Mine"} | {
    "noted on #4": "note 4 hm",
    "renamed #4": "rename 4 Fourth",
    "started #5": "start 5",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = place_in(tmp_path)
    made.session(author="Ada").change([Append(tuple(map(Task, ("One", "Two", "Three", "Four", "Five"))), "")])
    (made.folder / "plan.md").write_text("- [ ] Imported\n", encoding="utf-8")
    return made


def test_the_agent_is_named_for_what_it_types(place: Place) -> None:
    person = Person(place.folder, place.home, place.environment(), columns=200)
    codes = {words: person.run("todo", *words.split(), **AGENT).code for words in TYPED.values()}
    assert codes == dict.fromkeys(TYPED.values(), 0)

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
