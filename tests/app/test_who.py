"""What only a person may do, tried by an agent in its shell: on the command line, on a screen, and on a board."""

from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.web.boards import Place, board, place_in
from tildone.app.who import PersonAct
from tildone.core.check import Check
from tildone.core.ops import Append, Numbered, SetCheck
from tildone.core.plan import Task
from tildone.integrations import INTEGRATIONS
from tildone.log.events import Directive
from tildone.tui.editing import Editor
from tildone.web.app import WRITERS

AGENT = {"CLAUDE_CODE_SESSION_ID": "s1"}
RUN = {"TILDONE_LEASE": "nightly/0/1"}
TYPED: dict[PersonAct, tuple[str, ...]] = {
    PersonAct.APPROVE: ("approve", "1", "--yes"),
    PersonAct.REMOVE_CHECK: ("todo", "check", "1", "--remove"),
    PersonAct.ANSWER: ("answer", "any", "yes"),
    PersonAct.TRUST: ("trust", "--yes"),
    PersonAct.PAUSE: ("pause",),
    PersonAct.STOP: ("stop",),
    PersonAct.RESUME: ("resume",),
    PersonAct.BOARD_LINK: ("board", "--no-open"),
    PersonAct.BOARD_TOKEN: ("board", "token", "add", "eve"),
    PersonAct.BOARD_KEY: ("board", "--new-key", "--no-open"),
    PersonAct.APPROVE_RUN: ("fleet", "approve", "nightly"),
    PersonAct.RESUME_RUN: ("fleet", "resume", "nightly"),
    PersonAct.RETRY_RUN: ("fleet", "retry", "nightly"),
    PersonAct.PAUSE_RUN: ("fleet", "pause", "nightly"),
    PersonAct.CANCEL_RUN: ("fleet", "cancel", "nightly"),
}
OF_RUNS_ONLY = (PersonAct.PAUSE_RUN, PersonAct.CANCEL_RUN)
"""An agent that a person talks to may pause and cancel runs; a run may not."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = place_in(tmp_path)
    made.session().change([Append((Task("One"),), "")])
    made.session().change([SetCheck(Numbered((1,)), Check(("make",)))])
    (made.folder / "tildone.toml").write_text("max_nudges = 3\n")
    return made


@pytest.fixture
def person(place: Place) -> Person:
    return Person(place.folder, place.home, place.environment())


def test_the_table_has_every_act() -> None:
    assert set(TYPED) == set(PersonAct)


@pytest.mark.parametrize("act", list(TYPED), ids=lambda act: act.name)
def test_what_an_agent_types_is_refused(place: Place, person: Person, act: PersonAct) -> None:
    """In its shell, and in a process of a run. Nothing is changed."""
    before = [event.id for event in place.store().history(place.settings().session)]
    with board(place):
        shells = [RUN] if act in OF_RUNS_ONLY else [AGENT, RUN]
        if act.name.endswith("_RUN"):
            person.run("fleet", "up")
        for shell in shells:
            answer = person.run(*TYPED[act], **shell)

            assert answer.code == 3, answer
            assert f"only a person can {act.value}: this " in answer.err

    assert [event.id for event in place.store().history(place.settings().session)] == before
    assert not (place.private_folder / "people.json").exists()


@pytest.mark.parametrize("name", list(INTEGRATIONS))
def test_every_coding_agent_marks_the_shells_of_its_model(person: Person, name: str) -> None:
    known = INTEGRATIONS.entries[name]
    variables = [*filter(None, [known.conversation]), *known.marks]
    assert bool(variables) != bool(known.unmarked)

    for variable in variables:
        answer = person.run("resume", **{variable: "1"})
        assert (answer.code, f"this is the shell of {name}:" in answer.err) == (3, True), (variable, answer)


def test_an_agent_that_nobody_knows_is_no_person_either(person: Person) -> None:
    answer = person.run("resume", AI_AGENT="newcomer")

    assert (answer.code, "this is the shell of pid:" in answer.err) == (3, True)


def test_a_screen_in_the_shell_of_an_agent_refuses_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    settings = place.settings()
    editor, name, check = Editor(settings, place.store()), settings.session, Check(("make",))

    refused = {
        PersonAct.APPROVE: editor.approve(name, check),
        PersonAct.REMOVE_CHECK: editor.set_check(name, 1, "", check),
        PersonAct.ANSWER: editor.answer("any", "yes"),
        PersonAct.PAUSE: editor.steer(name, Directive.PAUSE),
        PersonAct.STOP: editor.steer(name, Directive.STOP),
        PersonAct.RESUME: editor.steer(name, Directive.GO),
    }

    for act, notice in refused.items():
        assert notice.failed
        assert notice.text == f"Only a person can {act.value}: this is the shell of claude:s1"


def test_a_board_that_an_agent_started_can_be_looked_at_and_not_used(place: Place) -> None:
    """Its link and its cookie open no board of a person."""
    agents = Place(place.folder, place.home, {**place.environ, **AGENT})
    with board(agents) as started:
        link, browser = started.token, started.browser()
        [session] = browser.get("/api/sessions").json["sessions"]
        assert browser.get(f"/api/s/{session['key']}").status == 200
        for path in WRITERS:
            answered = browser.post(path.replace("{key}", session["key"]).replace("{item}", "any"), {})
            assert answered.status == 403, path
            assert answered.json["hint"] == "It was started by an agent: this is the shell of claude:s1."
        with board(place) as own:
            persons = own.browser()
            [seen] = persons.get("/api/sessions").json["sessions"]
            assert persons.post(f"/api/s/{seen['key']}/course", {"course": "pause"}).status == 200
            headers = {**browser.headers, "Cookie": browser.headers["Cookie"].replace(str(started.port), str(own.port))}
            assert type(browser)(own.port, "", headers).get("/api/sessions").status == 401
            assert type(browser)(own.port, "", {}).post("/api/in", {"token": link}).status == 401
