"""What a person types: commands, targets and texts that are searched for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, plan_of, plans
from tildone.app.commands import (
    Answer,
    FailureReason,
    Search,
    capitalized,
    find,
    find_targets,
    find_task,
    find_tasks,
    phases_like,
    task_number,
    tasks_like,
    title,
    verb_and_rest,
    words,
)
from tildone.plan.formats import JS_WHITESPACE
from tildone.plan.model import Phase, Plan, Task, flat, numbered


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


def test_a_prefix_takes_precedence_over_a_substring_and_the_only_open_match_over_others() -> None:
    assert [phase.name for phase in phases_like(Plan((Phase("auth"), Phase("Release"))), "a")] == ["auth"]

    plan = flat(Task("Split A", COMPLETED), Task("Split B", IN_PROGRESS), Task("Split C", ABANDONED))

    assert [task.text for task in tasks_like(plan, "plit")] == ["Split B"]


@given(plans, st.text(max_size=3))
def test_every_match_is_in_the_plan_and_contains_the_query(plan: Plan, query: str) -> None:
    wanted = query.strip(JS_WHITESPACE).lower()

    assert all(wanted and wanted in task.text.lower() and task in plan.tasks for task in tasks_like(plan, query))
    assert all(wanted and wanted in phase.name.lower() for phase in phases_like(plan, query))


@given(st.text(min_size=1))
def test_every_task_is_found_by_its_whole_text(text: str) -> None:
    plan = plan_of("another", text)

    assert text.lower() in {task.text.lower() for task in tasks_like(plan, text)} or not text.strip(JS_WHITESPACE)


PLAN = numbered(Plan((Phase("Build", (Task("Fix #2"), Task("Test", COMPLETED), Task("Test again"))), Phase("Test"))))


def complaint(found: object) -> str:
    assert isinstance(found, Answer)
    assert found.failure is FailureReason.UNMATCHED
    return found.messages[0].text


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("3", 3),
        ("#3", 3),
        ("[3]", 3),
        ("0", 0),
        ("007", 7),
        ("3a", None),
        ("##3", None),
        ("[3", None),
        ("", None),
        ("#", None),
        ("-1", None),
        ("٣", None),
        ("9" * 20, None),
    ],
)
def test_a_number_has_three_forms(word: str, number: int | None) -> None:
    assert task_number(word) == number


def test_what_names_no_task_is_refused_with_what_there_is() -> None:
    gone = Plan(PLAN.phases, last_number=9)
    many = plan_of(*(f"Task {letter}" for letter in "abcdefg"))

    assert complaint(find_task(PLAN, ["7"])) == "There is no task #7: the plan has #1-#3"
    assert complaint(find_task(gone, ["7"])) == "There is no task #7: it was removed; the plan has #1-#3"
    assert complaint(find_task(Plan(), ["7"])) == "There is no task #7: the plan has no tasks"
    assert complaint(find_tasks(Plan(), ["[0]"], positions=True)) == (
        "There is no task at position [0]: the plan has no tasks"
    )
    assert complaint(find_targets(PLAN, ["nope"])) == 'No task or phase has "nope" in it'
    assert complaint(find_task(PLAN, ["no\npe"])) == 'No task has "no⏎pe" in it'
    assert complaint(find_targets(many, ["task"])) == (
        '"task" fits 7; name one by its number: #1 Task a; #2 Task b; #3 Task c; #4 Task d; #5 Task e; …'
    )
    phases = Plan((Phase("Test a"), Phase("Test b")))
    assert complaint(find_targets(phases, ["test"])) == (
        '"test" fits 2; name one by its number: the phase Test a; the phase Test b'
    )


UNMATCHED, USAGE = FailureReason.UNMATCHED, FailureReason.USAGE
SEARCHED = numbered(
    Plan(
        (
            Phase("Build", (Task("Straße", notes=("see grammar",)), Task("Parse", COMPLETED))),
            Phase("Ship", (Task("2"),)),
        )
    )
)


@pytest.mark.parametrize(
    ("search", "numbers"),
    [
        (Search(), [1, 2, 3]),
        (Search(("STRASSE",)), [1]),
        (Search(("see", "str")), [1]),
        (Search(("see", "parse")), []),
        (Search(("2",)), [2, 3]),
        (Search(("#2",)), [2]),
        (Search(only_open=True), [1, 3]),
        (Search(phase="bu"), [1, 2]),
        (Search(phase="bu", only_open=True), [1]),
        (Search(status="Completed"), [2]),
        (Search(status="done"), [2]),
        (Search(status="in-progress"), []),
    ],
)
def test_tasks_match_everything_that_is_asked_for(search: Search, numbers: list[int]) -> None:
    found = find(SEARCHED, search)

    assert not isinstance(found, Answer)
    assert [task.number for task in found] == numbers


@pytest.mark.parametrize(
    ("plan", "search", "reason", "complaint"),
    [
        (SEARCHED, Search(phase="x"), UNMATCHED, 'No phase has "x" in its name; phases are Build and Ship'),
        (Plan((Phase("A"),)), Search(phase="x"), UNMATCHED, 'No phase has "x" in its name; phases are A'),
        (Plan(), Search(phase="x"), UNMATCHED, 'No phase has "x" in its name; the plan has no phases'),
        (SEARCHED, Search(status="x"), USAGE, 'There is no status "x"; a status is pending, in_progress, '),
    ],
)
def test_an_unknown_phase_or_status_is_refused(
    plan: Plan, search: Search, reason: FailureReason, complaint: str
) -> None:
    found = find(plan, search)

    assert isinstance(found, Answer)
    assert found.failure is reason
    assert found.messages[0].text.startswith(complaint)
