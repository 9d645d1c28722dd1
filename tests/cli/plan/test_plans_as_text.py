"""A plan as text: in an editor, on the clipboard, and as a file that leaves and comes back whole."""

import base64
import os
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Answer, Person

ADD = 'printf -- "- [ ] added\\n" >> "$1"'
SPOIL = 'printf -- "nonsense\\n" >> "$1"'


@pytest.fixture
def editors(tmp_path: Path) -> Path:
    """A folder for editors, which are shell scripts, and one for the drafts they are given."""
    if os.name == "nt":
        pytest.skip("the editors are shell scripts")
    folder = tmp_path / "editors"
    folder.mkdir()
    (tmp_path / "drafts").mkdir()
    return folder


def editor(folder: Path, script: str) -> dict[str, str]:
    """An editor that does this, and the environment in which it is the person's."""
    file = folder / "my editor"
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)
    return {"EDITOR": f'"{file}"', "TMPDIR": str(folder.parent / "drafts")}


def drafts(folder: Path) -> list[Path]:
    return list((folder.parent / "drafts").iterdir())


def kept(answer: Answer, folder: Path) -> str:
    """The text that an answer says is kept, which is the only one there is."""
    [file] = drafts(folder)
    assert f"Your text is kept in {file}; to use it: tildone todo import {file}" in answer.err + answer.out
    return file.read_text(encoding="utf-8")


def test_at_a_terminal_a_text_that_cannot_be_read_is_opened_again(person: Person, editors: Path) -> None:
    """The second time, the editor finds its text as it left it and sets it right."""
    person.says("todo", "add", "one")
    again = 'if grep -q nonsense "$1"; then echo "- [x] right" > "$1"; else echo nonsense >> "$1"; fi'
    terminal = person.at_terminal("todo", "edit", **editor(editors, again))

    terminal.until("Press Enter")
    terminal.type(b"\n")
    answer = terminal.end()

    assert answer.code == 0
    assert "line 2" in answer.out
    assert person.says("todo", "export", "-") == "- [x] right\n"
    assert drafts(editors) == []


@pytest.mark.parametrize("key", [CTRL_C, b"\x04"])
def test_at_a_terminal_one_may_stop_and_the_text_is_kept(person: Person, editors: Path, key: bytes) -> None:
    person.says("todo", "add", "one")
    terminal = person.at_terminal("todo", "edit", **editor(editors, SPOIL))

    terminal.until("Press Enter to edit it again, Ctrl-C to cancel: ")
    terminal.type(key)
    answer = terminal.end()

    assert answer.code == 3
    assert kept(answer, editors) == "- [ ] one\nnonsense\n"


def test_ctrl_c_belongs_to_the_editor_while_it_is_open(person: Person, editors: Path) -> None:
    person.says("todo", "add", "one")
    patient = f"trap '{ADD}; exit 0' INT; echo ready; while :; do read line; done"
    terminal = person.at_terminal("todo", "edit", **editor(editors, patient))

    terminal.until("ready")
    terminal.type(CTRL_C)
    assert terminal.end().code == 0
    assert person.says("todo", "export", "-") == "- [ ] one\n- [ ] added\n"


TEXT = "- [ ] ünïcode\n"


def test_without_a_clipboard_the_plan_is_printed_and_a_terminal_is_asked_to_copy(person: Person) -> None:
    person.says("todo", "add", "ünïcode")

    answer = person.run("todo", "copy")

    assert (answer.code, answer.out) == (0, TEXT)
    assert answer.err == "tildone: no clipboard is available; the plan was printed instead\n"

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


def test_whatever_a_text_holds_comes_back(person: Person) -> None:
    nasty = r'{"mode": "replace", "todos": [{"text": "a\n- [x] b\u001b \ud800 \r\u2028"}, {"text": " # c "}]}'
    person.says("call", "write_todos", nasty)
    before = [task["text"] for task in person.run("blame", "--json").json["tasks"]]

    answer = person.shell("tildone todo export plan.md && tildone todo import --session copy plan.md")

    assert (answer.code, answer.err) == (0, "")
    assert [task["text"] for task in person.run("blame", "--json", "--session", "copy").json["tasks"]] == before
