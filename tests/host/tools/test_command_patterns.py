"""Which commands a pattern covers, what a wildcard never covers, and how shell lines are split."""

import os
import subprocess
import time
import timeit
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.host.tools.tool_bench import COMMANDS
from tildone.base import UsageError
from tildone.plan.shell.danger import NAMES_VARIABLES, POWERFUL, RULES, RUNS_PROJECT_CODE, program_name
from tildone.plan.shell.syntax import MAX_CHARACTERS, split_line
from tildone.run.tools.permissions import describe_pattern, not_allowed, parse_pattern


def refused(line: str, *allow: str, windows: bool = False) -> tuple[str, ...]:
    """Return the parts of a line that are not allowed; the line itself if it cannot be split."""
    missing = not_allowed(line, allow, windows=windows)
    return (line,) if missing is None else tuple(part.text for part in missing)


WITH_GIT = {
    "git": (),
    "git status": (),
    "git log --format='%h; %s' 2>&1": (),
    "git status; rm -rf x": ("rm -rf x",),
    "git status && rm -rf x": ("rm -rf x",),
    "git status || rm -rf x": ("rm -rf x",),
    "git log | sh": ("sh",),
    "git status\nrm -rf x": ("rm -rf x",),
    "git status & rm -rf x": ("rm -rf x",),
    "git log $(rm -rf x)": ("rm -rf x", "git log $(rm -rf x)"),
    'git log "`rm -rf x`"': ("rm -rf x", 'git log "`rm -rf x`"'),
    "git diff <(rm -rf x)": ("git diff <(rm -rf x)",),
    "git status &>x rm -rf y": ("> x", "rm -rf y"),
    "git log > ~/.bashrc": ("> ~/.bashrc",),
    "PATH=. git status": ("PATH=. git status",),
    "LD_PRELOAD=./x.so git status": ("LD_PRELOAD=./x.so git status",),
    "GIT_SSH_COMMAND=evil git log": ("GIT_SSH_COMMAND=evil git log",),
    "PATH=.": ("PATH=.",),
    "gitk --all": ("gitk --all",),
    "./git status": ("./git status",),
    "git status #'\nrm -rf x #'": ("git status #'\nrm -rf x #'",),
}


def test_every_part_of_a_line_must_be_covered() -> None:
    assert {line: refused(line, "git *") for line in WITH_GIT} == WITH_GIT


COVERED = [
    ("git status", ["git status", "git 'status'"], ["git", "git status -s", "git statusx"]),
    ("git diff *", ["git diff", "git diff a b", "git diff --stat -- 'a b'"], ["git log", "git diff2"]),
    ("ls -?", ["ls -l"], ["ls", "ls -la", "ls -l x"]),
    ("cat * x", ["cat a x"], ["cat x", "cat a b x"]),
    ("cat *.py", ["cat a.py", "cat *.py"], ["cat a.py b.py", "cat a.pyc"]),
    ("echo '*'", ["echo '*'"], ["echo a", "echo *"]),
    ("echo 'a b'", ["echo 'a b'", 'echo "a b"', r"echo a\ b"], ["echo a b"]),
    ("echo $HOME", ["echo $HOME"], ["echo $PATH", "echo '$HOME'", 'echo "$HOME"']),
    ("echo *", ["echo a", "echo '$HOME'", "echo src/*"], ["echo $HOME", "echo $(ls)", "echo {a,b}"]),
    ("X=1 echo *", ["X=1 echo a"], ["X=2 echo a", "echo a", "X=1 Y=2 echo a"]),
    ("* --version", ["ls --version"], ["sh --version", "X=1 --version", "./*.sh --version", "ls"]),
    ("> out/*", ["> out/log.txt"], ["> out/../x", "> x", "< out/x", "> out/$x"]),
    ("> a.txt", ["> a.txt", ">a.txt"], ["> b.txt", ">> $(a.txt)"]),
    ("< a.txt", ["< a.txt"], ["> a.txt", "a.txt"]),
]


def test_a_pattern_means_words() -> None:
    refused_ones = [(line, pattern) for pattern, lines, _ in COVERED for line in lines if refused(line, pattern)]
    allowed_ones = [(line, pattern) for pattern, _, lines in COVERED for line in lines if not refused(line, pattern)]

    assert (refused_ones, allowed_ones) == ([], [])


HARMLESS = COMMANDS["ordinary"]


def wildcard_for(line: str) -> str:
    """Return a pattern for the program of a line, and for its subcommand if that has a rule of its own."""
    program, *more = line.split()
    named = f"{program} {more[0]}" if more else program
    return f"{named if named in RULES else program} *"


def test_a_wildcard_covers_ordinary_arguments() -> None:
    assert [line for line in HARMLESS if refused(line, wildcard_for(line))] == []


NAMED = {f"{named} *": f"{named}{rest}" for named, rest in (line.split(" ·") for line in COMMANDS["named"])}
"""The pattern that names the word, and a command that it covers."""


def test_a_wildcard_never_covers_a_way_to_run_other_programs() -> None:
    """A pattern that names the word covers it; a wildcard for the program or its subcommand does not."""
    assert [pattern for pattern, line in NAMED.items() if refused(line, pattern)] == []
    assert [line for line in NAMED.values() if not refused(line, f"{line.split(maxsplit=1)[0]} *")] == []


SPELLINGS = [line.split("  ", 1) for line in COMMANDS["spellings"]]


def test_other_spellings_are_refused_too() -> None:
    assert [row for row in SPELLINGS if not refused(row[1].strip(), row[0])] == []


def test_a_wildcard_never_stands_for_a_powerful_program() -> None:
    paths = [path for program in POWERFUL for path in (program, f"/usr/bin/{program}")]

    assert [path for path in paths if not refused(f"{path} x", "* x", f"{path[0]}* x", f"*{path[1:] or '*'} *")] == []
    assert [program for program in POWERFUL if refused(f"{program} x", f"{program} x")] == []


def test_every_option_of_the_table_is_refused_to_a_wildcard() -> None:
    """Each row is tried: an ordinary line of the program is covered, and no longer with the option, however written."""
    ordinary = {program_name(line.split()[0]): line for line in reversed(HARMLESS)}
    ordinary |= {wildcard_for(line)[:-2]: line for line in HARMLESS if " " in wildcard_for(line)[:-2]}
    assert set(RULES) - set(ordinary) == set()

    covered = []
    for name, rule in RULES.items():
        line = ordinary[name]
        for option in (*rule.runs, *rule.writes):
            spellings = [f"{line} {option} evil", f"{line} {option} evil x"]
            spellings += [f"{line} {option}=evil", f"{line} {option[:-1]}=evil"] if option.startswith("--") else []
            spellings += [f"{line} -9{option[1]}", f"{line} {option}evil"] if len(option) == 2 else []
            covered += [each for each in spellings if not refused(each, wildcard_for(line))]

    assert covered == []


WRITTEN_BY_CURL = """
    -o x|-O|-J -O|--output x|--remote-name|--remote-name-all|--output-dir x -O|-D x|--dump-header x|-c x|--cookie-jar x
    |--trace x|--trace-ascii x|--stderr x|--libcurl x|--etag-save x|--hsts x|--alt-svc x|-T x|--upload-file x|-K x
    |--config x|-w '%output{x}hi'|--write-out '%output{x}'|-w @x|-w@x|--write-out=@x|--expand-output '{{x}}'|-sSo x
"""


def test_curl_writes_no_file_by_a_wildcard() -> None:
    options = [option.strip() for option in WRITTEN_BY_CURL.split("|")]

    assert [option for option in options if not refused(f"curl -s file:///x {option}", "curl *")] == []


def test_a_wildcard_covers_no_subscript_in_which_a_shell_runs_commands() -> None:
    allow = [f"{name} *" for name in (*NAMES_VARIABLES, "echo", "jobs")]

    assert [line for line in COMMANDS["subscripts"] if not refused(line, *allow)] == []
    assert refused("printf -v 'a[$(ls)]' x", "printf -v 'a[$(ls)]' *") == ()


def test_a_real_shell_runs_what_a_subscript_hides(tmp_path: Path) -> None:
    """Otherwise there would be no reason to ask for these lines."""
    hidden = [f"{start} 'a[$(evil)]'" for start in ("printf -v", "test -v", "read", "let")]
    ran = tmp_path / "trace"
    idle = []
    for line in hidden:
        ran.unlink(missing_ok=True)
        script = f"{line.replace('evil', f': > {ran}')}{' x' * line.startswith('printf')}"
        subprocess.run(
            ["bash", "-c", script], input="x\ny\n", cwd=tmp_path, capture_output=True, text=True, check=False
        )
        idle += [line] if not ran.exists() else []

    assert idle == []


STREAMS = ["/dev/stdin", "//dev/./stdin", "/dev/fd/3", "/proc/self/fd/0", "/proc/123/fd/0", "/proc/thread-self/fd/0"]
STREAMS += ["../../../dev/stdin", "/dev/net/../stdin", "/dev/tty", "/dev/pts/0", "stdin", "-", "0"]


def test_a_wildcard_covers_no_program_that_comes_from_a_stream() -> None:
    interpreters = [name for name, rule in RULES.items() if rule.script and name in RUNS_PROJECT_CODE]
    lines = [f"{name} {stream}" for name in interpreters for stream in STREAMS]

    assert len(interpreters) > 10
    assert [line for line in lines if not refused(f"echo evil | {line}", f"{line.split()[0]} *", "echo *")] == []
    assert refused("echo evil | python3 /dev/stdin", "echo *", "python3 /dev/*") == ("python3 /dev/stdin",)
    assert refused("echo evil | python3 /dev/stdin", "echo *", "python3 /dev/stdin") == ()


def test_one_pattern_covers_every_line() -> None:
    """This includes lines that cannot be split."""
    assert refused("for x in a; do rm $x; done <<E", "git *", "*") == ()
    assert refused("bash", "git *", "*") == ()
    assert refused("rm x", "bash") == ("rm x",)


NO_PATTERNS = ["", " ", "a; b", "a 'b", "for x", "a > b", "<(a)"]


def test_a_pattern_is_one_command() -> None:
    for pattern in NO_PATTERNS:
        with pytest.raises(UsageError, match="is not a pattern for one command"):
            print(repr(pattern), parse_pattern(pattern))


DESCRIPTIONS = {
    "*": "every command",
    "git status": "exactly this command",
    "ls *": "this command with any arguments in place of *",
    "git diff *": "this command with any arguments in place of *, "
    "without arguments that run other programs or write other files, unless the pattern names them",
    "pytest *": "this command with any arguments in place of *, which runs code of the project",
    "X=1 make all": "exactly this command, which runs what the project's files tell it to",
    "sudo *": "this command with any arguments in place of *, which runs any command that it is given",
    "> out/*": "writing to out/* in redirections",
    "< in": "reading from in in redirections",
    "X=1": "exactly this command",
}


def test_a_pattern_says_what_it_covers() -> None:
    assert {pattern: describe_pattern(pattern) for pattern in DESCRIPTIONS} == DESCRIPTIONS


WINDOWS = [
    ("git status", "git *", ()),
    ("GIT.EXE -c x=y z", "GIT.EXE *", ("GIT.EXE -c x=y z",)),
    ("dir C:\\x", "dir *", ()),
    ("cmd /c del", "c* *", ("cmd /c del",)),
    ("git status & del x", "git *", ("git status & del x",)),
]


def test_a_line_of_windows_has_the_same_rules() -> None:
    assert [(line, pattern, refused(line, pattern, windows=True)) for line, pattern, _ in WINDOWS] == WINDOWS


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

    where: Any = {"cwd": trap / "cwd", "env": {"PATH": str(trap / "bin")}}
    for shell in ("/bin/bash", "/bin/sh"):
        subprocess.run([shell, "-c", line], **where, capture_output=True, check=False, timeout=10)

    assert not os.path.exists(trap / "trace"), line
