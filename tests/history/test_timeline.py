"""The timeline of a session, the history of every task, and the branches."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.history.histories import MINUTE, history
from tests.plans import ABANDONED, COMPLETED, IN_PROGRESS, PENDING
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
from tildone.plan.history.blame import TaskHistory, task_histories
from tildone.plan.history.branches import Branch, branch_lines, branches
from tildone.plan.history.changes import ChangeKind
from tildone.plan.history.timeline import (
    MAX_LOOKBACK_EVENTS,
    HeadRelation,
    TimelineRow,
    newest_events,
    row_lines,
    timeline,
)
from tildone.plan.model import Phase, Plan, PlanProgress, Rules, Status, Task, assign_numbers, flat
from tildone.plan.ops import Op
from tildone.plan.reduce import reduce
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


def test_a_row_shows_who_did_what_and_when_and_how_it_relates_to_the_head() -> None:
    """A change is relative to its own branch; a row that does not follow the row above names its parent."""
    rows = timeline(BRANCHED, "f", at)

    assert [(row.id, row.when, row.who, row.what) for row in rows] == [
        ("a", "t0", "agent", ("added “one”", "added “two”")),
        ("b", "t1", "agent", ("started “one”",)),
        ("c", "t2", "timer", ("told to go on (1)",)),
        ("d", "t3", "user", ("named a “begin␛”",)),
        ("e", "t4", "user", ("removed “two”",)),
        ("f", "t5", "timer", ("gave up: told to go on 20 times, and nothing changed",)),
    ]

    rows = timeline(BRANCHED, "f", at)

    assert "".join(row.mark.value for row in rows) == "│···│*"
    assert [row.after for row in rows] == [None, None, None, None, "a", None]
    assert [row.label for row in rows] == ["begin␛", None, None, None, None, None]

    rows = timeline([*BRANCHED[:1], event("z", None, PlanChanged(plan_of("new")))], None, at)

    assert [row.mark for row in rows] == [HeadRelation.ELSEWHERE, HeadRelation.ELSEWHERE]
    assert [row.after for row in rows] == [None, "nothing"]
    assert rows[1].what == ("added “new”",)

    rows = timeline(BRANCHED, "f", at, limit=20)

    assert rows[2].what == ("told to go on (1/20)",)
    assert timeline([], None, at) == []

    events = [event("a", None, PlanChanged(plan_of("one"))), event("b", None, PlanChanged(Plan()))]

    assert timeline(events, "b", at)[1].what == ("left the plan as it was",)


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
        ("resumed",),
        ("told a subagent to go on",),
    ]


def test_a_row_has_a_line_for_each_description() -> None:
    """The label and the parent are at the end of the first line; durations are kept when a text is clipped."""
    row = TimelineRow(HeadRelation.HEAD, "3f2a", "12:03", "agent", ("completed “a”", "started “b”"), "v1", "91bc")

    assert [plain(line) for line in row_lines(row)] == [
        "* 3f2a  12:03  agent  completed “a”  (v1)  after 91bc",
        "                      started “b”",
    ]
    assert markup(row_lines(row)[0]) == (
        "<accent>*</accent><warning> 3f2a</warning><muted>  12:03  agent</muted>  <text>completed “a”</text>"
        "<accent>  (v1)  after 91bc</accent>"
    )

    row = TimelineRow(
        HeadRelation.HEAD, "3f2a", "12:03", "agent", (f"completed “{'x' * 100}”",), "v1", durations=(723_000,)
    )

    assert plain(row_lines(row, 60)[0]) == "* 3f2a  12:03  agent  completed “xxxxxxxxxxxxxx… (12m)  (v1)"


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
    assert [plain(line) for line in row_lines(row, 30)][:2] == ["* a  t0  agent", "  added “日本語 日本語 日本語…"]
    assert row_lines(row, 1000) == row_lines(row)


def done_after(*minutes: int) -> list[Event]:
    """Return a history in which a task is in progress for each of these durations, and is then completed."""
    states = [PENDING, *([IN_PROGRESS, PENDING] * len(minutes))[:-1], COMPLETED]
    moments = [0, *(at for number, length in enumerate(minutes) for at in (number * 100, number * 100 + length))]
    return [
        Event(f"e{n}", f"e{n - 1}" if n else None, moment * 60_000, Actor.AGENT, PlanChanged(flat(Task("a", state))))
        for n, (state, moment) in enumerate(zip(states, moments, strict=True))
    ]


def test_a_row_that_ends_a_period_in_progress_shows_its_duration() -> None:
    """Not one for many tasks. Each branch has its own."""
    rows = timeline(done_after(5, 12), "e4", str)

    assert [(row.what, row.durations) for row in rows] == [
        (("added “a”",), (None,)),
        (("started “a”",), (None,)),
        (("put back “a”",), (300_000,)),
        (("started “a”",), (None,)),
        (("completed “a”",), (720_000,)),
    ]
    assert plain(row_lines(rows[4])[0]) == "* e4  6720000  agent  completed “a” (12m)"

    texts = [Task(text, IN_PROGRESS) for text in "abcd"]
    events = [
        Event("a", None, 0, Actor.USER, PlanChanged(flat(*texts))),
        Event("b", "a", 60_000, Actor.USER, PlanChanged(flat(*(Task(task.text, COMPLETED) for task in texts)))),
    ]

    assert (timeline(events, "b", str)[1].what, timeline(events, "b", str)[1].durations) == (
        ("completed 4 tasks",),
        (None,),
    )

    events = [
        Event("a", None, 0, Actor.USER, PlanChanged(plan_of("x"))),
        Event("b", "a", 1000, Actor.USER, PlanChanged(flat(Task("x", IN_PROGRESS)))),
        Event("c", "a", 2000, Actor.USER, PlanChanged(flat(Task("x", IN_PROGRESS)))),
        Event("d", "c", 5000, Actor.USER, PlanChanged(flat(Task("x", COMPLETED)))),
    ]

    assert timeline(events, "d", str)[3].durations == (3000,)


def test_an_unknown_duration_is_not_shown() -> None:
    """The task was never started, its start was not read, or the clock was set back."""
    never = [event("a", None, PlanChanged(plan_of("x"))), event("b", "a", PlanChanged(flat(Task("x", COMPLETED))))]
    back = [*done_after(5)[:2], Event("e2", "e1", -1, Actor.USER, PlanChanged(flat(Task("a", COMPLETED))))]

    for events in (never, done_after(5)[1:], back):
        assert [row.durations for row in timeline(events, events[-1].id, str)][-1] == (None,)


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
    assert newest_events(reversed(BRANCHED[:4]), 20) == BRANCHED[:4]
    assert newest_events([], 20) == []


def test_the_start_of_an_ended_period_is_searched_further_back() -> None:
    """Only as far as necessary, and with other changes in between."""
    events = [*done_after(5, 12), Event("z", "e4", 7_000_000, Actor.USER, PlanChanged(plan_of("new")))]
    newest_first = reversed(events)

    newest = newest_events(newest_first, 2)

    assert [each.id for each in newest_first] == ["e1", "e0"]
    assert timeline(newest, "z", str)[-2].durations == (720_000,)

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


def steps_of(entry: TaskHistory) -> list[tuple[str, list[ChangeKind], int | None]]:
    return [(step.event.id, [change.kind for change in step.changes], step.duration) for step in entry.steps]


def test_a_task_history_has_all_changes_of_the_task() -> None:
    """And none of others."""
    events = history(
        plan_of("a", "b"),
        flat(Task("a", IN_PROGRESS), Task("b")),
        flat(Task("a", IN_PROGRESS), Task("b"), Task("c")),
        flat(Task("a", COMPLETED, ("done well",)), Task("b"), Task("c")),
    )

    [entry, other, late] = task_histories(events)

    assert (entry.task, entry.phase, entry.position) == (Task("a", COMPLETED, ("done well",), 1), "", 0)
    assert steps_of(entry) == [
        ("a", [ChangeKind.ADDED], None),
        ("b", [ChangeKind.STARTED], None),
        ("d", [ChangeKind.COMPLETED, ChangeKind.NOTED], 2 * MINUTE),
    ]
    assert steps_of(other) == [("a", [ChangeKind.ADDED], None)]
    assert steps_of(late) == [("c", [ChangeKind.ADDED], None)]


def test_a_task_is_followed_from_phase_to_phase_and_through_names() -> None:
    """Also when a phase is renamed; the time in progress continues. Another text is another task."""
    events = history(
        Plan((Phase("Build", (Task("a", IN_PROGRESS), Task("b"))), Phase("Ship"))),
        Plan((Phase("Build", (Task("b"),)), Phase("Ship", (Task("a", IN_PROGRESS),)))),
        Plan((Phase("Make", (Task("b"),)), Phase("Ship", (Task("a", COMPLETED),)))),
    )

    [other, entry] = task_histories(events)

    assert [(entry.phase, entry.position), (other.phase, other.position)] == [("Ship", 1), ("Make", 0)]
    assert steps_of(entry) == [
        ("a", [ChangeKind.ADDED, ChangeKind.STARTED], None),
        ("b", [ChangeKind.MOVED], None),
        ("c", [ChangeKind.COMPLETED], 2 * MINUTE),
    ]

    [new, old] = task_histories(history(plan_of("Parse"), plan_of("Parse it")))

    assert steps_of(new) == [("b", [ChangeKind.ADDED], None)]
    assert steps_of(old) == [("a", [ChangeKind.ADDED], None), ("b", [ChangeKind.REMOVED], None)]
    assert (new.position, old.position) == (0, None)

    before, after = flat(Task("Parse", number=1), Task("b", number=2)), flat(Task("P", number=1), Task("b", number=2))

    [parse, other] = task_histories(history(before, after))

    assert steps_of(parse) == [("a", [ChangeKind.ADDED], None), ("b", [ChangeKind.RENAMED], None)]
    assert steps_of(other) == [("a", [ChangeKind.ADDED], None)]

    found = task_histories(history(plan_of("a", "a"), flat(Task("a"), Task("a", COMPLETED))))

    assert [len(entry.steps) for entry in found] == [1, 2]


def test_removed_tasks_come_last_the_latest_first() -> None:
    """With the time in progress when they were removed."""
    found = task_histories(history(flat(Task("a", IN_PROGRESS), Task("b"), Task("c")), plan_of("b", "c"), plan_of("c")))

    assert [entry.task.text for entry in found] == ["c", "b", "a"]
    assert found[2].steps[-1].duration == MINUTE
    assert found[2].time_in_progress(99 * MINUTE) == MINUTE


def test_the_time_in_progress_is_the_sum_of_its_periods() -> None:
    """A period that has not ended counts until now, unless the clock was set back."""
    events = history(
        flat(Task("a", IN_PROGRESS)), plan_of("a"), plan_of("a", "b"), flat(Task("a", IN_PROGRESS), Task("b"))
    )

    [entry, never] = task_histories(events)

    assert entry.time_in_progress(10 * MINUTE) == MINUTE + 7 * MINUTE
    assert entry.time_in_progress(0) == MINUTE
    assert never.time_in_progress(10 * MINUTE) is None


def test_the_lifetime_is_from_added_to_last_closed() -> None:
    """A reopened task has none; dropping closes a task too."""
    events = history(
        plan_of("a", "b", "c"),
        flat(Task("a", COMPLETED), Task("b", COMPLETED), Task("c")),
        flat(Task("a"), Task("b", COMPLETED), Task("c", ABANDONED)),
        flat(Task("a", COMPLETED), Task("b", COMPLETED, ("still",)), Task("c", ABANDONED)),
    )

    again, once, dropped = task_histories(events)

    assert [entry.lifetime for entry in (again, once, dropped)] == [3 * MINUTE, MINUTE, 2 * MINUTE]
    assert [entry.closed and entry.closed.event.id for entry in (again, once, dropped)] == ["d", "b", "c"]
    assert task_histories(events[:3])[0].closed is None
    assert task_histories(events[:3])[0].lifetime is None
    assert again.status_change is again.closed


def test_durations_are_unknown_if_the_clock_was_set_back() -> None:
    """Both of closed and of removed tasks."""
    events = [
        Event("a", None, 9, Actor.USER, PlanChanged(flat(Task("a", IN_PROGRESS), Task("b")))),
        Event("b", "a", 5, Actor.USER, PlanChanged(flat(Task("b", COMPLETED)))),
    ]

    closed, left = task_histories(events)

    assert closed.lifetime is None
    assert left.time_in_progress(99) is None


def test_other_events_have_no_task_history() -> None:
    """A branch without a plan has none."""
    assert task_histories([Event("a", None, 1, Actor.TIMER, Nudged(1, 1))]) == []
    assert task_histories(history(plan_of("a")))[0].status_change is None


@settings(max_examples=60, derandomize=True)
@given(st.lists(plans.ops, max_size=8))
def test_the_task_histories_of_a_branch_match_its_plan(program: list[Op]) -> None:
    """In the order of the plan; each begins with its addition, and has a closing step if and only if it is closed."""
    states = [Plan()]
    for op in program:
        states.append(reduce(states[-1], [op], Rules()).after)

    found = task_histories(history(*states))

    here = [entry for entry in found if entry.position is not None]
    assert [entry.task for entry in here] == list(assign_numbers(states[-1], states[-1]).tasks)
    assert [entry.position for entry in here] == list(range(len(here)))
    assert found == here + [entry for entry in found if entry.position is None]
    for entry in found:
        assert entry.steps[0].changes[0].kind is ChangeKind.ADDED
        assert (entry.closed is None) is entry.task.status.is_open
        assert (entry.since is not None) is (entry.position is not None and entry.task.status is Status.IN_PROGRESS)


def edit(name: str, parent: str | None, fact: Fact) -> Event:
    return Event(name, parent, ord(name[0]) - ord("a"), Actor.USER, fact)


def changed(*texts: str) -> PlanChanged:
    return PlanChanged(plan_of(*texts))


EVENTS = [
    edit("a", None, changed("one")),
    edit("b", "a", changed("one", "two")),
    edit("c", "b", PlanChanged(flat(Task("one", COMPLETED), Task("two")))),
    edit("d", "c", Labelled("b", "first-try")),
    edit("e", "d", Nudged(1, 1)),
    edit("f", "a", changed("one", "three")),
    edit("g", "f", Labelled("f", "fix")),
]


def shown(events: list[Event], head: str | None, columns: int | None = None) -> list[str]:
    ids = [edit.id for edit in events]
    return [plain(line) for line in branch_lines(branches(events, head), ids, "t{}".format, columns)]


def test_a_branch_shows_its_end_and_its_changes_since_the_fork() -> None:
    """The current branch comes first and ends at the head. Its nearest label has the number of changes since."""
    assert shown(EVENTS, "g") == [
        "* f  t5  user  0/2  fix",
        "· c  t2  user  1/2  first-try+1",
        "    from a:",
        "      added “two”",
        "      completed “one”",
    ]
    assert shown(EVENTS[:5], "b") == [
        "* b  t1  user  0/2  first-try",
        "· c  t2  user  1/2",
        "    goes on from here:",
        "      completed “one”",
    ]


def test_only_events_that_change_the_plan_make_a_branch() -> None:
    """Neither labels nor nudges nor directives do."""
    events = [*EVENTS[:2], edit("x", "a", Labelled("a", "back")), edit("y", "x", DirectiveSet(Directive.PAUSE))]

    assert shown(events, "y") == [
        "* a  t0  user  0/1  back",
        "· b  t1  user  0/2",
        "    goes on from here:",
        "      added “two”",
    ]

    events = [
        *EVENTS[:2],
        edit("x", "a", Nudged(1, 1)),
        edit("y", "b", Labelled("a", "v1")),
        edit("z", "b", changed("two")),
        edit("q", None, DirectiveSet(Directive.STOP)),
    ]

    assert [branch.end and branch.end.id for branch in branches(events, "z")] == ["z"]
    assert [branch.end and branch.end.id for branch in branches(events, "x")] == ["a", "z"]


def test_before_the_first_change_there_is_a_branch_without_an_end() -> None:
    """All branches continue from it; branches without a common event fork at the root."""
    events = [edit("a", None, changed("one")), edit("b", None, changed("two"))]

    assert shown(events, None) == [
        "* root  0/0",
        "· b  t1  user  0/1",
        "    goes on from here:",
        "      added “two”",
        "· a  t0  user  0/1",
        "    goes on from here:",
        "      added “one”",
    ]
    assert shown(events, "a")[1:3] == ["· b  t1  user  0/1", "    from root:"]
    assert branches([], None) == [Branch(None, PlanProgress(0, 0), current=True)]


def test_the_changes_of_a_branch_are_limited_and_may_be_none() -> None:
    """The others are counted."""
    events = [*EVENTS[:2], edit("c", "b", changed("one")), edit("z", "a", changed("z"))]

    assert shown(events, "z")[2:] == ["    from a:", "      left the plan as it was"]

    plan = flat(Task("a", COMPLETED, ("x",)), Task("b", COMPLETED, ("y",)), Task("c"))
    events = [edit("a", None, changed("old")), edit("b", "a", PlanChanged(plan)), edit("c", "a", changed())]

    assert shown(events, "c")[-1] == "      and 4 more"


def test_labels_are_sanitized_and_lines_fit_the_terminal() -> None:
    """On a narrow terminal, the label is on a line of its own."""
    events = [*EVENTS[:5], edit("h", "e", Labelled("c", "日本\x1b[2J\n" * 9)), *EVENTS[5:]]

    for columns in range(100):
        lines = shown(events, "g", columns)
        assert all(display_width(line) <= columns for line in lines)
        assert not any("\n" in line or "\x1b" in line for line in lines)
    assert shown(EVENTS, "g", 30)[:2] == ["* f  t5  user  0/2", "  fix"]
