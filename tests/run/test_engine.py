"""An agent that stops early is continued, and the bounds end an agent without progress."""

import json
import signal
import subprocess

import pytest

from tests.cli.person import Answer, Person
from tests.host.models.model_server import ModelServer, Turn
from tests.run.run_workspace import CHAT, WRITE, provider_environment
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS

STOPS: Turn = {"text": "I stop here.", "repeat": True}
BOUND = "told to go on 20 times, and nothing changed"
NOTICE = "Remaining todos were not completed. Take over manually."


def nudges(server: ModelServer) -> int:
    """Return how often the model was continued."""
    told = [json.dumps(asked.messages[-1]) for asked in server.requests] + [json.dumps(server.requests[-1].messages)]
    return told[-1].count("There are still incomplete todos.")


def run(person: Person, *options: str, script: tuple[Turn, ...], **environ: str) -> tuple[Answer, ModelServer]:
    """Run a model that answers from a script."""
    with ModelServer(*script) as server:
        return person.run("run", "Go", "--model", CHAT, *options, **provider_environment(server), **environ), server


@pytest.mark.parametrize("mode", ["terminal", "print"])
def test_a_model_without_progress_is_nudged_twenty_times(person: Person, mode: str) -> None:
    """Print mode also waits for every countdown."""
    answer, server = run(person, "--mode", mode, script=(WRITE, STOPS))

    assert nudges(server) == 20
    assert len(server.requests) == 22
    assert answer.code == 1
    if mode == "terminal":
        assert f"Auto-continue limit reached (20 iterations). {NOTICE}\nTook " in answer.out
        assert " out\n✗ 2 of 2 tasks left open\nTo go on: " in answer.out
    else:
        assert (answer.out, answer.err) == (
            "I stop here.\n",
            f"tildone: 2 of 2 tasks left open ({BOUND})\nTo go on: tildone run --continue\n",
        )


def test_the_number_of_nudges_is_a_setting(person: Person) -> None:
    answer, server = run(person, "--max-nudges", "2", script=(WRITE, STOPS))

    assert (answer.code, nudges(server)) == (1, 2)
    assert "Auto-continue limit reached (2 iterations)." in answer.out


@pytest.mark.slow
def test_a_model_that_only_toggles_is_ended_by_the_drift_bound(person: Person) -> None:
    """Every call changes the plan, but no task is completed."""
    toggle = [
        turn
        for _ in range(70)
        for turn in (
            {"tool": "edit_todos", "args": {"action": "start", "indices": [0]}},
            {"text": "Started."},
            {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}, {"text": "Two"}]}},
            {"text": "Put back."},
        )
    ]
    answer, server = run(person, script=(WRITE, *toggle))

    assert answer.code == 1
    assert "Auto-continue limit reached (told to go on 60 times, and no task was closed or added)." in answer.out
    assert nudges(server) == 60


@pytest.mark.parametrize("mode", ["terminal", "print"])
def test_a_model_that_never_stops_is_ended_by_the_bound_on_requests(person: Person, mode: str) -> None:
    """It only lists its tasks. The person is told why and how to go on, and the log shows it."""
    lists: Turn = {"tool": "list_todos", "args": {}, "repeat": True}
    person.environ["TILDONE_SESSION"] = "plan"
    answer, server = run(person, "--mode", mode, script=(WRITE, lists), TILDONE_MAX_IDLE_REQUESTS="5")

    assert len(server.requests) == 6
    reason = "stopped: 5 requests to the model, and no task was closed or added"
    assert answer.code == 1
    if mode == "terminal":
        assert f"✗ {reason}\n" in answer.out
        assert "To go on: tildone run --continue\n" in answer.out
    else:
        assert (answer.out, answer.err) == ("", f"tildone: {reason}\nTo go on: tildone run --continue\n")
    assert reason.removeprefix("stopped: ") in person.run("log").out


def test_a_model_that_stops_early_is_continued_until_the_plan_is_done(person: Person) -> None:
    """The program waits for the countdown, while no turn is running."""
    script: tuple[Turn, ...] = (
        WRITE,
        {"text": "Enough for today."},
        {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}},
        {"text": "All done after all."},
    )
    answer, server = run(person, "--mode", "print", script=script, TILDONE_COUNTDOWN="1")

    assert (answer.code, answer.out) == (0, "All done after all.\n")
    assert nudges(server) == 1


def test_a_signal_during_the_countdown_ends_the_run(person: Person) -> None:
    """No turn is running, and none begins."""
    with ModelServer(WRITE, STOPS) as server:
        environ = person.environment({**provider_environment(server), "TILDONE_COUNTDOWN": "600"})
        command = [str(PROGRAM), "run", "Go", "--model", CHAT, "--mode", "json"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=person.folder, env=environ) as process:
            assert process.stdout
            assert any(json.loads(line)["type"] == "agent_settled" for line in process.stdout)
            process.send_signal(signal.SIGINT)

            assert process.wait(LIMIT_SECONDS) == 130

    assert len(server.requests) == 2


def test_a_finished_plan_is_not_continued(person: Person) -> None:
    complete: Turn = {"tool": "edit_todos", "args": {"action": "complete", "indices": [0, 1]}}
    answer, server = run(person, "--max-nudges", "0", script=(WRITE, complete, {"text": "Done."}))

    assert (answer.code, nudges(server)) == (0, 0)
    assert "limit" not in answer.out


def test_an_error_is_not_continued(person: Person) -> None:
    answer, server = run(person, script=(WRITE, {"error": 400, "message": "bad request"}, STOPS))

    assert (answer.code, len(server.requests)) == (1, 2)
    assert "bad request" in answer.out


def test_phases_remind_a_few_times(person: Person) -> None:
    init: Turn = {
        "tool": "todo_write",
        "args": {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", "Two"]}]}]},
    }
    person.environ["TILDONE_SESSION"] = "plan"
    answer, server = run(person, "--dialect", "phased", script=(init, STOPS))

    assert (answer.code, len(server.requests)) == (1, 5)
    assert "✗ 2 of 2 tasks left open\n" in answer.out
    assert "Not continued: told to go on 3 times since you last spoke. To go on, send a message" in answer.out
    assert "gave up: told to go on 3 times since you last spoke" in person.says("log")


def test_a_denied_command_is_reported_with_the_flag_that_allows_it(person: Person) -> None:
    """It is also shown to the person."""
    call: Turn = {"tool": "bash", "args": {"command": "rm -rf build"}}
    answer, server = run(person, script=(call, {"text": "Then not."}))

    told = json.dumps(server.requests[-1].messages)
    assert "Not allowed: rm -rf build" in told
    assert "Start with --allow 'rm -rf build' to allow it" in answer.out
    assert answer.code == 0


def test_the_brief_dialect_is_continued_until_the_plan_is_done(person: Person) -> None:
    """It has no extension of its own: the skeleton nudges in the words of the dialect."""
    add: Turn = {"tool": "todo", "args": {"add": ["One", "Two"]}}
    done: Turn = {"tool": "todo", "args": {"done": [1, 2]}}
    script = (add, {"text": "Enough for today."}, done, {"text": "All done after all."})
    answer, server = run(person, "--dialect", "brief", "--mode", "print", script=script)

    told = json.dumps(server.requests[-1].messages)
    assert (answer.code, answer.out) == (0, "All done after all.\n")
    assert told.count("Your plan is not done:") == 1
