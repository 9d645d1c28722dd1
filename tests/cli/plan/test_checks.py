"""Checks at the command line: set and run by `todo`, approved by a person, and run again by `tildone verify`."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Person
from tests.cli.plan.checking import AGENT, answer, script, statuses, tasks, with_repository

GREP = ("grep", "-qx", "42", "answer")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are those of a POSIX system")


@pytest.fixture
def checker(person: Person) -> Person:
    return with_repository(person)


def test_a_task_is_done_only_if_its_check_passes_and_is_stale_when_files_change(checker: Person) -> None:
    set_ = checker.says("todo", "check", "1", "--", *GREP)
    failed = checker.run("todo", "done", "1")
    listed_failed = checker.says("todo")
    answer(checker, 42)
    passed = checker.says("todo", "done", "1")
    listed_passed = checker.says("todo")
    answer(checker, 43)
    stale = tasks(checker)[1]
    listed_stale = checker.says("todo")

    assert set_.splitlines()[0] == "Check of #1 The answer is 42: $ grep -qx 42 answer"
    assert (failed.code, failed.err) == (
        3,
        "tildone: #1 The answer is 42 is not done: `grep -qx 42 answer` failed with exit code 1\n",
    )
    assert failed.out == "0 of 2 closed. In progress: #1 The answer is 42\n"
    assert listed_failed == "● #1 The answer is 42\n  $ grep -qx 42 answer · failed (exit 1)\n– #2 Ship it\n"
    assert passed.startswith("Done: #1 The answer is 42\n1 of 2 closed.")
    assert listed_passed == "✓ #1 The answer is 42\n  $ grep -qx 42 answer · passed\n– #2 Ship it\n"
    assert (stale["status"], stale["stale"], stale["approved"]) == ("completed", True, True)
    assert stale["check"] == {"command": [*GREP]}
    assert listed_stale == "✓ #1 The answer is 42\n  $ grep -qx 42 answer · done, stale\n– #2 Ship it\n"


def test_marking_a_stale_task_done_runs_its_check_again(checker: Person) -> None:
    checker.says("todo", "check", "1", "--", *GREP)
    answer(checker, 42)
    checker.says("todo", "done", "1")
    (checker.folder / "answer").write_text("42\n\n", encoding="utf-8")
    again = checker.says("todo", "done", "1")
    is_fresh = "stale" not in tasks(checker)[1]
    answer(checker, 0)

    assert again.startswith("Done: #1")
    assert is_fresh
    assert checker.run("todo", "done", "1").code == 3
    assert statuses(checker) == ["in_progress", "pending"]


def test_the_proof_of_a_reopened_task_does_not_outlive_a_change_of_the_files(checker: Person) -> None:
    """The check had passed, so that the task has a proof: but not of these files."""
    checker.says("todo", "check", "1", "--", *GREP)
    answer(checker, 42)
    checker.says("todo", "done", "1")
    checker.says("todo", "reopen", "1")
    answer(checker, 0)

    assert checker.run("todo", "done", "1").code == 3
    assert statuses(checker) == ["in_progress", "pending"]


def test_the_end_of_the_output_is_shown_and_where_all_of_it_is(checker: Person) -> None:
    name = script(
        checker.folder, "i=1; while [ $i -le 60 ]; do echo line $i; i=$((i+1)); done\nprintf '\\033[2J'\nexit 7"
    )
    checker.says("todo", "check", "1", "--", "sh", name)

    failed = checker.run("todo", "done", "1", "2")

    lines = failed.err.splitlines()
    assert failed.out.startswith("Done: #2 Ship it\n")
    assert lines[0] == "tildone: #1 The answer is 42 is not done: `sh check.sh` failed with exit code 7"
    assert lines[1:3] == ["    line 22", "    line 23"]
    assert "\x1b" not in failed.err
    assert Path(lines[-1].removeprefix("  The whole output: ")).read_text(encoding="utf-8").startswith("line 1\n")


def test_an_inconclusive_check_blocks_the_task_and_the_next_command_is_named(checker: Person) -> None:
    checker.says("todo", "check", "1", "--seconds", "1", "--", "sh", script(checker.folder, "read x < fifo"))
    os.mkfifo(checker.folder / "fifo")
    late = checker.run("todo", "done", "1")
    checker.says("todo", "check", "2", "--", "no-such-program")
    absent = checker.run("todo", "done", "2")

    assert (late.code, absent.code) == (3, 3)
    assert late.err == (
        "tildone: #1 The answer is 42 is not done: `sh check.sh` is inconclusive: it took longer than 1 s\n"
        "  To run it again: tildone verify 1; with more time: tildone todo check 1 --seconds N\n"
    )
    assert "`no-such-program` is inconclusive: it could not be started: No such file or directory" in absent.err
    assert statuses(checker) == ["blocked", "blocked"]
    assert "  $ sh check.sh · inconclusive: it took longer than 1 s\n" in checker.says("todo")


def test_the_options_of_a_check_are_kept_and_shown_and_it_is_run_in_its_folder(checker: Person) -> None:
    (checker.folder / "sub").mkdir()

    options = ("--folder", "sub", "--seconds", "9", "--retries", "2", "--watch", "sub/**", "--watch", "answer")
    checker.says("todo", "check", "answer", "is", *options, "--", "test", "-f", "a b")
    shown = checker.says("todo", "check", "1")
    checker.says("todo", "check", "1", "--seconds", "10")

    assert shown == (
        "#1 The answer is 42\n  $ test -f 'a b' · not run yet\n  in sub\n  at most 9 s\n  retried 2 times\n"
        "  watches sub/**, answer\n"
    )
    assert tasks(checker)[1]["check"] == {
        "command": ["test", "-f", "a b"],
        "folder": "sub",
        "seconds": 10,
        "retries": 2,
        "watches": ["sub/**", "answer"],
    }
    assert checker.run("todo", "check", "1", "--json").json["checks"][0]["number"] == 1
    assert checker.says("todo", "check", "2") == ("There is no check. To set one: tildone todo check TASK -- COMMAND\n")

    (checker.folder / "sub" / "here").touch()
    checker.says("todo", "check", "1", "--folder", "sub", "--", "test", "-f", "here")

    assert checker.says("todo", "done", "1").startswith("Done: #1")
    assert "last run" in checker.says("todo", "check")
    assert tasks(checker)[1]["proof"]["by"] == "Ada"  # type: ignore[index]  # it is an object


def test_what_cannot_be_is_said(checker: Person) -> None:
    for argv, code, words in (
        (("--", "make"), 2, "which task? tildone todo check TASK -- COMMAND; for the plan: --plan"),
        (("1", "--seconds", "5"), 2, "which command? tildone todo check TASK -- COMMAND"),
        (("1", "--seconds", "x", "--", "make"), 2, "--seconds requires a positive number"),
        (("1", "--seconds", "86401", "--", "make"), 2, "--seconds is 1 to 86400, not 86401"),
        (("1", "--retries", "101", "--", "make"), 2, "--retries is 1 to 100, not 101"),
        (("1", "--folder", "..", "--", "make"), 2, "--folder requires a folder in "),
        (("1", "--folder", "no-such", "--", "make"), 2, "--folder requires a folder in "),
        (("1", "--remove", "--", "make"), 2, "--remove takes neither a command nor the options of a check"),
        (("1", "--plan", "--", "make"), 2, "--plan means the plan's own check; leave out '1'"),
        (("9", "--", "make"), 4, "there is no task #9"),
        (("1", "make"), 4, 'no task has "1 make" in it\na command follows --: tildone todo check TASK -- COMMAND'),
        (("1", " ", "--", "make"), 2, "tildone todo check was given an empty argument"),
    ):
        answer_ = checker.run("todo", "check", *argv)

        assert answer_.code == code, argv
        assert words in answer_.err, argv


def test_in_the_shell_of_an_agent_a_check_is_proposed_and_cannot_be_removed(checker: Person) -> None:
    proposed = checker.run("todo", "check", "1", "--", *GREP, **AGENT)
    removed = checker.run("todo", "check", "1", "--remove", **AGENT)
    answer(checker, 42)
    done = checker.run("todo", "done", "1")

    assert (proposed.code, proposed.err) == (
        0,
        (
            "tildone: the check is only proposed, because this is the shell of claude:c-1; a person approves it with: "
            "tildone approve 1\n"
        ),
    )
    assert (removed.code, removed.err) == (
        3,
        "tildone: only a person can remove a check: this is the shell of claude:c-1\n",
    )
    assert (done.code, done.err) == (
        3,
        (
            "tildone: #1 The answer is 42 is not done: a person has to approve its check first\n"
            "  To see and approve it: tildone approve 1\n"
        ),
    )
    assert "  $ grep -qx 42 answer · proposed\n" in checker.says("todo")
    assert (tasks(checker)[1]["status"], tasks(checker)[1]["approved"]) == ("blocked", False)


def test_an_agent_sets_a_check_that_a_person_has_approved(checker: Person) -> None:
    checker.says("todo", "check", "1", "--", *GREP)

    assert checker.says("todo", "check", "2", "--", *GREP, **AGENT)
    assert tasks(checker)[2]["approved"] is True


def test_a_plan_has_a_check_of_its_own(checker: Person) -> None:
    checker.says("todo", "check", "--plan", "--", *GREP)
    not_yet = checker.run("todo", "done", "--all")
    again = checker.run("todo", "done", "1")
    nothing_next = checker.says("todo", "next")
    listed = checker.says("todo")
    answer(checker, 42)

    assert not_yet.code == 3
    assert not_yet.err == "tildone: the plan is not done: `grep -qx 42 answer` failed with exit code 1\n"
    assert "2 of 2 closed: the check of the plan has not passed.\n" in not_yet.out
    assert again.code == 3
    assert nothing_next == "All tasks are closed, but the check of the plan has not passed. Run: tildone verify\n"
    assert listed == "✓ #1 The answer is 42\n✓ #2 Ship it\n\nPlan: $ grep -qx 42 answer · failed (exit 1)\n"
    assert checker.says("verify") == "✓ plan $ grep -qx 42 answer · passed\n"
    assert checker.run("todo", "--json").json["check"] == {"command": [*GREP]}
    assert checker.says("todo", "next") == "Nothing is left to do: all 2 tasks are closed.\n"
    answer(checker, 7)
    assert checker.says("todo", "next").startswith("Nothing is open, but proofs are stale: ")


def test_a_task_that_is_ticked_in_the_editor_is_checked(checker: Person) -> None:
    checker.says("todo", "check", "1", "--", *GREP)
    edited = checker.run("todo", "edit", EDITOR=r"sed -i 's/\[ \]/[x]/'")

    assert edited.code == 3
    assert edited.err.startswith("tildone: #1 The answer is 42 is not done: `grep -qx 42 answer` failed")
    assert statuses(checker)[0] == "in_progress"


def test_where_the_project_stands_tells_of_checks(checker: Person) -> None:
    checker.says("todo", "rm", "2")
    checker.says("todo", "check", "1", "--", "test", "-f", "answer")
    checker.says("todo", "check", "--plan", "--", "test", "-f", "answer")
    checker.says("todo", "done", "1")
    done = checker.says().splitlines()[0]
    answer(checker, 1)
    stale = checker.says()
    refused = checker.run("todo", "check", "--plan", "--", *GREP, **AGENT)
    checker.says("todo", "check", "--plan", "--remove")
    checker.run("todo", "check", "--plan", "--", *GREP, **AGENT)
    unproved = checker.says()

    assert done.endswith(": all done")
    assert (refused.code, "only a person can empty the plan or change the check" in refused.err) == (3, True)
    assert stale.splitlines()[0].endswith(": 1 of 1 tasks closed")
    assert stale.splitlines()[1] == "Stale: the plan, #1; to check again: tildone verify"
    assert unproved.splitlines()[1:4] == [
        "Stale: #1; to check again: tildone verify",
        "The check of the plan has not passed; to run it: tildone verify",
        "Proposed: 1 check; to see and approve: tildone approve",
    ]


def test_json_names_the_tasks_whose_checks_did_not_pass(checker: Person) -> None:
    checker.says("todo", "check", "1", "--", *GREP)

    done = checker.run("todo", "done", "1", "2", "--json")

    assert (done.code, done.json["unproved"], done.json["changed"]) == (3, [1], [1, 2])
    assert "unproved" not in checker.run("todo", "note", "1", "x", "--json").json


def test_plans_without_checks_look_as_before(person: Person) -> None:
    person.says("todo", "add", "a")

    assert person.says("todo") == "– #1 a\n"
    assert set(person.run("todo", "--json").json) == {"version", "session", "next", "phases", "tasks"}
    assert set(person.run("todo", "--json").json["tasks"][0]) == {"number", "text", "status", "phase", "notes"}
    assert person.says("verify") == "The plan has no checks.\n"


def test_a_person_at_a_terminal_sees_what_runs_and_ends_it_with_ctrl_c(checker: Person) -> None:
    name = script(checker.folder, "echo $$ > pid; sleep 60 & wait")
    checker.says("todo", "check", "1", "--", "sh", name)
    terminal = checker.at_terminal("todo", "done", "1")
    terminal.until("Checking #1: $ sh check.sh (at most 120 s; Ctrl-C ends it)")
    terminal.type(CTRL_C)

    ended = terminal.end()

    assert (ended.code, ended.out.rstrip().splitlines()[-1]) == (130, "tildone: interrupted")
    assert statuses(checker) == ["pending", "pending"]
    assert not is_running(int((checker.folder / "pid").read_text(encoding="utf-8")))


def is_running(group: int) -> bool:
    """Whether a process of the group lives; one that was just killed may take a moment to be gone."""
    for _ in range(50):
        found = subprocess.run(["ps", "-eo", "pgid="], capture_output=True, text=True, check=True).stdout.split()
        if str(group) not in found:
            return False
        time.sleep(0.1)
    return True


def fake_grep(checker: Person, folder: str) -> str:
    """Make a program of the name of another one in the project, which always passes, and return its folder."""
    made = checker.folder / folder / "grep"
    made.parent.mkdir(parents=True)
    made.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    made.chmod(0o755)
    return str(made.parent)


def test_an_agent_cannot_prove_a_check_with_a_program_of_its_own(checker: Person) -> None:
    checker.says("todo", "check", "1", "--", *GREP)
    path = f"{fake_grep(checker, 'bin')}{os.pathsep}{os.environ['PATH']}"

    proved = checker.run("todo", "done", "1", PATH=path, **AGENT)

    assert (proved.code, "failed with exit code 1" in proved.err) == (3, True), proved
    assert f"ran {shutil.which('grep')} (sha256 " in checker.says("todo", "check", "1")


def test_a_pattern_allows_the_programs_in_the_path_of_the_person(checker: Person) -> None:
    """Those of the project among them, such as a virtual environment, and none that only the agent's path has."""
    checker.sets('check_allow = ["grep *"]\n')
    checker.says("todo", "check", "1", "--", *GREP, **AGENT)
    agents, venv = (f"{fake_grep(checker, each)}{os.pathsep}{os.environ['PATH']}" for each in ("bin", ".venv/bin"))

    before = checker.run("todo", "done", "1", PATH=agents, **AGENT)
    by_person = checker.run("verify", "1", PATH=venv)
    (checker.folder / ".venv" / "bin" / "grep").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    after = checker.run("verify", "1", PATH=agents, **AGENT)

    assert "failed with exit code 1" in before.err, before
    assert by_person.code == 0, by_person
    proof = checker.run("todo", "check", "1", "--json").json["checks"][0]["proof"]
    assert (proof["exit_code"], after.code) == (7, 3), after
    assert proof["program"] == str(checker.folder / ".venv" / "bin" / "grep")
    assert len(proof["program_sha256"]) == 64


def test_an_agent_cannot_allow_its_own_check(checker: Person) -> None:
    """The variable with which a worker allows checks counts in its processes only, which write under their lease."""
    checker.run("todo", "check", "1", "--", "test", "-d", ".", **AGENT)

    alone = checker.run("todo", "done", "1", **AGENT, TILDONE_CHECK_ALLOW="*")
    forged = checker.run("todo", "done", "1", **AGENT, TILDONE_CHECK_ALLOW="*", TILDONE_LEASE="nightly/0/1")

    assert (alone.code, "a person has to approve its check first" in alone.err, forged.code) == (3, True, 6)
    assert tasks(checker)[1]["status"] == "blocked"


def test_an_imported_proof_is_at_most_stale(checker: Person) -> None:
    """Also one without digests, which nothing contradicts; what is here already stays as it is."""
    checker.says("todo", "check", "1", "--", *GREP)
    answer(checker, 42)
    checker.says("todo", "done", "1")
    own = checker.says("export", "--as", "json")
    forged = re.sub(r'"(all_)?files":"[^"]*",', "", own)
    assert "files" not in forged

    answer(checker, 0)
    for name, text in (("forged", forged), ("copied", own)):
        assert "passed" not in checker.says("import", "-", "--session", name, given=text)
        assert checker.says("todo", "--session", name).splitlines()[1] == "  $ grep -qx 42 answer · done, stale", name
    assert checker.run("todo", "done", "1", "--session", "forged").code == 3
    answer(checker, 42)
    assert "0 of them new" in checker.says("import", "-", given=own)
    assert "0 of them new" in checker.says("import", "-", "--session", "copied", given=own)
    assert checker.says("todo").splitlines()[1] == "  $ grep -qx 42 answer · passed"
    assert checker.says("todo", "done", "1", "--session", "copied").startswith("Done: #1")
    assert checker.says("todo", "--session", "copied").splitlines()[1] == "  $ grep -qx 42 answer · passed"


def test_a_person_is_told_of_a_check_that_also_passes_in_an_empty_folder(checker: Person) -> None:
    """When they set it, approve it or trust it, and not an agent, whose command is not run before it is approved."""
    words = (sys.executable, "-c", "import sys; sys.exit(0)")
    command = shlex.join(words)
    told = f"tildone: this check seems to always pass: it passed in an empty folder, too: {command}\n"
    (checker.folder / "plan.md").write_text(f"- [ ] Say it\n  $ {command} # 2\n", encoding="utf-8")

    assert checker.run("todo", "check", "1", "--", *words).err == told
    assert "empty folder" not in checker.run("todo", "check", "2", "--", *words, "x", **AGENT).err
    assert checker.run("approve", "2", "--yes").err == told.replace("\n", " x\n")
    assert checker.run("trust", "plan.md", "--yes").err.startswith(told[:-1])
    assert checker.run("todo", "check", "1", "--", *GREP).err == ""


SHOWN = '#1 The answer is 42\n  command: ["grep","-qx","42","answer"]\n  folder:  .\n'


@pytest.fixture
def proposed(person: Person) -> Person:
    """A task whose check an agent wrote, and which waits for approval."""
    with_repository(person)
    person.run("todo", "check", "1", "--", *GREP, **AGENT)
    answer(person, 42)
    assert person.run("todo", "done", "1").code == 3
    assert statuses(person) == ["blocked", "pending"]
    return person


def test_what_is_proposed_is_listed_and_a_dangerous_command_says_why(proposed: Person) -> None:
    """Without a terminal, nobody is asked."""
    assert proposed.says("approve") == f"{SHOWN}To approve them: tildone approve TASK…, or --all\n"
    [listed] = proposed.run("approve", "--json").json["checks"]
    assert (listed["number"], listed["approved"]) == (1, False)
    assert statuses(proposed) == ["blocked", "pending"]

    asked = proposed.run("approve", "1")
    assert (asked.code, asked.err) == (2, "tildone: confirmation requires a terminal; use --yes to skip it\n")
    assert proposed.run("approve", "1", "--all").code == 2
    assert proposed.run("approve", "2").code == 3

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


def test_the_approval_is_for_this_command_only_and_an_agent_cannot_replace_it(proposed: Person) -> None:
    proposed.says("approve", "1", "--yes")

    proposed.run("todo", "check", "2", "--", *GREP, "answer2", **AGENT)

    assert [task["approved"] for task in tasks(proposed).values()] == [True, False]

    refused = proposed.run("todo", "check", "1", "--", *GREP, "answer2", **AGENT)

    assert refused.code == 3
    assert "only a person can" in refused.err
    check = tasks(proposed)[1]["check"]
    assert isinstance(check, dict)
    assert check["command"] == [*GREP]


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


EXISTS = ("test", "-f", "answer")


@pytest.fixture
def verifier(person: Person) -> Person:
    with_repository(person)
    person.says("todo", "check", "1", "--", *GREP)
    return person


def test_only_what_is_stale_or_did_not_pass_is_run(verifier: Person) -> None:
    verifier.says("todo", "check", "2", "--watch", "other", "--", *EXISTS)
    nothing = verifier.says("verify")
    answer(verifier, 42)
    verifier.says("todo", "done", "1", "2")
    fresh = verifier.says("verify")
    answer(verifier, 43)
    stale = verifier.run("verify")
    failed = verifier.run("verify")

    assert nothing == fresh == "There is nothing to verify.\n"
    assert (stale.code, stale.out, stale.err) == (3, "✗ #1 $ grep -qx 42 answer · failed (exit 1)\n", "")
    assert failed.out == stale.out
    assert statuses(verifier) == ["in_progress", "completed"]


def test_a_stale_proof_that_passes_again_is_fresh(verifier: Person) -> None:
    answer(verifier, 42)
    verifier.says("todo", "done", "1")
    (verifier.folder / "answer").write_text("42\n\n", encoding="utf-8")

    assert verifier.says("verify") == "✓ #1 $ grep -qx 42 answer · passed\n"
    assert "stale" not in tasks(verifier)[1]
    assert verifier.says("verify") == "There is nothing to verify.\n"


def test_a_named_check_is_always_run_and_leaves_an_open_task_open_but_a_proposed_one_is_not_run(
    verifier: Person,
) -> None:
    answer(verifier, 42)

    assert verifier.says("verify", "1") == "✓ #1 $ grep -qx 42 answer · passed\n"
    assert statuses(verifier) == ["pending", "pending"]
    assert (
        verifier.refused(3, "verify", "2")
        == "tildone: #2 has no check; to set one: tildone todo check TASK -- COMMAND\n"
    )
    assert verifier.run("verify", "--plan").err.startswith("tildone: the plan has no check")
    assert verifier.run("verify", "9").code == 4

    verifier.run("todo", "check", "2", "--", "touch", "made", **AGENT)
    verified = verifier.run("verify", "2")

    assert (verified.code, verified.out) == (
        3,
        "! #2 $ touch made · proposed\n  To see and approve it: tildone approve 2\n",
    )
    assert not (verifier.folder / "made").exists()


def test_the_proof_of_verify_counts_as_long_as_the_files_stay(verifier: Person) -> None:
    """Done without another run; and not if the files have changed since."""
    count = script(verifier.folder, "echo run >> runs; grep -qx 42 answer")
    (verifier.folder / ".gitignore").write_text("runs\n", encoding="utf-8")
    verifier.says("todo", "check", "1", "--", "sh", count)
    answer(verifier, 42)
    verifier.says("verify", "1")
    verifier.says("todo", "done", "1")

    assert (verifier.folder / "runs").read_text(encoding="utf-8") == "run\n"


def test_equal_checks_share_one_run_and_json_has_all(verifier: Person) -> None:
    name = script(verifier.folder, "echo run >> runs")
    for number in ("1", "2"):
        verifier.says("todo", "check", number, "--", "sh", name)

    data = verifier.run("verify", "1", "2", "--json").json

    assert [(each["number"], each["proof"]["result"], each["approved"]) for each in data["checks"]] == [
        (1, "passed", True),
        (2, "passed", True),
    ]
    assert (verifier.folder / "runs").read_text(encoding="utf-8") == "run\n"
