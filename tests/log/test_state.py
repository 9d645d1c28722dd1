"""The state at the head, computed from the newest events."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tests.plans import plan_of, unnumbered_plan_of
from tildone.plan.events import (
    Actor,
    Bound,
    Directive,
    DirectiveSet,
    Event,
    Fact,
    Labelled,
    Ledger,
    Nudged,
    PlanChanged,
    State,
    StopFingerprint,
    Tripped,
    apply_event,
    latest_state,
)
from tildone.plan.model import numbered

facts = st.one_of(
    st.builds(PlanChanged, plans.plans.map(numbered), drift=st.integers(0, 9)),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60)),
    st.just(Tripped(Bound.NUDGES, 20)),
    st.just(Labelled("e0", "start")),
    st.builds(DirectiveSet, st.sampled_from(Directive)),
    st.builds(DirectiveSet, st.just(Directive.GO), st.integers(1, 9), st.just(1), st.just(Ledger(3, 1))),
)


def chain(*facts: Fact) -> list[Event]:
    """Events that follow one another, oldest first."""
    return [Event(f"e{i}", f"e{i - 1}" if i else None, i, Actor.AGENT, fact) for i, fact in enumerate(facts)]


def test_a_session_without_events_has_the_initial_state() -> None:
    assert latest_state([]) == State()


def test_the_plan_is_the_newest_snapshot() -> None:
    events = chain(PlanChanged(plan_of("old")), PlanChanged(plan_of("new"), drift=3))

    assert latest_state(events[::-1]) == State("e1", plan_of("new"), 0, 3)


def test_a_change_resets_the_nudges_and_keeps_its_drift() -> None:
    events = chain(PlanChanged(plan_of("a")), Nudged(1, 1), Nudged(2, 2), PlanChanged(plan_of("b"), drift=2))

    assert latest_state(events[2::-1]).nudges == 2
    assert latest_state(events[::-1]) == State("e3", plan_of("b"), 0, 2)


def test_tripped_is_reset_by_the_next_nudge() -> None:
    events = chain(PlanChanged(plan_of("a")), Tripped(Bound.NUDGES, 20), Nudged(1, 1))

    assert latest_state(events[1::-1]).tripped
    assert not latest_state(events[::-1]).tripped


def test_reading_stops_at_the_newest_snapshot() -> None:
    """Older events are never read."""

    def endless() -> Iterator[Event]:
        newest = chain(PlanChanged(plan_of("a")), Nudged(1, 1), Labelled("e0", "x"))
        yield from newest[::-1]
        raise AssertionError("read past the snapshot")

    assert latest_state(endless()) == State("e2", plan_of("a"), 1, 1, since=1, ledger=Ledger(1, 1))


@given(st.lists(facts, max_size=8))
def test_reading_backwards_and_applying_forwards_agree(facts: list[Fact]) -> None:
    """A process that opens the session computes the same state as one that followed it."""
    state = State()
    for event in (events := chain(*facts)):
        state = apply_event(state, event)

    since_snapshot = next((i for i in reversed(range(len(events))) if isinstance(facts[i], PlanChanged)), None)
    if since_snapshot is not None:
        assert latest_state(reversed(events)) == state


def test_a_directive_holds_until_another_is_set() -> None:
    """It survives nudges, labels and changes of the plan; setting one resets every count."""
    events = chain(
        PlanChanged(plan_of("a")),
        Nudged(1, 1, StopFingerprint("files", "words"), 1),
        DirectiveSet(Directive.PAUSE),
        Labelled("e0", "x"),
        PlanChanged(plan_of("b"), directive=Directive.PAUSE),
        Nudged(1, 1),
        DirectiveSet(Directive.GO),
    )

    assert latest_state(events[2::-1]) == State("e2", plan_of("a"), directive=Directive.PAUSE)
    assert latest_state(events[3::-1]).directive is Directive.PAUSE
    assert latest_state(events[5::-1]).directive is Directive.PAUSE
    assert latest_state(events[::-1]) == State("e6", plan_of("b"))


def test_since_is_the_time_of_the_first_nudge_in_the_chain() -> None:
    """Changes without progress repeat it."""
    events = chain(
        PlanChanged(plan_of("a")), Nudged(1, 1), Nudged(2, 2), PlanChanged(plan_of("b"), drift=2, since=1), Nudged(1, 3)
    )

    assert [latest_state(events[newest::-1]).since for newest in range(5)] == [0, 1, 1, 1, 1]


def test_the_tasks_of_a_state_have_numbers_even_if_the_snapshot_has_none() -> None:
    """Snapshots of earlier versions and of other programs have none; the events stay as they are."""
    events = chain(PlanChanged(unnumbered_plan_of("a", "b")))

    assert latest_state(events[::-1]).plan == plan_of("a", "b")
    assert events[0].fact == PlanChanged(unnumbered_plan_of("a", "b"))
