"""A run of our own is steered from another terminal of the project."""

import os
import subprocess

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import ALLOW_ALL, CHAT, WRITE, provider_environment, statuses, write_plan
from tests.suite.forking import PROGRAM

STOPS: Turn = {"text": "I stop here.", "repeat": True}


@pytest.mark.skipif(os.name == "nt", reason="needs a named pipe")
def test_a_run_that_is_stopped_ends_after_the_tool_that_is_running(person: Person) -> None:
    """It is found by its project, listed among the running agents, and removed from the list at the end."""
    os.mkfifo(person.folder / "begun")
    os.mkfifo(person.folder / "gate")
    name = write_plan(person, "- [ ] Wait: `echo > begun; cat gate`\n- [ ] Not any more: `touch proof`\n")
    command = [str(PROGRAM), "run", name, *ALLOW_ALL, "--session", "s"]
    running = subprocess.Popen(
        command, cwd=person.folder, env=person.environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        (person.folder / "begun").read_bytes()
        said = person.says("stop")
        (person.folder / "gate").write_bytes(b"")
        out, _ = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()

    assert ": 2 of 2 tasks open\n" in said
    assert running.returncode == 1
    assert "✗ stopped by tildone stop\nTo go on: tildone resume --session s && tildone run --continue\n" in out.decode()
    assert not (person.folder / "proof").exists()
    assert "No active agent is known here" in person.says("resume")
    person.says("resume", "--session", "s")
    again = person.run("run", "--continue")
    assert (again.code, again.err) == (0, "tildone: allowed as before: --allow '*': every command\n")
    assert (person.folder / "proof").exists()


def test_a_run_that_is_paused_ends_with_its_turn(person: Person) -> None:
    """It was paused before it started: the model has one turn and is not continued."""
    person.says("pause", "--session", "s")

    with ModelServer(WRITE, STOPS) as server:
        answer = person.run("run", "Go", "--model", CHAT, "--session", "s", **provider_environment(server))

    assert len(server.requests) == 2
    assert answer.code == 1
    assert (
        "✗ 2 of 2 tasks left open (paused)\nTo go on: tildone resume --session s && tildone run --continue\n"
        in answer.out
    )
    assert statuses(person, "s") == "––"


def test_a_run_that_is_stopped_before_it_begins_asks_its_model_nothing(person: Person) -> None:
    person.says("stop", "--session", "s")

    with ModelServer(WRITE, STOPS) as server:
        answer = person.run(
            "run", "Go", "--model", CHAT, "--session", "s", "--mode", "print", **provider_environment(server)
        )

    assert len(server.requests) == 0
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "tildone: stopped by tildone stop\nTo go on: tildone resume --session s && tildone run --continue\n"
    )


def test_a_prompt_in_the_shell_of_an_agent_starts_no_count_again(person: Person) -> None:
    """The agent starts a run on its own plan, and prompts it: the counts since a person last spoke stay."""
    with ModelServer(WRITE, STOPS) as server:
        environ = provider_environment(server) | {"TILDONE_COUNTDOWN": "0"}
        run = ("run", "Go", "--model", CHAT, "--session", "s", "--max-nudges", "1", "--mode", "print")
        resets = []
        for shell in ({}, {"CLAUDECODE": "1"}, {}):
            person.run(*run, **environ, **shell)
            log = person.says("log", "--session", "s").splitlines()
            resets.append([line for line in log if "let the agent be told to go on" in line and "(timer)" not in line])

    assert [len(each) for each in resets] == [0, 0, 1]
    assert "  Ada  " in resets[-1][0]
