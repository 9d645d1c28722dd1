"""Git for a worker, in a repository whose settings and attributes an agent has written."""

import subprocess
from pathlib import Path

import pytest

from tildone.fleet.git import Git, GitError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "file.txt").write_text("text\n")
    return folder


def configure(repository: Path, key: str, value: str) -> None:
    subprocess.run(["git", "-C", repository, "config", key, value], check=True)


def test_no_filter_of_the_repository_runs_and_no_secret_reaches_one(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    configure(repository, "filter.evil.clean", f"env > {seen}; cat")
    configure(repository, "filter.evil.required", "true")
    (repository / ".gitattributes").write_text("* filter=evil\n")
    git = Git(str(repository))

    git.run("add", "-A")
    git.run("commit", "-q", "-m", "checkpoint")

    assert not seen.exists()
    assert git.run("show", "HEAD:file.txt") == "text"


def test_a_filter_of_the_person_runs_without_their_secrets(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that of git-lfs. The agent cannot put another one in its place."""
    own, seen = tmp_path / "gitconfig", tmp_path / "seen"
    own.write_text('[filter "upper"]\n\tclean = tr a-z A-Z\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    configure(repository, "filter.upper.clean", f"touch {seen}; cat")
    (repository / ".gitattributes").write_text("*.txt filter=upper\n")
    git = Git(str(repository))

    git.run("add", "-A")

    assert not seen.exists()
    assert git.run("show", ":file.txt") == "TEXT"


@pytest.mark.parametrize(
    "key", ["diff.external", "core.sshCommand", "core.editor", "gpg.program", "credential.helper", "diff.evil.textconv"]
)
def test_no_other_program_of_the_repository_runs(repository: Path, tmp_path: Path, key: str) -> None:
    seen = tmp_path / "seen"
    configure(repository, key, f"touch {seen}; false")
    configure(repository, "commit.gpgSign", "true")
    (repository / ".gitattributes").write_text("* diff=evil\n")
    git = Git(str(repository))

    git.run("add", "-A")
    git.run("commit", "-q", "-m", "checkpoint")
    (repository / "file.txt").write_text("other\n")
    git.asks("diff", "HEAD")
    git.asks("ls-remote", "ssh://localhost:1/none")

    assert not seen.exists()


def test_a_program_that_cannot_be_overridden_is_an_error(repository: Path) -> None:
    configure(repository, "filter.a=b.clean", "cat")

    with pytest.raises(GitError, match="name a program in a way that cannot be overridden"):
        Git(str(repository)).run("add", "-A")
