"""Shell lines: their commands and words, which are dangerous, and which patterns allow more than they look like."""

from tildone.plan.shell.danger import (
    POWERFUL,
    RULES,
    Rule,
    caution,
    danger,
    has_subscript,
    is_assignment,
    is_refused,
    program_name,
    reach,
    told,
)
from tildone.plan.shell.syntax import MAX_CHARACTERS, Command, WordKind, split_line

DANGEROUS = {
    "rm -rf build": "deletes files",
    "rm -f x": "deletes files",
    "rm build -R": "deletes files",
    "rm --recursive x": "deletes files",
    "/bin/rm -r x": "deletes files",
    "X=1 rm -rf x": "deletes files",
    "cd src && rm -rf build": "deletes files",
    "echo $(rm -rf x)": "deletes files",
    "sudo rm -rf /": "runs as another user, deletes files",
    "doas -u ada rm -rf /": "runs as another user, deletes files",
    "sudo ls": "runs as another user",
    "env X=1 nice -n 5 timeout 9 rm -rf x": "deletes files",
    "bash -c 'rm -rf x'": "deletes files",
    "sh -ec 'cd x; rm -rf y'": "deletes files",
    "sudo bash -c \"sh -c 'rm -rf x'\"": "runs as another user, deletes files",
    "eval 'rm -rf x'": "deletes files",
    "ssh host 'rm -rf x'": "deletes files",
    "ssh host rm -rf x": "deletes files",
    "trap 'rm -rf x' EXIT": "deletes files",
    "ls | xargs rm": "deletes files",
    "ls | xargs -n 1 rm": "deletes files",
    "find . -name '*.pyc' -exec rm {} +": "deletes files",
    "find . -name x -delete": "deletes files",
    "fd -e pyc -x rm": "deletes files",
    "echo 'rm -rf x' | sh": "deletes files",
    "printf 'rm -rf x' | bash -s": "deletes files",
    "for x in a b; do rm -rf $x; done": "deletes files",
    "if true; then rm -rf x; fi # it's old": "deletes files",
    "bash <<E\nrm -rf x\nE": "deletes files",
    "X=$((1)) rm -rf x": "deletes files",
    "git push --force": "rewrites the history of a repository",
    "git push -uf origin main": "rewrites the history of a repository",
    "git push origin +main": "rewrites the history of a repository",
    "git -C x push --force-with-lease=main": "rewrites the history of a repository",
    "git reset --hard HEAD~1": "discards changes that are not committed",
    "git clean -fdx": "deletes files that git does not track",
    "git checkout --force main": "overrides a protection",
    "npm install --force": "overrides a protection",
    "docker image prune --force": "overrides a protection",
    "cat x > /dev/sda": "writes to a device",
    "for x in a; do cat $x > /dev/sda; done": "writes to a device",
    "dd if=x of=/dev/sda": "overwrites a file or a device",
    "mkfs.ext4 /dev/sda1": "erases a file or a disk",
    "sudo mkfs -t ext4 /dev/sda1": "runs as another user, erases a file or a disk",
    "shred x": "erases a file or a disk",
    "wipefs -a x": "erases a file or a disk",
    "blkdiscard x": "erases a file or a disk",
    "psql -c 'DROP TABLE x'": "deletes data of a database",
    "echo 'drop database x' | mysql": "deletes data of a database",
    "psql <<E\nTRUNCATE TABLE x\nE": "deletes data of a database",
}
HARMLESS = [
    *("", "X=1", "ls -rf", "rm x", "echo 'rm -rf x'", 'echo "rm -rf"', "git commit -m 'rm -rf x; git push --force'"),
    *("git commit -m 'DROP TABLE users' -m more", "grep -rn 'DROP TABLE' src", "grep --force x", "git push"),
    *("git push -u origin main", "git reset --soft HEAD~1", "git clean -n", "find . -name rm -print"),
    *("find . -exec ls {} +", "xargs grep x", "make > /dev/null 2>&1", "echo x > /dev/stderr", "echo x > /dev/fd/3"),
    *("dd if=x of=/dev/null", "warm -rf x", "./rm-cache -rf x", "bash script.sh -c", "echo hi | sh"),
    *("for x in a; do echo $x; done", "python script.py --rf"),
]


def test_dangerous_commands_are_told_why_and_others_are_not_dangerous() -> None:
    """A text that is only quoted is no command."""
    assert {line: danger(line) for line in DANGEROUS} == DANGEROUS
    assert {line: danger(line) for line in HARMLESS if danger(line)} == {}
    assert (caution("rm -rf x"), caution("ls")) == ("Careful: it deletes files.", "")


def test_a_command_in_commands_in_commands_is_looked_for_so_deep_only() -> None:
    nested = "rm -rf x"
    for _ in range(3):
        nested = f"sudo {nested}"
    assert danger(nested) == "runs as another user, deletes files"
    assert danger(f"{'sudo ' * 20}{nested}") == "runs as another user"
    assert danger("sudo " * (MAX_CHARACTERS // 5)) == "runs as another user"


FORMS = [
    ("find", ["-exec", "--exec", "-delete"], ["-executable", "exec", "-name"]),
    ("sort", ["-o", "-uo", "-ox", "--output=x", "--out"], ["-u", "-k=o", "--unique", "--", "-"]),
    ("curl", ["%output{x}", "@x", "-w@x", "--expand-output"], ["-w", "%{http_code}", "x@y"]),
    ("git bisect", ["run"], ["runs", "--run"]),
]


def test_options_subscripts_assignments_and_programs_are_recognized_in_every_form() -> None:
    refused = [(name, word) for name, _, words in FORMS for word in words if is_refused(word, RULES[name])]
    allowed = [(name, word) for name, words, _ in FORMS for word in words if not is_refused(word, RULES[name])]

    assert (refused, allowed) == ([], [])
    assert not is_refused("-x", Rule())
    assert [word for word in ("a[0]", "a [x]", "x+a[$(id)]", "[%s]", "a", "") if has_subscript(word)] == [
        *("a[0]", "a [x]", "x+a[$(id)]")
    ]
    assert [word for word in ("a=1", "a+=1", "a[0]=1", "1=a", "=", "a") if is_assignment(word)] == [
        *("a=1", "a+=1", "a[0]=1")
    ]

    names = ["/usr/bin/python3.12", "GIT.EXE", "C:\\bin\\rm.exe", "perl5", "tool-2", "x1"]

    assert [program_name(path) for path in names] == ["python", "git", "rm", "perl", "tool-2", "x1"]


REACH = {
    "*": "it allows every command",
    "* test": "it allows every program whose name fits",
    "py* -q": "it allows every program whose name fits",
    "sh *": "sh runs any command that it is given",
    "X=1 bash -c *": "bash runs any command that it is given",
    "/usr/bin/env *": "env runs any command that it is given",
    "xargs *": "xargs runs any command that it is given",
    "make *": "make runs what the project's files tell it to",
    "rm *": "rm deletes any file",
    "read *": "read changes what later commands of the line do",
    "python3.12 *": "python runs code of the project",
    "pytest *": "pytest runs code of the project",
    "find *": "find runs other programs with -exec",
    "printf *": "printf runs other programs with -v",
    "curl *": "curl runs other programs with -K",
    "shuf *": "shuf writes other files with -o",
    "uniq *": "uniq writes other files",
    "sed *": "sed runs any code that it is given",
    "git *": "git runs other programs with --config-env",
    "git diff *": "git diff runs other programs with --ext-diff",
    "git bisect *": "git bisect runs other programs with run",
    "git status *": "",
    "git foo *": "git foo may run other programs",
    "npm *": "npm may run other programs",
    "npm run *": "npm run may run other programs",
    "npm ls *": "",
    "echo *": "",
    "ls -l *": "",
    "make test": "",
    "sudo make install": "",
    "> out/*": "",
    "a; b *": "",
    "a 'b": "",
    "": "",
}


def test_a_pattern_that_allows_more_than_it_looks_like_says_so() -> None:
    assert {pattern: reach(pattern) for pattern in REACH} == REACH

    names = {*POWERFUL, *(name for name in RULES if " " not in name)} - {"."}

    assert {name for name in names if not reach(f"{name} *")} == set()
    assert told("--allow", "find *") == (
        "--allow 'find *' allows more than it looks like: find runs other programs with -exec"
    )
    assert told("--allow", "ls *") == ""


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
    'echo "on `date`"': ("date", 'echo "on `date`"'),
    "": (),
    " ; \r": ("\r",),
}


def test_a_line_is_split_into_simple_commands_unless_it_is_ambiguous() -> None:
    """A wrong split would hide a command in the arguments of another."""
    assert {line: texts(line) for line in SPLIT} == SPLIT
    assert [line for line in AMBIGUOUS if texts(line) is not None] == []
    assert {line: texts(line, windows=True) for line in WINDOWS} == WINDOWS
    assert split_line("a" * MAX_CHARACTERS) is not None
    assert split_line("a" * (MAX_CHARACTERS + 1)) is None


AMBIGUOUS = [
    *("cat <<E\ndon't\nE", "cat <<E\nls '\nE\nrm x '", "cat <<< x", "git status # don't", "git status \\\n# don't"),
    *("ls > # don't", "diff <(sort a) <(sort b)", 'echo $"x"', "ls {fd}> x", "if true; then ls; fi", "{ ls; }", "! ls"),
    *("[[ a < b ]]", "f() { ls; }", "a=(1 2)", "ls !(x)", "((x=1))", "echo $((1+1))", "echo $[1+1]", "echo $'a'"),
    *("echo ${x:-'a'}", 'echo "${x:-"\'"}"', "echo `echo 'a'`", "echo `echo \\`date\\``", 'echo "a', "echo 'a"),
    *("echo a\\", "echo `a", "echo $(a", "(a", "a)", "ls >", "ls > &1", "gi\\\nt status", 'echo "$\\\n(rm x)"'),
    *("(" * 50 + "ls" + ")" * 50, "$(" * 50 + "ls" + ")" * 50),
]


WINDOWS = {"git status": ("git status",), "git status & del x": None, "git 'a & del x'": None, "echo %PATH%": None}


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
