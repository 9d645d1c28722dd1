"""`tildone todo copy`: by a program, by the terminal, or by printing."""

import base64
import os
from pathlib import Path

import pytest

from tests.cli.person import Person
from tildone.run.extensions.presence import programs

TEXT = "- [ ] ünïcode\n"


def test_without_a_clipboard_the_plan_is_printed(person: Person) -> None:
    person.says("todo", "add", "ünïcode")

    answer = person.run("todo", "copy")

    assert (answer.code, answer.out) == (0, TEXT)
    assert answer.err == "tildone: no clipboard is available; the plan was printed instead\n"


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_terminal_is_asked_to_copy(person: Person) -> None:
    person.says("todo", "add", "ünïcode")

    shown = person.at_terminal("todo", "copy").end()

    asked, said = shown.out.split("\x07")
    assert base64.b64decode(asked.removeprefix("\x1b]52;c;")).decode() == TEXT
    assert said == "Sent the plan to your terminal's clipboard\n"


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
@pytest.mark.parametrize(
    ("name", "variable"), [("wl-copy", "WAYLAND_DISPLAY"), ("xclip", "DISPLAY"), ("xsel", "DISPLAY")]
)
def test_a_program_takes_the_text(person: Person, tmp_path: Path, name: str, variable: str) -> None:
    program = tmp_path / name
    program.write_text(f'#!/bin/sh\ncat > "{tmp_path}/clipboard"\n', encoding="utf-8")
    program.chmod(0o755)
    person.says("todo", "add", "ünïcode")

    said = person.says("todo", "copy", **{variable: ":0", "PATH": f"{tmp_path}:/usr/bin:/bin"})

    assert said == "Copied the plan as Markdown\n"
    assert (tmp_path / "clipboard").read_text(encoding="utf-8") == TEXT


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
def test_a_program_that_fails_gives_way_to_the_next(person: Person, tmp_path: Path) -> None:
    for name, script in (("xclip", "exit 1"), ("xsel", f'cat > "{tmp_path}/clipboard"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    person.says("todo", "add", "ünïcode")

    person.says("todo", "copy", DISPLAY=":0", PATH=f"{tmp_path}:/usr/bin:/bin")

    assert (tmp_path / "clipboard").read_text(encoding="utf-8") == TEXT


def test_only_programs_that_can_work_here_are_tried() -> None:
    for platform, environ, names in (
        ("darwin", {}, ["pbcopy"]),
        ("win32", {}, ["clip"]),
        ("linux", {}, []),
        ("linux", {"DISPLAY": ":0"}, ["xclip", "xsel"]),
        ("linux", {"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, ["wl-copy", "xclip", "xsel"]),
    ):
        assert [name for name, *_ in programs(platform, environ)] == names, platform
