"""What a model knows of its plan, and what it can't know."""

import itertools

from tests.plans import plan_of, session_on
from tildone.core.ops import Append
from tildone.core.plan import Plan, Task
from tildone.dialects.base import CompletedCall, Dialect, Reply, Tool
from tildone.dialects.indexed import DIALECT as INDEXED
from tildone.session import Session
from tildone.stores.memory import MemoryStore
from tildone.value import replace

ADD = {"mode": "append", "todos": [{"text": "a"}]}


def listening(store: MemoryStore, knew: list[Plan | None], prefix: str = "e") -> Session:
    """A session whose tools tell what the model knew before each call."""

    def telling(tool: Tool) -> Tool:
        def reply(done: CompletedCall) -> Reply:
            knew.append(done.known)
            return tool.reply(done)

        return replace(tool, reply=reply)

    dialect: Dialect = replace(INDEXED, tools=tuple(map(telling, INDEXED.tools)))
    return session_on(store, dialect, prefix=prefix)


def test_a_model_knows_what_its_calls_came_to() -> None:
    """And nothing before its first."""
    knew: list[Plan | None] = []
    session = listening(MemoryStore(), knew)

    session.call("write_todos", ADD)
    session.call("list_todos", {})

    assert knew == [None, plan_of("a")]
    assert session.seen_head == "e0"


def test_what_a_person_did_meanwhile_the_model_can_not_know() -> None:
    """It knows the plan as it was; after its call it knows the plan as it is."""
    knew: list[Plan | None] = []
    session = listening(MemoryStore(), knew)
    session.call("write_todos", ADD)

    session.change([Append((Task("by hand"),))])
    session.call("list_todos", {})
    session.call("list_todos", {})

    assert knew == [None, plan_of("a"), plan_of("a", "by hand")]


def test_what_was_seen_can_be_taken_up_by_another_process() -> None:
    """By the head that it stood at; an event that is gone is as good as nothing seen."""
    store = MemoryStore()
    knew: list[Plan | None] = []
    first = listening(store, [])
    first.call("write_todos", ADD)
    first.change([Append((Task("by hand"),))])

    for number, head in zip(itertools.count(), (first.seen_head, "gone", None, "e1"), strict=False):
        session = listening(store, knew, prefix=f"{number}-")
        session.set_seen_head(head)
        session.call("list_todos", {})

    assert knew == [plan_of("a"), None, None, plan_of("a", "by hand")]


def test_a_plan_can_be_looked_up_at_any_event() -> None:
    """Without going there."""
    session = session_on()
    session.call("write_todos", ADD)
    session.call("write_todos", ADD)

    assert [session.plan_at(event) for event in ("e0", "e1", "nowhere", None)] == [
        plan_of("a"),
        plan_of("a", "a"),
        None,
        None,
    ]
