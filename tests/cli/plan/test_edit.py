"""`tildone todo edit`: an editor of the person's choice, and nothing typed is ever lost."""

import os
import re
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Answer, Person
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the editors are shell scripts")

ADD = 'printf -- "- [ ] added\\n" >> "$1"'
SPOIL = 'printf -- "nonsense\\n" >> "$1"'


@pytest.fixture
def editors(tmp_path: Path) -> Path:
    """A folder for editors, and one for the drafts they are given."""
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


def test_an_empty_plan_opens_with_something_to_replace(person: Person, editors: Path) -> None:
    said = person.says("todo", "edit", **editor(editors, 'cp "$1" seen.md'))

    assert said == "Nothing changed.\n"
    assert (person.folder / "seen.md").read_text(encoding="utf-8").startswith("# Todos\n- [ ] (")
    assert person.says("todo").startswith("No tasks")


def test_a_flat_list_stays_flat(person: Person, editors: Path) -> None:
    person.says("call", "write_todos", '{"mode": "replace", "todos": [{"text": "one"}]}')

    person.says("todo", "edit", **editor(editors, ADD))

    assert person.says("todo") == "– #1 [0] one\n– #2 [1] added\n"


def test_without_an_editor_the_person_is_told_how_to_name_one(person: Person) -> None:
    answer = person.run("todo", "edit")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("tildone: no editor is configured; set $VISUAL or $EDITOR")


def test_an_editor_that_does_not_exist_is_said(person: Person, editors: Path) -> None:
    answer = person.run("todo", "edit", **editor(editors, "") | {"EDITOR": "/nonexistent/editor"})

    assert answer.code == 1
    assert answer.err == ("tildone: nothing was edited: cannot run /nonexistent/editor: No such file or directory\n")
    assert drafts(editors) == []


def test_an_editor_with_an_unclosed_quotation_is_said(person: Person, editors: Path) -> None:
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
    answer = terminal.end()

    assert answer.code == 0
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
