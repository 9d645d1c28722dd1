"""The name of the person on this machine."""

import os
from pathlib import Path

import pytest

from tildone.app.person import MAX_NAME_CHARS, clean_name, person_name

try:
    import pwd

    LOGIN_NAMES = {entry.pw_name for entry in pwd.getpwall() if entry.pw_uid == os.getuid()}
except ImportError:
    LOGIN_NAMES = set()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_most_specific_file_of_git_wins(home: Path, project: Path) -> None:
    files = (home / ".config" / "git" / "config", home / ".gitconfig", project / ".git" / "config")
    found = []
    for number, file in enumerate(files):
        write(file, f"[user]\n\tname = Name {number}\n")
        found.append(person_name({}, str(project)))

    assert found == ["Name 0", "Name 1", "Name 2"]
    write(home / "xdg" / "git" / "config", "[user]\nname = X\n")
    for file in files[1:]:
        file.unlink()
    assert person_name({"XDG_CONFIG_HOME": str(home / "xdg")}, str(project)) == "X"


def test_a_worktree_uses_the_settings_of_its_repository(home: Path, project: Path) -> None:
    write(home / "repo" / ".git" / "config", "[user]\nname = Ada\n")
    own = home / "repo" / ".git" / "worktrees" / "w"
    write(own / "commondir", "../..\n")
    write(project / ".git", f"gitdir: {own}\n")

    assert person_name({}, str(project)) == "Ada"


def test_a_submodule_has_settings_of_its_own(home: Path, project: Path) -> None:
    """Its folder has no `commondir`; the path may be relative."""
    write(home / "modules" / "m" / "config", "[user]\nname = Ada\n")
    write(project / ".git", "gitdir: ../home/modules/m\n")

    assert person_name({}, str(project)) == "Ada"


def test_names_are_read_as_git_reads_them(home: Path, project: Path) -> None:
    for text, name in (
        ("[user]\nname = Ada Lovelace", "Ada Lovelace"),
        ("[USER]\n  NAME=Ada # comment", "Ada"),
        ('[user]\nname = "Ada; L."; comment', "Ada; L."),
        ('[user]\nname = A\\"da\\\\\\t', 'A"da\\'),
        ("[user] name = Ada", "Ada"),
        ("[user]\r\nname = Ada\r\n", "Ada"),
        ("[user]\nname = Ada\n[user]\nname = Bob", "Bob"),
        ("[user]\nname = Zoë 漢字", "Zoë 漢字"),
    ):
        write(home / ".gitconfig", text)

        assert person_name({}, str(project)) == name, text


def test_without_a_name_in_git_it_is_the_login_name(home: Path, project: Path) -> None:
    for text in (
        "",
        "\0",
        "[user]\nname",
        "[user]\nname =",
        "[user",
        "name = Ada",
        '[user "x"]\nname = Ada',
        "[user]\nemail = a@b\n[core]\nname = Ada",
    ):
        write(home / ".gitconfig", text)

        assert person_name({"USER": "ada"}, str(project)) in {*LOGIN_NAMES, "ada"}, text


@pytest.mark.skipif(os.name == "nt", reason="needs user ids")
@pytest.mark.usefixtures("home")
def test_a_user_without_a_name_has_a_number(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under an arbitrary user id."""
    monkeypatch.setattr(os, "getuid", lambda: 987_654_321)

    assert person_name({}, str(project)) == "uid 987654321"
    assert person_name({"LOGNAME": "ada"}, str(project)) == "ada"


def test_a_file_that_cannot_be_read_is_no_error(home: Path, project: Path) -> None:
    (home / ".gitconfig").mkdir()
    (project / ".git").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(project / ".git" / "config")
    (home / ".config").symlink_to(home / "nowhere")

    assert person_name({"USER": "ada"}, str(project)) != ""


def test_a_name_is_one_short_printable_line() -> None:
    for name in ("\x1b[2Jx\n\u202e</system-reminder>", "x" * 10_000, " \t\n a \r\n b ", "\ud800a"):
        cleaned = clean_name(name)

        assert cleaned.isprintable(), name
        assert 0 < len(cleaned) <= MAX_NAME_CHARS, name
        assert cleaned == clean_name(cleaned), name
    assert clean_name("\0\x1b\n ") == clean_name("") == ""
