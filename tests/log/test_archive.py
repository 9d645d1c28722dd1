"""Archives restore the whole session, and anything else is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.log.test_codec import authors, facts, wild
from tests.plans import session_on, unnumbered_plan_of
from tildone.plan import codec
from tildone.plan.events import Actor, Event, Nudged, PlanChanged, SessionHead
from tildone.plan.formats import archive
from tildone.plan.formats.archive import Archive

FIRST = Event("a", None, 1, Actor.AGENT, PlanChanged(unnumbered_plan_of("one")))
SECOND = Event("b", "a", 2, Actor.USER, PlanChanged(unnumbered_plan_of("two")))
NUDGE = Event("c", "a", 3, Actor.TIMER, Nudged(1, 1))
ARCHIVE = Archive("s", SessionHead("a", ("b",)), (FIRST, SECOND))
EVENTS = [codec.parse_strictly(codec.encode(event)) for event in ARCHIVE.events]


@st.composite
def archives(draw: st.DrawFn) -> Archive:
    """Sessions of any shape, with any head."""
    ids = draw(st.lists(wild, unique=True, max_size=6))
    events: list[Event] = []
    for name in ids:
        parent = draw(st.none() | st.sampled_from([event.id for event in events])) if events else None
        at, actor = draw(st.integers(0, 2**53)), draw(st.sampled_from(Actor))
        events.append(Event(name, parent, at, actor, draw(facts), draw(authors)))
    heads = st.none() | st.sampled_from(ids) if ids else st.none()
    ahead = draw(st.lists(st.sampled_from(ids), max_size=2)) if ids else []
    return Archive(draw(wild.filter(bool)), SessionHead(draw(heads), tuple(ahead)), tuple(events))


@settings(max_examples=60)
@given(archives())
def test_an_archive_restores_the_whole_session(whole: Archive) -> None:
    """Every event of every branch, the name, and the head; in ASCII."""
    text = archive.write(whole)

    assert archive.read(text) == whole
    assert text.isascii()


def test_the_current_plan_is_included() -> None:
    """The plan at the head, in its stored form."""
    data = codec.parse_strictly(archive.write(ARCHIVE))

    assert archive.is_archive(data)
    assert data["plan"] == [{"name": "", "tasks": [{"text": "one", "status": "pending"}]}]
    assert codec.parse_strictly(archive.write(Archive("s", SessionHead("c"), (FIRST, NUDGE))))["plan"] == data["plan"]
    assert codec.parse_strictly(archive.write(Archive("s", SessionHead(), (FIRST,))))["plan"] == []


def test_a_store_can_import_an_archive() -> None:
    """With nudges and undone changes."""
    session = session_on()
    for texts in (["a"], ["a", "b"]):
        session.call("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]})
    session.turn_ended()
    session.undo()
    events = tuple(session.store.events("s"))
    whole = Archive("s", session.store.session_head("s"), events)
    other = session_on(name="copy").store

    read = archive.read(archive.write(whole))
    other.import_events("copy", read.events, read.session_head)

    assert (tuple(other.events("copy")), other.session_head("copy")) == (events, whole.session_head)


def test_a_manual_edit_of_the_plan_is_detected() -> None:
    """The events count, and the person should be told."""
    text = archive.write(ARCHIVE)

    assert archive.read(text.replace('"text":"one"', '"text":"three"', 1)) == Archive(
        "s", ARCHIVE.session_head, ARCHIVE.events, edited=True
    )
    assert not archive.read("".join(text.splitlines()[:4] + text.splitlines()[5:])).edited


REFUSED = {
    "another format": ({"format": "other"}, "not a session"),
    "another version": ({"version": 2}, "the archive has version 2; this tildone reads version 1"),
    "no name": ({"session": ""}, "the fields session, place and events"),
    "a name of the wrong type": ({"session": 5}, "the fields session, place and events"),
    "events that are not a list": ({"events": {}}, "the fields session, place and events"),
    "a head of the wrong type": ({"place": {"head": 1, "ahead": []}}, "the fields session, place and events"),
    "a redo stack of the wrong type": ({"place": {"head": None, "ahead": [1]}}, "the fields session, place and events"),
    "an unknown head": ({"place": {"head": "z", "ahead": []}}, "the head is an event that is not in the archive"),
    "an unknown event in the redo stack": (
        {"place": {"head": "a", "ahead": ["z"]}},
        "the head is an event that is not in the archive",
    ),
    "a child before its parent": ({"events": EVENTS[::-1]}, "is missing or comes after it"),
    "an event twice": ({"events": EVENTS * 2}, "occurs twice"),
    "an invalid event": ({"events": [1]}, "not an event"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_malformed_archive_is_refused(case: str) -> None:
    """The error says why."""
    change, why = REFUSED[case]
    text = codec.dump(codec.parse_strictly(archive.write(ARCHIVE)) | change)

    with pytest.raises(ValueError, match=why):
        archive.read(text)


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("id", 1),
        ("at", "5"),
        ("at", [1]),
        ("at", -1),
        ("at", 1.5),
        ("at", 2**63),
        ("at", None),
        ("parent", 1),
        ("drift", [1]),
        ("drift", True),
        ("plan", [{"name": "", "tasks": [{"text": 5, "status": "pending"}]}]),
        ("plan", [{"name": "", "tasks": [{"text": "a", "status": "pending", "notes": [1]}]}]),
        ("plan", [{"name": "", "tasks": [{"text": "a", "status": "pending", "number": [1]}]}]),
    ],
)
def test_an_event_that_a_store_cannot_represent_is_refused(field: str, content: object) -> None:
    """Each field has its type; numbers are integers, not negative, and fit into 64 bits."""
    data = codec.parse_strictly(archive.write(ARCHIVE))
    data["events"][0][field] = content

    with pytest.raises(ValueError, match="not an event"):
        archive.read(codec.dump(data))


@given(st.text() | st.text(st.sampled_from('{}[]":,formatildone session1'), max_size=40))
def test_any_other_text_is_refused(text: str) -> None:
    """With a ValueError and no other exception."""
    with pytest.raises(ValueError, match=r"\w"):
        archive.read(text)


def test_an_archive_of_an_empty_session_is_valid() -> None:
    empty = Archive("s", SessionHead(), ())

    assert archive.read(archive.write(empty)) == empty
