"""Symbolic links that a repository contains do not lead an installation out of the project."""

import os
from pathlib import Path

import pytest

from tests.cli.person import Person
from tildone.agents.install.backups import Backups
from tildone.agents.install.files import ObjectMember, install, install_changes
from tildone.base.errors import Refused
from tildone.base.files import replace_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")

LINKS = {".claude/settings.json": ".bashrc", ".mcp.json": "servers.json", ".claude": "folder"}


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("exists", [True, False], ids=["existing", "dangling"])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_link_out_of_the_project_is_refused(person: Person, verb: str, link: str, *, exists: bool) -> None:
    """By name; neither its target nor any other file is changed."""
    target = person.home / LINKS[link]
    if exists and link == ".claude":
        target.mkdir()
        (target / "settings.json").write_text("{}\n")
    elif exists:
        target.write_text("{}\n")
    (person.folder / link).parent.mkdir(exist_ok=True)
    (person.folder / link).symlink_to(target)
    before = content(person.home), content(person.folder)

    options = ["--no-check"] if verb == "install" else []
    answer = person.run(verb, "claude", "--scope", "project", *options)

    assert answer.code == 3
    assert f"{person.folder / link} is a symbolic link to {target}, outside of {person.folder}" in answer.err
    assert (content(person.home), content(person.folder)) == before


def test_a_link_within_the_project_is_followed(person: Person) -> None:
    (person.folder / "shared").mkdir()
    (person.folder / ".claude").symlink_to("shared")

    person.says("install", "claude", "--scope", "project", "--no-check")

    assert "tildone" in (person.folder / "shared" / "settings.json").read_text()
    person.says("uninstall", "claude", "--scope", "project")
    assert not (person.folder / "shared" / "settings.json").exists()


def test_a_plugin_folder_is_not_left_either(person: Person) -> None:
    (person.folder / "plugin").mkdir()
    (person.folder / "plugin" / "commands").symlink_to(person.home)

    answer = person.run("install", "claude", "--as-plugin", "plugin")

    assert answer.code == 3
    assert content(person.home) == {}


def test_a_folder_that_becomes_a_link_before_it_is_written_is_noticed(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / ".claude").mkdir(parents=True)
    outside.mkdir()
    backups = Backups(str(tmp_path / "data"))
    edit = ObjectMember(str(project / ".claude" / "settings.json"), ("a",), 1)
    [change] = install_changes([edit], backups, str(project))

    (project / ".claude").rmdir()
    (project / ".claude").symlink_to(outside)

    with pytest.raises(Refused, match="is a symbolic link to"):
        install(change, backups)
    assert content(outside) == {}


def test_a_link_at_the_name_of_a_draft_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name cannot be guessed; if it could, the link would still stay unused."""
    outside = tmp_path / "outside"
    outside.write_text("mine")
    replace_file(str(tmp_path / "settings"), b"x")
    monkeypatch.setattr(os, "urandom", bytes)
    (tmp_path / f".tildone-{'00' * 6}.tmp").symlink_to(outside)

    with pytest.raises(FileExistsError):
        replace_file(str(tmp_path / "settings"), b"y")

    assert (outside.read_text(), (tmp_path / "settings").read_text()) == ("mine", "x")
