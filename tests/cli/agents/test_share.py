"""`tildone share`, and how `todo` and `status` show shared plans and the lists of subagents."""

import os
from dataclasses import replace

import pytest

from tests.cli.person import Person
from tildone.app.opening import open_session
from tildone.app.settings import load
from tildone.base import replace as replace_value
from tildone.base.ids import now
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Author
from tildone.stores.agents import Agent, AgentId, AgentRegistry, start_time
from tildone.stores.assignment import end, register, subagent_id, subagent_of

SHARED = "agents share one plan; each is held to its own tasks and to those that nobody has taken.\n"
SEPARATE = "each agent has a plan of its own; the first one works on the project's.\n"


@pytest.fixture
def person(person: Person) -> Person:
    """Somebody who says where their plans are kept, so that we can find them, too."""
    return replace(person, environ={**person.environ, "XDG_DATA_HOME": str(person.home / "data")})


def registry(person: Person) -> AgentRegistry:
    settings = load({}, person.environ, str(person.folder))
    return AgentRegistry(settings.agents_dir, settings.project)


def at_work(person: Person, key: str, session: str | None = None) -> Agent:
    """Have an agent at work in the person's project: this very process."""
    agents, pid = registry(person), os.getpid()
    agent = Agent(AgentId.parse(key), session or agents.project, "r", pid, now(), start_time(pid))
    agents.save(agent)
    return agent


def calls(person: Person, session: str, agent: str, **arguments: object) -> None:
    """A call of our tool by an agent."""
    settings = replace_value(load({}, person.environ, str(person.folder)), session=session)
    reply = open_session(settings, dialect_named("brief"), agent=lambda: Author(agent=agent)).call("todo", arguments)
    assert not reply.failed, reply


def test_it_is_switched_and_told(person: Person) -> None:
    where = f"In {person.folder}, "

    assert person.says("share") == f"{where}{SEPARATE}To change it: tildone share on\n"
    assert person.says("share", "on") == where + SHARED
    told = person.run("share", "--json").json
    assert told == {"version": 1, "project": str(person.folder), "shared": True, "changed": False}
    assert person.says("share") == f"{where}{SHARED}To change it: tildone share off\n"
    assert person.says("share", "off") == where + SEPARATE


def test_another_word_changes_nothing(person: Person) -> None:
    answer = person.run("share", "yes")

    assert (answer.code, answer.out, answer.err) == (2, "", "tildone: sharing is on or off, not 'yes'\n")
    assert person.says("share").startswith(f"In {person.folder}, {SEPARATE}")


def test_agents_at_work_keep_their_plans_and_are_named(person: Person) -> None:
    at_work(person, "claude:1a2b3c4d5e6f")
    at_work(person, "codex:9f8e7d6c5b4a", f"{person.folder}#codex:9f8e7d6c5b4a")

    said = person.says("share", "on")

    assert said.endswith("until they start a new conversation: codex 9f8e7d6c, which have plans of their own.\n")


def test_agents_that_share_the_plan_still_share_it_after_sharing_was_ended(person: Person) -> None:
    person.says("share", "on")
    at_work(person, "claude:1a2b3c4d5e6f")
    at_work(person, "codex:9f8e7d6c5b4a")

    said = person.says("share", "off")

    assert "claude 1a2b3c4d" in said
    assert "codex 9f8e7d6c" in said
    assert said.endswith("which share the project's plan.\n")


def test_a_registry_that_cannot_be_written_is_an_error(person: Person) -> None:
    data = person.home / "data" / "tildone"
    data.mkdir(parents=True)
    (data / "agents").write_text("in the way", encoding="utf-8")

    answer = person.run("share", "on")

    assert (answer.code, answer.out) == (5, "")
    assert answer.err.startswith(f"tildone: cannot change {data}")


def test_todo_and_status_show_who_shares_the_plan_and_who_works_on_what(person: Person) -> None:
    calls(person, str(person.folder), "claude:1a2b3c4d5e6f", add=["One", "Two"])
    calls(person, str(person.folder), "claude:1a2b3c4d5e6f", start=1)
    at_work(person, "claude:1a2b3c4d5e6f")
    at_work(person, "codex:9f8e7d6c5b4a")

    listed, status = person.says("todo"), person.says("status")
    shared_by = person.run("todo", "--json").json["shared_by"]

    *_, last = listed.splitlines()
    assert sorted(last.removeprefix("shared by ").split(", ")) == ["claude 1a2b3c4d (#1)", "codex 9f8e7d6c"]
    assert "  claude 1a2b3c4d5e6f: 2 of 2 tasks open; works on #1\n" in status
    assert "  The plan is shared: " in status
    expected = [{"agent": "claude:1a2b3c4d5e6f", "tasks": [1]}, {"agent": "codex:9f8e7d6c5b4a", "tasks": []}]
    assert sorted(shared_by, key=lambda each: str(each["agent"])) == expected
    assert person.run("status", "--json").json["shared_by"] == shared_by


def test_a_plan_with_one_agent_is_shown_as_before(person: Person) -> None:
    person.says("todo", "add", "One")
    at_work(person, "claude:s1")

    assert "shared" not in person.says("todo") + person.says("status") + person.says("todo", "--json")


def test_lists_of_subagents_are_shown_below_the_plan(person: Person) -> None:
    """One line in `todo`, the whole list in `status`; one without tasks is not shown, and hostile text is harmless."""
    agents, parent = registry(person), at_work(person, "claude:s1")
    person.says("todo", "add", "One")
    for own, kind in (("a1", "Explore"), ("a2", "\x1b[31mred"), ("a3", "idle")):
        register(agents, subagent_of(agents, parent, own, now()), kind)
    for own in ("a1", "a2"):
        calls(person, f"{person.folder}#sub:{own}", f"claude:s1/{own}", add=["Look", "Listen"])
    calls(person, f"{person.folder}#sub:a1", "claude:s1/a1", done=[1, 2])
    end(agents, subagent_id(parent.id, "a2"), now())

    listed, status = person.says("todo"), person.says("status")

    assert listed.splitlines()[0] == "– #1 One"
    assert sorted(listed.splitlines()[1:]) == ["subagent Explore: 2/2", "subagent ␛[31mred: 0/2 (ended)"]
    assert "  subagent Explore: 2/2\n    ✓ #1 Look\n    ✓ #2 Listen\n" in status
    assert "1 of 1 tasks open" in status
    assert "\x1b" not in status + listed
    [explore] = [each for each in person.run("todo", "--json").json["subagents"] if each["name"] == "Explore"]
    assert explore == {
        "name": "Explore",
        "session": f"{person.folder}#sub:a1",
        "closed": 2,
        "total": 2,
        "ended": None,
    }


def test_a_subagents_list_is_a_session_with_a_title(person: Person) -> None:
    calls(person, f"{person.folder}#sub:a1", "claude:s1/a1", add=["Look"])

    assert f"{person.folder.name} (subagent a1)" in person.says("sessions")


def test_pause_and_stop_apply_to_subagents_through_their_parent(person: Person) -> None:
    agents, parent = registry(person), at_work(person, "claude:s1")
    register(agents, subagent_of(agents, parent, "a1", now()))

    assert "Active here: 1 agent.\n" in person.says("stop")


def test_an_installation_may_share_the_plan(person: Person) -> None:
    said = person.says("install", "claude", "--share", "--no-check")

    assert f"In {person.folder}, agents share one plan" in said
    assert person.run("share", "--json").json["shared"] is True
