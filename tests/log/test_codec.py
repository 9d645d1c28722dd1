"""Events as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tildone.core.plan import Plan
from tildone.log import codec
from tildone.log.events import (
    Actor,
    Bound,
    Call,
    Directive,
    DirectiveSet,
    Event,
    Labelled,
    Nudged,
    PlanChanged,
    StopFingerprint,
    Tripped,
)

wild = st.text(st.characters(codec=None), max_size=20) | st.just("\ud800 half a pair \udfff")
facts = st.one_of(
    st.builds(
        PlanChanged,
        plans.plans | plans.numbered_plans,
        st.none() | st.builds(Call, wild, wild),
        st.integers(0, 99),
        st.integers(0, 2**53),
        st.sampled_from(Directive),
    ),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60)),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60), st.builds(StopFingerprint, wild, wild), st.just(0)),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60), st.just(StopFingerprint("f")), st.integers(0, 9)),
    st.builds(DirectiveSet, st.sampled_from(Directive)),
    st.builds(Tripped, st.sampled_from(Bound), st.integers(1, 60)),
    st.builds(Labelled, wild, wild),
)
events = st.builds(Event, wild, st.none() | wild, st.integers(0, 2**53), st.sampled_from(Actor), facts)


@given(events)
def test_an_event_comes_back_as_it_was_written(event: Event) -> None:
    """Whatever the texts hold, in one line of ASCII."""
    text = codec.encode(event)

    assert codec.decode(text) == event
    assert text.isascii()
    assert "\n" not in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"v":1}',
        '{"v":99,"id":"a","parent":null,"at":1,"actor":"agent","fact":"nudged","count":1,"drift":1}',
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"nobody","fact":"nudged","count":1,"drift":1}',
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"agent","fact":"unheard of"}',
        '{"v":1,"id":"a","parent":null,"at":1,"actor":"agent","fact":"plan_changed","plan":[{"name":1}],"drift":0}',
    ],
)
def test_what_is_not_an_event_is_refused(text: str) -> None:
    """Damage and newer versions are told apart from events, never guessed at."""
    with pytest.raises(codec.UndecodableEvent, match="not an event"):
        codec.decode(text)


def test_an_older_version_is_raised_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upcast turns one version into the next."""
    renamed = {0: lambda data: {**data, "v": 1, "count": data["n"], "drift": data["n"]}}
    monkeypatch.setattr(codec, "UPCASTS", renamed)

    event = codec.decode('{"v":0,"id":"a","parent":null,"at":5,"actor":"timer","fact":"nudged","n":3}')

    assert event == Event("a", None, 5, Actor.TIMER, Nudged(3, 3))


@pytest.mark.parametrize("text", ["", "{", "[1,]", "NaN", '{"a": Infinity}', "[" * 100_000, "9" * 5000])
def test_parse_says_what_is_not_json(text: str) -> None:
    """Constants that JSON does not have, and nesting or digits without end, included."""
    with pytest.raises(ValueError, match=r"."):
        codec.parse(text)


def test_parse_takes_any_json_value() -> None:
    """It does not have to be an object."""
    assert codec.parse('{"a": [1, 2.5, "x", null, true]}') == {"a": [1, 2.5, "x", None, True]}


def test_an_empty_plan_is_written_as_an_empty_list() -> None:
    """A snapshot is a snapshot, empty or not."""
    emptied = Event("a", None, 1, Actor.USER, PlanChanged(Plan()))

    assert '"plan":[]' in codec.encode(emptied)
    assert codec.decode(codec.encode(emptied)) == emptied
