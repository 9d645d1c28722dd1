"""An agent that sets a task with a check aside: the person sees it wherever they look, until they act on it."""

from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.hooks.agent import HookedAgent, Workspace
from tests.web.boards import Place, board, place_in
from tildone.agents.integrations import HookPoint
from tildone.app.index import SessionIndex
from tildone.plan.model import Check, Task
from tildone.plan.ops import Append, Numbered, SetCheck

AGENT = {"CLAUDE_CODE_SESSION_ID": "s1"}
TOLD = "the agent set aside #1 (check: make test)"
WAYS: dict[str, list[tuple[str, ...]]] = {
    "blocks it": [("todo", "block", "1", "no time")],
    "orders it after a blocked one": [("todo", "block", "2", "no time"), ("todo", "after", "1", "2")],
    "orders it after a blocked one of its own": [
        ("todo", "add", "Wait"),
        ("todo", "block", "4", "for ever"),
        ("todo", "after", "1", "4"),
    ],
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = place_in(tmp_path)
    made.session().change([Append((Task("One"), Task("Two"), Task("Three")), "")])
    made.session().change([SetCheck(Numbered((1,)), Check(("make", "test")))])
    return made


def row(place: Place) -> tuple[str, str]:
    """The state of the session in a list, as `watch` and the board show it."""
    index = SessionIndex(place.store(), place.settings().agents_dir, now=lambda: 0, nudge_limit=20)
    index.refresh()
    found = index.row(place.settings().session)
    assert found is not None
    return found.word.value, found.why


@pytest.mark.parametrize("way", WAYS)
def test_a_task_with_a_check_that_an_agent_set_aside_needs_the_person(place: Place, way: str) -> None:
    """Also while it goes on with other tasks."""
    person = Person(place.folder, place.home, place.environment())
    assert (row(place)[0], person.run("status").out) == ("idle", "✓ 0/3 · #1 One\n")

    for words in WAYS[way]:
        assert person.run(*words, **AGENT).code == 0

    assert row(place) == ("needs you", TOLD)
    assert f"needs you: {TOLD}\n" in person.says("status", "--line")
    assert person.run("status", "--json").json["held_up"] == TOLD
    assert f"Needs you: {TOLD}\n" in person.says()


def test_it_is_over_when_the_person_acts_on_the_task(place: Place) -> None:
    person = Person(place.folder, place.home, place.environment())
    person.run("todo", "block", "1", "no time", **AGENT)
    person.run("todo", "unblock", "1")
    assert row(place)[0] == "idle"
    person.run("todo", "block", "1", "really", **AGENT)
    assert row(place)[0] == "needs you"
    person.run("todo", "note", "1", "I see, wait for Monday", **AGENT)
    assert row(place)[0] == "needs you"

    person.run("todo", "note", "1", "I see, wait for Monday (really me)")

    assert (row(place)[0], "needs you" in person.says("status")) == ("idle", False)


def test_the_board_and_the_agent_itself_say_so_too(place: Place) -> None:
    person = Person(place.folder, place.home, place.environment())
    workspace = Workspace(place.folder, place.home)
    agent = HookedAgent(workspace)
    agent.report(HookPoint.SESSION_START)
    person.run("todo", "block", "1", "no time", **AGENT)

    line = agent.report(HookPoint.STATUS_LINE).out
    person.run("todo", "done", "2", "3", **AGENT)
    stopped = agent.report(HookPoint.STOP)
    again = agent.report(HookPoint.STOP)
    with board(place) as started:
        [need] = started.browser().get("/api/needs").json["open"]

    assert line == f"✓ 0/3 · #2 Two · needs you: {TOLD}\n"
    assert TOLD in stopped.out
    assert again.out == ""
    assert (need["kind"], need["text"]) == ("waits", TOLD)
