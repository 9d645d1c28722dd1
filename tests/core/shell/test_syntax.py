"""Splitting a shell line into commands and their words."""

import os
import subprocess
import time
import timeit
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tildone.core.shell.syntax import MAX_CHARACTERS, split_line
from tildone.core.shell.words import Command, WordKind
from tildone.host.tools.command_patterns import not_allowed


def texts(line: str, *, windows: bool = False) -> tuple[str, ...] | None:
    parts = split_line(line, windows=windows)
    return None if parts is None else tuple(part.text for part in parts)


SPLIT = {
    "git status": ("git status",),
    "git add . && git commit -m 'a; b | c' || echo no": ("git add .", "git commit -m 'a; b | c'", "echo no"),
    "a;b|c&d\ne|&f": ("a", "b", "c", "d", "e", "f"),
    "(cd x; make) && (ls)": ("cd x", "make", "ls"),
    'echo "$(git log | head -1)" `date`': ("git log", "head -1", "date", 'echo "$(git log | head -1)" `date`'),
    r"find . -name \*.py -exec wc {} \;": (r"find . -name \*.py -exec wc {} \;",),
    "make 2>&1 >/dev/null </dev/null | tail": ("make", "tail"),
    "make &>/dev/null": ("make",),
    "make 3>&- >&2": ("make",),
    "sort < in >> 'out put' 2> $(name)": ("< in", "> 'out put'", "name", "> $(name)", "sort"),
    'echo ${HOME} $x ${x%.py} "${#x} $y" a#b': ('echo ${HOME} $x ${x%.py} "${#x} $y" a#b',),
    "docker run \\\n  -it x": ("docker run -it x",),
    'echo "a \\\n b"': ('echo "a  b"',),
    'echo "it\'s" \'say "x"\' "\\"; rm x"': ('echo "it\'s" \'say "x"\' "\\"; rm x"',),
    "time ls -l 2>/dev/null": ("time ls -l",),
    "echo a1>b '1'>c 1>d": ("> b", "> c", "> d", "echo a1 '1'"),
    "": (),
    " ; \r": ("\r",),
}


def test_a_line_is_split_into_simple_commands() -> None:
    assert {line: texts(line) for line in SPLIT} == SPLIT


AMBIGUOUS = [
    "cat <<E\ndon't\nE",
    "cat <<E\nls '\nE\nrm x '",
    "cat <<< x",
    "git status # don't",
    "git status \\\n# don't",
    "ls > # don't",
    "diff <(sort a) <(sort b)",
    'echo $"x"',
    "ls {fd}> x",
    "if true; then ls; fi",
    "{ ls; }",
    "! ls",
    "[[ a < b ]]",
    "f() { ls; }",
    "a=(1 2)",
    "ls !(x)",
    "((x=1))",
    "echo $((1+1))",
    "echo $[1+1]",
    "echo $'a'",
    "echo ${x:-'a'}",
    'echo "${x:-"\'"}"',
    "echo `echo 'a'`",
    "echo `echo \\`date\\``",
    'echo "a',
    "echo 'a",
    "echo a\\",
    "echo `a",
    "echo $(a",
    "(a",
    "a)",
    "ls >",
    "ls > &1",
    "gi\\\nt status",
    'echo "$\\\n(rm x)"',
    "(" * 50 + "ls" + ")" * 50,
    "$(" * 50 + "ls" + ")" * 50,
]


def test_an_ambiguous_line_is_not_split() -> None:
    """A wrong split would hide a command in the arguments of another."""
    assert [line for line in AMBIGUOUS if texts(line) is not None] == []


WINDOWS = {
    "git status": ("git status",),
    "git status & del x": None,
    "git 'a & del x'": None,
    "echo %PATH%": None,
}


def test_a_windows_line_is_one_simple_command_or_cannot_be_split() -> None:
    assert {line: texts(line, windows=True) for line in WINDOWS} == WINDOWS


WORDS = [
    ("a'b'\"c\"\\d", "abcd", WordKind.LITERAL),
    ('"a\\b\\$c"', "a\\b$c", WordKind.LITERAL),
    ("''", "", WordKind.LITERAL),
    ("'*'\"?\"\\[", "*?[", WordKind.LITERAL),
    ("'$x'", "$x", WordKind.LITERAL),
    ('"x$"', "x$", WordKind.LITERAL),
    ("HEAD@{1}", "HEAD@{1}", WordKind.LITERAL),
    ("a*'b'", "a*b", WordKind.GLOB),
    ("[ab]", "[ab]", WordKind.GLOB),
    ("-$x", "-$x", WordKind.UNKNOWN),
    ('"${x}"', "${x}", WordKind.UNKNOWN),
    ("$(ls -l)", "$(ls -l)", WordKind.UNKNOWN),
    ("`ls`", "`ls`", WordKind.UNKNOWN),
    ("{-exec,x}", "{-exec,x}", WordKind.UNKNOWN),
    ("{1..3}", "{1..3}", WordKind.UNKNOWN),
]


def test_a_word_has_a_value_if_the_shell_does_not_replace_it() -> None:
    found = []
    for written, _, _ in WORDS:
        [command] = [part for part in split_line(f"echo {written}") or () if part.text.startswith("echo")]
        assert isinstance(command, Command), written
        found += [(word.text, word.value, word.kind) for word in command.words[1:]]

    assert found == WORDS


PIECES = ["a ", "1 >&2 ", "a >b ", "a;", '"a" ', "'a' ", "a'b'", "$x ", "$(a) ", "`a` ", "{", "\\a", "(a);", "a&>b "]


def test_the_time_is_proportional_to_the_length() -> None:
    """Twice as long a line takes about twice as long; with a quadratic step it would take four times as long."""

    def seconds(piece: str, size: int) -> float:
        line = piece * (size // len(piece))
        return timeit.timeit(lambda: split_line(line), number=1, timer=time.process_time)

    def is_proportional(piece: str) -> bool:
        return seconds(piece, MAX_CHARACTERS // 2) <= 3.2 * seconds(piece, MAX_CHARACTERS // 4) + 0.005

    # Other programs disturb a measurement, so one of several is enough: a quadratic step fails in all of them.
    assert [piece for piece in PIECES if not any(is_proportional(piece) for _ in range(10))] == []


def test_a_line_that_no_shell_would_run_is_not_split() -> None:
    assert [piece for piece in PIECES if split_line(piece * (1_000_000 // len(piece))) is not None] == []


HIDDEN = ["'; evil '", '"; evil "', " \\; evil", " evil", '"`tool a`', "$(tool evil)", "; tool evil", " 'evil\\' "]
SIGNS = ["tool ", "evil", " evil ", " ", ";", "'", '"', "\\", "`", "$(", ")", "(", "${x:-", "}", " #", "\n"]
SIGNS += ["<<E\n", "E\n", "&", "|", "> x ", "$'", "{ ", "\\\n", "$", "<(", "&>", "2>&1", "''", '\\"', "\r"]


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `tool` that does nothing and an `evil` that creates a file."""
    place = tmp_path_factory.mktemp("trap")
    for name, does in {"tool": "exit 0", "evil": f": > {place}/trace"}.items():
        program = place / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)
    (place / "cwd").mkdir()
    return place


@settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(HIDDEN) | st.sampled_from(SIGNS), min_size=2, max_size=8).map("".join))
def test_real_shells_run_only_allowed_commands(trap: Path, rest: str) -> None:
    """If `tool *` allows a line, it runs no program other than `tool`."""
    line = f"tool {rest}"
    assume("evil" in line and not_allowed(line, ("tool *", "> *")) == ())

    for shell in ("/bin/bash", "/bin/sh"):
        subprocess.run(
            [shell, "-c", line],
            cwd=trap / "cwd",
            env={"PATH": str(trap / "bin")},
            capture_output=True,
            check=False,
            timeout=10,
        )

    assert not os.path.exists(trap / "trace"), line
