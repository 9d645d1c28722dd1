"""Splitting a shell line into commands and their words."""

from tildone.plan.shell.syntax import MAX_CHARACTERS, Command, WordKind, split_line


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


def test_a_line_that_no_shell_would_run_is_not_split() -> None:
    assert split_line("a" * MAX_CHARACTERS) is not None
    assert split_line("a" * (MAX_CHARACTERS + 1)) is None
