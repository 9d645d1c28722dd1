"""The integrity check of a SQLite store, and summaries that are read directly from its file."""

import os
import random
import tomllib
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import plans
from tests.plans import plan_of
from tests.stores.contract import WILD, by_hand, chain, ids
from tildone.app.opening import session_in
from tildone.base import StoreDamaged, StoreError
from tildone.log.kept import Severity
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, Call, Directive, Event, PlanChanged, SessionHead
from tildone.plan.gate import Turn
from tildone.plan.model import Phase, Status, Task, next_task, open_tasks
from tildone.plan.ops import Write
from tildone.stores.sqlite.schema import is_foreign_database
from tildone.stores.sqlite.store import SqliteStore
from tildone.stores.summary import SessionSummary, read_summary

DAMAGES = tomllib.loads(Path(__file__).with_name("damages.toml").read_text(encoding="utf-8"))["sqlite"]


def filled(path: Path) -> Path:
    """A closed store of a few sessions, with branches and unusual names."""
    store = SqliteStore(path)
    chain(store, "s", *map(str, range(40)))
    store.move_head("s", SessionHead("20", ("21", "22")), expected="39")
    chain(store, "s", "another way")
    for name in WILD:
        chain(store, name, f"{name}-1", f"{name}-2")
    store.move_head("1", SessionHead("1-1", ("1-2",)), expected="1-2")
    store.close()
    return path


def found_in(path: Path) -> list[str]:
    """Return the errors that opening the store read-only, or else a check of it, finds."""
    try:
        store = SqliteStore(path, read_only=True)
    except StoreDamaged as error:
        return [str(error)]
    try:
        return [finding.what for finding in store.check() if finding.severity is Severity.ERROR]
    finally:
        store.close()


def test_the_check_reports_a_healthy_store_as_intact(path: Path) -> None:
    filled(path)

    said = [(finding.severity, finding.what) for finding in SqliteStore(path).check()]

    assert said == [
        (Severity.OK, f"SQLite {apsw.sqlite_lib_version()}, schema 8"),
        (Severity.OK, "9 sessions and 57 events, all intact"),
    ]


@pytest.mark.parametrize(("damage", "finding"), DAMAGES.items())
def test_the_check_finds_every_kind_of_damage(path: Path, damage: str, finding: str) -> None:
    """By a user with a database tool, or by a bug."""
    by_hand(filled(path), damage)

    assert finding in found_in(path)


@pytest.mark.parametrize("seed", [*range(12), 93])  # 93 turns the text of an event into NULL
def test_a_changed_byte_is_found_or_changes_nothing(path: Path, seed: int) -> None:
    """Wherever it is: either the check finds it, or everything that can be read is unchanged."""
    filled(path)
    healthy = everything(SqliteStore(path))
    luck = random.Random(seed)  # noqa: S311  cases, not secrets
    data = bytearray(path.read_bytes())
    spot = luck.randrange(4096, len(data))
    data[spot] ^= 1 << luck.randrange(8)
    path.write_bytes(data)

    if not found_in(path):
        assert everything(SqliteStore(path)) == healthy


def test_the_check_finds_an_overwritten_page(path: Path) -> None:
    filled(path)
    data = bytearray(path.read_bytes())
    data[2 * 4096 : 3 * 4096] = os.urandom(4096)
    path.write_bytes(data)

    found = found_in(path)

    assert any(what.startswith("SQLite reports: ") for what in found)


def test_a_changed_letter_is_an_error_on_reading(path: Path) -> None:
    by_hand(filled(path), "UPDATE events SET body = replace(body, 'another way', 'some other way')")
    store = SqliteStore(path)

    with pytest.raises(StoreDamaged, match=r"plans\.db is damaged: event '.*' does not match its checksum"):
        store.history("s")
    with pytest.raises(StoreDamaged, match="does not match its checksum"):
        list(store.events("s"))


def test_text_that_is_not_utf8_is_damage(path: Path) -> None:
    """SQLite does not check it."""
    by_hand(filled(path), "UPDATE events SET body = CAST(x'ff00' AS TEXT) WHERE id = '7'")

    assert "the rest cannot be read" in found_in(path)[0]
    with pytest.raises(StoreDamaged, match="it contains text that is not UTF-8"):
        list(SqliteStore(path).history("s", "7"))


def test_only_the_first_errors_are_reported(path: Path) -> None:
    by_hand(filled(path), "UPDATE events SET body = '{'")

    found = found_in(path)

    assert len(found) == 21
    assert found[-1] == "there are more errors"


def test_writing_during_a_check_is_not_reported_as_damage(path: Path) -> None:
    store = SqliteStore(path)
    chain(store, "s", *map(str, range(200)))
    findings = store.check()
    next(findings)

    chain(store, "s", "later")
    store.move_head("s", SessionHead("3"), expected="later")
    store.delete("s", expected="3")

    assert [finding.what for finding in findings] == ["1 session and 200 events, all intact"]


def test_a_check_reports_its_progress(path: Path) -> None:
    chain(SqliteStore(path), "s", "a", "b")
    told: list[tuple[int, int]] = []

    list(SqliteStore(path).check(lambda done, total: told.append((done, total))))

    assert told == [(1, 2), (2, 2)]


def test_a_store_in_use_can_be_opened_read_only(path: Path) -> None:
    """The log is read and not checkpointed; writers are not disturbed."""
    store = SqliteStore(path)
    chain(store, "s", "a")
    before = path.read_bytes(), os.stat(f"{path}-wal").st_size

    looking = SqliteStore(path, read_only=True)
    seen = ids(looking.history("s"))
    chain(store, "s", "b")
    seen_later = ids(looking.history("s"))
    store._file.checkpoint()  # noqa: SLF001  what happens by itself after a thousand pages
    seen_last = ids(looking.history("s"))
    looking.close()

    assert (seen, seen_later, seen_last) == (["a"], ["b", "a"], ["b", "a"])
    assert before[1] > 0
    assert ids(store.history("s")) == ["b", "a"]


def test_long_events_are_read_in_small_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tildone.stores.sqlite.store.BATCH_CHARACTERS", 5000)
    store = SqliteStore(path)
    events = [
        Event(str(n), str(n - 1) if n else None, n, Actor.AGENT, PlanChanged(plan_of("x" * (10 if n % 9 else 9000))))
        for n in range(120)
    ]
    store.import_events("s", events, SessionHead("119"))

    assert list(store.events("s")) == events


def test_reading_ends_when_the_session_is_deleted(path: Path) -> None:
    """Events of another session that reuse its row numbers are not returned."""
    store = SqliteStore(path)
    chain(store, "s", *map(str, range(10)))
    events = store.events("s")
    first = next(events)

    store.delete("s", expected="9")
    chain(store, "other", *map(str, range(20)))

    assert [first.id, *ids(events)][0] == "0"
    assert list(events) == []


def test_a_foreign_database_is_distinguished_from_a_damaged_store(path: Path) -> None:
    """The first is never touched, the second may be moved away."""
    theirs, broken, ours = (path.with_name(name) for name in ("theirs.db", "broken.db", "ours.db"))
    by_hand(theirs, "CREATE TABLE theirs (x)")
    broken.write_bytes(b"\0" * 5000)
    filled(ours)

    assert [is_foreign_database(str(each)) for each in (theirs, broken, ours, path)] == [True, False, False, False]


def everything(store: SqliteStore) -> object:
    names = [info.name for info in store.sessions()]
    try:
        return [(name, store.session_head(name), list(store.events(name)), store.leaves(name)) for name in names]
    except StoreError as error:
        return error


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
ONE_TASK = (Write((Phase("", (Task("One"),)),)),)


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


def test_a_summary_says_that_an_agent_was_continued_until_the_person_speaks(path: Path) -> None:
    session = session_at(path)
    session.change(ONE_TASK)
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


def test_a_summary_of_a_session_without_a_plan_and_of_a_missing_file(path: Path) -> None:
    """A directive is found before there is a plan; a session that does not exist has an empty summary, a file none."""
    missing, exists = read_summary(str(path), "s"), path.exists()
    session = session_at(path)
    session.set_directive(Directive.STOP)

    assert (missing, exists) == (None, False)
    assert read_summary(str(path), "s") == SessionSummary(session.state.head, directive="stop")
    assert read_summary(str(path), "other") == SessionSummary()


@pytest.mark.parametrize("name", ["half a pair \ud800", "ünïcode", "a" * 5000])
def test_a_session_of_any_name_has_a_summary_or_is_left_to_the_store(path: Path, name: str) -> None:
    session = session_in(SqliteStore(path), name, BY_HAND)
    session.change(ONE_TASK)

    found = read_summary(str(path), name)

    assert found is None or found.workable


def test_what_is_no_store_or_has_its_plan_too_many_events_back_is_left_to_the_store(path: Path) -> None:
    file = path.with_name("other.db")
    file.write_bytes(b"this is no database, and long enough to be taken for one" * 100)
    session = session_at(path)
    session.change(ONE_TASK)
    for number in range(250):
        session.label(session.state.head or "", f"n{number}")

    assert [read_summary(str(each), "s") for each in (file, file.parent, path)] == [None] * 3


def test_reading_a_summary_leaves_the_file_as_it_was(path: Path) -> None:
    session = session_at(path)
    session.change(ONE_TASK)
    session.store.close()

    read_summary(str(path), "s")
    session = session_at(path)
    session.change((Write(()),))

    assert session.plan.phases == ()
