"""Damaged SQLite stores: a plan that may be wrong is never shown as if it were right."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.stores.contract import chain, ids
from tests.stores.damage import TRACEBACK, WRONG_PLAN, results
from tildone.base.errors import StoreDamaged, UnknownEvent
from tildone.log.kept import Severity
from tildone.log.store import Store
from tildone.plan.events import SessionHead
from tildone.stores.sqlite.store import SqliteStore
from tildone.stores.sqlite_summary import read_summary
from tildone.stores.summary import SessionSummary

SEED = 20261116

WRONG_INDEX = "UPDATE events SET id = 'b' WHERE id = 'c'"
"""What a changed byte in the index amounts to: it leads to another event, whose text and checksum are in order."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "plans.db"
    store = SqliteStore(path)
    chain(store, "one", "a", "b", "c")
    chain(store, "two", "x", "y")
    store.close()
    return path


def by_hand(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("damages", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_no_damage_shows_a_wrong_plan_or_a_traceback(damages: int) -> None:
    """Changed bytes, lost pages and cut files, seen with the commands that show a plan."""
    bad = [each for each in results(damages, SEED) if each[1] in {WRONG_PLAN, TRACEBACK}]

    assert bad == []


HEADS = {
    "another event": "UPDATE sessions SET head = 'b' WHERE name = 'one'",
    "no event": "UPDATE sessions SET head = NULL WHERE name = 'one'",
    "a redo list": """UPDATE sessions SET ahead = '["b"]' WHERE name = 'one'""",
    "another session": "UPDATE sessions SET name = 'one', head = 'y' WHERE name = 'two'",
}


@pytest.mark.parametrize("what", HEADS)
def test_a_head_that_was_changed_is_noticed(path: Path, what: str) -> None:
    if what == "another session":
        by_hand(path, "DELETE FROM sessions WHERE name = 'one'")
    by_hand(path, HEADS[what])

    with pytest.raises(StoreDamaged, match=r"the head of session 'one' does not match its checksum; .* tildone doctor"):
        SqliteStore(path).session_head("one")
    assert read_summary(str(path), "one") is None
    found = [each.what for each in SqliteStore(path).check() if each.severity is Severity.ERROR]
    assert "session 'one' has a head that does not match its checksum" in found


def test_a_redo_list_of_an_older_schema_that_cannot_be_decoded_is_noticed(path: Path) -> None:
    """It has no checksum."""
    for redo in ("'{'", "'7'", "'[7]'"):
        by_hand(path, f"UPDATE sessions SET ahead = {redo}")  # noqa: S608  the list above
        by_hand(path, "UPDATE sessions SET head_check = quote(name) || quote(head) || ahead")
        with pytest.raises(StoreDamaged, match="the redo list of session 'one' cannot be decoded"):
            SqliteStore(path).session_head("one")


READERS: dict[str, Callable[[Store], object]] = {
    "session_head": lambda store: store.session_head("one"),
    "history": lambda store: list(store.history("one")),
    "events": lambda store: list(store.events("one")),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_session_that_was_lost_is_not_an_empty_one(path: Path, reader: str) -> None:
    by_hand(path, "DELETE FROM sessions WHERE name = 'one'")

    with pytest.raises(StoreDamaged, match="session 'one' does not have the events that it should have"):
        READERS[reader](SqliteStore(path))
    assert read_summary(str(path), "one") is None
    assert SqliteStore(path).session_head("new") == SessionHead()
    assert read_summary(str(path), "new") == SessionSummary()


def test_an_event_that_was_lost_is_noticed(path: Path) -> None:
    by_hand(path, "DELETE FROM events WHERE id = 'b'")
    store = SqliteStore(path)

    with pytest.raises(StoreDamaged, match="session 'one' has lost event 'b'"):
        list(store.history("one"))
    with pytest.raises(StoreDamaged, match="session 'one' does not have the events"):
        list(store.events("one"))
    with pytest.raises(UnknownEvent):
        store.history("one", "b")


def test_an_index_that_leads_to_another_event_is_noticed(path: Path) -> None:
    """The text of that event matches its own checksum."""
    by_hand(path, "DELETE FROM events WHERE id = 'b'", WRONG_INDEX)
    store = SqliteStore(path)

    with pytest.raises(StoreDamaged, match="the index has event 'c' as 'b'"):
        store.history("one", "b")
    by_hand(path, "UPDATE events SET id = 'c' WHERE id = 'b'", "UPDATE events SET parent = 'a' WHERE id = 'c'")
    assert read_summary(str(path), "one") is None


def test_an_event_that_the_index_has_and_the_table_has_not_is_noticed(path: Path) -> None:
    """The rows of another session are not taken for those of this one."""
    store = SqliteStore(path)
    events = store.events("one")
    by_hand(path, "UPDATE events SET session = 'two' WHERE id = 'b'")

    with pytest.raises(StoreDamaged, match="session 'one' has lost events"):
        ids(events)


def test_a_session_that_is_deleted_while_it_is_read_is_no_damage(path: Path) -> None:
    store = SqliteStore(path)
    events = store.events("one")
    first = next(events)
    store.delete("one", expected="c")

    assert (first.id, ids(events)) == ("a", [])


def test_a_summary_of_a_changed_event_is_not_given(path: Path) -> None:
    by_hand(path, "UPDATE events SET body = replace(body, 'pending', 'blocked') WHERE id = 'c'")

    assert read_summary(str(path), "one") is None


def test_numbers_of_a_session_that_are_none_are_noticed(path: Path) -> None:
    by_hand(
        path,
        "PRAGMA writable_schema = 1",
        "UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT, ', ''), 'events INTEGER', 'events')",
    )
    by_hand(path, "UPDATE sessions SET events = 'many'")

    with pytest.raises(StoreDamaged, match=r"session '.*' has no valid times"):
        SqliteStore(path).sessions()
