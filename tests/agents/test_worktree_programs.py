"""Looking at a worktree runs no program that the repository names."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.agents.test_worktree import GIT, git
from tests.needs import need
from tildone.app.person import fingerprint

pytestmark = pytest.mark.skipif(os.name == "nt", reason="plants shell scripts")

HOOKS = ("post-index-change", "post-checkout", "pre-commit", "fsmonitor-watchman", "reference-transaction")


class Planted:
    """A repository with a tracked file whose time has changed, and a program that records that it ran."""

    def __init__(self, folder: Path) -> None:
        need("git")
        self.folder = folder / "project"
        self.traces = folder / "traces"
        self.program = folder / "evil"
        self.traces.mkdir()
        self.program.write_text(f'#!/bin/sh\n: > "{self.traces}/$$"\ncat\n', encoding="utf-8")
        self.program.chmod(0o755)
        self.start(self.folder)

    def start(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "a.txt").write_text("text\n", encoding="utf-8")
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "First")

    def plant(self, folder: Path, settings: dict[str, str], attributes: str = "") -> None:
        (folder / ".gitattributes").write_text(attributes, encoding="utf-8")
        for name, text in settings.items():
            git(folder, "config", name, text)
        (folder / "a.txt").write_text("Text\n", encoding="utf-8")
        os.utime(folder / "a.txt", (1, 1))

    @property
    def ran(self) -> bool:
        return bool(list(self.traces.iterdir()))


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path)


@pytest.mark.parametrize(
    ("settings", "attributes", "runs_in_git"),
    [
        ({"core.fsmonitor": "EVIL"}, "", True),
        ({"filter.evil.clean": "EVIL"}, "* filter=evil", True),
        ({"filter.Evil name.clean": "EVIL", "filter.Evil name.required": "true"}, "", False),
        ({"filter.evil.clean": "EVIL", "filter.evil.required": "true"}, "*.txt filter=evil", True),
        ({"filter.evil.process": "EVIL"}, "* filter=evil", True),
        ({"filter.a=b.clean": "EVIL"}, "* filter=a=b", True),
        ({"filter.evil.smudge": "EVIL"}, "* filter=evil", False),
        ({"diff.external": "EVIL"}, "", False),
        ({"diff.evil.textconv": "EVIL", "diff.evil.command": "EVIL"}, "* diff=evil", False),
        ({"core.pager": "EVIL", "pager.status": "true"}, "", False),
        ({"alias.status": "!EVIL", "alias.config": "!EVIL"}, "", False),
        ({"core.sshCommand": "EVIL", "remote.o.url": "ssh://x/y", "remote.o.promisor": "true"}, "", False),
        ({"core.editor": "EVIL", "gpg.program": "EVIL", "credential.helper": "!EVIL"}, "", False),
        ({"core.hooksPath": "HOOKS"}, "", False),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, dict) else "",
)
def test_no_program_of_the_repository_runs(
    planted: Planted, settings: dict[str, str], attributes: str, *, runs_in_git: bool
) -> None:
    hooks = planted.folder.parent / "hooks"
    hooks.mkdir()
    for name in HOOKS:
        (hooks / name).symlink_to(planted.program)
    named = {
        key: text.replace("EVIL", str(planted.program)).replace("HOOKS", str(hooks)) for key, text in settings.items()
    }
    planted.plant(planted.folder, named, attributes)

    before = fingerprint(str(planted.folder))

    assert before
    assert not planted.ran
    os.utime(planted.folder / "a.txt", (2, 2))
    assert fingerprint(str(planted.folder)) not in {"", before}
    subprocess.run(["git", "status"], cwd=planted.folder, env=GIT, check=False, capture_output=True, timeout=30)
    assert not runs_in_git or any(planted.traces.iterdir())


def test_objects_of_a_partial_clone_are_not_fetched(planted: Planted) -> None:
    """Comparing a renamed file needs its old content, which the repository says is at a remote."""
    (planted.folder / "a.txt").write_text("line\n" * 100, encoding="utf-8")
    git(planted.folder, "commit", "-qam", "Longer")
    old = subprocess.run(
        ["git", "rev-parse", "HEAD:a.txt"], cwd=planted.folder, env=GIT, check=True, capture_output=True, text=True
    ).stdout.strip()
    git(planted.folder, "mv", "a.txt", "b.txt")
    (planted.folder / "b.txt").write_text("line\n" * 101, encoding="utf-8")
    git(planted.folder, "add", ".")
    planted.program.write_text(f'#!/bin/sh\n: > "{planted.traces}/$$"\nexit 1\n', encoding="utf-8")
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "o",
        "remote.o.promisor": "true",
        "remote.o.url": "ssh://x/y",
        "core.sshCommand": str(planted.program),
    }
    for name, text in settings.items():
        git(planted.folder, "config", name, text)
    (planted.folder / ".git/objects" / old[:2] / old[2:]).unlink()

    assert fingerprint(str(planted.folder))

    assert not planted.ran
    subprocess.run(["git", "status"], cwd=planted.folder, env=GIT, check=False, capture_output=True, timeout=30)
    assert planted.ran


@pytest.mark.parametrize("settings", [{"core.fsmonitor": "EVIL"}, {"filter.evil.clean": "EVIL"}], ids=str)
def test_no_program_of_a_submodule_runs(planted: Planted, settings: dict[str, str]) -> None:
    """Changes in a submodule change the fingerprint all the same."""
    planted.start(planted.folder.parent / "inner")
    git(planted.folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../inner", "sub")
    git(planted.folder, "commit", "-qm", "Submodule")
    sub = planted.folder / "sub"
    named = {key: text.replace("EVIL", str(planted.program)) for key, text in settings.items()}
    planted.plant(sub, named, "* filter=evil")

    before = fingerprint(str(planted.folder))
    (sub / "a.txt").write_text("next\n", encoding="utf-8")
    after = fingerprint(str(planted.folder))

    assert not planted.ran
    assert "" not in {before, after}
    assert before != after
    subprocess.run(["git", "status"], cwd=planted.folder, env=GIT, check=False, capture_output=True, timeout=30)
    assert planted.ran


@pytest.mark.parametrize("path", ["..", "../inner", "link", "link/deep", "/", "missing", "."])
def test_a_submodule_is_inside_its_project(planted: Planted, path: str) -> None:
    """The file of submodules may name any path; a repository elsewhere does not count."""
    inner = planted.folder.parent / "inner"
    planted.start(inner)
    planted.start(inner / "deep")
    (planted.folder / "link").symlink_to(inner)
    (planted.folder / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = "{path}"\n', encoding="utf-8")
    before = fingerprint(str(planted.folder))

    for folder in (inner, inner / "deep"):
        (folder / "a.txt").write_text("more text\n", encoding="utf-8")

    assert before
    assert fingerprint(str(planted.folder)) == before
