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


@pytest.fixture
def proposed(person: Person) -> Person:
    """A task whose check an agent wrote, and which waits for approval."""
    with_repository(person)
    person.run("todo", "check", "1", "--", *GREP, **AGENT)
    answer(person, 42)
    assert person.run("todo", "done", "1").code == 3
    assert statuses(person) == ["blocked", "pending"]
    return person


@pytest.mark.parametrize(("key", "code", "approved"), [(b"n\n", 1, False), (b"y\n", 0, True)])
def test_a_person_is_asked(proposed: Person, key: bytes, code: int, *, approved: bool) -> None:
    terminal = proposed.at_terminal("approve", "1")
    terminal.until("Let this command run as a check? [y/N]")
    terminal.type(key)

    assert terminal.end().code == code
    assert tasks(proposed)[1]["approved"] is approved
