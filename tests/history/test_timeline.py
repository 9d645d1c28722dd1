"""The timeline of a session."""

from tests.history.histories import MINUTE, history
from tests.plans import COMPLETED, IN_PROGRESS, PENDING
from tests.plans import unnumbered_plan_of as plan_of
from tildone.plan.events import (
    Actor,
    Bound,
    Directive,
    DirectiveSet,
    Event,
    Fact,
    Labelled,
    Nudged,
    PlanChanged,
    Tripped,
)
from tildone.plan.history.requests import row_lines
from tildone.plan.history.timeline import MAX_LOOKBACK_EVENTS, HeadRelation, TimelineRow, newest_events, timeline
from tildone.plan.model import Plan, Task, flat
from tildone.plan.text.styles import display_width, markup, plain


def event(name: str, parent: str | None, fact: Fact, actor: Actor = Actor.AGENT) -> Event:
    """Return an event whose time is derived from its name."""
    return Event(name, parent, ord(name[0]), actor, fact)


def at(moment: int) -> str:
    """Format a time for the tests."""
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


def test_a_row_shows_who_did_what_and_when() -> None:
    """A change is relative to the previous plan of its own branch."""
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
    """A row that does not follow the row above names its parent."""
    rows = timeline(BRANCHED, "f", at)

    assert "".join(row.mark.value for row in rows) == "│···│*"
    assert [row.after for row in rows] == [None, None, None, None, "a", None]
    assert [row.label for row in rows] == ["begin␛", None, None, None, None, None]


def test_a_session_that_was_undone_to_the_start_has_no_head() -> None:
    """The next change starts from nothing."""
    rows = timeline([*BRANCHED[:1], event("z", None, PlanChanged(plan_of("new")))], None, at)

    assert [row.mark for row in rows] == [HeadRelation.ELSEWHERE, HeadRelation.ELSEWHERE]
    assert [row.after for row in rows] == [None, "nothing"]
    assert rows[1].what == ("added “new”",)


def test_nudges_are_shown_with_their_limit() -> None:
    """If it is known."""
    rows = timeline(BRANCHED, "f", at, limit=20)

    assert rows[2].what == ("told to go on (1/20)",)


def test_all_other_facts_have_sentences() -> None:
    """A removed label, drift, an unchanged plan, a label of an unknown event, a directive."""
    facts: list[Fact] = [
        PlanChanged(plan_of("one")),
        Labelled("a", ""),
        Tripped(Bound.DRIFT, 60),
        PlanChanged(plan_of("one")),
        Labelled("gone\n", "x"),
        DirectiveSet(Directive.PAUSE),
        DirectiveSet(Directive.GO),
        Nudged(0, 0, of_subagent=True),
    ]
    names = "abcdefgh"
    events = [event(name, before, fact) for name, before, fact in zip(names, [None, *names[:-1]], facts, strict=True)]

    assert [row.what for row in timeline(events, "h", at)][1:] == [
        ("took the name off a",),
        ("gave up: told to go on 60 times, and no task was closed or added",),
        ("left the plan as it was",),
        ("named gone⏎ “x”",),
        ("paused: the agent is not told to go on",),
        ("let the agent be told to go on",),
        ("told a subagent to go on",),
    ]


def test_an_empty_history_has_no_rows() -> None:
    assert timeline([], None, at) == []


def test_a_row_has_a_line_for_each_description() -> None:
    """The label and the parent are at the end of the first line."""
    row = TimelineRow(HeadRelation.HEAD, "3f2a", "12:03", "agent", ("completed “a”", "started “b”"), "v1", "91bc")

    assert [plain(line) for line in row_lines(row)] == [
        "* 3f2a  12:03  agent  completed “a”  (v1)  after 91bc",
        "                      started “b”",
    ]
    assert markup(row_lines(row)[0]) == (
        "<accent>*</accent><warning> 3f2a</warning><muted>  12:03  agent</muted>  <text>completed “a”</text>"
        "<accent>  (v1)  after 91bc</accent>"
    )


def test_a_row_fits_into_its_columns() -> None:
    """On a narrow terminal, the descriptions are below the author and time."""
    plan = flat(Task("日本語 " * 30, COMPLETED), Task("x" * 100))
    [row] = timeline([event("a", None, PlanChanged(plan))], "a", at)

    for columns in range(100):
        assert all(display_width(plain(line)) <= columns for line in row_lines(row, columns))
    assert [plain(line) for line in row_lines(row, 42)][:2] == [
        "* a  t0  agent  added “日本語 日本語 日本…",
        "                added “xxxxxxxxxxxxxxxxxx…",
    ]
    assert [plain(line) for line in row_lines(row, 30)][:2] == [
        "* a  t0  agent",
        "  added “日本語 日本語 日本語…",
    ]
    assert row_lines(row, 1000) == row_lines(row)


def test_a_change_is_compared_with_its_own_branch() -> None:
    """A new root does not see the changes of the other branch."""
    events = [event("a", None, PlanChanged(plan_of("one"))), event("b", None, PlanChanged(Plan()))]

    assert timeline(events, "b", at)[1].what == ("left the plan as it was",)


def test_labels_and_durations_are_kept_when_a_text_is_clipped() -> None:
    row = TimelineRow(
        HeadRelation.HEAD, "3f2a", "12:03", "agent", (f"completed “{'x' * 100}”",), "v1", durations=(723_000,)
    )

    assert plain(row_lines(row, 60)[0]) == "* 3f2a  12:03  agent  completed “xxxxxxxxxxxxxx… (12m)  (v1)"


def done_after(*minutes: int) -> list[Event]:
    """Return a history in which a task is in progress for each of these durations, and is then completed."""
    states = [PENDING, *([IN_PROGRESS, PENDING] * len(minutes))[:-1], COMPLETED]
    moments = [0, *(at for number, length in enumerate(minutes) for at in (number * 100, number * 100 + length))]
    return [
        Event(f"e{n}", f"e{n - 1}" if n else None, moment * 60_000, Actor.AGENT, PlanChanged(flat(Task("a", state))))
        for n, (state, moment) in enumerate(zip(states, moments, strict=True))
    ]


def test_a_row_that_ends_a_period_in_progress_shows_its_duration() -> None:
    rows = timeline(done_after(5, 12), "e4", str)

    assert [(row.what, row.durations) for row in rows] == [
        (("added “a”",), (None,)),
        (("started “a”",), (None,)),
        (("put back “a”",), (300_000,)),
        (("started “a”",), (None,)),
        (("completed “a”",), (720_000,)),
    ]
    assert plain(row_lines(rows[4])[0]) == "* e4  6720000  agent  completed “a” (12m)"


def test_an_unknown_duration_is_not_shown() -> None:
    """The task was never started, its start was not read, or the clock was set back."""
    never = [event("a", None, PlanChanged(plan_of("x"))), event("b", "a", PlanChanged(flat(Task("x", COMPLETED))))]
    back = [*done_after(5)[:2], Event("e2", "e1", -1, Actor.USER, PlanChanged(flat(Task("a", COMPLETED))))]

    for events in (never, done_after(5)[1:], back):
        assert [row.durations for row in timeline(events, events[-1].id, str)][-1] == (None,)


def test_a_sentence_for_many_tasks_has_no_duration() -> None:
    texts = [Task(text, IN_PROGRESS) for text in "abcd"]
    events = [
        Event("a", None, 0, Actor.USER, PlanChanged(flat(*texts))),
        Event("b", "a", 60_000, Actor.USER, PlanChanged(flat(*(Task(task.text, COMPLETED) for task in texts)))),
    ]

    assert (timeline(events, "b", str)[1].what, timeline(events, "b", str)[1].durations) == (
        ("completed 4 tasks",),
        (None,),
    )


def test_each_branch_has_its_own_durations() -> None:
    events = [
        Event("a", None, 0, Actor.USER, PlanChanged(plan_of("x"))),
        Event("b", "a", 1000, Actor.USER, PlanChanged(flat(Task("x", IN_PROGRESS)))),
        Event("c", "a", 2000, Actor.USER, PlanChanged(flat(Task("x", IN_PROGRESS)))),
        Event("d", "c", 5000, Actor.USER, PlanChanged(flat(Task("x", COMPLETED)))),
    ]

    assert timeline(events, "d", str)[3].durations == (3000,)


def test_the_newest_events_are_described_from_one_more_plan() -> None:
    """Older events are not read, and the rows are the same as if they had been."""
    events = [
        event("a", None, PlanChanged(plan_of("one"))),
        event("b", "a", PlanChanged(plan_of("one", "two"))),
        event("c", "b", Nudged(1, 1)),
        event("d", "c", Nudged(2, 2)),
        event("e", "d", PlanChanged(plan_of("two"))),
    ]
    newest_first = reversed(events)

    newest = newest_events(newest_first, 2)

    assert [each.id for each in newest_first] == ["a"]
    assert [each.id for each in newest] == ["b", "c", "d", "e"]
    assert timeline(newest, "e", at)[-2:] == timeline(events, "e", at)[-2:]


def test_a_short_history_is_read_completely() -> None:
    assert newest_events(reversed(BRANCHED[:4]), 20) == BRANCHED[:4]
    assert newest_events([], 20) == []


def test_the_start_of_an_ended_period_is_searched_further_back() -> None:
    """Only as far as necessary."""
    events = [*done_after(5, 12), Event("z", "e4", 7_000_000, Actor.USER, PlanChanged(plan_of("new")))]
    newest_first = reversed(events)

    newest = newest_events(newest_first, 2)

    assert [each.id for each in newest_first] == ["e1", "e0"]
    assert timeline(newest, "z", str)[-2].durations == (720_000,)


def test_a_start_may_be_many_changes_back() -> None:
    """With other changes in between."""
    tasks = [Task("a", IN_PROGRESS), Task("b", IN_PROGRESS), Task("c"), Task("d")]
    plans = [plan_of("a"), *(flat(*tasks[:count]) for count in (1, 2, 3, 4)), flat(Task("a", COMPLETED), *tasks[1:])]
    events = history(*plans)

    newest = newest_events(reversed(events), 1)

    assert newest == events
    assert timeline(newest, "f", str)[-1].durations == (4 * MINUTE,)


def test_the_search_for_a_start_is_limited() -> None:
    """A task that has been in progress for longer has no duration."""
    begun = flat(Task("x", IN_PROGRESS))
    length = MAX_LOOKBACK_EVENTS * 2
    events = [
        Event(f"e{n}", f"e{n - 1}" if n else None, n, Actor.AGENT, PlanChanged(begun if n < length else plan_of("y")))
        for n in range(length + 1)
    ]

    newest = newest_events(reversed(events), 1)

    assert len(newest) <= MAX_LOOKBACK_EVENTS + 3
    assert timeline(newest, "z", str)[-1].durations == (None, None)


def test_a_label_of_an_event_that_was_not_read_is_shown() -> None:
    """With the beginning of the event's id."""
    newest = [Event("b", "a", 1, Actor.USER, Labelled("01m7ev36estb1cfcn0z4", "v1"))]

    assert timeline(newest, "b", str)[0].what == ("named 01m7ev36es “v1”",)
