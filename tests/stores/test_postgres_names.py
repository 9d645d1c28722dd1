"""Names and ids as PostgreSQL keeps them: any text, none mistaken for another, readable where it can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.contract import WILD, chain, ids, planned
from tests.stores.postgres import execute, needs_server
from tildone.log.tree import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

from tildone.stores.postgres.names import MAX_KEY_BYTES, from_sql, key, to_sql
from tildone.stores.postgres.store import PostgresStore

TRICKY = (*WILD, "\\", "\\0", "\\\0", "\\ud800", "\ud83d\ude00", "😀", "\\#", "\\\\#", "\\u005c", "\\" * 999)

texts = st.text(
    st.characters(codec=None, exclude_categories=()) | st.sampled_from("\\\0\ud83d\ude000u#")
) | st.sampled_from(TRICKY)
long_texts = st.builds(lambda text, times: text * times, texts, st.integers(1, 2000))


@given(texts)
def test_every_text_comes_back(text: str) -> None:
    """And in between it is something that PostgreSQL can hold."""
    written = to_sql(text)

    assert from_sql(written) == text
    assert "\0" not in written
    assert written.encode().decode() == written


@given(long_texts, long_texts)
def test_no_text_is_taken_for_another(one: str, other: str) -> None:
    """However long they are, what they are looked up by fits an index and is not the same."""
    assert (key(one) == key(other)) is (one == other)
    assert len(key(one).encode()) <= MAX_KEY_BYTES


@pytest.mark.parametrize("text", ["", "/home/ünï/cödé 😀", "line\nbreak", "'; DROP TABLE --", "x" * 250])
def test_most_texts_are_kept_as_they_are(text: str) -> None:
    """So that a person at `psql` can read them."""
    assert to_sql(text) == key(text) == text


@needs_server
def test_what_postgresql_can_not_hold_is_an_escape(url: str) -> None:
    """A backslash, then what it stands for."""
    store = PostgresStore(url)
    store.append("nul \0 half \ud83d back\\slash", planned("\udfff", None, "x"))
    store.close()

    assert execute(url, "SELECT name, head FROM tildone.sessions") == [(r"nul \0 half \ud83d back\\slash", r"\udfff")]


@needs_server
@pytest.mark.parametrize("long", ["ü" * 5000, "\ud800" * 5000, "x" * 100_000], ids=["wide", "escaped", "very long"])
def test_names_and_ids_may_be_longer_than_an_index_allows(url: str, long: str) -> None:
    """They are the same in every answer, and one that differs at its end is another."""
    store = PostgresStore(url)
    chain(store, long, long + "1", long + "2")
    chain(store, long + "!", "a")
    store.move_head(long, SessionHead(long + "1", (long + "2",)), expected=long + "2")
    store.import_events(long, [planned(long + "3", long + "1", "x")], SessionHead(long + "3"))

    assert store.session_head(long) == SessionHead(long + "3")
    assert ids(store.history(long)) == [long + "3", long + "1"]
    assert store.leaves(long) == [long + "2", long + "3"]
    assert {info.name: info.events for info in store.sessions()} == {long: 3, long + "!": 1}
    assert store.wait(long, "elsewhere", 1)
    store.delete(long, expected=long + "3")
    assert [info.name for info in store.sessions()] == [long + "!"]
    store.close()
