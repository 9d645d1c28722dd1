"""Encoding and decoding of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import plans
from tildone.plan import codec
from tildone.plan.events import (
    Actor,
    AgentUsage,
    Author,
    Bound,
    Call,
    Directive,
    DirectiveSet,
    Event,
    Labelled,
    Ledger,
    Nudged,
    PlanChanged,
    StopFingerprint,
    Tripped,
)
from tildone.plan.model import Plan, Task, flat

wild = st.text(st.characters(codec=None), max_size=20) | st.just("\ud800 half a pair \udfff")
ledgers = st.builds(
    Ledger,
    *[st.integers(0, 2**53)] * 3,
    st.lists(st.integers(1, 99)).map(tuple),
    st.lists(wild).map(tuple),
    st.integers(0, 200),
)
facts = st.one_of(
    st.builds(
        PlanChanged,
        plans.plans | plans.numbered_plans | plans.proved_plans,
        st.none() | st.builds(Call, wild, wild),
        st.integers(0, 99),
        st.integers(0, 2**53),
        st.sampled_from(Directive),
        ledgers,
    ),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60)),
    st.builds(Nudged, st.integers(0, 20), st.integers(0, 60), of_subagent=st.sampled_from([True])),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60), st.builds(StopFingerprint, wild, wild), st.just(0)),
    st.builds(Nudged, st.integers(1, 20), st.integers(1, 60), st.just(StopFingerprint("f")), st.integers(0, 9)),
    st.builds(DirectiveSet, st.sampled_from(Directive)),
    st.builds(DirectiveSet, st.sampled_from(Directive), st.integers(1, 60), st.integers(0, 2**53), ledgers),
    st.builds(Tripped, st.sampled_from(Bound), st.integers(1, 60)),
    st.builds(Labelled, wild, wild),
)
authors = st.builds(Author, wild, wild, wild)
counts = st.none() | st.integers(0, 2**53)
usages = st.builds(AgentUsage, counts, counts, st.none() | st.floats(0, 1e6)).filter(lambda usage: usage.is_known)
events = st.builds(
    Event,
    wild,
    st.none() | wild,
    st.integers(0, 2**53),
    st.sampled_from(Actor),
    facts,
    authors,
    st.none() | usages,
)


@given(events)
def test_an_event_survives_encoding_and_decoding(event: Event) -> None:
    """Whatever its texts contain; the text is one line of ASCII."""
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
def test_invalid_events_are_refused(text: str) -> None:
    """Damaged text and newer versions are never guessed at."""
    with pytest.raises(codec.UndecodableEvent, match="not an event"):
        codec.decode(text)


def test_an_older_version_is_upcast_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upcast converts one version to the next."""
    renamed = {0: lambda data: {**data, "v": 1, "count": data["n"], "drift": data["n"]}}
    monkeypatch.setattr(codec, "UPCASTS", renamed)

    event = codec.decode('{"v":0,"id":"a","parent":null,"at":5,"actor":"timer","fact":"nudged","n":3}')

    assert event == Event("a", None, 5, Actor.TIMER, Nudged(3, 3))


@pytest.mark.parametrize("text", ["", "{", "[1,]", "NaN", '{"a": Infinity}', "[" * 100_000, "9" * 5000])
def test_parse_refuses_invalid_json(text: str) -> None:
    """Including constants that JSON does not have, deep nesting, and huge numbers."""
    with pytest.raises(ValueError, match=r"."):
        codec.parse_strictly(text)


def test_parse_accepts_any_json_value() -> None:
    assert codec.parse_strictly('{"a": [1, 2.5, "x", null, true]}') == {"a": [1, 2.5, "x", None, True]}


def test_an_empty_plan_is_encoded_as_an_empty_list() -> None:
    emptied = Event("a", None, 1, Actor.USER, PlanChanged(Plan()))

    assert '"plan":[]' in codec.encode(emptied)
    assert codec.decode(codec.encode(emptied)) == emptied


WITH_AUTHOR = Event(
    "a",
    None,
    1,
    Actor.AGENT,
    PlanChanged(flat(Task("x", number=1, from_user=True), Task("y"), Task("z", number=3, source='"é'))),
    Author("Zoë", "claude:1"),
)


def test_an_event_has_its_author_and_a_task_its_origin() -> None:
    """Only what is known is stored."""
    text = codec.encode(WITH_AUTHOR)

    decoded = codec.decode(text)

    assert '"actor":"agent","by":{"name":"Zo\\u00eb","agent":"claude:1"},"fact":' in text
    assert text.count('"from_user":true') == 1
    assert decoded == WITH_AUTHOR
    assert isinstance(decoded.fact, PlanChanged)
    assert [task.from_user for task in decoded.fact.plan.tasks] == [True, False, False]
    assert [task.source for task in decoded.fact.plan.tasks] == ["", "", '"é']
    assert text.count('"source":') == 1
    assert "by" not in codec.parse_strictly(codec.encode(Event("a", None, 1, Actor.TIMER, Nudged(1, 1))))


def test_events_of_earlier_versions_have_no_author() -> None:
    old = '{"v":1,"id":"a","parent":null,"at":5,"actor":"user","fact":"nudged","count":1,"drift":1}'

    assert codec.decode(old).author == Author()


@pytest.mark.parametrize(
    "by", ["null", "7", '"Ada"', "[]", "{}", '{"name":7,"agent":null,"model":[]}', '{"new":"key"}']
)
def test_an_author_of_another_form_is_unknown(by: str) -> None:
    """A later version may store something else; the event is not lost for it."""
    text = f'{{"v":1,"id":"a","parent":null,"at":5,"actor":"user","by":{by},"fact":"nudged","count":1,"drift":1}}'

    assert codec.decode(text) == Event("a", None, 5, Actor.USER, Nudged(1, 1))


def test_keys_that_a_reader_does_not_know_are_ignored() -> None:
    """Therefore an earlier version reads the events of this one: to it, `by` and `from_user` are such keys."""
    data = codec.parse_strictly(codec.encode(WITH_AUTHOR))
    data["future"] = data["plan"][0]["future"] = data["plan"][0]["tasks"][0]["future"] = {"any": "thing"}

    assert data["v"] == 1
    assert codec.event_from_json(data) == WITH_AUTHOR
