"""Approvals belong to a person, a project and a command exactly as it is run."""

import os
import sys
from pathlib import Path

import pytest

from tildone.app.trust import Approvals
from tildone.plan.model import Check

TESTS = Check(("pytest", "-q", "tests"))


@pytest.fixture
def approvals(tmp_path: Path) -> Approvals:
    (tmp_path / "project").mkdir()
    return Approvals(str(tmp_path / "approved"), str(tmp_path / "project"))


def test_nothing_is_approved_at_first_and_looking_makes_no_files(approvals: Approvals, tmp_path: Path) -> None:
    assert not approvals.is_allowed(TESTS)
    assert not (tmp_path / "approved").exists()


def test_an_approval_is_kept_in_a_private_file_until_it_is_revoked(
    approvals: Approvals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_only_that_very_command_in_that_folder_is_approved(approvals: Approvals) -> None:
    approvals.approve(TESTS)
    for other in (
        Check(("pytest", "-q", "tests", "--co")),
        Check(("pytest", "-q tests")),
        Check(("pytest", "-q", "tests"), folder="sub"),
        Check(("sub", "pytest", "-q", "tests")),
        Check(("rm", "-rf", "/")),
    ):
        assert not approvals.is_allowed(other), other


def test_limits_retries_and_watched_files_do_not_matter(approvals: Approvals) -> None:
    """They do not change what is run."""
    approvals.approve(TESTS)

    assert approvals.is_allowed(Check(TESTS.command, seconds=5, retries=2, watches=("src",)))


def test_another_project_has_approvals_of_its_own(approvals: Approvals, tmp_path: Path) -> None:
    approvals.approve(TESTS)

    assert not Approvals(str(tmp_path / "approved"), str(tmp_path)).is_allowed(TESTS)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_project_behind_a_link_is_the_same_project(approvals: Approvals, tmp_path: Path) -> None:
    approvals.approve(TESTS)
    (tmp_path / "link").symlink_to("project")

    assert Approvals(str(tmp_path / "approved"), str(tmp_path / "link")).is_allowed(TESTS)


def test_patterns_of_the_settings_are_compared_with_the_command_as_it_is_typed(tmp_path: Path) -> None:
    approvals = Approvals(str(tmp_path / "approved"), str(tmp_path), ["pytest *", "make test"])

    assert approvals.is_allowed(TESTS)
    assert approvals.is_allowed(Check(("make", "test")))
    assert not approvals.is_allowed(Check(("make", "test", "clean")))
    assert not approvals.is_allowed(Check(("PYTEST", "-q")))
    assert not approvals.is_allowed(Check(("rm", "-rf", "pytest x")))


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


def test_the_path_is_that_of_the_person_and_never_that_of_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
