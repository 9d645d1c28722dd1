"""A plan as text: in an editor, on the clipboard, and as a file that leaves and comes back whole."""

import base64
import os
import re
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Answer, Person
from tests.suite.forking import PROGRAM
from tildone.base.desktop import programs

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


def test_what_is_saved_becomes_the_plan(person: Person, editors: Path) -> None:
    person.says("todo", "add", "one")

    said = person.says("todo", "edit", **editor(editors, ADD))

    assert said == "Saved: 2 tasks in 1 phase\n0 of 2 closed. Next: #1 one\n"
    assert drafts(editors) == []


def test_visual_comes_before_editor_and_may_have_options(person: Person, editors: Path) -> None:
    environ = editor(editors, '[ "$1" = --wait ] && cp "$2" seen.md')
    person.says("todo", "add", "one")

    said = person.says("todo", "edit", **environ | {"EDITOR": "false", "VISUAL": f"{environ['EDITOR']} --wait"})

    assert said == "Nothing changed.\n"
    assert (person.folder / "seen.md").read_text(encoding="utf-8") == "- [ ] one\n"


def test_a_text_edited_in_place_keeps_its_number_and_the_way_back_is_told(person: Person, editors: Path) -> None:
    person.says("todo", "add", "task a", "task b", "task c")
    person.says("todo", "rm", "1")

    said = person.says("todo", "edit", **editor(editors, 'sed s/b/B/ "$1" > new && cat new > "$1"'))

    assert said == "Saved: 2 tasks in 1 phase\n0 of 2 closed. Next: #2 task B\nTo undo: tildone undo\n"
    assert person.says("todo") == "– #2 task B\n– #3 task c\n"


def test_an_edit_can_be_printed_as_json(person: Person, editors: Path) -> None:
    person.says("todo", "add", "one")

    assert person.run("todo", "edit", "--json", **editor(editors, ADD)).json["changed"] == [2]
    assert person.run("todo", "edit", "--json", **editor(editors, "true")).json["changed"] == []


def test_an_empty_plan_opens_with_something_to_replace_and_a_flat_list_stays_flat(
    person: Person, editors: Path
) -> None:
    assert person.says("todo", "edit", **editor(editors, 'cp "$1" seen.md')) == "Nothing changed.\n"
    assert (person.folder / "seen.md").read_text(encoding="utf-8").startswith("# Todos\n- [ ] (")
    assert person.says("todo").startswith("No tasks")

    person.says("call", "write_todos", '{"mode": "replace", "todos": [{"text": "one"}]}')

    person.says("todo", "edit", **editor(editors, ADD))

    assert person.says("todo") == "– #1 [0] one\n– #2 [1] added\n"


@pytest.mark.skipif(os.name == "nt", reason="the editors are shell scripts")
def test_without_an_editor_the_person_is_told_how_to_name_one(person: Person) -> None:
    assert person.refused(2, "todo", "edit").startswith("tildone: no editor is configured; set $VISUAL or $EDITOR")


def test_an_editor_that_cannot_be_started_is_said(person: Person, editors: Path) -> None:
    answer = person.run("todo", "edit", **editor(editors, "") | {"EDITOR": "/nonexistent/editor"})

    assert answer.code == 1
    assert answer.err == ("tildone: nothing was edited: cannot run /nonexistent/editor: No such file or directory\n")
    assert drafts(editors) == []

    answer = person.run("todo", "edit", **editor(editors, "") | {"EDITOR": 'vi "'})

    assert (answer.code, answer.err) == (1, 'tildone: nothing was edited: cannot run vi ": No closing quotation\n')
    assert drafts(editors) == []


@pytest.mark.parametrize(("before", "left"), [("true", 0), (ADD, 1)])
def test_an_editor_that_fails_changes_nothing_and_what_was_typed_is_kept(
    person: Person, editors: Path, before: str, left: int
) -> None:
    person.says("todo", "add", "one")

    answer = person.run("todo", "edit", **editor(editors, f"{before}; exit 7"))

    assert (answer.code, answer.out) == (1, "")
    assert "my editor exited with code 7" in answer.err
    assert len(drafts(editors)) == left
    assert person.says("todo", "export", "-") == "- [ ] one\n"


def test_a_text_that_cannot_be_read_is_kept_with_its_mistakes_named(person: Person, editors: Path) -> None:
    person.says("todo", "add", "one")

    answer = person.run("todo", "edit", **editor(editors, SPOIL))

    assert (answer.code, answer.out) == (3, "")
    assert "could not read that as a plan:\n  line 2: not a heading" in answer.err
    assert kept(answer, editors) == "- [ ] one\nnonsense\n"
    assert person.says("todo", "export", "-") == "- [ ] one\n"


def test_a_text_that_is_not_utf8_is_kept_as_it_was_saved(person: Person, editors: Path) -> None:
    person.says("todo", "add", "one")

    answer = person.run("todo", "edit", **editor(editors, r'printf "%b" "- [ ] caf\0351\n" > "$1"'))

    assert answer.code == 1
    assert "what you saved is not UTF-8 text" in answer.err
    assert [file.read_bytes() for file in drafts(editors)] == [b"- [ ] caf\xe9\n"]


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


def test_a_plan_that_changed_meanwhile_is_not_overwritten(person: Person, editors: Path) -> None:
    person.says("todo", "add", "one")

    answer = person.run("todo", "edit", **editor(editors, f"{ADD}; '{PROGRAM}' todo done one >/dev/null"))

    assert answer.code == 3
    assert "the plan has changed while you edited it" in answer.err
    assert kept(answer, editors).endswith("- [ ] added\n")
    assert person.says("todo", "export", "-") == "- [x] one\n"


def test_a_text_that_breaks_a_rule_is_kept(person: Person, editors: Path) -> None:
    person.says("call", "write_todos", '{"mode": "replace", "todos": [{"text": "one"}]}')

    answer = person.run("todo", "edit", **editor(editors, f'printf -- "- [ ] {"x" * 1001}\\n" >> "$1"'))

    assert answer.code == 3
    assert re.search("new task 2 is longer than 1000 characters", answer.err)
    assert len(kept(answer, editors)) > 1000


def test_a_check_is_set_and_removed_by_its_line(person: Person, editors: Path) -> None:
    """What a person types is approved in the same step; without the line, the task has no check."""
    person.says("todo", "add", "one", "two", "three")

    person.says(
        "todo",
        "edit",
        **editor(editors, 'sed -e "1a\\  \\$ test -e done" -e "3a\\  (after 1)" "$1" > n && cat n > "$1"'),
    )
    one, _, three = person.run("todo", "export", "-").out.split("- [ ] ")[1:]
    person.run("todo", "done", "1")
    held = person.run("todo", "export", "-").out
    (person.folder / "done").touch()
    person.says("todo", "done", "1")
    after = person.run("todo", "export", "-").out

    assert (one, three) == ("one\n  $ test -e done\n", "three\n  (after 1)\n")
    assert "- [x]" not in held
    assert after.startswith("- [x] one\n  $ test -e done\n")

    person.says("todo", "edit", **editor(editors, 'sed -e "/test -e/d" -e "/after/d" "$1" > n && cat n > "$1"'))

    assert person.run("todo", "export", "-").out == "- [x] one\n- [ ] two\n- [ ] three\n"


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


def test_only_programs_that_can_work_here_are_tried() -> None:
    for platform, environ, names in (
        ("darwin", {}, ["pbcopy"]),
        ("win32", {}, ["clip"]),
        ("linux", {}, []),
        ("linux", {"DISPLAY": ":0"}, ["xclip", "xsel"]),
        ("linux", {"DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}, ["wl-copy", "xclip", "xsel"]),
    ):
        assert [name for name, *_ in programs(platform, environ)] == names, platform


PHASED_TEXT = "# Build\n- [x] Parse\n  > see the grammar\n- [/] Wire up\n\n# Ship\n- [ ] Tell\n"


def test_a_plan_leaves_and_comes_back(person: Person) -> None:
    assert person.says("todo", "import", "-", given=PHASED_TEXT).startswith(
        "Imported standard input: 3 tasks in 2 phases\n1 of 3 closed."
    )

    assert person.says("todo", "export") == "Wrote the plan to TODO.md\n"

    assert (person.folder / "TODO.md").read_bytes().decode() == PHASED_TEXT
    person.says("todo", "rm", "--all")
    assert person.says("todo", "import").startswith("Imported TODO.md: 3 tasks in 2 phases\n")
    assert person.says("todo", "export", "-") == PHASED_TEXT
    assert person.run("log", "--json", "--limit", "1").json["events"][0]["actor"] == "import"


def test_whatever_a_text_holds_comes_back(person: Person) -> None:
    nasty = r'{"mode": "replace", "todos": [{"text": "a\n- [x] b\u001b \ud800 \r\u2028"}, {"text": " # c "}]}'
    person.says("call", "write_todos", nasty)
    before = [task["text"] for task in person.run("blame", "--json").json["tasks"]]

    answer = person.shell("tildone todo export plan.md && tildone todo import --session copy plan.md")

    assert (answer.code, answer.err) == (0, "")
    assert [task["text"] for task in person.run("blame", "--json", "--session", "copy").json["tasks"]] == before


@pytest.mark.parametrize("held", ["# Notes\n\nSome prose.\n", "\xff", "- [x] done\nMore.\n"])
def test_a_file_that_is_no_checklist_is_kept_unless_forced(person: Person, held: str) -> None:
    file = person.folder / "NOTES.md"
    file.write_bytes(held.encode("latin-1"))
    person.says("todo", "add", "one")

    assert (
        person.refused(3, "todo", "export", "NOTES.md")
        == "tildone: NOTES.md contains more than a checklist; to overwrite it, use --force\n"
    )
    assert file.read_bytes() == held.encode("latin-1")
    person.says("todo", "export", "NOTES.md", "--force")
    assert file.read_text(encoding="utf-8") == "- [ ] one\n"


@pytest.mark.parametrize("held", ["", "# Old\n- [ ] old\n"])
def test_a_checklist_is_replaced(person: Person, held: str) -> None:
    (person.folder / "TODO.md").write_text(held, encoding="utf-8")
    person.says("todo", "add", "one")

    person.says("todo", "export")

    assert (person.folder / "TODO.md").read_text(encoding="utf-8") == "- [ ] one\n"


@pytest.mark.parametrize("verb", ["export", "copy"])
def test_without_a_plan_there_is_nothing_to_take_away(person: Person, verb: str) -> None:
    assert (
        person.refused(3, "todo", verb)
        == f"tildone: there is no plan to {verb}; add a task with: tildone todo add TEXT\n"
    )
    assert not (person.folder / "TODO.md").exists()


def test_a_file_that_cannot_be_written_or_read_is_said_with_every_line_and_nothing_changes(person: Person) -> None:
    person.says("todo", "add", "one")

    answer = person.run("todo", "export", "nope/x.md")

    assert (answer.code, answer.err) == (1, "tildone: could not write nope/x.md: No such file or directory\n")
    assert person.run("todo", "export", ".").code == 1

    (person.folder / "bad.md").write_text("# A\nnonsense\n- [q] x\n", encoding="utf-8")

    assert person.refused(3, "todo", "import", "bad.md") == (
        "tildone: could not read bad.md as a plan:\n"
        "  line 2: not a heading (# name), a task (- [ ] text) or a note (> text)\n"
        "  line 3: unknown mark [q]; known are [ ], [/], [x], [-] and [!]\n"
    )
    assert person.says("todo", "export", "-") == "- [ ] one\n"


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a heading\n"])
def test_a_file_without_a_task_does_not_wipe_a_plan_unless_forced(person: Person, text: str) -> None:
    person.says("todo", "add", "one")
    (person.folder / "TODO.md").write_text(text, encoding="utf-8")

    assert person.refused(3, "todo", "import") == (
        "tildone: TODO.md contains no tasks; to empty the plan, use --force or: tildone todo rm --all\n"
    )
    assert person.run("todo", "import", "--force").code == 0
    assert person.says("todo").startswith("No tasks")


def test_windows_line_ends_are_read_and_an_empty_file_for_an_empty_plan_is_no_matter(person: Person) -> None:
    assert person.says("todo", "import", "-") == "Imported standard input: 0 tasks in 0 phases\nNothing changed.\n"

    (person.folder / "TODO.md").write_bytes(b"\xef\xbb\xbf" + PHASED_TEXT.replace("\n", "\r\n").encode())

    person.says("todo", "import")

    assert person.says("todo", "export", "-") == PHASED_TEXT


@pytest.mark.skipif(os.name == "nt", reason="Windows says it differently")
def test_a_file_that_cannot_be_opened_is_said(person: Person) -> None:
    (person.folder / "binary").write_bytes(b"\xff\xfe")
    for path, complaint in (
        ("gone.md", "No such file or directory"),
        (".", "Is a directory"),
        ("binary", "it is not UTF-8 text"),
    ):
        answer = person.run("todo", "import", path)

        assert (answer.code, answer.err) == (1, f"tildone: could not read {path}: {complaint}\n"), path


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_an_export_to_the_default_name_follows_no_link_out_of_the_project(person: Person) -> None:
    """A repository may contain one; a file that the person names is their own choice."""
    person.says("todo", "add", "one")
    outside = person.home / "notes.md"
    outside.write_text("")
    (person.folder / "TODO.md").symlink_to(outside)

    answer = person.run("todo", "export", "--force")

    assert (answer.code, outside.read_text()) == (3, "")
    assert f"{person.folder / 'TODO.md'} is a symbolic link to {outside}, outside of {person.folder}" in answer.err
