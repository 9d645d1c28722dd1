"""`CheckRunner`: which checks run, how often, and what is recorded of them."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from tests.checks.repositories import PASSES, Runner, make_repository, python
from tildone.app.check_commands import Interrupted
from tildone.app.trust import Consent
from tildone.base import replace
from tildone.plan.model import Check, Proof, Result

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
    assert proof.files
    assert proof.all_files
    assert (proof.at, proof.by, proof.reason, proof.output, proof.tail) == (7, "claude:s1", "", "", "")


def test_a_proof_names_the_program_that_ran_by_path_and_digest(
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


def test_the_output_of_the_last_run_replaces_the_one_before(runner: Runner) -> None:
    assert runner.prove(FAILS).output == runner.prove(FAILS).output
    assert len(list(runner.outputs.iterdir())) == 1


def test_an_output_that_can_not_be_written_does_not_matter(runner: Runner) -> None:
    runner.outputs.write_text("not a folder")

    proof = runner.prove(FAILS)

    assert (proof.result, proof.output, proof.tail) == (Result.FAILED, "", "what went wrong")


def test_a_check_that_can_not_decide_is_inconclusive(runner: Runner) -> None:
    for check, reason in (
        (Check(("no-such-program",)), "it could not be started: No such file or directory"),
        (python("import time; time.sleep(60)", seconds=1), "it took longer than 1 s"),
        (replace(PASSES, folder="missing"), "it could not be started: No such file or directory"),
    ):
        proof = runner.prove(check)

        assert (proof.result, proof.exit_code) == (Result.INCONCLUSIVE, None), check
        assert proof.reason.endswith(f"is inconclusive: {reason}"), check


def test_a_check_that_nobody_has_approved_is_not_run(project: Path, runner: Runner) -> None:
    check = python("open('marker', 'w')")

    proof = runner.runner.prove({1: check})[1]

    assert (proof.result, proof.command) == (Result.REFUSED, check.command)
    assert not (project / "marker").exists()
    assert not runner.runner.is_allowed(check)


def test_it_runs_in_its_folder_of_the_project(project: Path, runner: Runner) -> None:
    runner.prove(python("open('marker', 'w')", folder="src"))

    assert (project / "src" / "marker").exists()


def counting(exit_codes: str) -> str:
    """A script that counts its runs in a file, and ends with the code at that place."""
    return f"import sys; open('runs', 'a').write('x'); sys.exit({exit_codes}[len(open('runs').read()) - 1])"


@pytest.mark.parametrize(
    ("retries", "result", "runs"), [(0, Result.FAILED, 1), (1, Result.FAILED, 2), (2, Result.PASSED, 3), (9, None, 3)]
)
def test_a_check_that_fails_is_run_again_as_often_as_it_says(
    retries: int, result: Result | None, runs: int, project: Path, runner: Runner
) -> None:
    proof = runner.prove(python(counting("[1, 2, 0, 1]"), retries=retries))

    assert proof.result is (result or Result.PASSED)
    assert len((project / "runs").read_text()) == runs


def test_a_check_that_can_not_decide_is_not_run_again(project: Path, runner: Runner) -> None:
    script = "import time; open('runs', 'a').write('x'); time.sleep(60)"

    assert runner.prove(python(script, seconds=1, retries=3)).result is Result.INCONCLUSIVE
    assert (project / "runs").read_text() == "x"


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


def test_only_the_proofs_whose_files_have_changed_are_stale(project: Path, runner: Runner) -> None:
    on_readme = replace(PASSES, watches=("README",))
    proofs = {1: (PASSES, runner.prove(PASSES)), 2: (on_readme, runner.prove(on_readme))}

    (project / "src" / "parser.py").write_text("x = 2\n")

    assert runner.stale(proofs) == {1}


def test_a_proof_without_digests_never_becomes_stale(runner: Runner) -> None:
    assert not runner.is_stale(PASSES, Proof(Result.PASSED, PASSES.command))


def test_another_thread_can_interrupt_a_check_and_nothing_runs_on(project: Path, runner: Runner) -> None:
    check = python("import os, time; open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'up'); time.sleep(60)")

    made = runner.runner
    runner.approvals.approve(check)

    def interrupt() -> None:
        while not (project / "up").exists():
            sleep(0.01)
        made.interrupt()

    Thread(target=interrupt, daemon=True).start()
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


def test_after_a_check_the_files_are_looked_at_again(project: Path, runner: Runner) -> None:
    """Each proof is of the files before its own run."""
    writes = python("open('src/parser.py', 'a').write('#')")
    made = runner.runner
    for check in (writes, PASSES):
        runner.approvals.approve(check)

    proofs = made.prove({1: writes, 2: PASSES})

    assert runner.stale({1: (writes, proofs[1]), 2: (PASSES, proofs[2])}) == {1}
    assert project.exists()
