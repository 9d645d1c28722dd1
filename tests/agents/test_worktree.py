"""The fingerprint of a project's files: it changes with every edit, and not without one."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.needs import need
from tildone.app import person as worktree
from tildone.app.person import fingerprint

GIT = {
    "PATH": os.environ.get("PATH", ""),
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "e",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "e",
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=GIT, check=True, capture_output=True)


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


def test_without_a_change_the_fingerprint_is_the_same(repository: Path) -> None:
    edit(repository)
    add(repository)

    assert fingerprint(str(repository)) == fingerprint(str(repository))


def test_ignored_files_do_not_count(repository: Path) -> None:
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


def test_the_git_index_is_not_written(repository: Path) -> None:
    """Git would refresh it; the agent may be in the middle of a commit."""
    os.utime(repository / "old.py", (1, 1))
    index = (repository / ".git" / "index").read_bytes()

    assert fingerprint(str(repository))
    assert (repository / ".git" / "index").read_bytes() == index


def test_a_locked_index_is_not_waited_for(repository: Path) -> None:
    (repository / ".git" / "index.lock").touch()

    assert fingerprint(str(repository))
    assert (repository / ".git" / "index.lock").exists()


def test_the_environment_cannot_point_to_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    before = fingerprint(str(repository))

    monkeypatch.setenv("GIT_DIR", str(other / ".git"))

    assert fingerprint(str(repository)) == before


def test_commands_in_the_project_configuration_are_not_run(repository: Path) -> None:
    """The author of the configuration need not be the person who runs tildone."""
    proof = repository.parent / "proof"
    git(repository, "config", "core.fsmonitor", f"touch '{proof}'; true")

    assert fingerprint(str(repository))
    assert not proof.exists()


def test_outside_a_repository_every_file_counts(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_text("1", encoding="utf-8")
    (tmp_path / ".hidden").write_text("1", encoding="utf-8")
    (tmp_path / "node_modules").mkdir()
    before = fingerprint(str(tmp_path))

    (tmp_path / ".hidden").write_text("22", encoding="utf-8")
    (tmp_path / "node_modules" / "x").write_text("1", encoding="utf-8")
    same = fingerprint(str(tmp_path))
    (tmp_path / "deep" / "file").write_text("22", encoding="utf-8")

    assert before
    assert same == before
    assert fingerprint(str(tmp_path)) != before


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)

    assert fingerprint(str(tmp_path))


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
