"""The integrity check of a PostgreSQL store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.stores.contract import chain, planned
from tests.stores.postgres import EMPTIED, execute, needs_server
from tildone.log.kept import Severity
from tildone.plan.events import SessionHead

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")


from tildone.stores.postgres.store import PostgresStore

pytestmark = needs_server


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


def test_doctor_creates_nothing_in_an_empty_database(empty: str, tmp_path: Path) -> None:
    """That there are no plans yet is no problem, neither for doctor nor for a hook that it probes."""
    person = Person(tmp_path, tmp_path / "home")
    (tmp_path / ".git").mkdir()
    person.environ["TILDONE_STORE"] = empty
    person.says("install", "claude", "--no-mcp", "--no-check")

    answer = person.run("doctor", "--json")

    assert answer.code == 0, answer
    found = {each["name"]: each["message"] for each in answer.json["checks"]}
    assert found["store"].startswith("there is no store in ")
    assert found["agents"].startswith("Claude Code: hooks and status line answer")
    assert execute(empty, "SELECT to_regnamespace('tildone')") == [(None,)]


def test_the_check_of_a_healthy_store(store: PostgresStore) -> None:
    chain(store, "s", "a", "b")

    what, how = store.check()

    assert (what.severity, how.severity) == (Severity.OK, Severity.OK)
    assert what.what.startswith("PostgreSQL 1")
    assert what.what.endswith(", schema 6")
    assert how.what == "1 session and 2 events, all intact"


DAMAGES = (
    ("UPDATE tildone.events SET body = '{' WHERE id = 'b'", ["event 'b' of session 's' cannot be decoded"]),
    ("UPDATE tildone.events SET at = 7 WHERE id = 'b'", ["event 'b' of session 's' does not match its columns"]),
    (
        "UPDATE tildone.events SET snapshot = false WHERE id = 'b'",
        ["event 'b' of session 's' does not match its columns"],
    ),
    (
        "DELETE FROM tildone.events WHERE id = 'b'",
        [
            "event 'c' of session 's' has parent 'b', which is missing",
            "session 's' should have 3 events, but has 2",
            "session 's' has a damaged redo list",
        ],
    ),
    (
        "DELETE FROM tildone.events WHERE id = 'a'",
        [
            "event 'b' of session 's' has parent 'a', which is missing",
            "session 's' should have 3 events, but has 2",
            "session 's' has a head that is missing",
        ],
    ),
    ("UPDATE tildone.sessions SET updated = 7", ["session 's' has wrong creation or update times"]),
    ("UPDATE tildone.sessions SET ahead = '[1]'", ["session 's' has a damaged redo list"]),
    ("UPDATE tildone.sessions SET ahead = '{'", ["session 's' has a damaged redo list"]),
    ("DELETE FROM tildone.sessions", [f"event '{letter}' of no session exists" for letter in "abc"]),
    ("DROP TABLE tildone.events", ["the rest cannot be read: "]),
)


def test_the_check_finds_every_kind_of_damage(own_url: str, own_store: PostgresStore) -> None:
    """Each with its remedy."""
    for damage, found in DAMAGES:
        execute(own_url, *EMPTIED[1:])
        chain(own_store, "s", "a", "b", "c")
        own_store.move_head("s", SessionHead("a", ("b", "c")), expected="c")
        execute(own_url, damage)

        flaws = [finding for finding in own_store.check() if finding.severity is not Severity.OK]

        assert [flaw.what[: len(text)] for flaw, text in zip(flaws, found, strict=True)] == found, damage
        assert {flaw.remedy for flaw in flaws} == {"restore the database from a backup"}, damage


def test_only_the_first_errors_are_reported(url: str, store: PostgresStore) -> None:
    store.import_events("s", [planned(str(number), None, "x") for number in range(1200)], SessionHead("0"))
    execute(url, "UPDATE tildone.events SET body = '{' WHERE number > 900")

    flaws = [finding for finding in store.check() if finding.severity is Severity.ERROR]

    assert flaws[0].what == "event '900' of session 's' cannot be decoded"
    assert (len(flaws), flaws[-1].what) == (21, "there are more errors")
