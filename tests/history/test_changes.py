"""The changes between two plans, as facts, sentences, lines and JSON, and those that are news to an agent."""

from typing import Any

import pytest
from hypothesis import example, given, settings

from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING, plans, proved_plans
from tests.plans import unnumbered_plan_of as plan_of
from tildone.base import replace
from tildone.plan.events import Actor, Author, Event, Nudged, PlanChanged
from tildone.plan.history.changes import (
    Change,
    ChangeKind,
    change_sentences,
    changes,
    changes_by_others,
    describe_change,
    told_changes,
)
from tildone.plan.history.diff import MIN_COLUMNS, DiffSign, TaskDiff, diff_lines, diff_plans, diff_to_json
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task, flat, numbered, without_numbers
from tildone.plan.text.styles import display_width, markup, plain

ABC = plan_of("a", "b", "c")


def phased(**phases: str) -> Plan:
    """Return a plan of these phases with one task per letter."""
    return Plan(tuple(Phase(name, tuple(map(Task, letters))) for name, letters in phases.items()))


@given(plans, plans)
@example(Plan(), Plan((Phase(""),)))
def test_there_are_changes_if_and_only_if_the_plans_differ(before: Plan, after: Plan) -> None:
    assert bool(changes(before, after)) == (before != after)
    assert changes(after, after) == []


@given(plans, plans)
def test_every_difference_has_sentences_of_one_line(before: Plan, after: Plan) -> None:
    sentences = change_sentences(changes(before, after))

    assert bool(sentences) == (before != after)
    assert not any("\n" in sentence for sentence in sentences)


@given(plans, plans)
def test_tasks_added_in_one_direction_are_removed_in_the_other(before: Plan, after: Plan) -> None:
    def kinds(found: list[Change], what: ChangeKind) -> list[str]:
        return sorted(change.subject for change in found if change.kind is what)

    there, back = changes(before, after), changes(after, before)

    assert kinds(there, ChangeKind.ADDED) == kinds(back, ChangeKind.REMOVED)
    assert kinds(there, ChangeKind.REMOVED) == kinds(back, ChangeKind.ADDED)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (PENDING, IN_PROGRESS, ChangeKind.STARTED),
        (PENDING, COMPLETED, ChangeKind.COMPLETED),
        (IN_PROGRESS, ABANDONED, ChangeKind.DROPPED),
        (IN_PROGRESS, PENDING, ChangeKind.PAUSED),
        (COMPLETED, PENDING, ChangeKind.REOPENED),
        (ABANDONED, PENDING, ChangeKind.REOPENED),
        (COMPLETED, IN_PROGRESS, ChangeKind.STARTED),
    ],
)
def test_each_change_of_status_has_a_verb(before: Status, after: Status, what: ChangeKind) -> None:
    """The new status determines it."""
    assert changes(flat(Task("a", before)), flat(Task("a", after))) == [Change(what, "a")]


def test_added_and_removed_tasks_and_notes_are_reported() -> None:
    """Unchanged ones are not. A task added in progress was started."""
    assert changes(ABC, plan_of("a", "x", "c", "y")) == [
        Change(ChangeKind.REMOVED, "b"),
        Change(ChangeKind.ADDED, "x"),
        Change(ChangeKind.ADDED, "y"),
    ]
    assert changes(Plan(), flat(Task("a", IN_PROGRESS, ("n",)), Task("b"))) == [
        Change(ChangeKind.ADDED, "a"),
        Change(ChangeKind.ADDED, "b"),
        Change(ChangeKind.STARTED, "a"),
        Change(ChangeKind.NOTED, "a", "n"),
    ]

    before, after = flat(Task("a", notes=("1", "2"))), flat(Task("a", notes=("1", "3", "2")))

    assert changes(flat(Task("a")), before) == [Change(ChangeKind.NOTED, "a", "1"), Change(ChangeKind.NOTED, "a", "2")]
    assert changes(before, after) == [
        Change(ChangeKind.NOTED, "a", "3"),
        Change(ChangeKind.NOTED, "a", "2"),
        Change(ChangeKind.UNNOTED, "a", "2"),
    ]


def test_the_number_of_moved_tasks_is_minimal() -> None:
    """A task that moved to the front, or to another phase, did not move the others."""
    assert changes(ABC, plan_of("c", "a", "b")) == [Change(ChangeKind.MOVED, "c")]
    assert changes(ABC, plan_of("b", "c", "a")) == [Change(ChangeKind.MOVED, "a")]
    assert changes(plan_of(*"abcdef"), plan_of(*"badcef")) == [
        Change(ChangeKind.MOVED, "b"),
        Change(ChangeKind.MOVED, "d"),
    ]

    before = phased(A="ab", B="c")
    after = Plan((Phase("A", (Task("a"),)), Phase("B", (Task("c"), Task("b", COMPLETED)))))

    assert changes(before, after) == [Change(ChangeKind.MOVED, "b", "B"), Change(ChangeKind.COMPLETED, "b")]

    numbers = [str(number) for number in range(20_000)]

    assert changes(plan_of(*numbers), plan_of(*numbers[1:], "0")) == [Change(ChangeKind.MOVED, "0")]


def test_tasks_are_matched_by_text_and_number() -> None:
    """A number alone is the last resort: plans of earlier versions are numbered whenever they are read."""
    [change] = changes(flat(Task("a", number=3)), flat(Task("b", number=3)))

    assert change_sentences([change]) == ["renamed #3 “a” to “b”"]
    assert describe_change(change) == "renamed; it was “a”"
    assert changes(flat(Task("a"), Task("b")), flat(Task("a", number=1), Task("b", number=2))) == []
    assert changes(flat(Task("a", number=1)), flat(Task("a", number=2))) == []

    before, after = flat(Task("a", number=1), Task("b", number=2)), flat(Task("b", number=1))

    assert changes(before, after) == [Change(ChangeKind.REMOVED, "a", None, 1)]

    before = flat(Task("a", number=1), Task("a", number=2))
    after = flat(Task("a", COMPLETED, number=2), Task("a", number=1))

    assert Change(ChangeKind.COMPLETED, "a", None, 2) in changes(before, after)
    assert changes(plan_of("a", "a"), flat(Task("a"), Task("a", COMPLETED))) == [Change(ChangeKind.COMPLETED, "a")]
    assert changes(plan_of("a", "a"), plan_of("a")) == [Change(ChangeKind.REMOVED, "a")]

    before = flat(Task("a", number=3), Task("b", number=4))
    after = flat(Task("b", COMPLETED, number=4), Task("c", number=5))

    assert change_sentences(changes(before, after)) == ["removed #3 “a”", "added #5 “c”", "completed #4 “b”"]
    assert change_sentences(changes(before, after), numbers=False) == ["removed “a”", "added “c”", "completed “b”"]


def test_phases_are_added_removed_moved_or_renamed_with_their_tasks() -> None:
    """One that shares a task was renamed. The unnamed phase of a flat list is not reported."""
    assert changes(phased(A="a", B="b"), phased(B="b", A="a")) == [Change(ChangeKind.PHASE_MOVED, "B")]
    assert changes(phased(A="a"), phased(A="a", B="")) == [Change(ChangeKind.PHASE_ADDED, "B")]
    assert changes(phased(A="a", B="b"), phased(A="a")) == [
        Change(ChangeKind.PHASE_REMOVED, "B"),
        Change(ChangeKind.REMOVED, "b"),
    ]
    assert changes(phased(A="ab"), phased(B="bc")) == [
        Change(ChangeKind.PHASE_RENAMED, "A", "B"),
        Change(ChangeKind.REMOVED, "a"),
        Change(ChangeKind.ADDED, "c"),
    ]
    assert changes(phased(A="a"), phased(B="b")) == [
        Change(ChangeKind.PHASE_REMOVED, "A"),
        Change(ChangeKind.PHASE_ADDED, "B"),
        Change(ChangeKind.REMOVED, "a"),
        Change(ChangeKind.ADDED, "b"),
    ]
    assert changes(Plan(), plan_of("a")) == [Change(ChangeKind.ADDED, "a")]
    assert changes(plan_of("a"), Plan()) == [Change(ChangeKind.REMOVED, "a")]


def test_changes_are_short_sentences() -> None:
    """Texts are sanitized; many changes of one kind become one sentence with their number."""
    before = Plan((Phase("A", (Task("a\nb", IN_PROGRESS),)), Phase("", (Task("c"),))))
    after = Plan((Phase("B", (Task("a\nb", COMPLETED, ("n\x1b",)), Task("c"))),))

    assert change_sentences(changes(before, after)) == [
        "renamed phase “A” to “B”",
        "moved “c” to “B”",
        "completed “a⏎b”",
        "noted on “a⏎b”: n␛",
    ]
    assert change_sentences([Change(ChangeKind.PHASE_ADDED, ""), Change(ChangeKind.MOVED, "x")]) == [
        "added phase (unnamed)",
        "moved “x”",
    ]
    assert change_sentences(changes(Plan(), plan_of("a", "b", "c"))) == ["added “a”", "added “b”", "added “c”"]
    assert change_sentences(changes(plan_of("x"), plan_of(*"abcd"))) == ["removed “x”", "added 4 tasks"]
    assert change_sentences(changes(plan_of("a"), flat(Task("a", notes=tuple("1234"))))) == ["added 4 notes"]


def test_a_status_without_a_verb_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status that is added later needs no change here."""
    monkeypatch.setattr("tildone.plan.history.changes._VERBS", {})
    found = changes(plan_of("a", "b"), flat(Task("a", Status.BLOCKED), Task("b", COMPLETED)))

    assert change_sentences(found) == ["closed “b” as completed", "marked “a” as blocked"]
    assert [describe_change(change) for change in found] == ["closed as completed", "marked as blocked"]


TESTS = Check(("pytest", "-q"))
LONG = Check(("make", "a b"), "sub", 30, 2, ("src",))
PASSED = Proof(Result.PASSED, TESTS.command)
FAILED = Proof(Result.FAILED, TESTS.command, reason="`pytest -q` failed with exit code 1")


def task(**attributes: Any) -> Plan:
    return flat(Task("a", number=3, **attributes))


@pytest.mark.parametrize(
    ("before", "after", "sentence", "description"),
    [
        (task(), task(check=TESTS), "set the check of #3 “a”: $ pytest -q", "set the check: $ pytest -q"),
        (
            task(check=TESTS),
            task(check=LONG),
            "changed the check of #3 “a”: $ make 'a b' [in sub, 30 s, 2 retries, watches src] (was $ pytest -q)",
            "changed the check: $ make 'a b' [in sub, 30 s, 2 retries, watches src] (was $ pytest -q)",
        ),
        (
            task(check=TESTS, proof=PASSED),
            task(),
            "removed the check of #3 “a”: was $ pytest -q",
            "removed the check: was $ pytest -q",
        ),
        (
            task(check=TESTS),
            task(check=TESTS, proof=PASSED),
            "check passed for #3 “a”: $ pytest -q",
            "check passed: $ pytest -q",
        ),
        (
            task(check=TESTS, proof=PASSED),
            task(check=TESTS, proof=FAILED),
            "check failed for #3 “a”: `pytest -q` failed with exit code 1",
            "check failed: `pytest -q` failed with exit code 1",
        ),
        (
            task(check=TESTS, proof=PASSED),
            task(check=TESTS),
            "removed the result of the check of #3 “a”: $ pytest -q",
            "removed the result of the check: $ pytest -q",
        ),
        (task(), task(after=(1, 2)), "ordered #3 “a” after #1, #2", "ordered after #1, #2"),
        (task(after=(1, 2)), task(), "ordered #3 “a” after no other", "ordered after no other"),
        (task(), task(touches=("src", "b")), "set the files of #3 “a”: src b", "set the files: src b"),
        (task(touches=("src",)), task(), "set the files of #3 “a”: none", "set the files: none"),
        (task(), replace(task(), check=TESTS), "set the check of the plan: $ pytest -q", "set the check: $ pytest -q"),
        (
            replace(task(), check=TESTS),
            replace(task(), check=TESTS, proof=FAILED),
            "check failed for the plan: `pytest -q` failed with exit code 1",
            "check failed: `pytest -q` failed with exit code 1",
        ),
    ],
)
def test_changes_of_checks_order_and_files(before: Plan, after: Plan, sentence: str, description: str) -> None:
    [change] = changes(before, after)

    assert change_sentences([change]) == [sentence]
    assert describe_change(change) == description


def test_a_command_with_line_breaks_stays_on_its_line() -> None:
    [change] = changes(task(), task(check=Check(("make", "a\nb"))))

    assert "\n" not in change_sentences([change])[0] + describe_change(change)


@given(proved_plans, proved_plans)
def test_there_are_changes_if_plans_with_checks_differ(before: Plan, after: Plan) -> None:
    one, other = without_numbers(before), without_numbers(after)
    one, other = (replace(each, check=plan.check, proof=plan.proof) for each, plan in ((one, before), (other, after)))

    assert bool(changes(one, other)) == (one != other)


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


def test_only_one_similar_text_at_the_same_place_is_reworded() -> None:
    """The others are removed or added."""
    assert shown(plan_of("Write the parser"), plan_of("Ship it")) == ["- Write the parser", "+ Ship it"]

    before = plan_of("Write the parser", "a")

    assert shown(before, plan_of("a", "Write a parser")) == ["- Write the parser", "+ Write a parser"]

    before, after = plan_of("step one", "step two", "end"), plan_of("step 1", "step 2", "step 3", "end")

    assert shown(before, after) == ["~ step 1: was “step one”", "~ step 2: was “step two”", "+ step 3"]
    assert shown(after, before)[:2] == ["- step 3", "~ step one: was “step 1”"]


def test_a_moved_task_is_shown_at_its_new_place() -> None:
    """With its former phase, if that is a different one. A removed one follows its former predecessor."""
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
    assert shown(plan_of("a"), Plan((Phase("A", (Task("a"),)),))) == ["~ A 0/1 (had no name)"]
    assert shown(Plan((Phase("A", (Task("a"),)),)), plan_of("a")) == ["~ (unnamed) 0/1 (was “A”)"]
    assert shown(Plan((Phase("X"), Phase("B"))), Plan((Phase("B"), Phase("Y")))) == ["- X", "", "+ Y 0/0"]

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
@given(plans, plans)
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


CLAUDE = Author("Ada", "claude:s1")
SEEN = numbered(flat(Task("Parse"), Task("Wire")))


def steps(*plans: tuple[Author, Plan]) -> list[Event]:
    """The events of these changes after `SEEN`, newest first; an author without an agent is a person."""
    events = [Event("e0", None, 0, Actor.USER, PlanChanged(SEEN))]
    for author, plan in plans:
        actor = Actor.AGENT if author.agent else Actor.USER
        events.append(Event(f"e{len(events)}", events[-1].id, 0, actor, PlanChanged(plan), author))
    return events[::-1]


def with_status(plan: Plan, number: int, status: Status) -> Plan:
    return flat(
        *(Task(task.text, status if task.number == number else task.status, (), task.number) for task in plan.tasks)
    )


def kinds(plan: Plan, events: list[Event], since: str = "e0") -> list[tuple[ChangeKind, str]]:
    found = changes_by_others(SEEN, plan, events, since, CLAUDE)
    return [(change.kind, change.subject) for change in found]


def test_own_changes_are_left_out_and_those_of_others_are_not() -> None:
    """Another agent of the same person is another. Without the seen event, everything is told."""
    own = with_status(SEEN, 1, Status.COMPLETED)
    both = numbered(flat(*own.tasks, Task("Measure")))

    assert kinds(own, steps((CLAUDE, own))) == []
    assert kinds(both, steps((CLAUDE, own), (Author("Ada"), both))) == [(ChangeKind.ADDED, "Measure")]
    assert kinds(both, steps((Author("Ada"), own), (CLAUDE, both))) == [(ChangeKind.COMPLETED, "Parse")]

    done = with_status(SEEN, 2, Status.COMPLETED)

    assert kinds(done, steps((Author("Ada", "codex:s1"), done))) == [(ChangeKind.COMPLETED, "Wire")]

    done = with_status(SEEN, 2, Status.COMPLETED)
    events = steps((CLAUDE, done))
    nudge = Event("n1", events[0].id, 0, Actor.TIMER, Nudged(1, 1), CLAUDE)

    assert kinds(done, [nudge, *events]) == []

    done = with_status(SEEN, 2, Status.COMPLETED)

    assert kinds(done, steps((CLAUDE, done)), since="elsewhere") == [(ChangeKind.COMPLETED, "Wire")]


def told(before: Plan, after: Plan) -> list[str]:
    return told_changes(changes(before, after))


def test_what_a_call_has_changed_is_told_in_a_few_lines() -> None:
    before = numbered(flat(Task("Read"), Task("Write"), Task("Test")))
    done = with_status(before, 1, Status.COMPLETED)

    assert told(before, before) == []
    assert told(before, done) == ["✓ Done: Read"]
    assert told(before, with_status(done, 2, IN_PROGRESS)) == ["✓ Done: Read", "▸ Started: Write"]
    assert told(Plan(), before) == ["+ Added 3: Read; Write; Test"]
    assert told(Plan(), plan_of("a", "b", "c", "d")) == ["+ Added 4: a; b; c …"]
    assert told(before, Plan()) == ["− Removed 3: Read; Write; Test"]


def test_names_and_notes_are_told_as_they_are_now() -> None:
    before = numbered(flat(Task("Read")))
    after = numbered(flat(Task("Read it", notes=("half\nof it",))))
    checked = replace(before, check=Check(("make", "test")))

    assert told(before, after) == ["~ Renamed: Read it", "· Noted: half⏎of it"]
    assert told(before, checked) == ["$ Check set: the plan"]


def test_many_kinds_of_changes_are_counted_and_long_or_hostile_texts_cannot_forge_lines() -> None:
    before = numbered(flat(*(Task(text) for text in "abcde")))
    statuses = (COMPLETED, ABANDONED, Status.BLOCKED, IN_PROGRESS)
    after = flat(*(replace(task, status=status) for task, status in zip(before.tasks, statuses, strict=False)))

    assert told(before, after) == ["✓ Done: a", "✗ Dropped: b", "! Blocked: c", "… and 2 other changes"]
    assert told(Plan(), plan_of("x\n✓ Done: \x1b[2Jall")) == ["+ Added: x⏎✓ Done: ␛[2Jall"]
    assert len(told(Plan(), plan_of("x" * 500))[0]) < 140
