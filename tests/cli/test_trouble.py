"""Trouble around the program: no home, no place to write, no working folder. One line says what to do."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.person import Person
from tildone.base.errors import TildoneError
from tildone.base.files import read_text, write_text


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder where nobody can write")
def test_a_home_that_does_not_exist_can_be_read(person: Person) -> None:
    for argv in ([], ["todo"], ["log"], ["status"], ["sessions"], ["doctor"], ["--help"]):
        answer = person.run(*argv, HOME="/proc/nowhere")

        assert answer.code in (0, 5 if argv == ["doctor"] else 0), argv
        assert "Traceback" not in answer.err, argv


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder where nobody can write")
def test_a_home_that_cannot_be_written_is_said_with_a_remedy(person: Person) -> None:
    for argv in (["todo", "append", "x"], ["pause"], ["call", "list_todos", "{}"]):
        answer = person.run(*argv, HOME="/proc/nowhere")

        assert (answer.code, answer.out) == (5, ""), argv
        assert answer.err == (
            "tildone: cannot open /proc/nowhere/.local/share/tildone/tildone.db: No such file or directory; "
            "choose another place with --store or $TILDONE_STORE\n"
        ), argv


@pytest.mark.parametrize("home", [{"HOME": ""}, {"HOME": "", "XDG_CONFIG_HOME": "config"}])
def test_without_a_home_nothing_is_written_to_a_guessed_place(person: Person, home: dict[str, str]) -> None:
    """An empty HOME is none: the user's own folder is found in the user database."""
    answer = person.run("doctor", "--json", **home)

    assert "Traceback" not in answer.err
    assert not os.path.exists("/.local")
    assert sorted(os.listdir(person.folder)) == [".git"]


def test_without_home_and_user_the_home_must_be_named(person: Person) -> None:
    script = "import os, sys; os.environ.pop('HOME', None); import pwd; pwd.getpwuid = lambda _: {}['nobody'];"
    script += "from tildone.cli import main; sys.exit(main(['todo']))"
    answer = person.shell(f'"{sys.executable}" -c "{script}"')

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "tildone: your home folder is not known; set $HOME\n"


def test_a_file_that_cannot_be_read_is_not_said_to_be_unwritable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "plan.md"
    file.write_text("x", encoding="utf-8")

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(TildoneError, match=r"could not read .*plan\.md: Permission denied"):
        read_text(str(file))
    monkeypatch.undo()
    with pytest.raises(TildoneError, match=r"could not write .*: "):
        write_text(str(tmp_path / "missing" / "plan.md"), "x")
