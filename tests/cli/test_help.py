"""The help on terminals of any width, the exit codes, the manual page, and the overview."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.parsing.test_args import leaves
from tests.cli.person import Person
from tildone.base import errors
from tildone.cli import INTERRUPTED, PIPE_BROKEN, main
from tildone.cli.parsing import ROOT, parse
from tildone.cli.program.help import EXIT_CODES, manual_page
from tildone.cli.program.overview import ALL_CLOSED, NO_PLAN, OPEN_TASKS
from tildone.cli.table import command

NARROW = 40


@pytest.mark.parametrize("columns", [NARROW, 60, 80])
def test_help_fits_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is longer, except for a word that cannot be broken; and broken examples are the same commands."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for path in leaves((ROOT,)):
        main([*(verb.name for verb in path[1:]), "--help"])

        text = capsys.readouterr().out
        assert [line for line in text.splitlines() if len(line) > columns and not is_one_word(line)] == [], command(
            path
        )
        examples = text.partition("\nExamples:\n")[2].partition("\n\n")[0]
        joined = re.sub(r" \\\n +", " ", examples).splitlines()
        assert [line.strip().removeprefix("$ ") for line in joined] == list(path[-1].examples), command(path)


def is_one_word(line: str) -> bool:
    """Whether a line of an example is one word, in the sense of a shell, that no line break can shorten."""
    return len(shlex.split(line.strip().removeprefix("$ ").removesuffix(" \\"))) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_help_fits_a_real_narrow_terminal(person: Person) -> None:
    narrow = Person(person.folder, person.home, person.environ, NARROW)

    for argv in ([], ["--help"], ["help", "install"], ["help", "exit-codes"]):
        shown = narrow.at_terminal(*argv).end().out
        assert max(len(line) for line in shown.splitlines()) <= NARROW, shown


def test_the_help_names_no_hidden_verb(person: Person) -> None:
    assert not re.search(r"^  (complete-words|overview)", person.says("--help"), re.MULTILINE)
    assert "exit-codes" in person.says("--help")


def test_every_exit_code_is_explained(person: Person) -> None:
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    codes = {each.exit_code for each in kinds if hasattr(each, "exit_code")} | {0, INTERRUPTED, PIPE_BROKEN}

    assert {code for code, _ in EXIT_CODES} == codes
    said = person.says("help", "exit-codes")
    assert all(f"  {code} " in said and meaning.split()[0] in said for code, meaning in EXIT_CODES)
    assert all(str(code) in (errors.__doc__ or "") for code in codes)


def test_the_manual_page_has_every_verb_and_option(person: Person) -> None:
    page = person.says("help", "--man")

    assert page == manual_page(ROOT)
    plain = page.replace("\\-", "-").replace("\\(aq", "'")
    for path in leaves((ROOT,)):
        if not path[-1].hidden:
            assert f".SS {command(path)}" in plain
        assert all(f".B --{option.name}" in plain for option in path[-1].options)
    assert [line for line in page.splitlines() if line.startswith("'")] == []
    assert person.run("help", "--man", "todo").code == 2


def test_the_manual_page_can_be_formatted(tmp_path: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    (tmp_path / "tildone.1").write_text(manual_page(ROOT), encoding="utf-8")

    done = subprocess.run(
        [groff, "-man", "-ww", "-Tutf8", str(tmp_path / "tildone.1")], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "EXIT STATUS" in re.sub(r".\x08", "", done.stdout)


def test_the_overview_of_a_project_without_a_plan(person: Person) -> None:
    assert person.says() == (
        f"{person.folder}: no plan yet\n"
        "\n"
        '  tildone todo add "TASK"  add a task\n'
        '  tildone run "TASK"       let a model plan and work\n'
        "  tildone install          connect a coding agent\n"
        "  tildone --help           all commands\n"
    )


def test_the_overview_of_a_plan(person: Person) -> None:
    person.says("todo", "append", "Parse")
    person.says("todo", "append", "Print")
    person.says("todo", "done", "Parse")

    assert person.says().splitlines()[:4] == [
        f"{person.folder}: 1 of 2 tasks closed",
        "Next: #2 Print",
        "",
        "  tildone todo         show the plan",
    ]
    assert "  tildone todo done 2  " in person.says()
    person.says("pause")
    assert "Agents are paused; to resume: tildone resume\n" in person.says()
    person.says("todo", "done", "Print")
    assert person.says().splitlines()[0] == f"{person.folder}: all done"


def test_the_overview_of_another_session_and_outside_a_repository(person: Person) -> None:
    (person.folder / ".git").rmdir()
    person.says("todo", "append", "Tag", "--session", "release")

    assert person.says().startswith(f"{person.folder}: no plan yet\n")
    assert person.says("--session", "release").startswith("release: 0 of 1 tasks closed\n")


def test_the_overview_of_a_home_is_short(person: Person) -> None:
    home = Person(person.folder, person.folder.parent, person.environ)

    assert home.says().startswith("~/project: no plan yet\n")


def test_the_overview_of_a_store_that_cannot_be_opened_names_the_remedy(person: Person) -> None:
    (person.folder / "broken.db").write_text("not a database at all", encoding="utf-8")

    answer = person.run("--store", "broken.db")

    assert (answer.code, answer.out) == (5, "")
    assert answer.err == (
        f"tildone: {person.folder / 'broken.db'} is not a tildone store\nto check the store: tildone doctor\n"
    )


def test_hostile_text_cannot_move_the_screen(person: Person) -> None:
    person.says("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "a\u001b[2Jb"}]}')

    assert "\x1b" not in person.says()


def test_the_overview_suggests_a_few_commands_that_exist() -> None:
    for commands in (NO_PLAN, OPEN_TASKS, ALL_CLOSED):
        assert 2 <= len(commands) <= 4
        for words, _ in commands:
            _, *argv = shlex.split(words.format(number=1))
            assert parse(ROOT, argv).path, words
