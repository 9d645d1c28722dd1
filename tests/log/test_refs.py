"""How people name events."""

import re
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.plans import plan_of
from tildone.errors import NotFound
from tildone.log.events import Actor, Event, Fact, Labelled, Nudged, PlanChanged
from tildone.log.refs import events_by_label, label_problem, resolve, short_ids
from tildone.log.tree import SessionHead
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


def written(*chain: tuple[str, str | None, Fact]) -> Counting:
    """A store of one session `s`, standing at the last of these events."""
    store = Counting()
    events = [Event(name, parent, 1, Actor.USER, fact) for name, parent, fact in chain]
    store.import_events("s", events, SessionHead(events[-1].id))
    return store


def changed(*texts: str) -> PlanChanged:
    return PlanChanged(plan_of(*texts))


STORE = written(
    ("0aa1", None, changed("a")),
    ("0aa2", "0aa1", changed("a", "b")),
    ("0bb1", "0aa2", Nudged(1, 1)),
    ("0bb2", "0bb1", changed("a")),
    ("0cc1", "0bb2", Labelled("0aa2", "second")),
)


@pytest.mark.parametrize(
    ("word", "event"),
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
def test_an_event_has_many_names(word: str, event: str | None) -> None:
    """Going back counts changes of the plan: what only nudges or names is passed over."""
    assert resolve(STORE, "s", word) == event


@pytest.mark.parametrize(
    ("word", "said"),
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
def test_what_names_no_event_or_several_is_told(word: str, said: str) -> None:
    """With the candidates, if there are any."""
    with pytest.raises(NotFound, match=re.escape(said)):
        resolve(STORE, "s", word)


def test_many_candidates_are_told_by_some_of_them() -> None:
    """Each by as much of its id as tells it from every other that fits."""
    chain = [(f"0123456789{n:02}", f"0123456789{n - 1:02}" if n else None, changed("a")) for n in range(12)]

    with pytest.raises(NotFound, match=r"matches 12 events: 012345678900, 012345678901, .*, 012345678904, …"):
        resolve(written(*chain), "s", "01")


def test_a_label_counts_more_than_the_beginning_of_an_id() -> None:
    """And a whole id more than a label; a label with a way back in it is a label all the same."""
    store = written(
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


def test_a_label_means_the_event_that_got_it_last() -> None:
    """Not one that lost it, nor one that is in no session of ours."""
    store = written(
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
    for word in ("there", "far"):
        with pytest.raises(NotFound, match="no event has the label or id"):
            resolve(store, "s", word)


def test_a_session_that_was_never_written_has_only_its_beginning() -> None:
    """Which is its head, too."""
    assert resolve(MemoryStore(), "s", "head") is None
    assert resolve(MemoryStore(), "s", "root") is None
    with pytest.raises(NotFound, match="no event has the label or id"):
        resolve(MemoryStore(), "s", "a")


@pytest.mark.parametrize(("word", "most"), [("head", 0), ("root", 0), ("e500", 0), ("head~3", 4), ("e500~3", 4)])
def test_a_long_history_is_read_no_further_than_it_takes(word: str, most: int) -> None:
    """Only a label, or the beginning of an id, takes a look at every event."""
    store = written(*((f"e{n}", f"e{n - 1}" if n else None, changed("a")) for n in range(1000)))

    resolve(store, "s", word)

    assert store.read <= most


def test_ids_are_as_short_as_they_can_be() -> None:
    """They tell all events apart, and are long enough to go on doing so."""
    assert short_ids(["01m7ev36estb1cfc", "01m7ev36estzzzzz", "01m7ev38dgtttttt"]) == {
        "01m7ev36estb1cfc": "01m7ev36estb",
        "01m7ev36estzzzzz": "01m7ev36estz",
        "01m7ev38dgtttttt": "01m7ev38dgtt",
    }
    assert short_ids(["01m7ev36estb1cfc"]) == {"01m7ev36estb1cfc": "01m7ev36es"}
    assert short_ids(["short", "short"]) == {"short": "short"}
    assert short_ids([]) == {}


@pytest.mark.parametrize("name", ["", " ", "head", "Root", "a~1", "~"])
def test_a_name_must_not_mean_something_else(name: str) -> None:
    """Or nothing."""
    assert label_problem(name)


@pytest.mark.parametrize("name", ["v1", "before lunch", "0a", "日本語", "headless", "root-cause"])
def test_any_other_text_is_a_name(name: str) -> None:
    """One that looks like the beginning of an id included."""
    assert label_problem(name) is None
