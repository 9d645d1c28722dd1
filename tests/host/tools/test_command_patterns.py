"""Which commands a pattern covers, the ways to run other programs that a wildcard never covers.

How shell lines are split.
"""

import os
import subprocess
import time
import timeit
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

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


HARMLESS = [
    "git",
    "git --no-pager log -3 --oneline",
    "git commit -am 'x; y'",
    "git diff -- src/*.py",
    "git rebase main",
    "git grep -n TODO",
    "find . -name '*.py' -newer x",
    "find src/* -type f",
    "tar tf x.tar",
    "tar -xzf x.tgz",
    "sort -rn x",
    "split -l 10 x",
    "rsync -av a b",
    "scp -r a b",
    "zip -r a.zip b",
    "man ls",
    "vim x",
    "curl -sSfL https://example.com",
    "fd -e py x",
    "rg -n x src",
    "sed -n 1,20p x",
    "sed 's/a\\/b/c/g; $d' x",
    "sed 's|a|b|p' x",
    "sed -E '/^x/!d' x",
    "awk '{print $1}' x",
    "awk -F, 'NR == 1 {print $2}' x",
    "gawk 1 x",
    "mawk 1 x",
    "nawk 1 x",
    "python script.py -c x",
    "python3.12 -u script.py",
    "perl -w x.pl",
    "ruby x.rb",
    "node --test x.js",
    "php x.php",
    "npm ls",
    "yarn why x",
    "pnpm outdated",
    "bun outdated",
    "uv tree",
    "pip list",
    "pip3 show x",
    "cargo test",
    "go test ./...",
    "pytest -q tests",
    "make all",
    "timeout 5 ls",
    "git switch -c topic",
    "git archive HEAD",
    "git bisect start",
    "git clone x",
    "git config user.name",
    "git difftool",
    "git fetch-pack x",
    "git log -p",
    "git ls-remote",
    "git mergetool",
    "git show HEAD",
    "git submodule status",
    "shuf -n 3 x",
    "uniq -c x",
    "xxd x",
    "tree -L 2",
    "yq -o=json .a x.yml",
    "iconv -f latin1 x",
    "openssl x509 -in x.pem -noout -text",
    "pandoc -t html x.md",
    "sftp host",
    "ssh host uptime",
    "wget -q https://example.com",
    "curl -w '%{http_code}' https://example.com",
    "pypy3 x.py",
    "lua x.lua",
    "luajit x.lua",
    "tclsh x.tcl",
    "Rscript x.R",
    "julia x.jl",
    "guile x.scm",
    "groovy x.groovy",
    "ts-node x.ts",
    "tsx x.ts",
    "python tools/stdin.py",
    "go test -count=1 -json ./...",
    "printf '[%s]\\n' x",
    "test -f x",
    "read line",
    "mapfile -t lines",
    "readarray -t lines",
    "wait 1",
    "jobs -l",
]


def wildcard_for(line: str) -> str:
    """Return a pattern for the program of a line, and for its subcommand if that has a rule of its own."""
    program, *more = line.split()
    named = f"{program} {more[0]}" if more else program
    return f"{named if named in RULES else program} *"


def test_a_wildcard_covers_ordinary_arguments() -> None:
    assert [line for line in HARMLESS if refused(line, wildcard_for(line))] == []


NAMED = {
    # The pattern that names the word, and a command that it covers.
    "git -c *": "git -c alias.x='!id' x",
    "git --config-env *": "git --config-env alias.x=E x",
    "git --exec-path=/tmp *": "git --exec-path=/tmp status",
    "git -C *": "git -C evil status",
    "git --git-dir=x *": "git --git-dir=x status",
    "git x *": "git x y",
    "git config *": "git config alias.x '!id'",
    "git push *": "git push origin main",
    "git fetch --upload-pack *": "git fetch --upload-pack evil x",
    "git push --receive-pack=evil *": "git push --receive-pack=evil x",
    "git push --exec *": "git push --exec evil x",
    "git rebase -x *": "git rebase -x evil main",
    "git rebase --exec *": "git rebase --exec evil main",
    "git bisect run *": "git bisect run evil",
    "git submodule foreach *": "git submodule foreach evil",
    "git difftool --extcmd *": "git difftool --extcmd evil",
    "git difftool -x *": "git difftool -x evil",
    "git mergetool --tool *": "git mergetool --tool evil",
    "git grep -O *": "git grep -O evil x",
    "git grep --open-files-in-pager=evil *": "git grep --open-files-in-pager=evil x",
    "git diff --ext-diff *": "git diff --ext-diff x",
    "git cat-file --textconv *": "git cat-file --textconv x",
    "git cat-file --filters *": "git cat-file --filters x",
    "git diff --output *": "git diff --output x",
    "git init --template *": "git init --template evil",
    "git clone -c *": "git clone -c core.fsmonitor=evil x",
    "git clone --config *": "git clone --config core.fsmonitor=evil x",
    "git clone -u *": "git clone -u evil x",
    "git archive -o *": "git archive -o x HEAD",
    "git archive --remote *": "git archive --remote evil HEAD",
    "git config -e *": "git config -e x",
    "git ls-remote --upload-pack *": "git ls-remote --upload-pack evil",
    "git fetch-pack --upload-pack *": "git fetch-pack --upload-pack evil x",
    "find . -exec *": "find . -exec rm {} +",
    "find . -execdir *": "find . -execdir rm {} +",
    "find . -ok *": "find . -ok rm {} ';'",
    "find . -okdir *": "find . -okdir rm {} ';'",
    "find . -delete *": "find . -delete",
    "find . -fprint *": "find . -fprint x",
    "find . -fprint0 *": "find . -fprint0 x",
    "find . -fprintf *": "find . -fprintf x y",
    "find . -fls *": "find . -fls x",
    "fd -x *": "fd -x evil",
    "fd --exec-batch *": "fd --exec-batch evil",
    "rg --pre *": "rg --pre evil x",
    "rg --hostname-bin *": "rg --hostname-bin evil x",
    "tar --to-command *": "tar --to-command evil -xf x",
    "tar --use-compress-program=evil *": "tar --use-compress-program=evil -xf x",
    "tar -I *": "tar -I evil -xf x",
    "tar -xIf *": "tar -xIf evil x",
    "tar xIf *": "tar xIf evil x",
    "tar --checkpoint-action *": "tar --checkpoint-action exec=evil -cf x .",
    "tar -F *": "tar -F evil -cf x .",
    "tar --info-script *": "tar --info-script evil -cf x .",
    "tar --rsh-command *": "tar --rsh-command evil -cf x .",
    "tar -C *": "tar -C / -xf x",
    "tar -P *": "tar -P -xf x",
    "sort --compress-program *": "sort --compress-program evil x",
    "sort -o *": "sort -o x y",
    "split --filter *": "split --filter evil x",
    "rsync -e *": "rsync -e evil a b",
    "rsync --rsync-path *": "rsync --rsync-path evil a b",
    "scp -S *": "scp -S evil a b",
    "scp -o *": "scp -o ProxyCommand=evil a b",
    "zip -TT *": "zip -TT evil x",
    "man -P *": "man -P evil ls",
    "vim -c *": "vim -c '!evil'",
    "curl -o *": "curl -o x y",
    "curl -K *": "curl -K x",
    "sed -i *": "sed -i s/a/b/ x",
    "sed -e *": "sed -e 1e x",
    "sed -f *": "sed -f x y",
    "sed 1e *": "sed 1e x",
    "sed '1w x' *": "sed '1w x' y",
    "sed s/a/b/e *": "sed s/a/b/e x",
    "sed 's/a/b/w x' *": "sed 's/a/b/w x' y",
    "awk 'BEGIN {system(\"evil\")}' *": "awk 'BEGIN {system(\"evil\")}' x",
    "awk '{print > \"x\"}' *": "awk '{print > \"x\"}' y",
    "awk '{print | \"x\"}' *": "awk '{print | \"x\"}' y",
    "awk -f *": "awk -f x y",
    "gawk '@load \"x\"' *": "gawk '@load \"x\"' y",
    "mawk -f *": "mawk -f x y",
    "nawk -v *": "nawk -v x=1 'BEGIN {system(\"evil\")}'",
    "python -c *": "python -c evil",
    "python3.12 -m *": "python3.12 -m evil",
    "python - *": "python -",
    "perl -e *": "perl -e evil",
    "perl -ne *": "perl -ne evil",
    "ruby -e *": "ruby -e evil",
    "node -e *": "node -e evil",
    "php -r *": "php -r evil",
    "npm run *": "npm run evil",
    "npm exec *": "npm exec evil",
    "npm install *": "npm install evil",
    "yarn run *": "yarn run evil",
    "pnpm exec *": "pnpm exec evil",
    "bun run *": "bun run evil",
    "uv run *": "uv run evil",
    "pip install *": "pip install evil",
    "cargo run *": "cargo run",
    "cargo --config *": "cargo --config x build",
    "go run *": "go run x",
    "go test -exec *": "go test -exec evil",
    "go test --toolexec *": "go test --toolexec evil",
}


def test_a_wildcard_never_covers_a_way_to_run_other_programs() -> None:
    """A pattern that names the word covers it; a wildcard for the program or its subcommand does not."""
    assert [pattern for pattern, line in NAMED.items() if refused(line, pattern)] == []
    assert [line for line in NAMED.values() if not refused(line, f"{line.split(maxsplit=1)[0]} *")] == []


SPELLINGS = [
    ("git diff --outp=x", "git diff *"),
    ("git grep --open=x y", "git grep *"),
    ("git rebase --ex=evil main", "git rebase *"),
    ("git submodule foreach evil", "git submodule *"),
    ("git bisect run evil", "git bisect *"),
    ("git difftool -yx evil", "git difftool *"),
    ("git diff *", "git diff *"),
    ("git st*", "git *"),
    ("find -ex*", "find *"),
    ("find . -ex*", "find *"),
    ("find . -name x -exec ls {} + -delete", "find . -name * -print *"),
    ("tar cf x *", "tar *"),
    ("tar -xf x --to-com=evil", "tar *"),
    ("sed -ni s/a/b/ x", "sed *"),
    ("sed -n 1p x -i", "sed *"),
    ("sed 's/a/b/;e' x", "sed *"),
    ("sed $script x", "sed *"),
    ("awk -F , 'BEGIN {system(1)}'", "awk *"),
    ("python", "python *"),
    ("python -uc evil", "python *"),
    ("python", "p* *"),
    ("/usr/bin/env evil", "/usr/bin/* *"),
    ("python3 *", "python3 *"),
    ("sort -uo x y", "sort *"),
    ("uniq x y", "uniq *"),
    ("uniq src/*", "uniq *"),
    ("xxd -r x y", "xxd *"),
    ("go test -o x", "go *"),
    ("go build --C=/x", "go *"),
    ("curl -Hx=o -o=y", "curl *"),
]


def test_other_spellings_are_refused_too() -> None:
    assert [row for row in SPELLINGS if not refused(*row)] == []


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


SUBSCRIPTS = [
    "printf -v 'a[$(evil)]' x",
    "printf '%d' 'a[$(evil)]'",
    "printf -v PATH .",
    "printf -vx y",
    "test -v 'a[$(evil)]'",
    'test -v "a[\\$(evil)]"',
    "test -v a[`evil`]",
    "read 'a[$(evil)]'",
    "read -r line 'a[$(evil)]'",
    "unset 'a[$(evil)]'",
    "let 'a[$(evil)]'",
    "let 'x = a [$(evil)]'",
    "declare 'a[$(evil)]=x'",
    "typeset 'a[$(evil)]=x'",
    "local 'a[$(evil)]=x'",
    "readonly 'a[$(evil)]=x'",
    "export 'a[$(evil)]=x'",
    "mapfile 'a[$(evil)]'",
    "mapfile -c 1 -C evil lines",
    "readarray -tC evil lines",
    "getopts ab 'a[$(evil)]'",
    "wait -n -p 'a[$(evil)]'",
    "[ -v 'a[$(evil)]' ]",
    "[[ -v 'a[$(evil)]' ]]",
    "(( a[$(evil)] ))",
    "echo $(( a[$(evil)] ))",
    "echo ${a[$(evil)]}",
    "a[$(evil)]=x",
    "a['$(evil)']=x echo",
    "jobs -x evil",
]


def test_a_wildcard_covers_no_subscript_in_which_a_shell_runs_commands() -> None:
    allow = [f"{name} *" for name in (*NAMES_VARIABLES, "echo", "jobs")]

    assert [line for line in SUBSCRIPTS if not refused(line, *allow)] == []
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
