"""`tildone pause`, `resume`, `stop` and `status`: what is said, what is set, and for whom."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.suite.forking import PROGRAM
from tildone.app.opening import open_session
from tildone.app.settings import load
from tildone.base.ids import now
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Bound
from tildone.plan.text.bounds import describe_bound
from tildone.stores.agents import Agent, AgentId, AgentRegistry, start_time

PAUSED = "An agent that reaches the end of its turn is not told to continue; until then it keeps working.\n"
STOPPED = "An agent ends its turn before its next tool call, or after the one that is running.\n"
NOBODY = "No active agent is known here; this applies to the next one.\n"


@pytest.fixture
def person(person: Person) -> Person:
    """Somebody who says where their plans are kept, so that we can find them, too."""
    return replace(person, environ={**person.environ, "XDG_DATA_HOME": str(person.home / "data")})


def at_work(person: Person, key: str, session: str | None = None) -> None:
    """Have an agent at work in the person's project: this very process."""
    settings = load({}, person.environ, str(person.folder))
    agents = AgentRegistry(settings.agents_dir, settings.project)
    pid = os.getpid()
    record = Agent(AgentId.parse(key), session or settings.session, pid=pid, last_active=now(), started=start_time(pid))
    agents.save(record)


def test_pause_says_what_happens_when_and_how_to_go_back(person: Person) -> None:
    assert person.says("pause") == (
        f"Paused: {person.folder}.\n{PAUSED}{NOBODY}To keep agents on their plan again: tildone resume\n"
    )
    assert person.says("pause").startswith(f"Already paused: {person.folder}.\n")


def test_stop_and_resume_say_so_too(person: Person) -> None:
    assert person.says("stop") == (
        f"Stopped: {person.folder}.\n{STOPPED}{NOBODY}To let agents work again: tildone resume\n"
    )
    said = person.says("resume")
    assert said.startswith(
        f"Resumed: {person.folder}.\nAgents are kept on their plan, and all counters start again at 0."
    )
    assert person.says("resume").startswith("Nothing was paused or stopped: ")


def test_every_agent_at_work_in_the_project_is_meant_and_named(person: Person) -> None:
    person.says("todo", "append", "One")
    person.says("todo", "append", "Two", "--session", "theirs")
    at_work(person, "claude:s1")
    at_work(person, "codex:s2", "theirs")

    said = person.says("stop")

    assert "Active here: 2 agents.\n" in said
    assert "  claude s1: 1 of 1 tasks open\n" in said
    assert "  codex s2: 1 of 1 tasks open\n" in said
    courses = [person.run("status", "--json", *which).json["directive"] for which in ((), ("--session", "theirs"))]
    assert courses == ["stop", "stop"]


def test_a_session_that_is_named_is_the_only_one_meant(person: Person) -> None:
    person.says("todo", "append", "Two", "--session", "theirs")
    at_work(person, "claude:s1")
    at_work(person, "codex:s2", "theirs")

    said = person.says("pause", "--session", "theirs")

    assert said.startswith("Paused: session 'theirs'.\n")
    assert "claude" not in said
    assert person.run("status", "--json").json["directive"] == "go"
    assert person.run("status", "--json", "--session", "theirs").json["directive"] == "pause"


def test_the_plan_does_not_change_and_the_log_tells_who_did_it(person: Person) -> None:
    person.says("todo", "append", "One")

    person.says("pause")
    person.says("todo", "append", "Two")

    assert person.run("status", "--json").json["directive"] == "pause"
    assert [event["kind"] for event in person.run("log", "--json").json["events"]][1] == "directive_set"


def test_status_is_a_line_and_who_is_at_work(person: Person) -> None:
    person.says("todo", "append", "Write the parser")
    at_work(person, "claude:s1")
    person.says("pause")

    said = person.says("status")

    assert said == (
        "✓ 0/1 · #1 Write the parser · paused\nPaused. To resume: tildone resume\n  claude s1: 1 of 1 tasks open\n"
    )
    assert person.says("status", "--line") == "✓ 0/1 · #1 Write the parser · paused\n"


def test_status_and_log_say_which_bound_let_an_agent_go(person: Person) -> None:
    """And how to go on."""
    for bound in Bound:
        named = ("--session", f"at {bound.value}")
        person.says("todo", "add", "One", *named)
        settings = load({"session": named[1]}, person.environ, str(person.folder))
        open_session(settings, BY_HAND).let_go(bound, 7)

        said, logged = person.says("status", *named), person.says("log", *named)

        why = describe_bound(bound, 7)
        assert f"The agent was let go: {why}.\nTo hold it to its plan again: tildone resume" in said
        assert f"gave up: {why}" in logged
        assert person.run("status", "--json", *named).json["tripped"] is True


def test_status_without_a_plan_is_a_sentence_or_an_empty_line(person: Person) -> None:
    assert person.says("status") == f"No tasks in {person.folder}. Add one with: tildone todo add TEXT\n"
    assert person.says("status", "--line") == "\n"


def test_status_as_data(person: Person) -> None:
    person.says("todo", "append", "One")
    at_work(person, "claude:s1")

    data = person.run("status", "--json").json

    assert data["agents"] == [
        {"id": "claude:s1", "session": str(person.folder), "pid": os.getpid(), "line": "✓ 0/1 · #1 One"}
    ]
    assert (data["line"], data["directive"], data["nudges"], data["tripped"]) == ("✓ 0/1 · #1 One", "go", 0, False)


def test_an_agent_that_has_gone_is_not_at_work(person: Person) -> None:
    settings = load({}, person.environ, str(person.folder))
    AgentRegistry(settings.agents_dir, settings.project).save(
        Agent(AgentId("claude", "s1"), settings.session, pid=2**22 + 1, last_active=now())
    )

    assert NOBODY in person.says("pause")


def test_what_an_agent_is_called_can_not_move_the_screen(person: Person) -> None:
    at_work(person, "claude:\x1b[2Jx\ny")

    said = person.says("status")

    assert "\x1b" not in said
    assert len(said.splitlines()) == 2


def test_they_take_no_words(person: Person) -> None:
    answers = [person.run(verb, "now") for verb in ("pause", "resume", "stop", "status")]

    assert [answer.code for answer in answers] == [2, 2, 2, 2]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says which process started another")
def test_an_agent_is_recognised_by_its_process_too(person: Person, tmp_path: Path) -> None:
    """Of a coding agent that tells its shells nothing: here a script with its name, which runs the command."""
    person.run("todo", "add", "One")
    person.run("stop")
    script = tmp_path / "opencode.py"
    script.write_text(
        "import os, subprocess, sys\n"
        "from tildone.stores.agents import AgentId\n"
        "from tildone.stores.agents import start_time\n"
        "from tildone.stores.agents import Agent, AgentRegistry\n"
        "from tildone.app.settings import load\n"
        "from tildone.base.ids import now\n"
        "settings, pid = load({}, os.environ, os.getcwd()), os.getpid()\n"
        "agents = AgentRegistry(settings.agents_dir, settings.project)\n"
        "agent = Agent(AgentId('opencode', 'o1'), agents.project, 'r', pid, now(), start_time(pid))\n"
        "agents.save(agent)\n"
        "sys.exit(subprocess.run(['sh', '-c', '\"$0\" resume; exit $?', sys.argv[1]]).returncode)\n",
        encoding="utf-8",
    )

    inside = subprocess.run(
        [sys.executable, script, str(PROGRAM)],
        cwd=person.folder,
        env=person.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (inside.returncode, inside.stderr) == (
        3,
        "tildone: only a person can resume an agent: this is the shell of opencode:o1\n",
    )
    assert person.run("resume").code == 0
