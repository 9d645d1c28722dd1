"""Who wrote an event, and whose tasks the plan has."""

from collections.abc import Callable

from tests.plans import session_on
from tildone.log.session import Session
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.events import Actor, Author, Directive
from tildone.plan.model import Task
from tildone.plan.ops import Append, Write
from tildone.stores.memory import MemoryStore

CLAUDE = Author("Ada", "claude:1", "opus")


def by(author: Callable[[Actor], Author], store: MemoryStore | None = None) -> Session:
    clock = iter(range(1, 1000))
    return Session(
        store or MemoryStore(),
        "s",
        INDEXED,
        now=lambda: 0,
        new_id=lambda: f"e{next(clock)}",
        author=author,
    )


def author_of(actor: Actor) -> Author:
    return Author("Ada") if actor is Actor.USER else CLAUDE


def test_each_event_has_the_author_of_its_actor() -> None:
    """A nudge has the agent on whose behalf the timer acted."""
    session = by(author_of)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    session.change((Append((Task("b"),)),))
    session.turn_ended()
    session.set_directive(Directive.PAUSE)
    session.label("e1", "begin")

    events = list(session.store.events("s"))

    assert [(event.actor, event.author) for event in events] == [
        (Actor.AGENT, CLAUDE),
        (Actor.USER, Author("Ada")),
        (Actor.TIMER, CLAUDE),
        (Actor.USER, Author("Ada")),
        (Actor.USER, Author("Ada")),
    ]


def test_the_author_is_looked_up_only_for_events_that_are_written() -> None:
    """It may have to be read from files, and most hooks write nothing."""
    asked: list[Actor] = []

    def author(actor: Actor) -> Author:
        asked.append(actor)
        return Author()

    session = by(author)
    session.call("list_todos", {})
    session.call("edit_todos", {"action": "complete", "indices": [3]})
    session.turn_ended()
    session.context()
    assert asked == []

    session.change((Append((Task("a"),)),))
    assert set(asked) == {Actor.USER}


def test_a_session_without_authors_works() -> None:
    """As a library, or in a store of an earlier version."""
    session = session_on()

    session.change((Append((Task("a"),)),))

    assert next(session.store.history("s")).author == Author()


def test_tasks_of_a_person_stay_so_when_the_agent_writes_the_list_anew() -> None:
    session = by(author_of)
    session.change((Append((Task("theirs"),)),))

    session.call("write_todos", {"mode": "replace", "todos": [{"text": "own"}, {"text": "theirs"}]})

    assert [(task.text, task.from_user) for task in session.plan.tasks] == [("own", False), ("theirs", True)]


def test_an_import_by_a_person_is_from_the_user_and_one_by_an_agent_is_not() -> None:
    """A host imports the plan of its conversation when it resumes."""
    person, agent = by(lambda _: Author("Ada")), by(author_of)
    for session in (person, agent):
        session.change((Write(()), Append((Task("a"),))), Actor.IMPORT)

    assert [person.plan.tasks[0].from_user, agent.plan.tasks[0].from_user] == [True, False]
