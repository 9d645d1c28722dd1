"""A command line is read by its table.

What the Tab key inserts in real shells is exactly the text that is meant.
"""

import contextlib
import json
import os
import re
import select
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.suite.forking import PROGRAM
from tildone.base import UsageError
from tildone.cli.parsing import ROOT, parse
from tildone.cli.program.completion import SCRIPTS, Completions, completions, split_line
from tildone.cli.suggestions import SYNONYMS
from tildone.cli.table import ParsedArgs, Verb, command, implementation


def leaves(path: tuple[Verb, ...]) -> list[tuple[Verb, ...]]:
    return [path, *(leaf for verb in path[-1].verbs for leaf in leaves((*path, verb)))]


def test_every_word_of_a_package_of_verbs_names_one_of_its_verbs() -> None:
    """The words are listed apart from the verbs, so that a command imports only the package of its verb."""
    for group in ROOT.groups:
        words = [word for verb in group.table.entries.values() for word in (verb.name, *verb.aliases)]
        assert list(group.words) == words, group.title


def refusal(*argv: str) -> str:
    """What is said of a command line that makes no sense."""
    with pytest.raises(UsageError) as caught:
        parse(ROOT, argv)
    return str(caught.value)


def test_the_programs_own_options_stand_anywhere() -> None:
    for line in (
        "--session s todo start it",
        "todo --session s start it",
        "todo start --session s it",
        "todo start it --session s",
        "todo start it --session=s",
        "TODO Start it --session=x --session=s",
    ):
        args = parse(ROOT, line.split())
        read = (command(args.path), args.positional, args.options)
        assert read == ("tildone todo start", ("it",), {"session": "s"}), line


def test_what_is_text_or_a_command_is_not_read_as_options_and_verbs() -> None:
    assert parse(ROOT, ["todo", "append", "-"]).positional == ("-",)
    assert parse(ROOT, ["todo", "append", "--", "--force"]).positional == ("--force",)
    assert parse(ROOT, ["todo", "append", "-v is a flag"]).positional == ("-v is a flag",)
    assert parse(ROOT, ["todo", "append", "--", "-h", "--", "x y"]).positional == ("-h", "--", "x y")

    assert parse(ROOT, ["todo", "--session=two words"]).options == {"session": "two words"}

    args = parse(ROOT, ["fleet", "schedule", "0 3 * * *", "nightly.md", "--zone", "UTC"])

    assert (command(args.path), args.positional) == ("tildone fleet schedule add", ("0 3 * * *", "nightly.md"))
    with pytest.raises(UsageError, match="has no verb 'one two'"):
        parse(ROOT, ["fleet", "one two"])

    args = parse(ROOT, ["todo", "check", "the", "parser", "--seconds", "5", "--", "make", "--", "-j2", "--json", ""])

    assert (args.positional, args.options) == (("the", "parser"), {"seconds": "5"})
    assert args.command == ("make", "--", "-j2", "--json", "")
    assert parse(ROOT, ["todo", "append", "--", "x"]).command == ()


def test_a_mistake_is_named_with_what_may_have_been_meant() -> None:
    complaints = {
        "tood": "tildone has no verb 'tood'; did you mean 'tildone todo'?",
        "todo finish": "tildone todo has no verb 'finish'; did you mean 'tildone todo done'?",
        "todo --sesion x": "tildone todo has no option --sesion; did you mean '--session'?",
        "--json log": "tildone has no option --json; ",
        "todo -x": "tildone todo has no option -x; ",
        "todo --session": "--session requires a value: --session NAME",
        "todo --session=": "--session requires a value: --session NAME",
        "log --json=yes": "--json takes no value",
        "call": "tildone call requires TOOL [JSON]; see tildone call --help",
        "todo note x": "tildone todo note requires TASK TEXT…; see tildone todo note --help",
        "log yesterday": "tildone log takes no argument 'yesterday'; see tildone log --help",
        "todo edit 2 TEXT": "tildone todo edit takes no argument '2'; see tildone todo edit --help "
        "(to change the text of a task: tildone todo rename 2 TEXT)",
        "todo parser": "tildone todo has no verb 'parser'; to list the verbs: tildone todo --help (to search: ",
        "ans": "tildone has no verb 'ans'; did you mean 'tildone answer'",
        "retyr": "tildone has no verb 'retyr'; did you mean 'tildone fleet retry'?",
        "fleet retyr": "tildone fleet has no verb 'retyr'; did you mean 'tildone fleet retry'?",
        "todo retyr": "tildone todo has no verb 'retyr'; to list the verbs: tildone todo --help",
        "todo export a b": "tildone todo export takes no argument 'b'; see tildone todo export --help",
    }

    assert {line: refusal(*line.split())[: len(complaint)] for line, complaint in complaints.items()} == complaints


def test_every_verb_has_a_module_that_implements_it_and_examples_that_can_be_typed() -> None:
    """As far as the table can tell: what the words mean is for the verb."""
    for path in leaves((ROOT,)):
        assert callable(implementation(path)), command(path)
        assert path[-1].examples, command(path)
        for example in path[-1].examples:
            ours = [part for part in example.removeprefix("EDITOR=nano ").split(" | ") if part.startswith("tildone ")]
            assert ours, example
            for part in ours:
                assert parse(ROOT, shlex.split(part.partition(" < ")[0])[1:]).path, example


def test_an_option_that_precedes_a_verb_must_be_one_of_that_verb_and_a_number_is_above_nothing() -> None:
    assert parse(ROOT, ["todo", "--session", "x", "done", "1"]).options == {"session": "x"}
    assert refusal("todo", "--open", "next") == ("tildone todo next has no option --open; see tildone todo next --help")

    assert parse(ROOT, ["call", "-h"]).has("help")
    assert command(parse(ROOT, ["--help", "todo", "note"]).path) == "tildone todo note"

    assert ParsedArgs((ROOT,), (), {}).positive_int("limit", 20) == 20
    assert ParsedArgs((ROOT,), (), {"limit": "7"}).positive_int("limit", 20) == 7
    for given in ("0", "-1", "many", "1.5", "²"):
        with pytest.raises(UsageError, match=re.escape(f"not '{given}'")):
            ParsedArgs((ROOT,), (), {"limit": given}).positive_int("limit", 20)


def test_an_unknown_verb_gets_the_likeliest_commands() -> None:
    likeliest = {
        "next": ["todo next"],
        "ls": ["todo list", "fleet ls"],
        "add": ["todo add", "fleet add"],
        "list": ["todo list", "fleet ls"],
        "done": ["todo done"],
        "rm": ["todo rm"],
        "history": ["log"],
        "init": ["todo add", "install"],
        "serve": ["mcp"],
        "complete": ["todo done"],  # the scripts call complete-words
        "tasks": ["todo"],
        "LOGG": ["log"],
        "stauts": ["stats", "status"],
        "dnoe": ["todo done"],
        "overvew": [],
        "xyzzy": [],
        "todo finish": ["todo done"],
        "todo log": ["log"],
        "todo dnoe": ["todo done"],
        "todo xyzzy": [],
    }

    said = {line: refusal(*line.split()) for line in likeliest}

    assert {line: re.findall(r"'tildone ([a-z ]+)'", text) for line, text in said.items()} == likeliest
    assert "to list the verbs: tildone --help" in said["xyzzy"]
    assert "to list the verbs: tildone todo --help" in said["todo xyzzy"]


def test_every_synonym_names_verbs_that_exist() -> None:
    for word, commands in SYNONYMS.items():
        assert ROOT.verb(word) is None, word
        for each in commands.split(", ") if commands != "--version" else ():
            assert command(parse(ROOT, [*each.split(), "--help"]).path) == f"tildone {each}", word


HOSTILE = "Zap $(touch pwned) `touch pwned` \"q\" 'a' \\ !x; & | * ~ #1: ünï 漢"
READY, END = "READY>", "<end>"
TAB = "\t"
DEADLINE_SECONDS = 30

START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='REA''DY>'; bind 'set bell-style none'"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -D -u; unsetopt prompt_sp; PS1='REA''DY>'"),
    "fish": (["fish", "--no-config", "-i"], "function fish_prompt; printf '%s' 'REA''DY>'; end"),
}
SHOW = {
    "bash": "show() { printf '<%s>\\n' \"$@\"; echo '<e''nd>'; }; complete -o default -F _tildone show",
    "zsh": "show() { printf '<%s>\\n' \"$@\"; echo '<e''nd>'; }; compdef _tildone show",
    "fish": "function show; printf '<%s>\\n' $argv; echo '<e''nd>'; end; "
    "complete -c show -f -k -a '(__tildone_complete)'",
}
LOAD = {
    "bash": 'eval "$(tildone completion bash)"',
    "zsh": 'eval "$(tildone completion zsh)"',
    "fish": "tildone completion fish | source",
}


class Shell:
    """An interactive shell at a pseudo-terminal, with the completion of a command that prints its arguments."""

    def __init__(self, name: str, person: Person) -> None:
        # Windows has none of them.
        import fcntl  # noqa: PLC0415  see above
        import pty  # noqa: PLC0415  see above
        import termios  # noqa: PLC0415  see above

        command, prepare = START[name]
        path = f"{PROGRAM.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self._shown = ""
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=person.folder,
            env=person.environment({"PATH": path, "LC_ALL": "C.UTF-8", "TERM": "xterm"}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            # The shell must be able to control the jobs of its terminal.
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # noqa: PLW1509  no threads here
        )
        os.close(theirs)
        for line in (prepare, LOAD[name], SHOW[name]):
            self._type(f"{line}\n")
        self._type("show ready\n")
        self._until(END)

    def arguments(self, typed: str) -> list[str]:
        """Type the arguments of a command, with Tab keys among them, and return what the command receives."""
        self._until(READY)
        self._type(f"show {typed}\n")
        shown = self._until(END)
        lines = re.sub(r"\x1b\][^\x07]*\x07|\x1b[\[()][?0-9;]*[a-zA-Z]|\r", "", shown).split("\n")
        return [line[1:-1] for line in lines if line.startswith("<") and line.endswith(">")]

    def close(self) -> None:
        os.close(self._ours)
        self.process.kill()
        self.process.wait()

    def _type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def _until(self, words: str) -> str:
        """Read on until the words have been shown; return what was shown before them."""
        while words not in self._shown:
            assert select.select([self._ours], [], [], DEADLINE_SECONDS)[0], f"{words!r} is missing: {self._shown!r}"
            chunk = b""
            with contextlib.suppress(OSError):
                chunk = os.read(self._ours, 65536)
            assert chunk, f"the shell has ended: {self._shown!r}"
            self._shown += chunk.decode(errors="replace")
        before, _, self._shown = self._shown.partition(words)
        return before


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest, person: Person) -> Iterator[Shell]:
    name = str(request.param)
    if os.name == "nt" or shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    add(person, "Parse the file", "Write: the printer", HOSTILE)
    add(person, "Count", session="other:plan")
    opened = Shell(name, person)
    yield opened
    opened.close()


def add(person: Person, *texts: str, session: str = "") -> None:
    """Add tasks exactly as they are written."""
    ops = {"ops": [{"op": "append", "phase": "Build it", "items": list(texts)}]}
    named = ["--session", session] if session else []
    assert person.run("call", "todo_write", json.dumps(ops), *named).code == 0


def test_words_and_files_are_completed_and_reach_the_command_unchanged(shell: Shell, person: Person) -> None:
    assert shell.arguments(f"che{TAB}") == ["checkout"]
    assert shell.arguments(f"todo expo{TAB}") == ["todo", "export"]
    assert shell.arguments(f"log --lim{TAB}5") == ["log", "--limit", "5"]
    assert shell.arguments(f"todo --dialect phas{TAB}") == ["todo", "--dialect", "phased"]
    assert shell.arguments(f"todo --session oth{TAB}") == ["todo", "--session", "other:plan"]
    assert shell.arguments(f"todo done Par{TAB}") == ["todo", "done", "Parse the file"]
    assert shell.arguments(f"todo done Wri{TAB}") == ["todo", "done", "Write: the printer"]
    assert shell.arguments(f"todo done Zap{TAB}") == ["todo", "done", HOSTILE]
    assert shell.arguments(f"install clau{TAB}x") in (["install", "claudex"], ["install", "claude-desktopx"])
    assert not (person.folder / "pwned").exists()

    assert shell.arguments(f'todo done "Write: the{TAB}') == ["todo", "done", "Write: the printer"]
    assert not (person.folder / "pwned").exists()

    (person.folder / "plan with space.md").write_text("- [ ] x\n", encoding="utf-8")

    assert shell.arguments(f"import plan{TAB}") == ["import", "plan with space.md"]


def candidates(person: Person, *words: str) -> list[str]:
    """What zsh is offered, each with its meaning after a tab."""
    first, *lines = person.says("complete-words", "zsh", "--", *words).splitlines()
    assert first in ("none", "files")
    return lines


def values(person: Person, *words: str) -> list[str]:
    return [line.partition("\t")[0] for line in candidates(person, *words)]


def test_values_come_from_the_plan_and_the_store(person: Person) -> None:
    add(person, "Parse", "Print")
    person.says("todo", "done", "Parse")
    person.says("label", "before-lunch")

    assert values(person, "todo", "done", "") == ["2", "Build it"]
    assert values(person, "todo", "done", "#") == ["#2"]
    assert values(person, "todo", "rm", "P") == ["Parse", "Print"]
    assert values(person, "todo", "rm", "p") == ["Parse", "Print"]
    assert values(person, "todo", "done", "Print", "") == []
    assert values(person, "--session", "") == [person.folder.name]
    assert values(person, "checkout", "bef") == ["before-lunch"]
    assert "Print (in progress)" in candidates(person, "todo", "done", "2")[0]


def test_values_come_from_the_tables(person: Person) -> None:
    for words, expected in (
        (["stat"], ["stats", "status"]),
        (["compl"], ["completion"]),  # the verb for programs is hidden
        (["over"], []),
        (["todo", "--dialect", ""], ["indexed", "phased", "declared", "brief"]),
        (["todo", "--dialect=ph"], ["--dialect=phased"]),
        (["run", "--mode", ""], ["terminal", "print", "json", "rpc"]),
        (["install", "--scope", ""], ["user", "project"]),
        (["share", ""], ["on", "off"]),
        (["install", "claude", "cur"], ["cursor"]),
        (["hook", "gem"], ["gemini"]),
        (["hook", "gemini", ""], []),
        (["import", "--from", "to"], ["todo.txt"]),
        (["export", "--as", ""], ["pi", "markdown", "todo.txt", "json"]),
        (["--store", "j"], ["jsonl:"]),
        (["run", ""], []),
        (["migrate", "--from", "p"], ["postgresql://"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["call", "TodoW"], ["TodoWrite"]),
        (["help", "todo", "expo"], ["export"]),
        (["log", "--ta"], ["--tasks"]),
        (["log", "--", "--ta"], []),
        (["nonsense", "x", ""], []),
        (["todo", "--nonsense", "don"], ["done"]),
        ([], None),
    ):
        found = values(person, *words)

        assert found == expected if expected is not None else {"todo", "log", "help"} < set(found), words


def test_a_text_that_cannot_be_typed_is_not_offered(person: Person) -> None:
    """Control characters neither reach the terminal nor a line of their own."""
    person.says("call", "write_todos", r'{"mode": "replace", "todos": [{"text": "Za\u001b[2Jp\nx"}, {"text": "Zip"}]}')

    assert values(person, "todo", "rm", "Z") == ["Zip"]
    assert "\x1b" not in "".join(candidates(person, "todo", "rm", ""))


def test_trouble_is_silent_but_an_unknown_shell_is_an_error(person: Person) -> None:
    (person.folder / "broken.db").write_text("not a database", encoding="utf-8")

    assert person.says("complete-words", "zsh", "--", "--store", "broken.db", "todo", "done", "") == "none\n"
    assert person.says("complete-words", "bash", "--") != ""
    assert person.says("complete-words", "nonsense") != ""

    assert (
        person.refused(2, "completion", "bahs") == "tildone: there is no completion for 'bahs'; did you mean 'bash'?\n"
    )


def test_bash_lists_meanings_when_it_only_lists(person: Person) -> None:
    add(person, "Parse", "Print")

    assert person.says("complete-words", "bash", "--", "tildone todo done ", " :=", "63").splitlines()[1:3] == [
        "1          Parse (in progress)",
        "2          Print (pending)",
    ]
    assert person.says("complete-words", "bash", "--", "tildone todo done ", " :=", "9").splitlines()[1:3] == ["1", "2"]
    verbs = person.says("complete-words", "bash", "--", "tildone ", " :=", "63").splitlines()
    assert "log         Show what happened to the plan, newest first." in verbs


def test_files_are_offered_for_an_extension_and_by_bash_where_nothing_is_typed_yet(person: Person) -> None:
    """Bash would offer no file beside other candidates."""
    assert person.says("complete-words", "fish", "--", "run", "--extension", "") == "files\n"
    assert person.says("complete-words", "fish", "--", "ext").startswith("none\nextensions\t")

    assert person.says("complete-words", "bash", "--", "tildone --store ", " :=", "9") == "files\n"
    assert person.says("complete-words", "bash", "--", "tildone --store js", " :=", "9") == "files\njsonl:\n"


def test_bash_lines_are_split_and_quoted() -> None:
    for line, words, value, insertion in (
        ("t todo done Wr", ["t", "todo", "done", "Wr"], "Write it", "Write\\ it"),
        ("t --store jsonl:fo", ["t", "--store", "jsonl:fo"], "jsonl:folder", "folder"),
        ("t --dialect=ph", ["t", "--dialect=ph"], "--dialect=phased", "phased"),
        ('t todo done "Wr', ["t", "todo", "done", "Wr"], 'a "b" $c `d` \\ e!', 'a \\"b\\" \\$c \\`d\\` \\\\ e"\'!\'"'),
        ("t todo done 'Wr", ["t", "todo", "done", "Wr"], "it's", "it'\\''s"),
        ("t a\\ b c", ["t", "a b", "c"], "c", "c"),
        ("t \"a b\" 'c d'", ["t", "a b", "c d"], "c d", "c\\ d"),
        ('t "a\\"b', ["t", 'a"b'], "x", "x"),
        ("t ", ["t", ""], "#1", "\\#1"),
        ("t x:y", ["t", "x:y"], "other", ""),
        ("t \\", ["t", ""], "ünï", "ünï"),
    ):
        split = split_line(line, " \t\n\"'><=;|&(:")

        assert list(split.words) == words, line
        assert split.insertion(value) == insertion, line


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_the_scripts_are_valid(person: Person, name: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    script = tmp_path / "script"
    script.write_text(person.says("completion", name), encoding="utf-8")

    done = subprocess.run([name, "-n", str(script)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_behind_two_dashes_files_are_completed_and_in_front_of_them_options() -> None:
    assert completions(ROOT, ["todo", "check", "1", "--", "make"]) == Completions(files=True)
    assert completions(ROOT, ["todo", "check", "1", "--", "make", "--f"]) == Completions(files=True)

    assert [each.text for each in completions(ROOT, ["todo", "check", "1", "--f"]).candidates] == ["--folder"]
    assert completions(ROOT, ["todo", "check", "1", "--folder", ""]).files
