"""Splitting and capitalizing what a person types, and matching it with tasks and phases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of, plans
from tildone.app.commands import capitalized, phases_like, tasks_like, title, verb_and_rest, words
from tildone.plan.formats import JS_WHITESPACE
from tildone.plan.model import Phase, Plan, Task, flat


@pytest.mark.parametrize(
    ("text", "verb", "rest"),
    [
        ("", "", ""),
        (" \t ", "", ""),
        ("DONE", "done", ""),
        ("rm\nDocument it", "rm", "Document it"),
        ("\ufeffdrop\u3000 two  words ", "drop", "two  words"),
        ("done\x1cit", "done\x1cit", ""),
    ],
)
def test_the_verb_ends_at_javascript_whitespace(text: str, verb: str, rest: str) -> None:
    assert verb_and_rest(text) == (verb, rest)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ('""', []),
        ('"" x', ["x"]),
        ("  a   b ", ["a", "b"]),
        ('"two words" x', ["two words", "x"]),
        ('a"b c"d', ["ab cd"]),
        (r"fix\ it", ["fix it"]),
        (r"say \"hi\"", ["say", '"hi"']),
        (r'"a\"b"', ['a"b']),
        ("it's", ["it's"]),
        ('"open end', ["open end"]),
        ("end\\", ["end\\"]),
        (r"a\\b", [r"a\b"]),
    ],
)
def test_quotes_and_backslashes_group_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.lists(st.text(st.characters(exclude_characters=JS_WHITESPACE + '"\\'), min_size=1), max_size=5))
def test_unquoted_words_are_separated_by_spaces(typed: list[str]) -> None:
    assert words(" ".join(typed)) == typed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("  fix it ", "Fix it"),
        ("API first", "API first"),
        ("ßtart", "SStart"),
        ("ǆ", "Ǆ"),
        ("élan vital", "Élan vital"),
        ("𐐨x", "𐐨x"),
        ("🚀go", "🚀go"),
    ],
)
def test_the_first_letter_is_capitalized_unless_it_is_outside_the_bmp(text: str, expected: str) -> None:
    assert capitalized(text) == expected


def test_every_word_of_a_phase_name_is_capitalized() -> None:
    assert title("  two\twordsOf\u00a0ßix ") == "Two WordsOf SSix"


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("wire workspace", ["Wire workspace"]),
        ("WIRE", ["Wire"]),
        ("  port ", ["Port store"]),
        ("works", ["Wire workspace"]),
        ("wire o", ["Wire OAuth"]),
        ("provid", ["Old providers"]),
        ("o", ["Wire workspace", "Port store", "Wire OAuth", "Old providers", "Old post"]),
        ("old", ["Old providers", "Old post"]),
        ("zzz", []),
        ("", []),
        (" ", []),
    ],
)
def test_a_task_matches_by_its_text_else_by_a_substring(query: str, meant: list[str]) -> None:
    plan = flat(
        Task("Wire workspace", IN_PROGRESS),
        Task("Port store"),
        Task("Wire OAuth"),
        Task("Wire", ABANDONED),
        Task("Old providers", COMPLETED),
        Task("Old post", COMPLETED),
    )

    assert [task.text for task in tasks_like(plan, query)] == meant


def test_the_only_open_match_takes_precedence() -> None:
    plan = flat(Task("Split A", COMPLETED), Task("Split B", IN_PROGRESS), Task("Split C", ABANDONED))

    assert [task.text for task in tasks_like(plan, "plit")] == ["Split B"]


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("auth", ["Auth"]),
        ("AUTHO", ["Authoring"]),
        ("a", ["Auth", "Authoring", "Final"]),
        ("ina", ["Final"]),
        ("fin", ["Final"]),
        ("t", ["Auth", "Authoring"]),
        ("zzz", []),
        (" ", []),
    ],
)
def test_a_phase_matches_by_its_name_else_a_prefix_else_a_substring(query: str, meant: list[str]) -> None:
    plan = Plan((Phase("Auth"), Phase("Authoring"), Phase("Final")))

    assert [phase.name for phase in phases_like(plan, query)] == meant


def test_a_prefix_takes_precedence_over_a_substring() -> None:
    plan = Plan((Phase("auth"), Phase("Release")))

    assert [phase.name for phase in phases_like(plan, "a")] == ["auth"]


@given(plans, st.text(max_size=3))
def test_every_match_is_in_the_plan_and_contains_the_query(plan: Plan, query: str) -> None:
    wanted = query.strip(JS_WHITESPACE).lower()

    assert all(wanted and wanted in task.text.lower() and task in plan.tasks for task in tasks_like(plan, query))
    assert all(wanted and wanted in phase.name.lower() for phase in phases_like(plan, query))


@given(st.text(min_size=1))
def test_every_task_is_found_by_its_whole_text(text: str) -> None:
    plan = plan_of("another", text)

    assert text.lower() in {task.text.lower() for task in tasks_like(plan, text)} or not text.strip(JS_WHITESPACE)
