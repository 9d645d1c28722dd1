"""Names and ids as PostgreSQL text: any text can be stored, different texts stay different, most stay readable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores.contract import WILD, chain, ids, planned
from tests.stores.postgres import execute, needs_server
from tildone.plan.events import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

from tildone.stores.postgres.rows import MAX_KEY_BYTES, from_sql, key, to_sql
from tildone.stores.postgres.store import PostgresStore

TRICKY = (*WILD, "\\", "\\0", "\\\0", "\\ud800", "\ud83d\ude00", "😀", "\\#", "\\\\#", "\\u005c", "\\" * 999)

texts = st.text(
    st.characters(codec=None, exclude_categories=()) | st.sampled_from("\\\0\ud83d\ude000u#")
) | st.sampled_from(TRICKY)
long_texts = st.builds(lambda text, times: text * times, texts, st.integers(1, 2000))


@given(texts)
def test_every_text_survives_a_round_trip(text: str) -> None:
    """And its escaped form is valid in PostgreSQL."""
    written = to_sql(text)

    assert from_sql(written) == text
    assert "\0" not in written
    assert written.encode().decode() == written


@given(long_texts, long_texts)
def test_keys_are_unique_and_fit_an_index(one: str, other: str) -> None:
    """However long the texts are."""
    assert (key(one) == key(other)) is (one == other)
    assert len(key(one).encode()) <= MAX_KEY_BYTES


@pytest.mark.parametrize("text", ["", "/home/ünï/cödé 😀", "line\nbreak", "'; DROP TABLE --", "x" * 250])
def test_most_texts_are_stored_unchanged(text: str) -> None:
    """A person can read them in `psql`."""
    assert to_sql(text) == key(text) == text


@needs_server
def test_characters_that_postgresql_rejects_are_escaped(url: str) -> None:
    store = PostgresStore(url)
    store.append("nul \0 half \ud83d back\\slash", planned("\udfff", None, "x"))
    store.close()

    assert execute(url, "SELECT name, head FROM tildone.sessions") == [(r"nul \0 half \ud83d back\\slash", r"\udfff")]


@needs_server
@pytest.mark.parametrize("long", ["ü" * 5000, "\ud800" * 5000, "x" * 100_000], ids=["wide", "escaped", "very long"])
def test_names_and_ids_may_be_longer_than_an_index_allows(url: str, long: str) -> None:
    """They are returned in full, and those that differ only at the end are different."""
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
