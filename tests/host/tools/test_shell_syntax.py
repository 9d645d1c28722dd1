"""Splitting a shell line into commands, and the patterns that allow them."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tildone.host.tools.shell_syntax import not_allowed, simple_commands

GIT = ("git *",)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("git status", ("git status",)),
        ("git add . && git commit -m 'a; b | c' || echo no", ("git add .", "git commit -m 'a; b | c'", "echo no")),
        ("a;b|c&d\ne|&f", ("a", "b", "c", "d", "e", "f")),
        ("(cd x; make) && (ls)", ("cd x", "make", "ls")),
        ('echo "$(git log | head -1)" `date`', ("git log", "head -1", "date", 'echo "$(git log | head -1)" `date`')),
        ("diff <(sort a) <(sort b)", ("sort a", "sort b", "diff")),
        (r"find . -name \*.py -exec wc {} \;", (r"find . -name \*.py -exec wc {} \;",)),
        ("make 2>&1 >/dev/null </dev/null | tail", ("make", "tail")),
        ("make &>/dev/null", ("make",)),
        ("make 3>&- >&2", ("make",)),
        ("sort < in >> 'out put' 2> $(name)", ("< in", "> 'out put'", "name", "> $(name)", "sort")),
        ('echo ${HOME} $x ${x%.py} "${#x} $y" a#b', ('echo ${HOME} $x ${x%.py} "${#x} $y" a#b',)),
        ("docker run \\\n  -it x", ("docker run   -it x",)),
        ('echo "a \\\n b"', ('echo "a  b"',)),
        ('echo "it\'s" \'say "x"\' "\\"; rm x"', ('echo "it\'s" \'say "x"\' "\\"; rm x"',)),
        ("", ()),
        (" ; \r", ("\r",)),
    ],
)
def test_a_line_is_split_into_simple_commands(line: str, parts: tuple[str, ...]) -> None:
    assert simple_commands(line) == parts


@pytest.mark.parametrize(
    "line",
    [
        "cat <<E\ndon't\nE",
        "cat <<E\nls '\nE\nrm x '",
        "cat <<< x",
        "git status # don't",
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
    ],
)
def test_an_ambiguous_line_is_not_split(line: str) -> None:
    """A wrong split would hide a command in the arguments of another."""
    assert simple_commands(line) is None


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("git", ()),
        ("git status", ()),
        ("git log --format='%h; %s' 2>&1", ()),
        ("git status; rm -rf x", ("rm -rf x",)),
        ("git status && rm -rf x", ("rm -rf x",)),
        ("git status || rm -rf x", ("rm -rf x",)),
        ("git log | sh", ("sh",)),
        ("git status\nrm -rf x", ("rm -rf x",)),
        ("git status & rm -rf x", ("rm -rf x",)),
        ("git log $(rm -rf x)", ("rm -rf x",)),
        ('git log "`rm -rf x`"', ("rm -rf x",)),
        ("git diff <(rm -rf x)", ("rm -rf x",)),
        ("git status &>x rm -rf y", ("> x", "rm -rf y")),
        ("git log > ~/.bashrc", ("> ~/.bashrc",)),
        ("PATH=. git status", ("PATH=. git status",)),
        ("gitk --all", ("gitk --all",)),
        ("git status #'\nrm -rf x #'", ("git status #'\nrm -rf x #'",)),
    ],
)
def test_every_part_must_be_allowed(line: str, refused: tuple[str, ...]) -> None:
    assert not_allowed(line, GIT) == refused


@pytest.mark.parametrize("pattern", ["*", "bash"])
def test_everything_can_be_allowed(pattern: str) -> None:
    """This includes lines that cannot be split."""
    assert not_allowed("for x in a; do rm $x; done <<E", ("git *", pattern)) == ()


def test_redirections_have_patterns_of_their_own() -> None:
    assert not_allowed("git log > out/log.txt", ("git *", "> out/*")) == ()


@pytest.mark.parametrize(
    ("line", "parts"),
    [("git status", ("git status",)), ("git status & del x", None), ("git 'a & del x'", None), ("echo %PATH%", None)],
)
def test_a_windows_line_is_one_simple_command_or_cannot_be_split(line: str, parts: tuple[str, ...] | None) -> None:
    assert simple_commands(line, windows=True) == parts


HIDDEN = ["'; evil '", '"; evil "', " \\; evil", " evil", '"`git a`', "$(git evil)", "; git evil", " 'evil\\' "]
SIGNS = ["git ", "evil", " evil ", " ", ";", "'", '"', "\\", "`", "$(", ")", "(", "${x:-", "}", " #", "\n"]
SIGNS += ["<<E\n", "E\n", "&", "|", "> x ", "$'", "{ ", "\\\n", "$", "<(", "&>", "2>&1", "''", '\\"', "\r"]


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a `git` that does nothing and an `evil` that creates a file."""
    place = tmp_path_factory.mktemp("trap")
    for name, does in {"git": "exit 0", "evil": f": > {place}/trace"}.items():
        program = place / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)
    (place / "cwd").mkdir()
    return place


@settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(HIDDEN) | st.sampled_from(SIGNS), min_size=2, max_size=8).map("".join))
def test_real_shells_run_only_allowed_commands(trap: Path, rest: str) -> None:
    """If `git *` allows a line, it runs no program other than `git`."""
    line = f"git {rest}"
    assume("evil" in line and not not_allowed(line, ("git *", "> *")))

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
