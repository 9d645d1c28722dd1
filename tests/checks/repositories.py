"""Git repositories and checks, for tests."""

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tests.needs import need
from tildone.app.check_runner import CheckRunner
from tildone.app.trust import Approvals
from tildone.plan.model import Check, Proof

GIT = {"PATH": os.environ.get("PATH", ""), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
GIT |= {f"GIT_{who}_{what}": what.lower() for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

PASSES = Check((sys.executable, "-c", "import sys; sys.exit(0)"))
"""A check that passes. It is a program that can do anything else, too, so it is not refused as trivial."""


def git(folder: Path, *words: str, check: bool = True) -> None:
    """Run git, without the settings of the person who runs the tests."""
    subprocess.run(["git", *words], cwd=folder, env=GIT, check=check, capture_output=True)


def make_repository(folder: Path) -> Path:
    """Make a repository with two committed files and a rule that ignores logs."""
    need("git")
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "parser.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "README").write_text("Read me.\n" * 50, encoding="utf-8")
    (folder / ".gitignore").write_text("*.log\n", encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


def python(script: str, folder: str = "", seconds: int = 20, retries: int = 0) -> Check:
    """Return a check that runs a Python script."""
    return Check((sys.executable, "-c", script), folder, seconds, retries)


class Runner:
    """Runs checks in a project, each time with a new `CheckRunner`, as sessions do."""

    def __init__(self, project: Path, folder: Path, *, ignored: tuple[str, ...] = ()) -> None:
        self.approvals = Approvals(str(folder / "approved"), str(project))
        self.outputs = folder / "outputs"
        make = partial(CheckRunner, str(project), self.approvals, ignored=ignored, outputs=str(self.outputs))
        self._make = partial(make, now=lambda: 7, by=lambda: "claude:s1")

    @property
    def runner(self) -> CheckRunner:
        """A new runner."""
        return self._make()

    def prove(self, check: Check) -> Proof:
        """Approve a check and run it."""
        self.approvals.approve(check)
        return self.runner.prove({1: check})[1]

    def is_stale(self, check: Check, proof: Proof) -> bool:
        """Return whether the watched files have changed."""
        return self.stale({1: (check, proof)}) == frozenset({1})

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        """Return the numbers of the stale proofs."""
        return self.runner.stale(proofs)
