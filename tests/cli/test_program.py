"""The program as a whole: help everywhere, an exit code for every kind of trouble, and an end that loses nothing.

Reading changes nothing.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import tildone.base
from tests.cli.person import Person
from tests.cli.test_arguments_and_completion import leaves
from tests.suite.forking import PROGRAM, starting
from tests.trusted import write_trusted
from tildone.base import TildoneError
from tildone.base.files import read_text, write_text
from tildone.cli import INTERRUPTED, PIPE_BROKEN, main
from tildone.cli.parsing import ROOT, parse
from tildone.cli.program.help import EXIT_CODES, manual_page
from tildone.cli.program.overview import ALL_CLOSED, NO_PLAN, OPEN_TASKS
from tildone.cli.table import command
from tildone.plan.dialects import DIALECTS, tools_of
from tildone.version import __version__

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


def test_the_short_option_shows_the_help_which_names_no_hidden_verb(person: Person) -> None:
    assert person.says("--help") == person.says("-h") == person.says("help")

    assert not re.search(r"^  (complete-words|overview)", person.says("--help"), re.MULTILINE)
    assert "exit-codes" in person.says("--help")


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
        said = person.refused(code, *argv)

        assert said.startswith(f"tildone: {complaint}"), argv
        assert said.count("\n") == 1, argv


def test_a_settings_file_that_makes_no_sense_stops_the_program(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", "sesion = 1\n", person.environment({}))

    assert (
        person.refused(2, "todo")
        == f"tildone: {person.folder / 'tildone.toml'}, line 1: there is no setting 'sesion'; did you mean 'session'?\n"
    )


def test_a_folder_that_is_gone_is_said(person: Person) -> None:
    answer = person.shell("mkdir gone && cd gone && rmdir ../gone && tildone todo")

    assert answer.code == 2
    # In a path with spaces the program is started by a shell, which may complain first.
    assert answer.err.endswith("tildone: the working folder no longer exists; change to another one\n")
    assert "Traceback" not in answer.err


def test_no_slow_module_is_imported(person: Person) -> None:
    person.says("todo", "append", "one")
    for line in (
        *("todo", "todo append x", "todo start one", "call todo_write {}", "call list_todos {}", "call TodoWrite {}"),
        *("log", "undo", "sessions", "--help"),
    ):
        assert imported(person, line.split()) & SLOW == set(), line


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

    assert [process.wait(timeout=60) for process in running] == [0] * 6
    texts = [task["text"] for task in person.run("blame", "--json").json["tasks"]]
    assert sorted(texts) == [f"task {number}" for number in range(6)]


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


def test_help_fits_a_real_narrow_terminal(person: Person) -> None:
    narrow = Person(person.folder, person.home, person.environ, NARROW)

    for argv in ([], ["--help"], ["help", "install"], ["help", "exit-codes"]):
        shown = narrow.at_terminal(*argv).end().out
        assert max(len(line) for line in shown.splitlines()) <= NARROW, shown


def test_every_exit_code_is_explained(person: Person) -> None:
    kinds = [each for each in vars(tildone.base).values() if isinstance(each, type) and issubclass(each, Exception)]
    codes = {each.exit_code for each in kinds if hasattr(each, "exit_code")} | {0, INTERRUPTED, PIPE_BROKEN}

    assert {code for code, _ in EXIT_CODES} == codes
    said = person.says("help", "exit-codes")
    assert all(f"  {code} " in said and meaning.split()[0] in said for code, meaning in EXIT_CODES)
    assert all(str(code) in (TildoneError.__doc__ or "") for code in codes - {0, INTERRUPTED, PIPE_BROKEN})


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


def test_the_overview_without_a_plan_or_of_another_session_or_of_a_store_that_cannot_be_opened(person: Person) -> None:
    assert person.says() == (
        f"{person.folder}: no plan yet\n"
        "\n"
        '  tildone todo add "TASK"  add a task\n'
        '  tildone run "TASK"       let a model plan and work\n'
        "  tildone install          connect a coding agent\n"
        "  tildone --help           all commands\n"
    )

    assert Person(person.folder, person.folder.parent, person.environ).says().startswith("~/project: no plan yet\n")

    (person.folder / "broken.db").write_text("not a database at all", encoding="utf-8")

    assert person.refused(5, "--store", "broken.db") == (
        f"tildone: {person.folder / 'broken.db'} is not a tildone store\nto check the store: tildone doctor\n"
    )

    (person.folder / ".git").rmdir()
    person.says("todo", "append", "Tag", "--session", "release")

    assert person.says().startswith(f"{person.folder}: no plan yet\n")
    assert person.says("--session", "release").startswith("release: 0 of 1 tasks closed\n")


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


def test_hostile_text_cannot_move_the_screen(person: Person) -> None:
    person.says("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "a\u001b[2Jb"}]}')

    assert "\x1b" not in person.says()


def test_the_overview_suggests_a_few_commands_that_exist() -> None:
    for commands in (NO_PLAN, OPEN_TASKS, ALL_CLOSED):
        assert 2 <= len(commands) <= 4
        for words, _ in commands:
            _, *argv = shlex.split(words.format(number=1))
            assert parse(ROOT, argv).path, words


AT_EXIT = """
import atexit, os, sys, threading
atexit.register(lambda: os.write(2, b"exit handler\\n"))
atexit.register(lambda: print("printed at exit"))
sys.argv = ["tildone", *sys.argv[1:]]
"""
RUN = "from tildone.cli import main; main()"


def test_exit_handlers_run_and_output_is_complete(person: Person) -> None:
    for argv, code in ((["--version"], 0), (["todo"], 0), (["redo"], 3), (["todo", "nope"], 2)):
        done = person.python(AT_EXIT + RUN, *argv)

        assert done.code == code, argv
        assert done.out.endswith("printed at exit\n"), argv
        assert done.err.endswith("exit handler\n"), argv


def test_the_interpreter_does_not_shut_down(person: Person) -> None:
    """An object that lives until the end is not finalized: the process is gone before."""
    script = "class Late:\n    def __del__(self): os.write(2, b'finalized')\nlate = Late(); late.self = late\n"

    done = person.python(AT_EXIT + script + RUN, "--version")

    assert (done.code, done.err) == (0, "exit handler\n")


def test_a_thread_at_work_is_waited_for(person: Person) -> None:
    script = "go = threading.Event()\n"
    script += "threading.Thread(target=lambda: (go.wait(), os.write(2, b'thread done\\n'))).start()\n"
    script += "atexit.register(lambda: None); threading.Timer(0, go.set).start()\n"

    assert "thread done\n" in person.python(AT_EXIT + script + RUN, "--version").err


def test_a_call_of_main_returns_and_the_help_for_calls_names_every_tool(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the program itself, without arguments, ends the process."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tildone {__version__}\n"

    main(["call", "--help"])

    text = " ".join(capsys.readouterr().out.split())
    assert all(f"{', '.join(tools_of(dialect))} ({dialect})" in text for dialect in DIALECTS)


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(person: Person, closed: str) -> None:
    """A file that is opened later must not take the place of a standard stream."""
    person.says("todo", "append", "Parse")
    for verb in ("todo append one", "todo", "log", "sessions", "--help", "nope", "todo import -"):
        assert "Traceback" not in person.shell(f"tildone {verb} {closed}").err, verb
        assert "Parse" in person.says("todo") or verb == "todo import -", verb
    assert person.run("doctor").code in (0, 5)


def test_the_version_is_stated_once_and_told_wherever_it_is_asked_for(person: Person) -> None:
    assert version("tildone") == __version__

    for argv in (["--version"], ["-V"], ["todo", "--version"], ["todo", "done", "--version"]):
        assert person.says(*argv) == f"tildone {__version__}\n", argv


def test_the_version_needs_hardly_any_module(person: Person) -> None:
    script = "import sys; before = set(sys.modules); from tildone.cli import main; main(['--version']);"
    script += "print(*set(sys.modules) - before)"

    imported = set(person.python(AT_EXIT + script).out.splitlines()[1].split())

    assert {name for name in imported if not name.startswith("tildone")} <= {"__future__", "atexit", "gc"}
    assert "tildone.cli.parsing" not in imported


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder where nobody can write")
def test_a_home_that_does_not_exist_can_be_read_and_a_remedy_is_said_where_it_is_written(person: Person) -> None:
    for argv in ([], ["todo"], ["log"], ["status"], ["sessions"], ["doctor"], ["--help"]):
        answer = person.run(*argv, HOME="/proc/nowhere")

        assert answer.code in (0, 5 if argv == ["doctor"] else 0), argv
        assert "Traceback" not in answer.err, argv

    for argv in (["todo", "append", "x"], ["pause"], ["call", "list_todos", "{}"]):
        assert person.refused(5, *argv, HOME="/proc/nowhere") == (
            "tildone: cannot open /proc/nowhere/.local/share/tildone/tildone.db: No such file or directory; "
            "choose another place with --store or $TILDONE_STORE\n"
        ), argv


@pytest.mark.parametrize("home", [{"HOME": ""}, {"HOME": "", "XDG_CONFIG_HOME": "config"}])
def test_without_a_home_nothing_is_written_to_a_guessed_place(person: Person, home: dict[str, str]) -> None:
    """An empty HOME is none: the user's own folder is found in the user database."""
    assert "Traceback" not in person.run("doctor", "--json", **home).err
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


READING = [
    shlex.split(line)
    for line in (
        *("", "todo", "todo export -", "log", "log --all --json", "log --tasks", "diff", "blame", "branch", "label"),
        *("status", "status --line", "status --json", "sessions", "sessions --json", "export", "export --as json"),
        *("doctor", "help", "--version", "completion bash", "complete-words zsh -- todo done ''", "install"),
        *("complete-words zsh -- --session ''", "prune --older-than 1d --dry-run", "import plan.md --dry-run"),
    )
]
MOVING = [["undo"], ["redo"], ["checkout", "root"]]


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder, with its mode and content."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("store", ["", "plans.db", "jsonl:plans"], ids=["default", "sqlite", "jsonl"])
def test_reading_creates_nothing(person: Person, store: str) -> None:
    """In an empty home, with a store that does not exist."""
    (person.folder / "plan.md").write_text("- [ ] Parse\n", encoding="utf-8")
    before = tree(person.folder.parent)
    for argv in (*READING, *MOVING):
        assert "Traceback" not in person.run(*argv, **({"TILDONE_STORE": store} if store else {})).err, argv
        assert tree(person.folder.parent) == before, argv


def test_reading_changes_no_store_and_it_is_closed_when_its_verb_has_ended(person: Person) -> None:
    """No log is left beside the file, whether the verb succeeded or failed."""
    (person.folder / "plan.md").write_text("- [ ] Parse\n", encoding="utf-8")
    person.says("todo", "append", "Parse")
    before = tree(person.folder.parent)
    for argv in READING:
        person.run(*argv)

        assert tree(person.folder.parent) == before, argv

    for argv in (["todo", "append", "one"], ["todo"], ["log"], ["redo"], ["todo", "start", "nothing"], ["undo"]):
        person.run(*argv)
        assert [path.name for path in person.home.rglob("*.db*")] == ["tildone.db"], argv


def test_a_hook_creates_nothing_where_there_is_no_plan(person: Person) -> None:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "StatusLine", "Stop")
    before = tree(person.folder.parent)
    for event, store in product(events, ("plans.db", "jsonl:plans")):
        payload = f'{{"hook_event_name": "{event}", "session_id": "1a2b3c4d", "tool_name": "Bash", "tool_input": {{}}}}'

        answer = person.run("hook", "claude", event, "--store", store, given=payload)

        assert (answer.code, answer.out, answer.err) == (0, "", ""), (event, store)
        assert tree(person.folder.parent) == before, (event, store)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may read."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = Path(name, "kept # 100%?")
        folder.mkdir()
        yield folder
        folder.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_a_store_that_may_only_be_read_is_read_and_writing_to_it_is_an_error(person: Person, public: Path) -> None:
    """File and folder are write-protected, as in a snapshot or on a read-only medium."""
    protect(person, public)

    for argv in (["todo"], ["log"], ["status"], ["sessions"], ["export"], ["blame"], ["diff"], []):
        done = as_ordinary_user(person, public, [*argv, "--store", str(public / "plans.db"), "--session", "s"])

        assert (done.returncode, done.stderr) == (0, ""), argv
        assert "Parse" in done.stdout or argv == ["sessions"], argv
        assert os.listdir(public) == ["plans.db"], argv

    done = as_ordinary_user(person, public, ["todo", "append", "two", "--store", str(public / "plans.db")])

    assert done.returncode == 5
    assert done.stderr.startswith(f"tildone: {public / 'plans.db'} can't be written: ")


def protect(person: Person, folder: Path) -> None:
    person.says("todo", "append", "Parse", "--store", str(folder / "plans.db"), "--session", "s")
    (folder / "plans.db").chmod(0o444)
    folder.chmod(0o555)


def as_ordinary_user(person: Person, folder: Path, argv: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the program in a folder as a user whom permissions concern: root may write anywhere."""
    command: list[str] = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may write anywhere, and setpriv is not installed")
        command = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        readable = "import sys; open(sys.argv[1]).close()"
        words = [*command, sys.executable, "-c", readable, tildone.__file__]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("an ordinary user may not read this installation")
    return subprocess.run(
        [*command, str(PROGRAM), *argv],
        cwd=folder,
        env=person.environment({"HOME": str(folder)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
