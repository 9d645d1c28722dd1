"""The fingerprint and the branch of a worktree; looking at it runs no program that the repository names."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks.repositories import GIT, git, make_repository
from tests.needs import need
from tildone.app import person as worktree
from tildone.app.person import branch_of, fingerprint, git_folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    need("git")
    folder = tmp_path / "a project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "ünïcode\nname.py").write_text("x = 1\n", encoding="utf-8")
    (folder / "old.py").write_text("y = 1\n" * 50, encoding="utf-8")
    (folder / ".gitignore").write_text("*.log\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "First")
    return folder


def edit(folder: Path) -> None:
    (folder / "src" / "ünïcode\nname.py").write_text("x = 22\n", encoding="utf-8")


def add(folder: Path) -> None:
    (folder / "src" / "new.py").write_text("z = 1\n", encoding="utf-8")


def remove(folder: Path) -> None:
    (folder / "old.py").unlink()


def rename(folder: Path) -> None:
    git(folder, "mv", "old.py", "new name.py")


def commit(folder: Path) -> None:
    git(folder, "commit", "-qm", "Empty", "--allow-empty")


CHANGES = [edit, add, remove, rename, commit]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_every_change_gives_another_fingerprint(repository: Path, change: Callable[[Path], None]) -> None:
    before = fingerprint(str(repository))

    change(repository)

    assert before
    assert fingerprint(str(repository)) not in {"", before}


@pytest.mark.parametrize(
    ("change", "name"),
    [(edit, "src/ünïcode\nname.py"), (add, "src/new.py"), (rename, "new name.py")],
    ids=["edit", "add", "rename"],
)
def test_a_second_edit_to_a_changed_file_gives_another_fingerprint(
    repository: Path, change: Callable[[Path], None], name: str
) -> None:
    """The output of git is the same, but the size or the time differs."""
    change(repository)
    with (repository / name).open("a", encoding="utf-8") as file:
        file.write("# more\n")
    before = fingerprint(str(repository))

    with (repository / name).open("a", encoding="utf-8") as file:
        file.write("# and more\n")

    assert fingerprint(str(repository)) != before


def test_without_a_change_or_with_an_ignored_one_the_fingerprint_is_the_same(repository: Path) -> None:
    edit(repository)
    add(repository)
    before = fingerprint(str(repository))

    (repository / "server.log").write_text("noise\n", encoding="utf-8")

    assert fingerprint(str(repository)) == before


def test_excluded_paths_do_not_count(repository: Path) -> None:
    store = str(repository / "plans.db")
    before = fingerprint(str(repository), [store])

    for name in ("plans.db", "plans.db-wal", "plans.db-shm"):
        (repository / name).write_text("changed\n", encoding="utf-8")

    assert fingerprint(str(repository), [store]) == before
    assert fingerprint(str(repository)) != before


def test_the_git_index_is_not_written_and_a_locked_one_is_not_waited_for(repository: Path) -> None:
    """Git would refresh it; the agent may be in the middle of a commit."""
    os.utime(repository / "old.py", (1, 1))
    index = (repository / ".git" / "index").read_bytes()
    assert fingerprint(str(repository))
    (repository / ".git" / "index.lock").touch()

    assert fingerprint(str(repository))
    assert (repository / ".git" / "index.lock").exists()
    assert (repository / ".git" / "index").read_bytes() == index


def test_the_environment_cannot_point_to_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    before = fingerprint(str(repository))

    monkeypatch.setenv("GIT_DIR", str(other / ".git"))

    assert fingerprint(str(repository)) == before


def test_outside_a_repository_every_file_counts(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_text("1", encoding="utf-8")
    (tmp_path / ".hidden").write_text("1", encoding="utf-8")
    (tmp_path / "node_modules").mkdir()
    # A link is not followed.
    (tmp_path / "loop").symlink_to(tmp_path)
    before = fingerprint(str(tmp_path))

    (tmp_path / ".hidden").write_text("22", encoding="utf-8")
    (tmp_path / "node_modules" / "x").write_text("1", encoding="utf-8")
    same = fingerprint(str(tmp_path))
    (tmp_path / "deep" / "file").write_text("22", encoding="utf-8")

    assert before
    assert same == before
    assert fingerprint(str(tmp_path)) != before


def test_without_git_installed_every_file_counts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    before = fingerprint(str(repository))

    edit(repository)

    assert before
    assert fingerprint(str(repository)) != before


def test_a_folder_too_large_to_read_has_no_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part that was read could differ from one stop to the next."""
    for number in range(5):
        (tmp_path / str(number)).touch()

    monkeypatch.setattr(worktree, "MAX_WALKED_FILES", 4)
    too_many = fingerprint(str(tmp_path))
    monkeypatch.setattr(worktree, "MAX_WALKED_FILES", 5)
    monkeypatch.setattr(worktree, "WALK_TIMEOUT_SECONDS", -1)

    assert (too_many, fingerprint(str(tmp_path))) == ("", "")


def test_beyond_the_limit_changed_files_count_by_name_only(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktree, "MAX_INSPECTED_FILES", 0)
    edit(repository)
    before = fingerprint(str(repository))

    (repository / "src" / "ünïcode\nname.py").write_text("x = 333\n", encoding="utf-8")
    same = fingerprint(str(repository))
    add(repository)

    assert same == before
    assert fingerprint(str(repository)) != before


def test_a_missing_folder_has_a_fingerprint(tmp_path: Path) -> None:
    assert fingerprint(str(tmp_path / "gone")) == fingerprint(str(tmp_path / "gone"))


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
    if os.name == "nt":
        pytest.skip("plants shell scripts")
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


def test_the_branch_is_the_one_that_git_names(tmp_path: Path) -> None:
    """An added working tree has its own; without a branch, it is the beginning of the commit."""
    project, tree = make_repository(tmp_path / "project"), tmp_path / "tree"
    git(project, "checkout", "-qb", "feature/parser")
    git(project, "worktree", "add", "-q", "-b", "topic", str(tree))

    assert [branch_of(str(folder)) for folder in (project, tree, tmp_path)] == ["feature/parser", "topic", ""]
    assert os.path.samefile(git_folder(str(project)), project / ".git")
    assert os.path.samefile(git_folder(str(tree)), project / ".git" / "worktrees" / "tree")
    git(project, "checkout", "-q", "--detach")
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, capture_output=True, text=True, check=True)
    assert branch_of(str(project)) == asked.stdout[:12]
