"""A task that was reopened keeps its proof, which counts only if the files are as they were."""

from pathlib import Path

import pytest

from tests.checks.repositories import Runner, make_repository, python
from tests.plans import session_on
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.model import Result, Status, Task
from tildone.plan.ops import Append, Mark, Numbered, SetCheck

CHECK = python("open('.git/runs', 'a').write('x'); import pathlib, sys; sys.exit(pathlib.Path('broken').exists())")
DONE = [Mark(Numbered((1,)), Status.COMPLETED)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "project")


@pytest.fixture
def session(project: Path, tmp_path: Path) -> Session:
    """A session with one task, whose check has passed, and which was reopened."""
    runner = Runner(project, tmp_path)
    runner.approvals.approve(CHECK)
    session = session_on()
    session = session.using(parts=replace(session.parts, prover=lambda: runner.runner))
    session.change([Append((Task("parse"), Task("wire")))])
    session.change([SetCheck(Numbered((1,)), CHECK)])
    session.change(DONE)
    session.change([Mark(Numbered((1,)), Status.PENDING)])
    return session


def runs(project: Path) -> int:
    return len((project / ".git" / "runs").read_text())


def test_with_the_same_files_it_is_done_without_another_run(session: Session, project: Path) -> None:
    outcome = session.change(DONE)

    assert outcome.after.tasks[0].status is Status.COMPLETED
    assert runs(project) == 1


def test_with_other_files_its_check_is_run_again(session: Session, project: Path) -> None:
    (project / "README").write_text("Other words.\n")

    session.change(DONE)

    assert session.plan.tasks[0].status is Status.COMPLETED
    assert (runs(project), session.stale) == (2, frozenset())


def test_and_if_that_fails_it_is_not_done(session: Session, project: Path) -> None:
    (project / "README").write_text("Other words.\n")
    (project / "broken").touch()

    outcome = session.change(DONE)

    task = outcome.after.tasks[0]
    assert task.proof is not None
    assert (outcome.unproved, task.status, task.proof.result) == ((1,), Status.IN_PROGRESS, Result.FAILED)
