"""Whether anything was done to the files of a project."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tildone.agents import worktree
from tildone.agents.worktree import fingerprint

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
def test_work_gives_another_mark(repository: Path, change: Callable[[Path], None]) -> None:
    before = fingerprint(str(repository))

    change(repository)

    assert before
    assert fingerprint(str(repository)) not in {"", before}


@pytest.mark.parametrize(
    ("change", "name"),
    [(edit, "src/ünïcode\nname.py"), (add, "src/new.py"), (rename, "new name.py")],
    ids=["edit", "add", "rename"],
)
def test_more_work_on_a_file_that_was_changed_already_gives_another(
    repository: Path, change: Callable[[Path], None], name: str
) -> None:
    """What git says of it is the same; its size or its time are not."""
    change(repository)
    with (repository / name).open("a", encoding="utf-8") as file:
        file.write("# more\n")
    before = fingerprint(str(repository))

    with (repository / name).open("a", encoding="utf-8") as file:
        file.write("# and more\n")

    assert fingerprint(str(repository)) != before


def test_no_work_gives_the_same(repository: Path) -> None:
    edit(repository)
    add(repository)

    assert fingerprint(str(repository)) == fingerprint(str(repository))


def test_what_git_ignores_is_no_work(repository: Path) -> None:
    before = fingerprint(str(repository))

    (repository / "server.log").write_text("noise\n", encoding="utf-8")

    assert fingerprint(str(repository)) == before


def test_what_is_kept_apart_does_not_count(repository: Path) -> None:
    store = str(repository / "plans.db")
    before = fingerprint(str(repository), [store])

    for name in ("plans.db", "plans.db-wal", "plans.db-shm"):
        (repository / name).write_text("changed\n", encoding="utf-8")

    assert fingerprint(str(repository), [store]) == before
    assert fingerprint(str(repository)) != before


def test_looking_writes_nothing(repository: Path) -> None:
    """Not even what git would like to note down for the next time: an agent may be in the middle of a commit."""
    os.utime(repository / "old.py", (1, 1))
    index = (repository / ".git" / "index").read_bytes()

    assert fingerprint(str(repository))
    assert (repository / ".git" / "index").read_bytes() == index


def test_looking_waits_for_nobody(repository: Path) -> None:
    (repository / ".git" / "index.lock").touch()

    assert fingerprint(str(repository))
    assert (repository / ".git" / "index.lock").exists()


def test_a_repository_named_in_the_environment_is_not_taken_for_this_one(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    before = fingerprint(str(repository))

    monkeypatch.setenv("GIT_DIR", str(other / ".git"))

    assert fingerprint(str(repository)) == before


def test_settings_of_the_project_run_nothing(repository: Path) -> None:
    """Whoever wrote them may not be who looks."""
    proof = repository.parent / "proof"
    git(repository, "config", "core.fsmonitor", f"touch '{proof}'; true")

    assert fingerprint(str(repository))
    assert not proof.exists()


def test_without_git_every_file_counts(tmp_path: Path) -> None:
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


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)

    assert fingerprint(str(tmp_path))


def test_without_the_program_git_every_file_counts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    before = fingerprint(str(repository))

    edit(repository)

    assert before
    assert fingerprint(str(repository)) != before


def test_too_much_to_look_at_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mark of a part would change with the part that is looked at."""
    for number in range(5):
        (tmp_path / str(number)).touch()

    monkeypatch.setattr(worktree, "MOST_WALKED", 4)
    too_many = fingerprint(str(tmp_path))
    monkeypatch.setattr(worktree, "MOST_WALKED", 5)
    monkeypatch.setattr(worktree, "SECONDS_WALKED", -1)

    assert (too_many, fingerprint(str(tmp_path))) == ("", "")


def test_many_changed_files_are_known_by_their_names_alone(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worktree, "MOST", 0)
    edit(repository)
    before = fingerprint(str(repository))

    (repository / "src" / "ünïcode\nname.py").write_text("x = 333\n", encoding="utf-8")
    same = fingerprint(str(repository))
    add(repository)

    assert same == before
    assert fingerprint(str(repository)) != before


def test_a_folder_that_is_gone_has_a_mark_too(tmp_path: Path) -> None:
    assert fingerprint(str(tmp_path / "gone")) == fingerprint(str(tmp_path / "gone"))
