"""A session's history for a person."""

from tests.history.histories import MINUTE, history
from tests.plans import COMPLETED, IN_PROGRESS, PENDING, plan_of
from tildone.core.plan import Plan, Task, flat
from tildone.history.timeline import MAX_LOOKBACK_EVENTS, HeadRelation, TimelineRow, newest_events, timeline
from tildone.history.timeline_lines import row_lines
from tildone.kit.text import display_width
from tildone.kit.theme import markup, plain
from tildone.log.events import (
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

    assert [row.mark for row in rows] == [HeadRelation.ELSEWHERE, HeadRelation.ELSEWHERE]
    assert [row.after for row in rows] == [None, "nothing"]
    assert rows[1].what == ("added “new”",)


def test_nudges_are_counted_against_their_limit() -> None:
    """If it is known."""
    rows = timeline(BRANCHED, "f", at, limit=20)

    assert rows[2].what == ("told to go on (1/20)",)


def test_the_other_facts_have_their_sentences() -> None:
    """A name taken away, drift, a plan written again as it was, a name for an event from elsewhere, a course."""
    facts: list[Fact] = [
        PlanChanged(plan_of("one")),
        Labelled("a", ""),
        Tripped(Bound.DRIFT, 60),
        PlanChanged(plan_of("one")),
        Labelled("gone\n", "x"),
        DirectiveSet(Directive.PAUSE),
        DirectiveSet(Directive.GO),
    ]
    events = [event(name, before, fact) for name, before, fact in zip("abcdefg", [None, *"abcdef"], facts, strict=True)]

    assert [row.what for row in timeline(events, "g", at)][1:] == [
        ("took the name off a",),
        ("gave up: told to go on 60 times, and no task was closed or added",),
        ("left the plan as it was",),
        ("named gone⏎ “x”",),
        ("paused: the agent is not told to go on",),
        ("let the agent be told to go on",),
    ]


def test_no_history_has_no_rows() -> None:
    """Nothing happened yet."""
    assert timeline([], None, at) == []


def test_a_row_is_drawn_with_what_was_done_below_each_other() -> None:
    """Names and origins stand at the end of its first line."""
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
    """However narrow the terminal is: where there is no room beside who and when, what was done stands below."""
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


def test_a_plan_is_told_from_the_start_of_its_own_branch() -> None:
    """A branch that begins anew does not see what the other one did."""
    events = [event("a", None, PlanChanged(plan_of("one"))), event("b", None, PlanChanged(Plan()))]

    assert timeline(events, "b", at)[1].what == ("left the plan as it was",)


def test_names_and_times_are_kept_when_a_text_is_cut() -> None:
    """They are what cannot be guessed."""
    row = TimelineRow(
        HeadRelation.HEAD, "3f2a", "12:03", "agent", (f"completed “{'x' * 100}”",), "v1", durations=(723_000,)
    )

    assert plain(row_lines(row, 60)[0]) == "* 3f2a  12:03  agent  completed “xxxxxxxxxxxxxx… (12m)  (v1)"


def done_after(*minutes: int) -> list[Event]:
    """A plan whose task is started and put back again and again, and completed in the end, so long each time."""
    states = [PENDING, *([IN_PROGRESS, PENDING] * len(minutes))[:-1], COMPLETED]
    moments = [0, *(at for number, length in enumerate(minutes) for at in (number * 100, number * 100 + length))]
    return [
        Event(f"e{n}", f"e{n - 1}" if n else None, moment * 60_000, Actor.AGENT, PlanChanged(flat(Task("a", state))))
        for n, (state, moment) in enumerate(zip(states, moments, strict=True))
    ]


def test_the_end_of_a_tasks_time_in_progress_says_how_long_that_was() -> None:
    """Each stretch is told where it ends."""
    rows = timeline(done_after(5, 12), "e4", str)

    assert [(row.what, row.durations) for row in rows] == [
        (("added “a”",), (None,)),
        (("started “a”",), (None,)),
        (("put back “a”",), (300_000,)),
        (("started “a”",), (None,)),
        (("completed “a”",), (720_000,)),
    ]
    assert plain(row_lines(rows[4])[0]) == "* e4  6720000  agent  completed “a” (12m)"


def test_how_long_it_was_is_not_told_when_nobody_knows() -> None:
    """It was never started, its start is not in what was read, or a clock was set back."""
    never = [event("a", None, PlanChanged(plan_of("x"))), event("b", "a", PlanChanged(flat(Task("x", COMPLETED))))]
    back = [*done_after(5)[:2], Event("e2", "e1", -1, Actor.USER, PlanChanged(flat(Task("a", COMPLETED))))]

    for events in (never, done_after(5)[1:], back):
        assert [row.durations for row in timeline(events, events[-1].id, str)][-1] == (None,)


def test_many_that_end_at_once_are_told_without_their_times() -> None:
    """As they are told without their names."""
    texts = [Task(text, IN_PROGRESS) for text in "abcd"]
    events = [
        Event("a", None, 0, Actor.USER, PlanChanged(flat(*texts))),
        Event("b", "a", 60_000, Actor.USER, PlanChanged(flat(*(Task(task.text, COMPLETED) for task in texts)))),
    ]

    assert (timeline(events, "b", str)[1].what, timeline(events, "b", str)[1].durations) == (
        ("completed 4 tasks",),
        (None,),
    )


def test_each_branch_counts_its_own_time() -> None:
    """What was started on one was not started on the other."""
    events = [
        Event("a", None, 0, Actor.USER, PlanChanged(plan_of("x"))),
        Event("b", "a", 1000, Actor.USER, PlanChanged(flat(Task("x", IN_PROGRESS)))),
        Event("c", "a", 2000, Actor.USER, PlanChanged(flat(Task("x", IN_PROGRESS)))),
        Event("d", "c", 5000, Actor.USER, PlanChanged(flat(Task("x", COMPLETED)))),
    ]

    assert timeline(events, "d", str)[3].durations == (3000,)


def test_the_newest_are_told_from_one_snapshot_more() -> None:
    """A long history is not read to its beginning, and the rows are the same as if it had been."""
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


def test_a_short_history_is_read_whole() -> None:
    """Even if there is none."""
    assert newest_events(reversed(BRANCHED[:4]), 20) == BRANCHED[:4]
    assert newest_events([], 20) == []


def test_a_start_is_looked_for_further_back() -> None:
    """As far as it takes, for what ended among the rows that are told, and no further."""
    events = [*done_after(5, 12), Event("z", "e4", 7_000_000, Actor.USER, PlanChanged(plan_of("new")))]
    newest_first = reversed(events)

    newest = newest_events(newest_first, 2)

    assert [each.id for each in newest_first] == ["e1", "e0"]
    assert timeline(newest, "z", str)[-2].durations == (720_000,)


def test_a_start_may_be_many_changes_back() -> None:
    """Others may have been made meanwhile, and other tasks started."""
    tasks = [Task("a", IN_PROGRESS), Task("b", IN_PROGRESS), Task("c"), Task("d")]
    plans = [plan_of("a"), *(flat(*tasks[:count]) for count in (1, 2, 3, 4)), flat(Task("a", COMPLETED), *tasks[1:])]
    events = history(*plans)

    newest = newest_events(reversed(events), 1)

    assert newest == events
    assert timeline(newest, "f", str)[-1].durations == (4 * MINUTE,)


def test_a_start_is_not_looked_for_for_ever() -> None:
    """A task that was in progress for longer than is read back for it has no time told."""
    begun = flat(Task("x", IN_PROGRESS))
    length = MAX_LOOKBACK_EVENTS * 2
    events = [
        Event(f"e{n}", f"e{n - 1}" if n else None, n, Actor.AGENT, PlanChanged(begun if n < length else plan_of("y")))
        for n in range(length + 1)
    ]

    newest = newest_events(reversed(events), 1)

    assert len(newest) <= MAX_LOOKBACK_EVENTS + 3
    assert timeline(newest, "z", str)[-1].durations == (None, None)


def test_a_name_given_to_an_event_that_is_not_told_is_told_all_the_same() -> None:
    """By the beginning of its id."""
    newest = [Event("b", "a", 1, Actor.USER, Labelled("01m7ev36estb1cfcn0z4", "v1"))]

    assert timeline(newest, "b", str)[0].what == ("named 01m7ev36es “v1”",)
