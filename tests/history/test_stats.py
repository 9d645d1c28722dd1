"""Statistics of a plan's history."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.histories import MINUTE, history
from tests.history.pictures import Recorder, stats_of_a_day
from tests.plans import BLOCKED, COMPLETED, IN_PROGRESS, PENDING, plan_of, plans
from tildone.base import replace
from tildone.plan.events import (
    Actor,
    Bound,
    Directive,
    DirectiveSet,
    Event,
    Labelled,
    Nudged,
    PlanChanged,
    PlanFact,
    Tripped,
)
from tildone.plan.history.requests import TokenUse
from tildone.plan.history.stats import MarkKind, Period, Stats, session_stats
from tildone.plan.model import Plan, Status, Task, flat, progress

facts = st.one_of(
    st.builds(PlanChanged, plans, drift=st.integers(0, 2)),
    st.builds(Nudged, st.integers(1, 3), st.integers(1, 3), of_subagent=st.booleans()),
    st.builds(Tripped, st.sampled_from(Bound), st.integers(1, 20)),
    st.builds(Labelled, st.just("e0"), st.sampled_from(["", "v1"])),
    st.builds(DirectiveSet, st.sampled_from(Directive)),
)


def events_of(rows: list[tuple[PlanFact, int, Actor]]) -> list[Event]:
    parents = [None, *(f"e{number}" for number in range(len(rows)))]
    return [Event(f"e{n}", parents[n], at, actor, fact) for n, (fact, at, actor) in enumerate(rows)]


histories = st.lists(st.tuples(facts, st.integers(0, 10**8), st.sampled_from(Actor)), max_size=12).map(events_of)
"""Events of every kind, with clocks that go back and forth."""


def stats_of(events: list[Event], now: int = 0, labels: dict[str, str] | None = None) -> Stats:
    found = session_stats(events, now, labels or {})
    assert found is not None
    return found


@given(histories, st.integers(0, 10**8))
def test_the_burn_down_ends_at_the_number_of_open_tasks(events: list[Event], now: int) -> None:
    found = session_stats(events, now, {})
    changed = [event.fact.plan for event in events if isinstance(event.fact, PlanChanged)]
    counts = progress(changed[-1] if changed else Plan())

    assert (found is None) == (not any(plan.tasks for plan in changed))
    if found is not None:
        assert found.open_steps[-1][1] == found.open == counts.total - counts.closed
        assert all(one[0] < other[0] for one, other in pairwise(found.open_steps))


@given(histories, st.integers(0, 10**8))
def test_the_periods_of_a_task_do_not_overlap(events: list[Event], now: int) -> None:
    found = session_stats(events, now, {"e0": "v1"})

    for entry in found.tasks if found else ():
        assert all(one.end <= other.start for one, other in pairwise(entry.periods))
        assert all(each.start <= each.end <= found.times[-1] for each in entry.periods if found)


@given(histories)
def test_every_task_that_ever_was_is_counted_once(events: list[Event]) -> None:
    found = session_stats(events, 0, {})
    plan = next((each.fact.plan for each in reversed(events) if isinstance(each.fact, PlanChanged)), Plan())
    current = [entry.task.text for entry in found.tasks if not entry.is_removed] if found else []

    assert current == [task.text for task in plan.tasks]


def test_added_tasks_go_up_and_closed_tasks_go_down() -> None:
    events = history(plan_of("a"), plan_of("a", "b"), flat(Task("a", COMPLETED), Task("b")), plan_of("b"))

    assert stats_of(events).open_steps == ((0, 1), (MINUTE, 2), (2 * MINUTE, 1))


def test_of_several_changes_in_one_moment_the_last_counts() -> None:
    events = [replace(event, at=5) for event in history(plan_of("a"), plan_of("a", "b"))]

    assert stats_of(events).open_steps == ((5, 2),)


def test_a_task_has_a_period_for_each_time_it_was_in_progress_or_blocked() -> None:
    statuses = (PENDING, IN_PROGRESS, BLOCKED, IN_PROGRESS, IN_PROGRESS, COMPLETED)
    [entry] = stats_of(history(*(flat(Task("a", status)) for status in statuses))).tasks

    assert entry.periods == (
        Period(1 * MINUTE, 2 * MINUTE, IN_PROGRESS),
        Period(2 * MINUTE, 3 * MINUTE, BLOCKED),
        Period(3 * MINUTE, 5 * MINUTE, IN_PROGRESS),
    )
    assert (entry.worked, entry.total(BLOCKED)) == (3 * MINUTE, MINUTE)


def test_a_task_in_progress_counts_until_now() -> None:
    [entry] = stats_of(history(flat(Task("a", IN_PROGRESS))), 9 * MINUTE).tasks

    assert entry.worked == 9 * MINUTE


def test_a_task_that_was_never_started_was_not_worked_on() -> None:
    """A blocked one neither."""
    todo, waiting = stats_of(history(flat(Task("a"), Task("b", BLOCKED))), MINUTE).tasks

    assert (todo.worked, waiting.worked, waiting.total(BLOCKED)) == (None, None, MINUTE)


def test_a_removed_task_keeps_its_time() -> None:
    _, entry = stats_of(history(flat(Task("a", IN_PROGRESS), Task("b")), plan_of("b")), 9 * MINUTE).tasks

    assert (entry.task.text, entry.is_removed, entry.worked) == ("a", True, MINUTE)


def test_tasks_of_earlier_versions_are_numbered() -> None:
    assert [entry.task.number for entry in stats_of(history(flat(Task("a"), Task("b")))).tasks] == [1, 2]


def test_a_clock_that_was_set_back_stands_still() -> None:
    events = history(plan_of("a"), flat(Task("a", IN_PROGRESS)), flat(Task("a", COMPLETED)))
    events[2] = replace(events[2], at=0)

    found = stats_of(events)

    assert found.times == (0, MINUTE, MINUTE, MINUTE)
    assert found.tasks[0].worked == 0


def test_marks_tell_who_did_what() -> None:
    recorder = Recorder(0)
    recorder.record(PlanChanged(recorder.plan()), actor=Actor.USER)
    recorder.record(PlanChanged(recorder.plan()), 1)
    recorder.record(Nudged(1, 1), 1, Actor.TIMER)
    recorder.record(Nudged(1, 1, of_subagent=True), 1, Actor.TIMER)
    recorder.record(Tripped(Bound.SAME, 3), 1, Actor.TIMER)
    recorder.record(Labelled("e1", "v1"), 1, Actor.USER)
    recorder.record(DirectiveSet(Directive.PAUSE), 1, Actor.USER)

    marks = stats_of(recorder.events, 0, {"e1": "v1"}).marks

    assert [(mark.at // MINUTE, mark.kind, mark.label) for mark in marks] == [
        (0, MarkKind.PERSON, ""),
        (1, MarkKind.CHANGE, ""),
        (1, MarkKind.LABEL, "v1"),
        (2, MarkKind.NUDGE, ""),
        (3, MarkKind.NUDGE, ""),
        (4, MarkKind.LET_GO, ""),
    ]


def closing(minutes: list[float], status: Status = PENDING) -> list[Event]:
    """Close five of eight tasks, each after so many minutes; the others have a status."""
    recorder = Recorder(0)
    recorder.statuses = [status] * 8
    recorder.record(PlanChanged(recorder.plan()))
    for task, each in enumerate(minutes):
        recorder.mark(task, COMPLETED, each)
    return recorder.events


def test_the_estimate_is_that_of_the_pace() -> None:
    assert stats_of(closing([5] * 5)).estimate.remaining == 15 * MINUTE


def test_a_long_time_in_which_nobody_worked_does_not_slow_the_pace() -> None:
    """If a task was in progress, somebody worked."""
    assert stats_of(closing([5, 5, 605, 5, 5])).estimate.remaining == 12 * MINUTE
    assert stats_of(closing([5, 5, 605, 5, 5], IN_PROGRESS)).estimate.remaining == 375 * MINUTE


def test_nudges_without_progress_prevent_an_estimate() -> None:
    """Nudges of subagents do not."""
    events = closing([5] * 5)
    last = events[-1]
    for drift in (1, 2):
        events.append(Event(f"n{drift}", None, last.at, Actor.TIMER, Nudged(drift, drift)))
    of_subagents = [replace(each, fact=replace(each.fact, of_subagent=True)) for each in events[-2:]]

    assert stats_of(events).estimate.reason == "no estimate: told to go on 2 times without progress"
    assert stats_of([*events[:-2], *of_subagents]).estimate.remaining == 15 * MINUTE
    assert (
        "without progress"
        in stats_of([*events[:-1], Event("t", None, 0, Actor.TIMER, Tripped(Bound.SAME, 1))]).estimate.reason
    )


def test_a_change_that_is_no_progress_does_not_end_the_count_of_nudges() -> None:
    recorder = Recorder(0)
    recorder.record(PlanChanged(recorder.plan()))
    for task in range(5):
        recorder.mark(task, COMPLETED, 1)
    recorder.record(Nudged(1, 1))
    recorder.record(PlanChanged(recorder.plan(), drift=1), 1)
    recorder.record(Nudged(1, 2))

    assert stats_of(recorder.events).estimate.reason == "no estimate: told to go on 2 times without progress"


def test_tokens_belong_to_the_one_task_that_was_in_progress() -> None:
    """The answer that ends a period belongs to it; the one that begins it does not."""
    both = flat(Task("a", IN_PROGRESS), Task("b", IN_PROGRESS))
    events = history(plan_of("a", "b"), flat(Task("a", IN_PROGRESS), Task("b")), both, plan_of("a", "b"))
    requests = [TokenUse(int(minutes * MINUTE), tokens) for minutes, tokens in ((1, 1), (1.5, 20), (2, 300), (2.5, 4))]

    found = session_stats(events, 0, {}, requests)

    assert found is not None
    assert [entry.tokens for entry in found.tasks] == [320, None]
    assert found.tokens == 325


def test_without_requests_tokens_are_not_known() -> None:
    found = stats_of(history(flat(Task("a", IN_PROGRESS))), MINUTE)

    assert (found.tokens, found.tasks[0].tokens) == (None, None)


def test_a_plan_without_tasks_has_no_statistics() -> None:
    assert session_stats([], 0, {}) is None
    assert session_stats(history(Plan()), 0, {}) is None


@pytest.mark.parametrize(("count", "has_course"), [(2, False), (3, True)])
def test_a_curve_needs_three_events(count: int, has_course: bool) -> None:  # noqa: FBT001  a parameter
    assert stats_of(history(*[plan_of("a")] * count)).has_course is has_course


def test_the_fixed_history_is_what_it_says() -> None:
    found = stats_of_a_day()

    assert (found.progress.closed, found.progress.total) == (5, 8)
    assert len(found.of_kind(MarkKind.NUDGE)) == 2
