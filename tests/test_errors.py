"""Suggestions for unknown words: what people mistype is found, and what is only remotely alike is not."""

import pytest

from tildone.errors import closest, nearest

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
