"""Event references."""

import re
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.plans import plan_of
from tildone.base.errors import NotFound
from tildone.plan.events import Actor, Event, Labelled, Nudged, PlanChanged, SessionHead
from tildone.plan.history.refs import events_by_label, label_problem, resolve, short_ids
from tildone.stores.memory import MemoryStore


class Counting(MemoryStore):
    """A store that counts how many events were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        return self._counted(super().history(session, head))

    def events(self, session: str) -> Iterator[Event]:
        return self._counted(super().events(session))

    def _counted(self, events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            self.read += 1
            yield event


def store_with(*chain: tuple[str, str | None, Labelled | Nudged | PlanChanged]) -> Counting:
    """A store with one session `s` of these events, the last of which is the head."""
    store = Counting()
    events = [Event(name, parent, 1, Actor.USER, fact) for name, parent, fact in chain]
    store.import_events("s", events, SessionHead(events[-1].id))
    return store


def changed(*texts: str) -> PlanChanged:
    return PlanChanged(plan_of(*texts))


STORE = store_with(
    ("0aa1", None, changed("a")),
    ("0aa2", "0aa1", changed("a", "b")),
    ("0bb1", "0aa2", Nudged(1, 1)),
    ("0bb2", "0bb1", changed("a")),
    ("0cc1", "0bb2", Labelled("0aa2", "second")),
)


@pytest.mark.parametrize(
    ("ref", "event"),
    [
        ("head", "0cc1"),
        ("HEAD", "0cc1"),
        ("root", None),
        ("0aa2", "0aa2"),
        ("0c", "0cc1"),
        ("second", "0aa2"),
        ("~1", "0bb1"),
        ("head~1", "0bb1"),
        ("head~", "0bb1"),
        ("~0", "0cc1"),
        ("head~2", "0aa1"),
        ("head~3", None),
        ("second~1", "0aa1"),
        ("0bb1~1", "0aa1"),
        ("0aa2~0", "0aa2"),
    ],
)
def test_references_resolve_to_events(ref: str, event: str | None) -> None:
    """`~N` counts changes of the plan; nudges and labels are skipped."""
    assert resolve(STORE, "s", ref) == event


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("nope", "no event has the label or id 'nope', and no id begins with it"),
        ("0a", "'0a' matches 2 events: 0aa1, 0aa2"),
        ("0bb~1", "'0bb' matches 2 events: 0bb1, 0bb2"),
        ("0", "'0' matches 5 events: 0aa1, 0aa2, 0bb1, 0bb2, 0cc1"),
        ("head~4", "'head~4' goes back too far: 3 changes lead there"),
        ("0aa1~2", "'0aa1~2' goes back too far: 1 change leads there"),
        ("root~1", "'root~1' goes back too far: 0 changes lead there"),
        (f"~{'9' * 5000}", "goes back too far: 3 changes lead there"),
        ("head~x", "no event has the label or id 'head~x'"),
        ("", "an empty name names no event"),
        (" ", "an empty name names no event"),
    ],
)
def test_unknown_and_ambiguous_references_are_refused(ref: str, message: str) -> None:
    """The error lists the matching events, if any."""
    with pytest.raises(NotFound, match=re.escape(message)):
        resolve(STORE, "s", ref)


def test_only_some_of_many_matches_are_listed() -> None:
    """Their ids are shortened as far as they stay unique."""
    chain = [(f"0123456789{n:02}", f"0123456789{n - 1:02}" if n else None, changed("a")) for n in range(12)]

    with pytest.raises(NotFound, match=r"matches 12 events: 012345678900, 012345678901, .*, 012345678904, …"):
        resolve(store_with(*chain), "s", "01")


def test_a_label_takes_precedence_over_a_prefix() -> None:
    """A whole id takes precedence over a label. A label may contain `~`."""
    store = store_with(
        ("0aa1", None, changed("a")),
        ("0aa2", "0aa1", changed("a", "b")),
        ("0bb1", "0aa2", changed("b")),
        ("0cc1", "0bb1", Labelled("0bb1", "0aa")),
        ("0cc2", "0cc1", Labelled("0aa2", "0aa1")),
        ("0cc3", "0cc2", Labelled("0cc1", "odd~1")),
    )

    assert resolve(store, "s", "0aa") == "0bb1"
    assert resolve(store, "s", "0aa1") == "0aa1"
    assert resolve(store, "s", "odd~1") == "0cc1"


def test_a_label_names_the_event_that_got_it_last() -> None:
    """Not an event that lost it, nor one that is not in the session."""
    store = store_with(
        ("a", None, changed("a")),
        ("b", "a", changed("b")),
        ("x", "b", Labelled("a", "old")),
        ("c", "x", Labelled("b", "here")),
        ("d", "c", Labelled("a", "here")),
        ("e", "d", Labelled("b", "there")),
        ("f", "e", Labelled("b", "")),
        ("g", "f", Labelled("gone", "far")),
    )

    assert events_by_label(islice(store.events("s"), 5)) == {"here": "a"}
    assert events_by_label(store.events("s")) == {"here": "a", "far": "gone"}
    assert resolve(store, "s", "here") == "a"
    for ref in ("there", "far"):
        with pytest.raises(NotFound, match="no event has the label or id"):
            resolve(store, "s", ref)


def test_in_an_empty_session_head_and_root_are_none() -> None:
    assert resolve(MemoryStore(), "s", "head") is None
    assert resolve(MemoryStore(), "s", "root") is None
    with pytest.raises(NotFound, match="no event has the label or id"):
        resolve(MemoryStore(), "s", "a")


@pytest.mark.parametrize(("ref", "max_read"), [("head", 0), ("root", 0), ("e500", 0), ("head~3", 4), ("e500~3", 4)])
def test_only_as_much_history_is_read_as_necessary(ref: str, max_read: int) -> None:
    """Only labels and prefixes require reading every event."""
    store = store_with(*((f"e{n}", f"e{n - 1}" if n else None, changed("a")) for n in range(1000)))

    resolve(store, "s", ref)

    assert store.read <= max_read


def test_short_ids_are_unique_prefixes() -> None:
    assert short_ids(["01m7ev36estb1cfc", "01m7ev36estzzzzz", "01m7ev38dgtttttt"]) == {
        "01m7ev36estb1cfc": "01m7ev36estb",
        "01m7ev36estzzzzz": "01m7ev36estz",
        "01m7ev38dgtttttt": "01m7ev38dgtt",
    }
    assert short_ids(["01m7ev36estb1cfc"]) == {"01m7ev36estb1cfc": "01m7ev36es"}
    assert short_ids(["short", "short"]) == {"short": "short"}
    assert short_ids([]) == {}


@pytest.mark.parametrize("name", ["", " ", "head", "Root", "a~1", "~"])
def test_a_label_must_not_be_empty_or_another_kind_of_reference(name: str) -> None:
    assert label_problem(name)


@pytest.mark.parametrize("name", ["v1", "before lunch", "0a", "日本語", "headless", "root-cause"])
def test_any_other_text_is_a_valid_label(name: str) -> None:
    """Even one that looks like a prefix of an id."""
    assert label_problem(name) is None
