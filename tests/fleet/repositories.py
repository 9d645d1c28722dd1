"""Real repositories of git for tests."""

import subprocess
from pathlib import Path

from tildone.fleet.worktrees import Worktree


def git(folder: Path | str, *arguments: str) -> str:
    settings = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def project(folder: Path, name: str = "project") -> Path:
    """A repository with one commit."""
    path = folder / name
    path.mkdir()
    git(path, "init", "-q")
    (path / "parser.py").write_text("one\n", encoding="utf-8")
    (path / "old.py").write_text("old\n", encoding="utf-8")
    (path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    git(path, "add", ".")
    git(path, "commit", "-qm", "First")
    return path


def bare(folder: Path, project: Path) -> Path:
    """The remote repository of the project."""
    path = folder / "bare.git"
    git(folder, "clone", "-q", "--bare", str(project), str(path))
    git(project, "remote", "add", "origin", path.as_uri())
    return path


def change(worktree: Worktree) -> None:
    """Change, add and delete a file, and leave one that is ignored."""
    folder = Path(worktree.folder)
    write(worktree, "parser.py", "two\n")
    (folder / "new ü.py").write_text("new\n", encoding="utf-8")
    (folder / "noise.log").write_text("x\n", encoding="utf-8")
    (folder / "old.py").unlink()


def write(worktree: Worktree, name: str, text: str) -> None:
    (Path(worktree.folder) / name).write_text(text, encoding="utf-8")


def files(folder: Path | str) -> dict[str, str]:
    return {
        path.name: path.read_text(encoding="utf-8") for path in Path(folder).iterdir() if not path.name.startswith(".")
    }
