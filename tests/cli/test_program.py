"""The program as a whole: help everywhere, an exit code for every kind of trouble, and no time lost."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.parsing.test_args import leaves
from tests.cli.person import Person
from tests.suite.forking import PROGRAM, starting
from tests.trusted import write_trusted
from tildone.cli import main
from tildone.cli.parsing import ROOT
from tildone.cli.table import command
from tildone.plan.dialects import DIALECTS, tools_of

SERVING = {"board", "mcp", "run", "watch", "work"}
"""Verbs that serve or run until they are ended."""

SLOW = {"argparse", "asyncio", "dataclasses", "inspect", "logging", "pathlib", "subprocess", "tomllib", "typing"}


def test_every_verb_helps(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, however it is asked for; it fits a terminal, and it ends with something to copy."""
    monkeypatch.delenv("COLUMNS", raising=False)
    for path in leaves((ROOT,)):
        words = [verb.name for verb in path[1:]]
        assert main([*words, "--help"]) == 0
        text = capsys.readouterr().out
        assert main(["help", *words]) == 0

        assert capsys.readouterr().out == text
        assert text.startswith(command(path))
        assert [line for line in text.splitlines() if len(line) > 110] == [], words
        assert [example for example in path[-1].examples if f"  $ {example}\n" not in text] == [], words


def test_the_help_for_calls_names_every_tool(capsys: pytest.CaptureFixture[str]) -> None:
    main(["call", "--help"])

    text = " ".join(capsys.readouterr().out.split())
    assert all(f"{', '.join(tools_of(dialect))} ({dialect})" in text for dialect in DIALECTS)


def test_the_short_option_shows_the_help(person: Person) -> None:
    assert person.says("--help") == person.says("-h") == person.says("help")


def test_every_verb_starts(person: Person) -> None:
    """In an interpreter of its own, which has imported nothing else before; most are given too little to do more."""
    person.says("todo", "append", "one")
    codes = {}
    for path in leaves((ROOT,)):
        words = [verb.name for verb in path[1:]]
        rest = ["--help"] if SERVING & {*words} else ["x"] * path[-1].min_args
        with starting():
            answer = person.run(*words, *rest)
        assert "Traceback" not in answer.err, (words, answer)
        codes[command(path)] = answer.code

    assert {name: code for name, code in codes.items() if code not in range(6)} == {}
    assert codes["tildone todo list"] == codes["tildone log"] == codes["tildone status"] == 0


def test_the_package_runs_as_a_module(person: Person) -> None:
    script = (
        "import runpy, sys; sys.argv = ['tildone', 'todo', 'nope']; runpy.run_module('tildone', run_name='__main__')"
    )
    done = person.python(script)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("tildone: tildone todo has no verb 'nope'; ")


def test_every_kind_of_trouble_has_its_exit_code_and_one_line(person: Person) -> None:
    person.says("todo", "append", "one")
    (person.folder / "not-a-store").write_text("Once upon a time, there was no database.", encoding="utf-8")
    for argv, code, complaint in (
        (["todo", "export", "/nonexistent/x.md"], 1, "could not write /nonexistent/x.md: "),
        (["todo", "--colour"], 2, "tildone todo has no option --colour; "),
        (["log", "--limit", "few"], 2, "--limit requires a positive number, not 'few'"),
        (["todo", "--dialect", "index"], 2, "there is no dialect 'index'; did you mean 'indexed'?"),
        (["todo", "--store", "mysql://host/x"], 2, "there are no mysql:// stores; a store is a file, "),
        (["todo", "--store", "postgre://host/x"], 2, "there are no postgre:// stores; did you mean 'postgresql' or "),
        (["todo", "--store", "josnl:plans"], 2, "there are no josnl: stores; did you mean 'jsonl'?"),
        (["redo"], 3, "nothing to redo"),
        (["todo", "start", "nothing"], 4, 'no task has "nothing" in it'),
        (["todo", "--store", "not-a-store"], 5, ""),
        (["todo", "--store", "."], 5, ""),
        (["todo", "--store", "not-a-store/below"], 5, ""),
    ):
        answer = person.run(*argv)

        assert (answer.code, answer.out) == (code, ""), argv
        assert answer.err.startswith(f"tildone: {complaint}"), argv
        assert answer.err.count("\n") == 1, argv


def test_a_settings_file_that_makes_no_sense_stops_the_program(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", "sesion = 1\n", person.environment({}))

    answer = person.run("todo")

    assert (answer.code, answer.err) == (
        2,
        f"tildone: {person.folder / 'tildone.toml'}, line 1: there is no setting 'sesion'; did you mean 'session'?\n",
    )


def test_a_folder_that_is_gone_is_said(person: Person) -> None:
    answer = person.shell("mkdir gone && cd gone && rmdir ../gone && tildone todo")

    assert answer.code == 2
    # In a path with spaces the program is started by a shell, which may complain first.
    assert answer.err.endswith("tildone: the working folder no longer exists; change to another one\n")
    assert "Traceback" not in answer.err


def test_no_slow_module_is_imported(person: Person) -> None:
    """Imports take most of the time of a command."""
    person.says("todo", "append", "one")
    for argv in (
        ["todo"],
        ["todo", "append", "x"],
        ["todo", "start", "one"],
        ["call", "todo_write", "{}"],
        ["call", "list_todos", "{}"],
        ["call", "TodoWrite", "{}"],
        ["log"],
        ["undo"],
        ["sessions"],
        ["--help"],
    ):
        assert imported(person, argv) & SLOW == set(), argv


def test_a_verb_imports_no_integrations_for_the_sake_of_help_texts(person: Person) -> None:
    assert "tildone.agents.integrations" not in imported(person, ["todo"])
    assert "tildone.agents.integrations" in imported(person, ["help", "install"])


def imported(person: Person, argv: list[str]) -> set[str]:
    """The modules that a command imports."""
    program = (
        "import sys; before = set(sys.modules); from tildone.cli import main; main(sys.argv[1:]);"
        "print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    return set(person.python(program, *argv).err.splitlines()[-1].split())


def test_two_people_at_once_lose_nothing(person: Person) -> None:
    """Every process thinks again when another was faster."""
    running = [
        subprocess.Popen(
            [PROGRAM, "todo", "append", f"task {number}"],
            cwd=person.folder,
            env=person.environment({}),
            stdout=subprocess.DEVNULL,
        )
        for number in range(6)
    ]

    codes = [process.wait(timeout=60) for process in running]

    assert codes == [0] * 6
    texts = [task["text"] for task in person.run("blame", "--json").json["tasks"]]
    assert sorted(texts) == [f"task {number}" for number in range(6)]


def test_the_program_is_the_one_that_was_installed() -> None:
    assert Path(PROGRAM).exists()
