"""What a person is told about a pattern that allows more than it looks like."""

from tildone.plan.shell.danger import POWERFUL, RULES, reach, told

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


def test_every_program_of_the_tables_has_words() -> None:
    names = {*POWERFUL, *(name for name in RULES if " " not in name)} - {"."}

    assert {name for name in names if not reach(f"{name} *")} == set()


def test_the_person_is_told_which_pattern_it_is() -> None:
    assert told("--allow", "find *") == (
        "--allow 'find *' allows more than it looks like: find runs other programs with -exec"
    )
    assert told("--allow", "ls *") == ""
