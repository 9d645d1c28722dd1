"""The facts about runs: their stored form, their words, and that a plan without them is as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans import plan_of
from tildone.plan.codec import UndecodableEvent, decode, encode
from tildone.plan.events import Actor, Event, Nudged, PlanChanged, latest_state
from tildone.plan.history.stats import session_stats
from tildone.plan.history.timeline import row_data, timeline
from tildone.plan.runs import (
    Answered,
    Asked,
    Kept,
    LeaseState,
    RunEnded,
    RunFact,
    RunLost,
    RunQueued,
    RunReleased,
    RunTaken,
    Work,
)
from tildone.plan.text.safe import printable
from tildone.plan.text.views_runs import describe_run_fact
from tildone.stores.summary import summarize

TEXTS = st.text(max_size=20) | st.sampled_from(
    ['"status":"pending"', '"fact":"plan_changed"', "half \ud83d", "\x1b[31m"]
)
NUMBERS = st.integers(0, 2**53)
STATES = st.sampled_from(LeaseState)
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
WORKS = st.builds(Work, TEXTS, TEXTS, LISTS, NUMBERS, TEXTS, TEXTS, LISTS, TEXTS, NUMBERS)
FACTS = st.one_of(
    st.builds(RunQueued, TEXTS, NUMBERS, NUMBERS, NUMBERS, WORKS, TEXTS, NUMBERS),
    st.builds(RunTaken, TEXTS, NUMBERS, NUMBERS, TEXTS, TEXTS),
    st.builds(RunLost, TEXTS, NUMBERS, NUMBERS, TEXTS, NUMBERS, NUMBERS),
    st.builds(RunReleased, TEXTS, NUMBERS, NUMBERS, STATES, TEXTS, NUMBERS, NUMBERS, TEXTS),
    st.builds(RunEnded, TEXTS, NUMBERS, NUMBERS, STATES, TEXTS, NUMBERS),
    st.builds(Asked, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS),
    st.builds(Answered, TEXTS, NUMBERS, TEXTS, TEXTS, TEXTS),
    st.builds(Kept, TEXTS, NUMBERS, NUMBERS, TEXTS, TEXTS, NUMBERS),
)


def event_of(fact: RunFact, parent: str | None = "p") -> Event:
    return Event("e", parent, 7, Actor.TIMER, fact)


@given(FACTS)
def test_every_fact_is_read_as_it_was_written(fact: RunFact) -> None:
    event = event_of(fact)

    text = encode(event)

    assert text.isascii()
    assert decode(text) == event


@given(FACTS)
def test_a_plan_is_the_same_after_a_fact_about_a_run(fact: RunFact) -> None:
    """Neither what an agent is held to changes nor what has counted so far."""
    first = Event("p", None, 1, Actor.AGENT, PlanChanged(plan_of("one"), drift=1))
    second = Event("n", "p", 2, Actor.TIMER, Nudged(1, 2))
    third = Event("e", "n", 7, Actor.TIMER, fact)

    before, after = latest_state([second, first]), latest_state([third, second, first])

    assert (after.plan, after.nudges, after.drift, after.ledger) == (
        before.plan,
        before.nudges,
        before.drift,
        before.ledger,
    )
    assert after.head == "e"
    texts = [encode(third), encode(second), encode(first)]
    known, told = summarize("n", texts[1:]), summarize("e", texts)
    assert known is not None
    assert told is not None
    assert (told.workable, told.blocked, told.directive, told.continued) == (
        known.workable,
        known.blocked,
        known.directive,
        known.continued,
    )


@given(FACTS)
def test_a_fact_about_a_run_has_one_harmless_line(fact: RunFact) -> None:
    first = Event("p", None, 1, Actor.AGENT, PlanChanged(plan_of("one")))
    events = [first, event_of(fact)]

    rows = timeline(events, "e", str)

    [text] = rows[-1].what
    assert printable(text) == text
    assert row_data(events[1], rows[-1], str)["kind"] in (
        "run_queued",
        "run_taken",
        "run_lost",
        "run_released",
        "run_ended",
        "asked",
        "answered",
        "kept",
    )
    assert session_stats(events, 10, {}) is not None


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (RunQueued("r1", 0, 0, 1, Work()), "queued run r1"),
        (RunQueued("r1", 1, 0, 1, Work(), "retried"), "retried run r1, hand 2"),
        (RunTaken("r1", 0, 1, "host/7/ab/1"), "took run r1, as worker host/7/ab"),
        (RunLost("r1", 0, 2, "its lease has lapsed"), "lost run r1: its lease has lapsed"),
        (RunReleased("r1", 0, 2, LeaseState.OPEN, "draining"), "gave back run r1: draining"),
        (RunReleased("r1", 0, 2, LeaseState.PAUSED, ""), "paused run r1"),
        (RunReleased("r1", 0, 2, LeaseState.WAITING, ""), "left, until there is an answer, run r1"),
        (RunEnded("r1", 0, 2, LeaseState.DONE), "finished run r1"),
        (RunEnded("r1", 0, 2, LeaseState.FAILED, "exit\n1"), "failed run r1: exit⏎1"),
        (Asked("r1", 0, "q", "question", "Which?"), "asked “Which?” in run r1"),
        (Answered("r1", 0, "q", "that"), "answered “that” to run r1"),
        (Kept("r1", 0, 1, "refs/x", "abcdef0123456789"), "kept the files of run r1 as abcdef012345 in refs/x"),
    ],
)
def test_the_words_of_facts(fact: RunFact, words: str) -> None:
    assert describe_run_fact(fact) == words


def test_an_unknown_fact_is_no_event() -> None:
    with pytest.raises(UndecodableEvent):
        decode('{"v":1,"id":"a","parent":null,"at":1,"actor":"agent","fact":"run_invented","run":"r1"}')
