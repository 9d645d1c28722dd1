"""The branch of a working tree is read from git's own files."""

import os
import subprocess
from pathlib import Path

from tests.checks.repositories import git, make_repository
from tildone.app.person import branch_of, git_folder


def test_the_branch_is_the_one_that_git_names(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    git(project, "checkout", "-qb", "feature/parser")

    assert branch_of(str(project)) == "feature/parser"
    assert os.path.samefile(git_folder(str(project)), project / ".git")


def test_a_working_tree_that_was_added_has_a_branch_of_its_own(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    git(project, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))

    assert branch_of(str(tmp_path / "tree")) == "topic"
    assert os.path.samefile(git_folder(str(tmp_path / "tree")), project / ".git" / "worktrees" / "tree")


def test_without_a_branch_it_is_the_beginning_of_the_commit(tmp_path: Path) -> None:
    project = make_repository(tmp_path / "project")
    git(project, "checkout", "-q", "--detach")
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project, capture_output=True, text=True, check=True
    ).stdout

    assert branch_of(str(project)) == commit[:12]


def test_a_folder_outside_of_git_has_none(tmp_path: Path) -> None:
    assert branch_of(str(tmp_path)) == ""
