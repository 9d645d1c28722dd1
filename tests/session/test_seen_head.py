"""Which plan the model last saw."""

import itertools

from tests.plans import plan_of, session_on
from tests.stores.overridden import overridden
from tildone.base import replace
from tildone.base.errors import StoreError
from tildone.log.session import Session
from tildone.plan.dialects import CompletedCall, Dialect, Reply, Tool
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.model import Plan, Task
from tildone.plan.ops import Append
from tildone.stores.memory import MemoryStore

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
    """Before its first call, it knows none."""
    knew: list[Plan | None] = []
    session = recording_session(MemoryStore(), knew)

    session.call("write_todos", ADD)
    session.call("list_todos", {})

    assert knew == [None, plan_of("a")]
    assert session.seen_head == "e0"


def test_a_model_does_not_know_a_persons_edit_until_its_next_call() -> None:
    """It knows the plan as it was; after its call it knows the plan as it is."""
    knew: list[Plan | None] = []
    session = recording_session(MemoryStore(), knew)
    session.call("write_todos", ADD)

    session.change([Append((Task("by hand"),))])
    session.call("list_todos", {})
    session.call("list_todos", {})

    assert knew == [None, plan_of("a"), plan_of("a", "by hand")]


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
    """With the event of a change, and after a call that only reads; another process finds it."""
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
    assert knew == [None, plan_of("a"), plan_of("a", "by hand")]


class CountedStore(MemoryStore):
    """A store that counts how often a seen head is recorded outside an append, which fails."""

    writes = 0

    def __init__(self) -> None:
        super().__init__()
        self.records = overridden(self.records, set_seen=self._set_seen)

    def _set_seen(self, *_: object) -> None:
        self.writes += 1
        raise StoreError("the disk is full")


def test_a_seen_head_is_written_only_if_it_changes() -> None:
    """A change writes it in its own transaction."""
    store = CountedStore()
    session = session_on(store)
    session.reader = "claude"

    session.call("write_todos", ADD)
    session.call("list_todos", {})
    session.set_seen_head(session.seen_head)

    assert store.writes == 0


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


def test_a_new_reader_has_seen_nothing() -> None:
    """As after a compaction of the model's context."""
    store = MemoryStore()
    knew: list[Plan | None] = []
    session = recording_session(store, knew)
    session.reader = "claude@1"
    session.call("write_todos", ADD)

    session.reader = "claude@2"
    session.call("list_todos", {})

    assert knew == [None, None]


def test_a_nudge_is_seen_by_a_model_that_knows_the_plan() -> None:
    """It is recorded with the nudge, which leaves the plan as it is; a change that the model does not know is kept."""
    store = CountedStore()
    session = session_on(store)
    session.reader = "claude"
    session.call("write_todos", ADD)

    session.turn_ended()
    knows = (store.records.seen("s", "claude"), session.state.head)
    session.change([Append((Task("by hand"),))])
    session.turn_ended()

    assert knows == ("e1", "e1")
    assert (store.records.seen("s", "claude"), store.writes) == ("e1", 0)
