"""Undo, redo and checkout restore every plan and lose no event, and which plan the model last saw."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.plans import plan_of, session_on
from tests.stores.overridden import overridden
from tildone.base import Refused, StoreError, replace
from tildone.log.session import Session
from tildone.plan.dialects import CompletedCall, Dialect, Reply, Tool
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Actor, Directive, Event, Labelled, PlanChanged
from tildone.plan.history.refs import resolve
from tildone.plan.model import Plan, Task
from tildone.plan.ops import Append, Op
from tildone.stores.memory import MemoryStore

counts = st.integers(1, 4)
additions = st.builds(Append, st.builds(Task, st.sampled_from("abcdefgh")).map(lambda task: (task,)))
commands = st.lists(
    st.one_of(
        st.tuples(st.just("change"), additions),
        st.tuples(st.just("change"), plans.ops),
        st.tuples(st.just("undo"), counts),
        st.tuples(st.just("redo"), counts),
        st.tuples(st.just("checkout"), st.integers(0, 20)),
        st.tuples(st.just("label"), st.integers(0, 20)),
        st.tuples(st.just("nudge"), st.none()),
        st.tuples(st.just("set_directive"), st.sampled_from(Directive)),
    ),
    max_size=20,
)


class Walker:
    """Executes commands on a session and computes the expected plan independently."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.events: list[Event] = []
        self.back: list[Plan] = []
        self.plan = Plan()
        self.ahead: list[Plan] = []

    def go(self, command: str, given: object) -> None:
        getattr(self, command)(given)
        assert self.session.plan == self.plan
        self.check_that_no_event_is_lost()

    def change(self, op: Op) -> None:
        outcome = self.session.change([op])
        if outcome.changed:
            self.back.append(self.plan)
            self.plan = outcome.after
            self.ahead = []

    def undo(self, count: int) -> None:
        if len(self.back) < count:
            self.refused(self.session.undo, count)
            return
        self.session.undo(count)
        for _ in range(count):
            self.ahead.append(self.plan)
            self.plan = self.back.pop()

    def redo(self, count: int) -> None:
        if len(self.ahead) < count:
            self.refused(self.session.redo, count)
            return
        self.session.redo(count)
        for _ in range(count):
            self.back.append(self.plan)
            self.plan = self.ahead.pop()

    def checkout(self, number: int) -> None:
        target = self.session.store.session_head("s").head if number >= len(self.events) else self.events[number].id
        self.session.checkout(target)
        path = [event.fact.plan for event in self.branch(target) if isinstance(event.fact, PlanChanged)]
        self.back = [Plan(), *path][:-1]
        self.plan = [Plan(), *path][-1]
        self.ahead = []

    def label(self, number: int) -> None:
        if number < len(self.events):
            self.session.label(self.events[number].id, f"n{number}")

    def nudge(self, _: None) -> None:
        self.session.turn_ended()

    def set_directive(self, directive: Directive) -> None:
        self.session.set_directive(directive)

    def branch(self, head: str | None) -> list[Event]:
        return list(self.session.store.history("s", head))[::-1] if head is not None else []

    def refused(self, step: Callable[[int], object], count: int) -> None:
        before = self.session.store.session_head("s")
        with pytest.raises(Refused):
            step(count)
        assert self.session.store.session_head("s") == before

    def check_that_no_event_is_lost(self) -> None:
        events = list(self.session.store.events("s"))
        assert events[: len(self.events)] == self.events
        self.events = events


@settings(max_examples=120, derandomize=True)
@given(commands)
def test_every_plan_is_restored_and_no_event_is_lost(program: list[tuple[str, object]]) -> None:
    """Undoing k changes gives the plan of k changes ago, redoing them the plans that followed, in any order of both.

    What cannot be done changes nothing, and every event that was ever written is still there.
    """
    walker = Walker(session_on())
    for command, given_ in program:
        walker.go(command, given_)


@settings(max_examples=60, derandomize=True)
@given(st.lists(additions | plans.ops, min_size=1, max_size=10), st.data())
def test_undoing_k_changes_at_once_equals_undoing_them_one_by_one(program: list[Op], data: st.DataObject) -> None:
    """The event before them can be named `head~k`."""
    session = session_on()
    store = session.store
    outcomes = [session.change([op]) for op in program]
    seen = [Plan(), *(outcome.after for outcome in outcomes if outcome.changed)]
    count = data.draw(st.integers(0, len(seen) - 1))
    ago = resolve(store, "s", f"head~{count}")
    head = store.session_head("s").head

    for _ in range(count):
        session.undo()
    one_by_one = store.session_head("s")
    forth = [session.redo().after for _ in range(count)]

    assert one_by_one.head == ago
    assert forth == seen[len(seen) - count :]
    assert store.session_head("s").head == head
    if count:
        assert session.undo(count).after == seen[-1 - count]
        assert store.session_head("s") == one_by_one
        part = data.draw(st.integers(1, count))
        assert session.redo(part).after == seen[-1 - count + part]
        assert part == count or session.redo(count - part).after == seen[-1]


@pytest.mark.parametrize(
    "step",
    [
        lambda session: session.label("e0", "before b"),
        lambda session: session.set_directive(Directive.PAUSE),
        lambda session: session.turn_ended(),
    ],
    ids=["a label", "a directive", "a nudge"],
)
def test_events_that_do_not_change_the_plan_keep_the_redo_stack(step: Callable[[Session], object]) -> None:
    session = session_on()
    for text in ("a", "b"):
        session.change([Append((Task(text),))])
    whole = session.plan
    session.undo()

    step(session)

    assert len(list(session.store.events("s"))) == 3
    assert session.redo().after == whole


class Overtaken(MemoryStore):
    """A store in which another writer changes the plan right after an event was labelled."""

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        super().append(session, event, seen_by)
        if isinstance(event.fact, Labelled):
            super().append(session, Event("theirs", event.id, 1, Actor.AGENT, PlanChanged(plan_of("new"))))


def test_a_redo_stack_that_another_writer_cleared_is_not_restored() -> None:
    """Redo does not skip the other writer's change."""
    session = session_on(Overtaken())
    session.change([Append((Task("a"),))])
    session.undo()

    session.label("e0", "a")

    assert session.plan == plan_of("new")
    with pytest.raises(Refused, match="nothing to redo"):
        session.redo()


ADD = {"mode": "append", "todos": [{"text": "a"}]}


def recording_session(store: MemoryStore, knew: list[Plan | None], prefix: str = "e") -> Session:
    """A session whose tools record which plan the model knew before each call."""

    def recording(tool: Tool) -> Tool:
        def reply(done: CompletedCall) -> Reply:
            knew.append(done.known)
            return tool.reply(done)

        return replace(tool, reply=reply)

    dialect: Dialect = replace(INDEXED, tools=tuple(map(recording, INDEXED.tools)))
    return session_on(store, dialect, prefix=prefix)


def test_a_model_knows_the_plan_after_its_calls() -> None:
    """Before its first call, it knows none, and a person's edit not until its next call."""
    knew: list[Plan | None] = []
    session = recording_session(MemoryStore(), knew)

    session.call("write_todos", ADD)
    session.call("list_todos", {})
    assert session.seen_head == "e0"
    session.change([Append((Task("by hand"),))])
    session.call("list_todos", {})
    session.call("list_todos", {})

    assert knew == [None, plan_of("a"), plan_of("a"), plan_of("a", "by hand")]


def test_the_seen_head_can_be_restored_by_another_process() -> None:
    """An unknown event means that nothing was seen."""
    store = MemoryStore()
    knew: list[Plan | None] = []
    first = recording_session(store, [])
    first.call("write_todos", ADD)
    first.change([Append((Task("by hand"),))])

    for number, head in zip(itertools.count(), (first.seen_head, "gone", None, "e1"), strict=False):
        session = recording_session(store, knew, prefix=f"{number}-")
        session.set_seen_head(head)
        session.call("list_todos", {})

    assert knew == [plan_of("a"), None, None, plan_of("a", "by hand")]


def test_a_plan_can_be_looked_up_at_any_event() -> None:
    """Without moving the head."""
    session = session_on()
    session.call("write_todos", ADD)
    session.call("write_todos", ADD)

    assert [session.plan_at(event) for event in ("e0", "e1", "nowhere", None)] == [
        plan_of("a"),
        plan_of("a", "a"),
        None,
        None,
    ]


def test_a_store_records_what_its_reader_has_seen() -> None:
    """With the event of a change, and after a call that only reads. Other processes find it, new readers nothing."""
    store = MemoryStore()
    knew: list[Plan | None] = []
    session = recording_session(store, knew)
    session.reader = "claude"

    session.call("write_todos", ADD)
    after_change = store.records.seen("s", "claude")
    session.change([Append((Task("by hand"),))])
    after_edit = store.records.seen("s", "claude")
    session.call("list_todos", {})
    other = recording_session(store, knew, prefix="o")
    other.reader = "claude"
    other.call("list_todos", {})

    assert (after_change, after_edit, store.records.seen("s", "claude")) == ("e0", "e0", "e1")
    other.reader = "claude@2"
    other.call("list_todos", {})
    assert knew == [None, plan_of("a"), plan_of("a", "by hand"), None]


class CountedStore(MemoryStore):
    """A store that counts how often a seen head is recorded outside an append, which fails."""

    writes = 0

    def __init__(self) -> None:
        super().__init__()
        self.records = overridden(self.records, set_seen=self._set_seen)

    def _set_seen(self, *_: object) -> None:
        self.writes += 1
        raise StoreError("the disk is full")


def test_a_seen_head_that_cannot_be_recorded_does_not_fail_the_call() -> None:
    """The model is told of the same change once more."""
    store = CountedStore()
    knew: list[Plan | None] = []
    session = recording_session(store, knew)
    session.reader = "claude"
    session.call("write_todos", ADD)
    session.change([Append((Task("by hand"),))])

    replies = [session.call("list_todos", {}) for _ in range(2)]

    assert [reply.is_error for reply in replies] == [False, False]
    assert (store.writes, knew) == (2, [None, plan_of("a"), plan_of("a")])


def test_a_nudge_is_seen_by_a_model_that_knows_the_plan() -> None:
    """It is written with the nudge or a change, and only if it changes; one that the model does not know is kept."""
    store = CountedStore()
    session = session_on(store)
    session.reader = "claude"
    session.call("write_todos", ADD)
    session.call("list_todos", {})
    session.set_seen_head(session.seen_head)

    session.turn_ended()
    knows = (store.records.seen("s", "claude"), session.state.head)
    session.change([Append((Task("by hand"),))])
    session.turn_ended()

    assert knows == ("e1", "e1")
    assert (store.records.seen("s", "claude"), store.writes) == ("e1", 0)
