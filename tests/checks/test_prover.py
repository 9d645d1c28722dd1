"""Checks: which run and how often, who approved them, and the command: its environment, limits and output."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from tests.checks.repositories import PASSES, Runner, make_repository, python
from tests.fleet.agents import is_running
from tests.suite.waiting import until
from tildone.app import check_commands as running
from tildone.app.check_commands import (
    MAX_OUTPUT_BYTES,
    CommandResult,
    Interrupted,
    run_command,
    small_environment,
    warnings_about,
)
from tildone.app.trust import Approvals, Consent
from tildone.base import replace
from tildone.plan.model import Check, Proof, Result, proves_nothing

FAILS = python("import sys; print('what went wrong'); sys.exit(4)")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.fixture
def runner(project: Path, tmp_path: Path) -> Runner:
    return Runner(project, tmp_path)


def test_a_passed_check_is_a_proof_with_the_digests_of_the_files(runner: Runner) -> None:
    proof = runner.prove(PASSES)

    assert (proof.result, proof.command, proof.exit_code) == (Result.PASSED, PASSES.command, 0)
    assert (proof.at, proof.by, proof.reason, proof.output, proof.tail) == (7, "claude:s1", "", "", "")
    assert all((proof.files, proof.all_files))


def test_a_proof_names_the_program_by_path_and_digest(
    project: Path, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it is started by its name, or by a path in the project. What is in the current folder is not found."""
    program = project / "src" / "prove-it"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    sha256 = hashlib.sha256(program.read_bytes()).hexdigest()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    for check in (Check(("prove-it",)), Check(("./src/prove-it",)), Check(("./prove-it",), "src")):
        proof = runner.prove(check)
        assert (proof.result, proof.program_sha256) == (Result.PASSED, sha256), check
        assert os.path.samefile(proof.program, program), check

    monkeypatch.setenv("PATH", "")
    assert runner.prove(Check(("prove-it",), "src")).result is Result.INCONCLUSIVE


def test_a_failed_check_says_why_and_keeps_its_whole_output(runner: Runner) -> None:
    check = python("import sys; print('x' * 5000); [print('line', i) for i in range(60)]; sys.exit(4)")

    proof = runner.prove(check)

    assert (proof.result, proof.exit_code) == (Result.FAILED, 4)
    assert proof.reason.endswith("failed with exit code 4")
    assert proof.tail.splitlines() == [f"line {i}" for i in range(20, 60)]
    assert Path(proof.output).read_text().startswith("xxx")
    if sys.platform != "win32":
        assert os.stat(os.path.dirname(proof.output)).st_mode & 0o077 == 0


def test_secrets_in_an_output_are_neither_kept_nor_shown(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check gets none from the environment, but a test may print a file with one."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://app:correct-horse@db/app")
    (tmp_path / "env").write_text(f"ghp_{'a1' * 18} x://u:other@h correct-horse " * 200 + "\nthe end")
    script = (
        f"import os, sys; print(os.environ.get('DATABASE_URL'), open({str(tmp_path / 'env')!r}).read()); sys.exit(1)"
    )

    proof = runner.prove(python(script))

    kept = Path(proof.output).read_text()
    assert kept == "None " + "[redacted] x://u:[redacted]@h [redacted] " * 200 + "\nthe end\n"
    assert proof.tail.endswith("[redacted] \nthe end")
    assert "correct-horse" not in str(proof)


def test_the_output_of_the_last_run_replaces_the_one_before_and_need_not_be_written(runner: Runner) -> None:
    assert runner.prove(FAILS).output == runner.prove(FAILS).output
    [kept] = runner.outputs.iterdir()
    kept.unlink()
    runner.outputs.rmdir()
    runner.outputs.write_text("not a folder")

    proof = runner.prove(FAILS)

    assert (proof.result, proof.output, proof.tail) == (Result.FAILED, "", "what went wrong")


def test_a_check_that_can_not_decide_is_inconclusive_and_not_run_again(project: Path, runner: Runner) -> None:
    script = "import time; open('runs', 'a').write('x'); time.sleep(60)"
    for check, reason in (
        (Check(("no-such-program",)), "it could not be started: No such file or directory"),
        (python(script, seconds=1, retries=3), "it took longer than 1 s"),
        (replace(PASSES, folder="missing"), "it could not be started: No such file or directory"),
    ):
        proof = runner.prove(check)

        assert (proof.result, proof.exit_code) == (Result.INCONCLUSIVE, None), check
        assert proof.reason.endswith(f"is inconclusive: {reason}"), check
    assert (project / "runs").read_text() == "x"


def test_a_check_that_nobody_has_approved_is_not_run(project: Path, runner: Runner) -> None:
    check = python("open('marker', 'w')")

    proof = runner.runner.prove({1: check})[1]

    assert (proof.result, proof.command) == (Result.REFUSED, check.command)
    assert not (project / "marker").exists()
    assert not runner.runner.is_allowed(check)
    # With the approval, it runs in its folder of the project.
    runner.prove(replace(check, folder="src"))
    assert (project / "src" / "marker").exists()


def counting(exit_codes: str) -> str:
    """A script that counts its runs in a file, and ends with the code at that place."""
    return f"import sys; open('runs', 'a').write('x'); sys.exit({exit_codes}[len(open('runs').read()) - 1])"


@pytest.mark.parametrize(
    ("retries", "result", "runs"), [(0, Result.FAILED, 1), (1, Result.FAILED, 2), (2, Result.PASSED, 3), (9, None, 3)]
)
def test_a_check_is_run_again_as_often_as_it_says(
    retries: int, result: Result | None, runs: int, project: Path, runner: Runner
) -> None:
    proof = runner.prove(python(counting("[1, 2, 0, 1]"), retries=retries))

    assert proof.result is (result or Result.PASSED)
    assert len((project / "runs").read_text()) == runs


def test_tasks_with_the_same_check_share_one_run(project: Path, runner: Runner) -> None:
    check = python(counting("[0, 1]"))
    runner.approvals.approve(check)
    started: list[int] = []
    made = runner.runner
    made.started = lambda number, _check: started.append(number)

    proofs = made.prove({3: check, 5: check, 0: check})

    assert {number: proof.result for number, proof in proofs.items()} == dict.fromkeys((3, 5, 0), Result.PASSED)
    assert (project / "runs").read_text() == "x"
    assert started == [3]


def test_another_thread_can_interrupt_a_check_and_nothing_runs_on(project: Path, runner: Runner) -> None:
    check = python("import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up'); time.sleep(60)")

    made = runner.runner
    runner.approvals.approve(check)

    when_there_is(project / "up", made.interrupt)
    with pytest.raises(Interrupted):
        made.prove({1: check})

    pid = (project / "up").read_text()
    assert subprocess.run(["ps", "-p", pid], capture_output=True, check=False).returncode != 0
    made.interrupt()
    assert runner.prove(PASSES).result is Result.PASSED


@pytest.mark.parametrize("consent", Consent)
def test_a_person_may_be_asked_for_a_check_that_is_only_proposed(runner: Runner, consent: Consent) -> None:
    made = runner.runner
    asked: list[int] = []

    def ask(number: int, _check: Check) -> Consent:
        asked.append(number)
        return consent

    made.ask = ask

    proof = made.prove({4: PASSES})[4]

    assert (proof.result is Result.PASSED) == (consent is not Consent.NO)
    assert runner.approvals.is_allowed(PASSES) == (consent is Consent.ALWAYS)
    assert asked == [4]


def test_after_a_check_the_files_are_looked_at_again(runner: Runner) -> None:
    """Each proof is of the files before its own run."""
    writes = python("open('src/parser.py', 'a').write('#')")
    for check in (writes, PASSES):
        runner.approvals.approve(check)

    proofs = runner.runner.prove({1: writes, 2: PASSES})

    assert runner.stale({1: (writes, proofs[1]), 2: (PASSES, proofs[2])}) == {1}
    # One without digests never becomes stale.
    assert not runner.is_stale(PASSES, Proof(Result.PASSED, PASSES.command))


ENVIRON = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "GITHUB_TOKEN": "secret", "AWS_SECRET": "secret"}
posix = pytest.mark.skipif(sys.platform == "win32", reason="process groups and signals of POSIX")

WITH_GRANDCHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import signal, time; {prelude}; time.sleep(600)"])
open("pid", "w").write(str(child.pid))
os.rename("pid", "started")
{then}
"""


def when_there_is(file: Path, act: Callable[[], object]) -> None:
    """Let another thread act as soon as there is a file."""

    def wait_and_act() -> None:
        while not file.exists():
            sleep(0.01)
        act()

    Thread(target=wait_and_act, daemon=True).start()


def run(script: str, folder: Path, seconds: float = 20) -> CommandResult:
    return run_command((sys.executable, "-c", script), str(folder), seconds, ENVIRON)


def test_both_outputs_and_the_exit_code_are_returned(tmp_path: Path) -> None:
    result = run("import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)", tmp_path)

    assert (result.exit_code, result.problem) == (3, "")
    assert result.output.splitlines() == ["out", "err"]
    assert result.milliseconds >= 0


def test_it_gets_its_folder_no_input_and_no_secrets(tmp_path: Path) -> None:
    script = "import os, sys; print(os.getcwd(), repr(sys.stdin.read()), *sorted(os.environ))"

    folder, text, *names = run(script, tmp_path).output.split()

    assert (folder, text) == (os.path.realpath(tmp_path), "''")
    assert {"PATH", "LC_ALL"} <= set(names)
    assert not {"GITHUB_TOKEN", "AWS_SECRET"} & set(names)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DATABASE_URL", "SSH_AUTH_SOCK", "PASSWORD"):
        assert name not in small_environment({name: "x", "PATH": "/bin"}), name


@pytest.mark.parametrize("command", [("a\0b",), (sys.executable, "\0")])
def test_a_command_that_no_system_can_start_does_not_raise(command: tuple[str, ...], tmp_path: Path) -> None:
    result = run_command(command, str(tmp_path), 5, ENVIRON)

    assert (result.exit_code, "could not be started" in result.problem) == (None, True)


def test_only_the_end_of_a_long_output_is_kept(tmp_path: Path) -> None:
    script = f"import sys; sys.stdout.write('a' * {3 * MAX_OUTPUT_BYTES} + 'the end')"

    output = run(script, tmp_path).output

    notice, _, kept = output.partition("\n")
    assert notice == f"[the first {2 * MAX_OUTPUT_BYTES + len('the end'):,} bytes are left out]"
    assert len(kept) == MAX_OUTPUT_BYTES
    assert output.endswith("athe end")
    # What is not UTF-8 is replaced.
    assert run("import os; os.write(1, b'\\xff\\xfe!')", tmp_path).output == "\ufffd\ufffd!"


@posix
@pytest.mark.parametrize(
    ("prelude", "then", "ending"),
    [
        *(
            (prelude, "print('waiting', flush=True); time.sleep(600)", (None, "it took longer than 3 s", "waiting\n"))
            for prelude in ("pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        ),
        ("pass", "print('done')", (0, "", "done\n")),
        ("pass", "sys.stdout.flush(); os.kill(os.getpid(), 9)", (None, "it was ended by signal 9", "")),
    ],
)
def test_at_its_end_or_at_the_time_limit_the_whole_group_is_ended(
    prelude: str, then: str, ending: tuple[int | None, str, str], tmp_path: Path
) -> None:
    """Also a grandchild that ignores being asked to end."""
    result = run(WITH_GRANDCHILD.format(prelude=prelude, then=then), tmp_path, seconds=3)

    assert (result.exit_code, result.problem, result.output) == ending
    until(lambda: not is_running(int((tmp_path / "started").read_text())))


@posix
def test_a_process_that_left_the_group_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "KILL_SECONDS", 0.1)
    script = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"

    result = run(script, tmp_path)

    pid = int(result.output)
    try:
        assert (result.exit_code, is_running(pid)) == (0, True)
    finally:
        os.kill(pid, signal.SIGKILL)


@posix
def test_an_interrupted_run_ends_the_group(tmp_path: Path) -> None:
    """Ctrl-C reaches the process that waits; the command has a process group of its own."""
    when_there_is(tmp_path / "started", lambda: os.kill(os.getpid(), signal.SIGINT))
    script = WITH_GRANDCHILD.format(prelude="pass", then="time.sleep(600)")

    with pytest.raises(KeyboardInterrupt):
        run(script, tmp_path, seconds=60)

    until(lambda: not is_running(int((tmp_path / "started").read_text())))


TESTS = Check(("pytest", "-q", "tests"))


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    (tmp_path / "project").mkdir()
    return Approvals(str(tmp_path / "approved"), str(tmp_path / "project"))


def test_an_approval_is_kept_privately_until_revoked(
    approvals: Approvals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking makes no files."""
    assert not approvals.is_allowed(TESTS)
    assert not (tmp_path / "approved").exists()
    monkeypatch.setenv("PATH", "/bin")
    approvals.approve(TESTS)
    approvals.approve(TESTS)

    files = sorted((tmp_path / "approved").iterdir(), key=lambda file: file.suffix)
    assert approvals.is_allowed(TESTS)
    project = (tmp_path / "project").resolve()
    assert [file.read_text() for file in files] == [f"{project}\n\npytest\n-q\ntests\nPATH=/bin", "/bin"]
    if sys.platform != "win32":
        assert (tmp_path / "approved").stat().st_mode & 0o077 == 0

    approvals.revoke(TESTS)
    approvals.revoke(TESTS)
    assert not approvals.is_allowed(TESTS)


def test_only_that_command_in_that_folder_of_that_project_is_approved(approvals: Approvals, tmp_path: Path) -> None:
    """Limits, retries and watched files do not change what is run."""
    approvals.approve(TESTS)
    assert approvals.is_allowed(Check(TESTS.command, seconds=5, retries=2, watches=("src",)))
    assert not Approvals(str(tmp_path / "approved"), str(tmp_path)).is_allowed(TESTS)
    if sys.platform != "win32":
        # Links need a privilege there.
        (tmp_path / "link").symlink_to("project")
        assert Approvals(str(tmp_path / "approved"), str(tmp_path / "link")).is_allowed(TESTS)
    for other in (
        Check(("pytest", "-q", "tests", "--co")),
        Check(("pytest", "-q tests")),
        Check(("pytest", "-q", "tests"), folder="sub"),
        Check(("sub", "pytest", "-q", "tests")),
        Check(("rm", "-rf", "/")),
    ):
        assert not approvals.is_allowed(other), other


def test_patterns_of_the_settings_are_compared_with_the_command_as_it_is_typed(tmp_path: Path) -> None:
    approvals = Approvals(str(tmp_path / "approved"), str(tmp_path), ["pytest *", "make test"])
    others = (("make", "test", "clean"), ("PYTEST", "-q"), ("rm", "-rf", "pytest x"))

    allowed = [words for words in (TESTS.command, ("make", "test"), *others) if approvals.is_allowed(Check(words))]

    assert allowed == [TESTS.command, ("make", "test")]


def test_patterns_of_the_settings_hold_in_the_working_tree_only(tmp_path: Path) -> None:
    """A plan of an earlier version, or one that was tampered with, may name another folder."""
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    approvals = Approvals(str(tmp_path / "approved"), str(project), ["make *"])
    if sys.platform != "win32":
        (project / "link").symlink_to("..")
        (project / "inner").symlink_to("sub")
    inside = ("", "sub", "sub/later", *(["inner"] if sys.platform != "win32" else []))
    outside = ("..", "sub/../..", str(tmp_path), "~/x", *(["link", "link/other"] if sys.platform != "win32" else []))

    allowed = [folder for folder in (*inside, *outside) if approvals.is_allowed(Check(("make", "all"), folder))]

    assert allowed == list(inside)


def test_the_path_is_that_of_the_person_and_never_an_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the project counts if the person has it in theirs, as that of a virtual environment."""
    project = tmp_path / "project"
    venv, agents = str(project / ".venv" / "bin"), os.pathsep.join((str(project / "bin"), "bin", "/usr/bin"))
    persons = os.pathsep.join((venv, "/usr/bin"))

    def path(current: str, check: Check = TESTS, *, person: bool = False) -> str:
        allowed = Approvals(str(tmp_path / "approved"), str(project), ["*"], lambda: person)
        return allowed.search_path(check, current)

    assert path(agents) == "/usr/bin"
    assert path(str(project / "bin")) == os.defpath
    assert path(persons, person=True) == persons
    assert path(agents) == persons
    monkeypatch.setenv("PATH", "/approved")
    Approvals(str(tmp_path / "approved"), str(project)).approve(TESTS)
    assert (path(agents), path(persons, person=True)) == ("/approved", "/approved")
    assert path(agents, Check(("make",))) == "/approved"


def test_without_a_folder_the_path_of_a_person_is_used_and_not_kept(tmp_path: Path) -> None:
    nowhere = Approvals("", str(tmp_path), ["*"])
    (tmp_path / "file").write_text("")
    blocked = Approvals(str(tmp_path / "file"), str(tmp_path), ["*"])

    assert [each.search_path(TESTS, "/mine") for each in (nowhere, blocked)] == ["/mine", "/mine"]
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


WORDS = (
    "true|:|exit 0|/bin/true|env true|command true|echo done|printf done|ls|pwd|date|sleep 0|cat /dev/null|test 1|[ 1 ]"
)
REFUSED = (
    *(tuple(line.split()) for line in WORDS.split("|")),
    *(("sh", "-c", script) for script in ("exit 0", "pytest || true", "pytest; true", "pytest -q | tail -1")),
    (sys.executable, "-c", "pass"),
)
TOLD = (
    *((sys.executable, option) for option in ("--version", "--help")),
    (sys.executable, "-c", "import sys; sys.exit(0)"),
    ("sh", "-c", "if pytest; then echo; fi; true"),
)
HONEST = (
    *(tuple(line.split()) for line in ("test -f README", "grep -q 42 answer", "./test.sh")),
    (sys.executable, "-c", "import time; time.sleep(60)"),
    ("sh", "-c", "exit 3"),
)


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX system")
def test_all_of_24_commands_that_always_pass_are_refused_or_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 are refused when they are set, and 4 are told when they are approved. None of them depends on the work."""
    # However slow the machine is.
    monkeypatch.setattr("tildone.app.check_commands.TRIAL_SECONDS", 60)
    assert [proves_nothing(command) for command in (*REFUSED, *TOLD)] == [True] * 20 + [False] * 4
    for command in TOLD:
        [said] = warnings_about([Check(command)])
        assert said.startswith("this check seems to always pass: it passed in an empty folder, too: "), command
    shells = [command for command in REFUSED if command[0] in ("sh", "test", sys.executable)]
    assert len(warnings_about(map(Check, shells))) == len(shells)


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX system")
def test_nothing_is_said_of_checks_that_can_fail_or_take_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is run in a folder without the files here, and nothing of it is left."""
    monkeypatch.setattr("tildone.app.check_commands.TRIAL_SECONDS", 0.5)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "README").touch()
    monkeypatch.chdir(tmp_path)

    assert warnings_about(map(Check, HONEST)) == []
    assert len(warnings_about([Check(("sh", "-c", "mkdir a && touch a/b"))])) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["README"]
