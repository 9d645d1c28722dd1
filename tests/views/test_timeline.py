"""A session's history for a person."""

from tests.plans import COMPLETED, IN_PROGRESS, plan_of
from tildone.core.plan import Plan, Task, flat
from tildone.kit.text import width
from tildone.kit.theme import markup, plain
from tildone.log.events import Actor, Bound, Event, Fact, Labelled, Nudged, PlanChanged, Tripped
from tildone.views.timeline import Mark, Row, row_lines, short_ids, timeline


def event(name: str, parent: str | None, fact: Fact, actor: Actor = Actor.AGENT) -> Event:
    """An event at a moment that its name tells."""
    return Event(name, parent, ord(name[0]), actor, fact)


def at(moment: int) -> str:
    """A moment as the tests write it."""
    return f"t{moment - ord('a')}"


STARTED = flat(Task("one", IN_PROGRESS), Task("two"))
BRANCHED = [
    event("a", None, PlanChanged(plan_of("one", "two"))),
    event("b", "a", PlanChanged(STARTED)),
    event("c", "b", Nudged(1, 1), Actor.TIMER),
    event("d", "c", Labelled("a", "begin\x1b"), Actor.USER),
    event("e", "a", PlanChanged(plan_of("one")), Actor.USER),
    event("f", "e", Tripped(Bound.NUDGES, 20), Actor.TIMER),
]


def test_a_row_says_who_did_what_and_when() -> None:
    """What a change was is seen against the plan it was made to, on its own branch."""
    rows = timeline(BRANCHED, "f", at)

    assert [(row.id, row.when, row.who, row.what) for row in rows] == [
        ("a", "t0", "agent", ("added “one”", "added “two”")),
        ("b", "t1", "agent", ("started “one”",)),
        ("c", "t2", "timer", ("told to go on (1)",)),
        ("d", "t3", "user", ("named a “begin␛”",)),
        ("e", "t4", "user", ("removed “two”",)),
        ("f", "t5", "timer", ("gave up: told to go on 20 times, and nothing changed",)),
    ]


def test_the_head_its_branch_and_the_others_are_marked() -> None:
    """And where a row does not follow the one above, it says which it follows."""
    rows = timeline(BRANCHED, "f", at)

    assert "".join(row.mark.value for row in rows) == "│···│*"
    assert [row.after for row in rows] == [None, None, None, None, "a", None]
    assert [row.label for row in rows] == ["begin␛", None, None, None, None, None]


def test_a_session_that_was_undone_to_the_start_has_no_head() -> None:
    """What came of it then begins from nothing."""
    rows = timeline([*BRANCHED[:1], event("z", None, PlanChanged(plan_of("new")))], None, at)

    assert [row.mark for row in rows] == [Mark.ELSEWHERE, Mark.ELSEWHERE]
    assert [row.after for row in rows] == [None, "nothing"]
    assert rows[1].what == ("added “new”",)


def test_nudges_are_counted_against_their_limit() -> None:
    """If it is known."""
    rows = timeline(BRANCHED, "f", at, limit=20)

    assert rows[2].what == ("told to go on (1/20)",)


def test_the_other_facts_have_their_sentences() -> None:
    """A name taken away, drift, a plan that was written again as it was, a name for an event from elsewhere."""
    facts: list[Fact] = [
        PlanChanged(plan_of("one")),
        Labelled("a", ""),
        Tripped(Bound.DRIFT, 60),
        PlanChanged(plan_of("one")),
        Labelled("gone\n", "x"),
    ]
    events = [event(name, before, fact) for name, before, fact in zip("abcde", [None, *"abcd"], facts, strict=True)]

    assert [row.what for row in timeline(events, "e", at)][1:] == [
        ("took the name off a",),
        ("gave up: told to go on 60 times, and no task was closed or added",),
        ("left the plan as it was",),
        ("named gone⏎ “x”",),
    ]


def test_no_history_has_no_rows() -> None:
    """Nothing happened yet."""
    assert timeline([], None, at) == []


def test_ids_are_as_short_as_they_can_be() -> None:
    """They still tell all events apart, and have a length that a person can point at."""
    assert short_ids(["0190aaaa", "0190aabb", "0190bbbb"]) == {
        "0190aaaa": "0190aaa",
        "0190aabb": "0190aab",
        "0190bbbb": "0190bbb",
    }
    assert short_ids(["12345678"]) == {"12345678": "1234"}
    assert short_ids([]) == {}


def test_a_row_is_drawn_with_what_was_done_below_each_other() -> None:
    """Names and origins stand at the end of its first line."""
    row = Row(Mark.HEAD, "3f2a", "12:03", "agent", ("completed “a”", "started “b”"), "v1", "91bc")

    assert [plain(line) for line in row_lines(row)] == [
        "* 3f2a  12:03  agent  completed “a”  (v1)  after 91bc",
        "                      started “b”",
    ]
    assert markup(row_lines(row)[0]) == (
        "<accent>*</accent><warning> 3f2a</warning><muted>  12:03  agent  </muted><text>completed “a”</text>"
        "<accent>  (v1)  after 91bc</accent>"
    )


def test_a_row_fits_into_its_columns() -> None:
    """However narrow the terminal is."""
    plan = flat(Task("日本語 " * 30, COMPLETED), Task("x" * 100))
    [row] = timeline([event("a", None, PlanChanged(plan))], "a", at)

    for columns in range(100):
        assert all(width(plain(line)) <= columns for line in row_lines(row, columns))
    assert plain(row_lines(row, 30)[0]) == "* a  t0  agent  added “日本語…"
    assert row_lines(row, 1000) == row_lines(row)


def test_a_plan_is_told_from_the_start_of_its_own_branch() -> None:
    """A branch that begins anew does not see what the other one did."""
    events = [event("a", None, PlanChanged(plan_of("one"))), event("b", None, PlanChanged(Plan()))]

    assert timeline(events, "b", at)[1].what == ("left the plan as it was",)
