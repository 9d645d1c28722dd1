"""The summary of a session, read directly from a SQLite file, agrees with the store."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tildone.app.opening import session_in
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, Call, Directive
from tildone.plan.gate import Turn
from tildone.plan.model import Phase, Status, Task, next_task, open_tasks
from tildone.plan.ops import Write
from tildone.stores.sqlite.store import SqliteStore
from tildone.stores.sqlite_summary import read_summary
from tildone.stores.summary import SessionSummary

NASTY = st.sampled_from(
    [
        '"status":"pending"',
        '\\"status\\":\\"in_progress\\"',
        '"fact":"plan_changed"',
        '"course":"stop"',
        "\\",
        '"',
        "\n",
    ]
)


def session_at(path: Path) -> Session:
    return session_in(SqliteStore(path), "s", BY_HAND)


@settings(max_examples=60)
@given(
    st.lists(st.builds(Task, NASTY | plans.texts, plans.statuses, st.lists(NASTY, max_size=1).map(tuple)), max_size=4),
    st.sampled_from(Directive),
)
def test_a_summary_agrees_with_the_decoded_state(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[Task], directive: Directive
) -> None:
    """Whatever the texts contain: quotation marks are escaped and cannot imitate a status."""
    path = tmp_path_factory.mktemp("summary") / "plans.db"
    session = session_at(path)
    call = Call("x", '{"status":"pending","course":"stop"}')
    session.change((Write((Phase('"status":"pending"', tuple(tasks)),)),), Actor.AGENT, None, call)
    session.set_directive(directive)
    state = session.state

    found = read_summary(str(path), "s")

    blocked = any(task.status is Status.BLOCKED for task in state.plan.tasks)
    assert found == SessionSummary(state.head, next_task(state.plan) is not None, blocked, directive.value)
    assert (found.workable or found.blocked) == bool(open_tasks(state.plan))
    session.store.close()


def test_a_summary_says_that_an_agent_was_continued_until_the_person_speaks(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    for _ in range(21):
        session.turn_ended(Turn())
    let_go = read_summary(str(path), "s")
    session.label(session.state.head or "", "here")
    labelled = read_summary(str(path), "s")
    session.set_directive(Directive.GO)

    assert let_go is not None
    assert labelled is not None
    assert (let_go.continued, labelled.continued) == (True, True)
    assert read_summary(str(path), "s") == SessionSummary(session.state.head, workable=True)


def test_a_directive_is_found_before_there_is_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.set_directive(Directive.STOP)

    assert read_summary(str(path), "s") == SessionSummary(session.state.head, directive="stop")


def test_a_session_that_does_not_exist_has_an_empty_summary_and_a_missing_file_none(tmp_path: Path) -> None:
    """Neither is created."""
    path = tmp_path / "plans.db"
    missing = read_summary(str(path), "s")
    exists = path.exists()
    session_at(path).change((Write((Phase("", (Task("One"),)),)),))

    assert (missing, exists) == (None, False)
    assert read_summary(str(path), "other") == SessionSummary()


@pytest.mark.parametrize("name", ["half a pair \ud800", "ünïcode", "a" * 5000])
def test_a_session_of_any_name_has_a_summary_or_is_left_to_the_store(tmp_path: Path, name: str) -> None:
    path = tmp_path / "plans.db"
    session = session_in(SqliteStore(path), name, BY_HAND)
    session.change((Write((Phase("", (Task("One"),)),)),))

    found = read_summary(str(path), name)

    assert found is None or found.workable


def test_a_file_that_is_not_a_store_is_left_to_the_store(tmp_path: Path) -> None:
    file = tmp_path / "plans.db"
    file.write_bytes(b"this is no database, and long enough to be taken for one" * 100)

    assert read_summary(str(file), "s") is None
    assert read_summary(str(tmp_path), "s") is None


def test_a_plan_too_many_events_back_is_left_to_the_store(tmp_path: Path) -> None:
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    for number in range(250):
        session.label(session.state.head or "", f"n{number}")

    assert read_summary(str(path), "s") is None


def test_reading_a_summary_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """The next process opens and changes it as before."""
    path = tmp_path / "plans.db"
    session = session_at(path)
    session.change((Write((Phase("", (Task("One"),)),)),))
    session.store.close()

    read_summary(str(path), "s")
    session = session_at(path)
    session.change((Write(()),))

    assert session.plan.phases == ()
