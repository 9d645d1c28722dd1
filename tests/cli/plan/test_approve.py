"""`tildone approve`: a person lets checks run that an agent has proposed."""

import os

import pytest

from tests.cli.person import Person
from tests.cli.plan.checking import AGENT, answer, statuses, tasks, with_repository

GREP = ("grep", "-qx", "42", "answer")
SHOWN = '#1 The answer is 42\n  command: ["grep","-qx","42","answer"]\n  folder:  .\n'

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX system")


@pytest.fixture
def proposed(person: Person) -> Person:
    """A task whose check an agent wrote, and which waits for approval."""
    with_repository(person)
    person.run("todo", "check", "1", "--", *GREP, **AGENT)
    answer(person, 42)
    assert person.run("todo", "done", "1").code == 3
    assert statuses(person) == ["blocked", "pending"]
    return person


def test_what_is_proposed_is_listed(proposed: Person) -> None:
    assert proposed.says("approve") == f"{SHOWN}To approve them: tildone approve TASK…, or --all\n"
    [listed] = proposed.run("approve", "--json").json["checks"]
    assert (listed["number"], listed["approved"]) == (1, False)
    assert statuses(proposed) == ["blocked", "pending"]


def test_a_dangerous_command_says_why(proposed: Person) -> None:
    proposed.run("todo", "check", "2", "--", "rm", "-rf", "build", **AGENT)

    assert proposed.says("approve") == (
        f'{SHOWN}#2 Ship it\n  command: ["rm","-rf","build"]\n  folder:  .\n  Careful: it deletes files.\n'
        "To approve them: tildone approve TASK…, or --all\n"
    )


@pytest.mark.parametrize("argv", [("1",), ("--all",)])
def test_an_approved_check_runs_and_the_task_is_open_again(proposed: Person, argv: tuple[str, ...]) -> None:
    assert proposed.says("approve", *argv, "--yes") == f"{SHOWN}Approved: #1 The answer is 42\n"
    assert statuses(proposed) == ["pending", "pending"]
    assert proposed.says("approve") == "No check waits for approval.\n"
    assert proposed.says("todo", "done", "1").startswith("Done: #1")


def test_the_approval_is_for_this_command_only(proposed: Person) -> None:
    proposed.says("approve", "1", "--yes")
    proposed.run("todo", "check", "2", "--", *GREP, "answer2", **AGENT)

    assert [task["approved"] for task in tasks(proposed).values()] == [True, False]


def test_an_agent_cannot_replace_an_approved_check(proposed: Person) -> None:
    proposed.says("approve", "1", "--yes")

    refused = proposed.run("todo", "check", "1", "--", *GREP, "answer2", **AGENT)

    assert refused.code == 3
    assert "only a person can" in refused.err
    check = tasks(proposed)[1]["check"]
    assert isinstance(check, dict)
    assert check["command"] == [*GREP]


def test_nobody_is_asked_without_a_terminal(proposed: Person) -> None:
    asked = proposed.run("approve", "1")

    assert (asked.code, asked.err) == (2, "tildone: confirmation requires a terminal; use --yes to skip it\n")
    assert proposed.run("approve", "1", "--all").code == 2
    assert proposed.run("approve", "2").code == 3


@pytest.mark.parametrize(("key", "code", "approved"), [(b"n\n", 1, False), (b"y\n", 0, True)])
def test_a_person_is_asked(proposed: Person, key: bytes, code: int, *, approved: bool) -> None:
    terminal = proposed.at_terminal("approve", "1")
    terminal.until("Let this command run as a check? [y/N]")
    terminal.type(key)

    assert terminal.end().code == code
    assert tasks(proposed)[1]["approved"] is approved


def test_json_has_what_was_approved(proposed: Person) -> None:
    [approved] = proposed.run("approve", "--all", "--yes", "--json").json["checks"]

    assert (approved["number"], approved["approved"]) == (1, True)
    assert proposed.run("approve", "--all", "--json").json["checks"] == []


def test_the_check_of_a_plan_is_run_once_it_is_approved(person: Person) -> None:
    with_repository(person)
    person.run("todo", "check", "--plan", "--", *GREP, **AGENT)
    refused = person.run("todo", "done", "--all")
    approved = person.says("approve", "--plan", "--yes")

    assert (refused.code, refused.err) == (
        3,
        (
            "tildone: the plan is not done: a person has to approve its check first\n"
            "  To see and approve it: tildone approve --plan\n"
        ),
    )
    assert approved.splitlines()[-2:] == ["Approved: the plan", "The check of the plan was run: failed (exit 1)"]


def test_the_persons_own_list_approves_and_a_projects_does_not(person: Person) -> None:
    with_repository(person)
    (person.folder / "tildone.toml").write_text('check_allow = ["grep *"]\n', encoding="utf-8")
    person.says("trust", "--yes")
    person.run("todo", "check", "1", "--", *GREP, **AGENT)
    by_project = tasks(person)[1]["approved"]
    person.sets('check_allow = ["grep *"]\n')

    assert by_project is False
    assert tasks(person)[1]["approved"] is True
    answer(person, 42)
    assert person.says("todo", "done", "1").startswith("Done: #1")
