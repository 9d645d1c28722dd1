"""Commands as one line of text."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.plan.command_line import split_command
from tildone.plan.model import Check
from tildone.plan.text.proofs import check_text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pytest -q  tests/parser", ("pytest", "-q", "tests/parser")),
        ("make 'a b' \"c 'd'\" e\\ f ''", ("make", "a b", "c 'd'", "e f", "")),
        (r'grep "a\"b\\c\d" x', ("grep", 'a"b\\c\\d', "x")),
        ("sh -c 'make && ruff check | cat'", ("sh", "-c", "make && ruff check | cat")),
        ('a"b"c', ("abc",)),
        ("env A=1 make", ("env", "A=1", "make")),
        ("a\\", ("a\\",)),
        ("  ", ()),
        ("'\r' b\r", ("\r", "b")),
    ],
)
def test_a_command_is_split_as_in_a_shell(text: str, words: tuple[str, ...]) -> None:
    assert split_command(text) == words


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("make 'a", "not closed"),
        ('make "a\\"', "not closed"),
        ("make && ruff", "&& needs a shell"),
        ("a|b", "| needs a shell"),
        ("make > log", "> needs a shell"),
        ("echo $(date)", "needs a shell"),
        ("CI=1 make", "env CI=1 …"),
    ],
)
def test_a_command_for_a_shell_is_refused(text: str, problem: str) -> None:
    """It would be run without one, and mean something else."""
    with pytest.raises(ValueError, match=problem.replace("|", r"\|").replace("$", r"\$")):
        split_command(text)


@given(
    st.lists(st.text(max_size=6) | st.text(st.sampled_from(" \t\r\n'\"\\$#a")), min_size=1, max_size=4).filter(
        lambda words: "=" not in words[0]
    )
)
def test_the_text_of_a_command_is_split_into_its_words(words: list[str]) -> None:
    text = check_text(Check(tuple(words)))

    assert split_command(text) == tuple(words)


@given(st.text(st.sampled_from("ab'\"\\ ")))
def test_quotations_are_read_as_python_reads_them(text: str) -> None:
    try:
        expected = tuple(shlex.split(text))
    except ValueError:
        return

    assert split_command(text) == expected
