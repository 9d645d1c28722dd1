"""Suggestions for unknown words: what people mistype is found, and what is only remotely alike is not."""

import pytest

from tildone.base.errors import closest, nearest, shortened

VERBS = ("todo", "call", "log", "undo", "redo", "checkout", "export", "install", "uninstall", "status", "sessions")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("tood", ["todo"]),  # two neighbours swapped
        ("lgo", ["log"]),
        ("staus", ["status"]),  # a letter missing
        ("statuss", ["status"]),  # a letter too many
        ("stabus", ["status"]),  # a wrong letter
        ("STATUS", ["status"]),
        ("sess", ["sessions"]),  # the beginning
        ("instal", ["install"]),  # much closer than uninstall
        ("inztxll", ["install"]),
        ("udno", ["undo"]),
        ("next", []),
        ("x", []),
        ("", []),
    ],
)
def test_typing_errors_are_corrected(typed: str, expected: list[str]) -> None:
    assert closest(typed, VERBS) == expected


def test_at_most_three_words_are_suggested() -> None:
    assert closest("abcd", ("abce", "abcf", "abcg", "abch")) == ["abce", "abcf", "abcg"]


@pytest.mark.parametrize(
    ("typed", "known", "otherwise", "hint"),
    [
        ("tood", VERBS, "", "did you mean 'todo'?"),
        ("--sesion", ("--session", "--store"), "", "did you mean '--session'?"),
        ("do", ("done", "doctor"), "", "did you mean 'done' or 'doctor'?"),
        ("abcd", ("abce", "abcf", "abcg"), "", "did you mean 'abce', 'abcf' or 'abcg'?"),
        ("zzz", ("print", "json"), "", "known are print, json"),
        ("zzz", (*VERBS, "a", "b"), "", "see tildone --help"),
        ("zzz", ("print", "json"), "see the manual", "see the manual"),
    ],
)
def test_a_hint_names_the_closest_or_where_to_look(
    typed: str, known: tuple[str, ...], otherwise: str, hint: str
) -> None:
    assert nearest(typed, known, otherwise) == hint


def test_a_long_value_is_shown_shortened() -> None:
    assert shortened("9" * 40) == "9" * 40
    assert shortened("9" * 5000) == "9" * 40 + "…"


def test_a_very_long_word_is_compared_with_nothing() -> None:
    """The time that it takes grows with its length."""
    assert closest("status" * 5000, ("status",) * 100) == []
