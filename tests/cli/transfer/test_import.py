"""`tildone import`.

Plans and whole histories out of other programs' files, and a word about everything that is left out.
"""

import os
from pathlib import Path

import pytest

from tests.cli.person import Person

FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("TODO", "- [ ] a\n", "markdown"),
        ("list.txt", "- [ ] a\n", "markdown"),
        ("list.txt", "a\n", "todo.txt"),
        ("list", "(A) a\n", "todo.txt"),
        ("list", "x 2026-01-01 a\n", "todo.txt"),
        ("plan.MD", "[ ] no box\n", "markdown"),
        ("empty", "", "markdown"),
        ("data", '[{"content": "a"}]', "claude"),
        ("data.json", "[]", "claude"),
        ("data.md", '{"subject": "a"}', "claude"),
        ("notes.md", "[a] link\n- [ ] a\n", "markdown"),
    ],
)
def test_the_format_is_detected(person: Person, name: str, text: str, form: str) -> None:
    (person.folder / name).write_text(text, encoding="utf-8")

    [imported] = person.run("import", name, "--json").json["imported"]

    assert imported["format"] == form


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_windows_writes_is_read(person: Person, encoding: str) -> None:
    (person.folder / "plan.md").write_bytes("# Bäume\r\n- [ ] ä\r\n".encode(encoding))

    person.says("import", "plan.md")

    assert person.says("export") == "# Bäume\n- [ ] ä\n"


def test_what_is_nested_too_deeply_is_refused(person: Person) -> None:
    said = person.refused(3, "import", "-", "--from", "json", given="[" * 200_000)

    assert said == "tildone: could not read standard input as json: nested too deeply\n"


def test_file_names_and_content_are_made_printable(person: Person) -> None:
    name = "a\x1b[2J.md"
    if os.name == "nt":
        pytest.skip("no such name is possible")
    (person.folder / name).write_text("# H\n- [\x07] b\x1b[31m\n", encoding="utf-8")

    shown = person.at_terminal("import", name, NO_COLOR="1").end().out

    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "Imported a␛[2J.md: 1 task" in shown
    assert "unknown mark [␇]; the task is imported as pending" in shown


def test_a_session_on_standard_input_is_taken_over(person: Person) -> None:
    """Also through a pipe, which can be read only once."""
    for name, title in (("-", "standard input"), ("/dev/stdin", "/dev/stdin")):
        if name == "-" or Path(name).exists():
            copy = ("--store", f"{title.rpartition('/')[2]}.db")
            answer = person.run("import", name, *copy, given=(FILES / "pi-v3.jsonl").read_bytes())
            assert answer.out.startswith(
                f"Imported {title}: 3 events, into session '01a1dcac-0000-7000-8000-000000000003'\n"
            )
