"""The diff of two plans, as lines and as JSON."""

import pytest
from hypothesis import given, settings

from tests import plans
from tests.plans import COMPLETED, IN_PROGRESS, PENDING
from tests.plans import unnumbered_plan_of as plan_of
from tildone.base import replace
from tildone.plan.history.changes import ChangeKind, changes
from tildone.plan.history.diff import MIN_COLUMNS, DiffSign, TaskDiff, diff_lines, diff_plans, diff_to_json
from tildone.plan.model import Check, Phase, Plan, Status, Task, flat
from tildone.plan.text.styles import display_width, markup, plain


def shown(before: Plan, after: Plan, columns: int | None = None) -> list[str]:
    return [plain(line) for line in diff_lines(diff_plans(before, after), columns)]


def test_a_diff_is_in_the_order_of_the_plan() -> None:
    """Below their phases; removed tasks are at their former places, unchanged ones are omitted."""
    before = Plan(
        (
            Phase("Build", (Task("schema", COMPLETED), Task("cruft"), Task("parser", IN_PROGRESS), Task("same"))),
            Phase("Ship", (Task("notes"),)),
        )
    )
    after = Plan(
        (
            Phase(
                "Build",
                (Task("schema", COMPLETED), Task("lexer"), Task("parser", COMPLETED, ("by hand",)), Task("same")),
            ),
            Phase("Ship", (Task("notes"), Task("tag", IN_PROGRESS))),
        )
    )

    assert shown(before, after) == [
        "Build 2/4",
        "  - cruft",
        "  + lexer",
        "  ~ parser: completed",
        "    + │ by hand",
        "",
        "Ship 0/2",
        "  + tag: started",
    ]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (Task("a"), Task("a", IN_PROGRESS), "~ a: started"),
        (Task("a", IN_PROGRESS), Task("a"), "~ a: put back"),
        (Task("a", COMPLETED), Task("a"), "~ a: reopened"),
        (Task("a"), Task("a", Status.ABANDONED), "~ a: dropped"),
        (Task("a"), Task("a", Status.BLOCKED), "~ a: blocked"),
        (Task("Write the parser"), Task("Write the new parser"), "~ Write the new parser: was “Write the parser”"),
        (
            Task("Write the parser", IN_PROGRESS),
            Task("Write a parser", COMPLETED),
            "~ Write a parser: completed, was “Write the parser”",
        ),
    ],
)
def test_the_changes_of_a_task_follow_its_text(before: Task, after: Task, line: str) -> None:
    """A flat list has no heading."""
    assert shown(flat(before), flat(after)) == [line]


def test_dissimilar_texts_are_different_tasks() -> None:
    """One is removed, the other added."""
    assert shown(plan_of("Write the parser"), plan_of("Ship it")) == ["- Write the parser", "+ Ship it"]


def test_only_a_task_at_the_same_place_is_reworded() -> None:
    """A task removed at the top does not match one added at the end."""
    before = plan_of("Write the parser", "a")

    assert shown(before, plan_of("a", "Write a parser")) == ["- Write the parser", "+ Write a parser"]


def test_a_removed_task_is_reworded_at_most_once() -> None:
    """The others are removed or added."""
    before, after = plan_of("step one", "step two", "end"), plan_of("step 1", "step 2", "step 3", "end")

    assert shown(before, after) == ["~ step 1: was “step one”", "~ step 2: was “step two”", "+ step 3"]
    assert shown(after, before)[:2] == ["- step 3", "~ step one: was “step 1”"]


def test_a_moved_task_is_shown_at_its_new_place() -> None:
    """With its former phase, if that is a different one."""
    before = Plan((Phase("A", (Task("x"), Task("y"), Task("z"))), Phase("", (Task("w"),)), Phase("C", (Task("v"),))))
    after = Plan((Phase("A", (Task("z"), Task("x"), Task("w"))), Phase("", ()), Phase("C", (Task("v"), Task("y")))))

    assert shown(before, after) == [
        "A 0/3",
        "  ~ z: moved",
        "  ~ w: moved from (unnamed)",
        "",
        "C 0/2",
        "  ~ y: moved from A",
    ]


def test_a_removed_task_follows_its_former_predecessor() -> None:
    """Unless that was moved."""
    assert shown(plan_of("a", "gone", "c"), plan_of("c", "a")) == ["~ c: moved", "- gone"]


def test_phases_can_be_added_removed_moved_and_renamed() -> None:
    """A removed phase is at its former place, with its tasks."""
    before = Plan((Phase("A", (Task("a"),)), Phase("Old", (Task("o"),)), Phase("B", (Task("b"),)), Phase("C")))
    after = Plan((Phase("C"), Phase("Alpha", (Task("a"),)), Phase("B", (Task("b"),)), Phase("New", (Task("n"),))))

    assert shown(before, after) == [
        "~ C 0/0 (moved)",
        "",
        "~ Alpha 0/1 (was “A”)",
        "",
        "- Old",
        "  - o",
        "",
        "+ New 0/1",
        "  + n",
    ]


def test_a_phase_may_gain_or_lose_its_name() -> None:
    """It is matched by its tasks."""
    assert shown(plan_of("a"), Plan((Phase("A", (Task("a"),)),))) == ["~ A 0/1 (had no name)"]
    assert shown(Plan((Phase("A", (Task("a"),)),)), plan_of("a")) == ["~ (unnamed) 0/1 (was “A”)"]


def test_a_removed_first_phase_comes_first() -> None:
    assert shown(Plan((Phase("X"), Phase("B"))), Plan((Phase("B"), Phase("Y")))) == ["- X", "", "+ Y 0/0"]


def test_notes_are_below_their_task_line_by_line() -> None:
    """Removed ones as well."""
    before, after = flat(Task("a", PENDING, ("one",))), flat(Task("a", PENDING, ("two\nlines", "three")))

    assert shown(before, after) == ["~ a", "  - │ one", "  + │ two", "  + │ lines", "  + │ three"]


def test_a_diff_can_be_json() -> None:
    """Texts are unchanged; signs and verbs are those on screen."""
    before = Plan((Phase("A", (Task("Write the parser"), Task("x"))), Phase("B")))
    after = Plan((Phase("A", (Task("Write a parser", COMPLETED, ("n",)),)), Phase("Z", (Task("x"),))))

    blank: dict[str, object] = {"number": None, "was": None, "moved": False, "from": None, "what": [], "notes": []}
    assert diff_to_json(diff_plans(before, after)) == [
        {
            "phase": "A",
            "sign": None,
            "was": None,
            "moved": False,
            "tasks": [
                blank
                | {
                    "text": "Write a parser",
                    "sign": "~",
                    "was": "Write the parser",
                    "what": ["completed"],
                    "notes": [{"sign": "+", "note": "n"}],
                }
            ],
        },
        {"phase": "B", "sign": "-", "was": None, "moved": False, "tasks": []},
        {
            "phase": "Z",
            "sign": "+",
            "was": None,
            "moved": False,
            "tasks": [blank | {"text": "x", "sign": "~", "moved": True, "from": "A"}],
        },
    ]


def test_a_renamed_task_is_one_change_even_if_its_texts_have_nothing_in_common() -> None:
    """Its number tells that it is the same task."""
    before = Plan((Phase("A", (Task("x", number=1),)), Phase("B", (Task("z", number=2),))))
    after = Plan((Phase("A"), Phase("B", (Task("z", number=2), Task("quite different", COMPLETED, number=1)))))

    lines = [plain(line) for line in diff_lines(diff_plans(before, after))]

    assert lines == ["B 1/2", "  ~ #1 quite different: completed, moved from A, was “x”"]
    assert diff_to_json(diff_plans(before, after))[0]["tasks"] == [
        {
            "number": 1,
            "text": "quite different",
            "sign": "~",
            "was": "x",
            "moved": True,
            "from": "A",
            "what": ["completed"],
            "notes": [],
        }
    ]


def test_signs_have_colours() -> None:
    """Added is green, removed is red and dim, changed is yellow."""
    lines = diff_lines(diff_plans(plan_of("a", "b"), flat(Task("b", COMPLETED), Task("c"))))

    assert [markup(line) for line in lines] == [
        "<error>- </error><dim>a</dim>",
        "<warning>~ </warning><text>b</text><muted>: completed</muted>",
        "<success>+ </success><text>c</text>",
    ]


def test_lines_are_wrapped_to_the_terminal() -> None:
    """Suffixes that do not fit are below the text; texts are sanitized."""
    before = Plan((Phase("A long name of a phase", (Task("Write the parser of the language"), Task("b\x1b[2J"))),))
    after = Plan(
        (
            Phase(
                " ".join(["日本語"] * 8),
                (Task("Write a parser of the language", COMPLETED, (" ".join(["why"] * 9),)), Task("b\x1b[2J")),
            ),
        )
    )

    assert shown(before, after, 24) == [
        "~ 日本語 日本語 日本語",
        "  日本語 日本語 日本語",
        "  日本語 日本語",
        "    1/2 (was “A long",
        "    name of a phase”)",
        "  ~ Write a parser of",
        "    the language",
        "      completed, was",
        "      “Write the parser",
        "      of the language”",
        "    + │ why why why why",
        "        why why why why",
        "        why",
    ]
    for columns in range(100):
        lines = shown(Plan((Phase("\x1b\n", (Task("\x1b\n"),)),)), after, columns)
        assert all(display_width(line) <= max(columns, MIN_COLUMNS) for line in lines)
        assert not any("\n" in line or "\x1b" in line for line in lines)


@settings(max_examples=200, derandomize=True)
@given(plans.plans, plans.plans)
def test_a_diff_is_empty_if_and_only_if_nothing_changed(before: Plan, after: Plan) -> None:
    """Every added, removed or changed task occurs once."""
    sections = diff_plans(before, after)
    entries = [entry for section in sections for entry in section.entries]

    found = changes(before, after)
    assert bool(sections) is bool(found)
    reworded = sum(entry.was is not None for entry in entries)
    assert counted(entries, DiffSign.ADDED) + reworded == sum(change.kind is ChangeKind.ADDED for change in found)
    assert counted(entries, DiffSign.REMOVED) + reworded == sum(change.kind is ChangeKind.REMOVED for change in found)
    assert sum(entry.moved for entry in entries) == sum(change.kind is ChangeKind.MOVED for change in found)


def counted(entries: list[TaskDiff], sign: DiffSign) -> int:
    return sum(entry.sign is sign for entry in entries)


def test_changes_of_checks_follow_the_text_and_those_of_the_plan_come_first() -> None:
    """A list without phases still has no heading."""
    check = Check(("make",))
    before = flat(Task("a", number=1), Task("b", number=2))
    after = replace(flat(Task("a", number=1, check=check), Task("b", number=2, after=(1,))), check=check)

    assert shown(before, after) == [
        "~ the plan: set the check: $ make",
        "",
        "~ #1 a: set the check: $ make",
        "~ #2 b: ordered after #1",
    ]
    plan, phase = diff_to_json(diff_plans(before, after))
    assert (plan["what"], plan["tasks"], "what" in phase) == (["set the check: $ make"], [], False)
    assert shown(before, replace(before, check=check)) == ["~ the plan: set the check: $ make"]
    assert shown(flat(Task("Write it")), flat(Task("Write them", touches=("x",)))) == [
        "~ Write them: was “Write it”, set the files: x"
    ]
