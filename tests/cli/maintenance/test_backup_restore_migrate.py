"""`tildone migrate`, `backup` and `restore`: copies that are whole, and nothing lost by putting them in place.

A damaged file costs its own session only.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.cli.person import CTRL_C, Person
from tests.stores.contract import by_hand, chain, ids, planned
from tests.stores.processes import finish, start, wait_for
from tildone.base import HeadMoved
from tildone.plan.events import SessionHead
from tildone.stores.sqlite.schema import APPLICATION_ID, migrations
from tildone.stores.sqlite.store import SqliteStore

DIGEST = re.compile(r"sha256 ([0-9a-f]{64})")

DOCTOR = "; to see which store is used: tildone doctor"


@pytest.fixture
def plans(person: Person) -> Path:
    """The person's store, with two sessions; one of them was undone."""
    path = person.folder / "plans.db"
    person.environ["TILDONE_STORE"] = str(path)
    store = SqliteStore(path)
    chain(store, "one", "a", "b", "c")
    chain(store, "two", "x", "y")
    store.move_head("one", SessionHead("a", ("b", "c")), expected="c")
    store.close()
    return path


def everything(path: Path) -> object:
    store = SqliteStore(path)
    names = [info.name for info in store.sessions()]
    found = [(name, store.session_head(name), list(store.events(name))) for name in names]
    store.close()
    return found


def digest(said: str) -> str:
    found = DIGEST.search(said)
    assert found, said
    return found[1]


def test_migrate_copies_every_session(person: Person, plans: Path) -> None:
    """Both stores are compared, and the output says how to use the new one."""
    there = person.folder / "there.db"

    said = person.says("migrate", "there.db").splitlines()

    assert said[0] == f"Copied to {there}: 2 sessions with 5 events, all of them new."
    assert said[1].startswith("Both sides have the same content: sha256 ")
    assert said[2] == f"To use it from now on: export TILDONE_STORE={there}"
    assert everything(there) == everything(plans)


def test_a_repeated_migration_copies_only_what_is_new(person: Person, plans: Path) -> None:
    """The digest covers all events, old and new."""
    first = person.says("migrate", "there.db")
    again = person.says("migrate", "there.db")
    store = SqliteStore(plans)
    chain(store, "two", "z")
    store.close()

    later = person.says("migrate", "there.db")

    assert "2 sessions with 5 events, none of them new." in again
    assert digest(again) == digest(first)
    assert "2 sessions with 6 events, 1 of them new." in later


def test_sessions_migrate_to_session_files_and_back(person: Person, plans: Path) -> None:
    """The content does not depend on the kind of store."""
    there = person.says("migrate", "jsonl:sessions")

    back = person.says("migrate", "back.db", "--from", "jsonl:sessions")

    assert digest(there) == digest(back)
    assert everything(person.folder / "back.db") == everything(plans)


def test_what_cannot_be_migrated_is_said_without_its_password(person: Person, plans: Path, tmp_path: Path) -> None:
    answers = [person.run("migrate", "../project/plans.db"), person.run("migrate", "there.db", "--from", "nowhere.db")]

    assert [(answer.code, answer.err) for answer in answers] == [
        (2, f"tildone: {plans} cannot be copied to itself\n"),
        (4, f"tildone: there is no store at {person.folder / 'nowhere.db'}{DOCTOR}\n"),
    ]
    assert not (person.folder / "nowhere.db").exists()
    assert not (person.folder / "there.db").exists()

    del plans
    answer = person.run("migrate", "other://ann:sesame@host/db")

    assert answer.code != 0
    assert "sesame" not in answer.out + answer.err

    SqliteStore(tmp_path / "empty.db").close()

    said = person.says("migrate", "there.db", "--from", str(tmp_path / "empty.db"))

    assert said == f"{tmp_path / 'empty.db'} has no sessions: nothing was copied.\n"


@pytest.mark.slow
def test_an_interrupted_migration_can_be_resumed(person: Person, plans: Path) -> None:
    """Progress is shown; after Ctrl-C, the copied sessions are kept and the output says how to resume."""
    store = SqliteStore(plans)
    events = [planned(str(n), str(n - 1) if n else None, "x" * 200) for n in range(12_000)]
    store.import_events("long", events, SessionHead("11999"))
    store.close()

    terminal = person.at_terminal("migrate", "there.db")
    terminal.until("copying: ")
    terminal.type(CTRL_C)
    stopped = terminal.end()
    done = person.says("migrate", "there.db")

    assert stopped.code == 130
    assert "rerun the command to resume" in stopped.out
    assert "3 sessions with 12,005 events" in done
    assert "all of them new" not in done
    assert everything(person.folder / "there.db") == everything(plans)


def test_a_backup_is_one_plain_file(person: Person, plans: Path) -> None:
    """Only its owner can read it; it works on any machine, and as a store."""
    path = person.folder / "copy.db"

    said = person.says("backup", "copy.db")

    assert re.match(rf"Wrote {path} \(\d+\.\d KB\): 2 sessions with 5 events\.\n", said)
    assert said.endswith(f"To restore it: tildone restore {path}\n")
    assert path.stat().st_mode & 0o077 == 0
    assert apsw.Connection(str(path)).pragma("journal_mode") == "delete"
    assert sorted(os.listdir(person.folder)) == [".git", "copy.db", "plans.db"]
    assert person.says("todo", "--store", "copy.db", "--session", "two") == "– #1 y\n"
    assert everything(path) == everything(plans)


def test_backups_beside_the_store_are_named_after_the_time(person: Person, plans: Path) -> None:
    """The folder is private. If FILE is a folder, the file in it is named in the same way."""
    (person.folder / "elsewhere").mkdir()

    person.says("backup")
    person.says("backup", "elsewhere")

    [made] = os.listdir(plans.parent / "backups")
    [other] = os.listdir(person.folder / "elsewhere")
    assert all(re.fullmatch(r"tildone-\d{8}-\d{6}\.db", name) for name in (made, other))
    assert (plans.parent / "backups").stat().st_mode & 0o077 == 0


def test_a_backup_overwrites_a_file_only_with_force(person: Person, plans: Path) -> None:
    """It never overwrites the store itself."""
    there = person.folder / "there.db"
    there.write_text("precious")

    refused = person.run("backup", "there.db")
    itself = person.run("backup", "plans.db", "--force")
    kept = there.read_text()
    person.says("backup", "there.db", "--force")

    assert (refused.code, refused.err) == (3, f"tildone: {there} already exists; to overwrite it, use --force\n")
    assert (itself.code, itself.err) == (2, f"tildone: {plans} is the store itself; choose another file\n")
    assert kept == "precious"
    assert everything(there) == everything(plans)


def test_a_missing_store_is_not_backed_up(person: Person) -> None:
    answers = [
        person.run("backup", "copy.db", "--store", "nowhere.db"),
        person.run("backup", "nowhere/copy.db", "--store", "nowhere.db"),
    ]

    assert {(answer.code, answer.err) for answer in answers} == {
        (4, f"tildone: there is no store at {person.folder / 'nowhere.db'}{DOCTOR}\n")
    }
    assert os.listdir(person.folder) == [".git"]


def test_a_damaged_session_is_left_out_of_a_backup_and_one_that_fails_leaves_nothing_behind(
    person: Person, plans: Path
) -> None:
    """What is left out is named, and the exit code says that the backup is incomplete."""
    by_hand(plans, "UPDATE events SET body = '{' WHERE id = 'y'")

    answer = person.run("backup", "copy.db")

    assert answer.code == 5
    assert f"left out: session 'two': {plans} is damaged" in answer.err
    assert [info.name for info in SqliteStore(person.folder / "copy.db").sessions()] == ["one"]

    by_hand(plans, "DROP TABLE events")

    answer = person.run("backup", "other.db")

    assert answer.code == 5
    assert "is damaged" in answer.err
    assert sorted(os.listdir(person.folder)) == [".git", "copy.db", "plans.db"]


def test_restore_loses_nothing(person: Person, plans: Path) -> None:
    """Sessions return to their state in the backup; later changes are on another branch; others are unchanged."""
    person.says("backup", "copy.db")
    store = SqliteStore(plans)
    chain(store, "one", "after")
    chain(store, "new", "n")
    store.close()

    said = person.says("restore", "copy.db")

    store = SqliteStore(plans)
    assert store.session_head("one") == SessionHead("a", ("b", "c"))
    assert ids(store.history("one", "after")) == ["after", "a"]
    assert ids(store.history("new")) == ["n"]
    assert "2 sessions with 5 events, none of them new." in said
    assert said.endswith("1 session moved; the former state is on another branch: tildone log --all\n  one\n")


def test_restore_recreates_lost_sessions_or_one_of_them_alone(person: Person, plans: Path) -> None:
    person.says("backup", "copy.db")

    before = everything(plans)
    plans.unlink()

    said = person.says("restore", "copy.db")
    again = person.says("restore", "copy.db")

    assert everything(plans) == before
    assert "all of them new" in said
    assert again == "Nothing changed: the store has everything in the backup.\n"

    plans.unlink()

    person.says("restore", "copy.db", "--session", "two")
    unknown = person.run("restore", "copy.db", "--session", "three")

    assert [info.name for info in SqliteStore(plans).sessions()] == ["two"]
    assert (unknown.code, unknown.err) == (4, "tildone: there is no session 'three' to copy\n")


def test_a_dry_run_shows_what_would_be_restored(person: Person, plans: Path) -> None:
    """It changes nothing and creates no store."""
    person.says("backup", "copy.db")
    same = person.says("restore", "copy.db", "--dry-run")
    store = SqliteStore(plans)
    chain(store, "one", "after")
    store.delete("two", expected="y")
    store.close()
    before = everything(plans)

    said = person.says("restore", "copy.db", "--dry-run").splitlines()
    elsewhere = person.says("restore", "copy.db", "--dry-run", "--store", "nowhere.db")

    assert same == "Nothing would change: the store has everything in the backup.\n"
    assert said == [
        "2 sessions would change:",
        "  one: would return to its state in the backup; its current state would be on another branch",
        "  two: would be restored, with 2 events",
    ]
    assert everything(plans) == before
    assert elsewhere.startswith("2 sessions would change:")
    assert not (person.folder / "nowhere.db").exists()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(b"\0" * 9000), id="it can't be opened"),
        pytest.param(lambda path: os.truncate(path, 9000), id="it can be opened, and not read"),
        pytest.param(lambda path: by_hand(path, "DROP TABLE sessions"), id="a part of it is missing"),
    ],
)
def test_a_damaged_store_is_renamed(person: Person, plans: Path, damage: object) -> None:
    """It is kept and its new name is printed; a new store is created from the backup."""
    person.says("backup", "copy.db")
    before = everything(plans)
    assert callable(damage)
    damage(plans)
    broken = plans.read_bytes()

    foretold = person.run("restore", "copy.db", "--dry-run")
    answer = person.run("restore", "copy.db")

    [aside] = [
        name for name in os.listdir(person.folder) if ".damaged-" in name and not name.endswith(("-wal", "-shm"))
    ]
    assert foretold.code == answer.code == 0, answer
    assert "would be renamed and started again" in foretold.out
    assert f"The store is renamed to {person.folder / aside}" in answer.err
    assert answer.out.endswith(f"The damaged store was kept: {person.folder / aside}\n")
    assert (person.folder / aside).read_bytes() == broken
    assert everything(plans) == before


def test_a_foreign_database_is_not_renamed(person: Person, plans: Path) -> None:
    """The address of the store may be a mistake."""
    person.says("backup", "copy.db")
    by_hand(person.folder / "theirs.db", "CREATE TABLE theirs (x)")
    before = (person.folder / "theirs.db").read_bytes()

    assert (
        person.refused(5, "restore", "copy.db", "--store", "theirs.db")
        == f"tildone: {person.folder / 'theirs.db'} is not a tildone store\n"
    )
    assert (person.folder / "theirs.db").read_bytes() == before
    del plans


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("nowhere.db", 4, "there is no store at {path}"),
        ("plans.db", 2, "{path} is the store itself; name a backup of it"),
        ("text.db", 5, "{path} is not a tildone store"),
        ("broken.db", 5, "{path} is damaged: event 'y' of session 'two' does not match its checksum"),
    ],
)
def test_a_file_that_is_not_a_backup_is_not_restored(
    person: Person, plans: Path, name: str, code: int, why: str
) -> None:
    """The file is verified before the store is changed."""
    (person.folder / "text.db").write_text("Dear diary,\n" * 1000)
    person.says("backup", "broken.db")
    by_hand(person.folder / "broken.db", 'UPDATE events SET body = replace(body, \'"text":"y"\', \'"text":"z"\')')
    before = everything(plans)

    assert person.refused(code, "restore", name) == f"tildone: {why.format(path=person.folder / name)}\n"
    assert everything(plans) == before


def test_a_backup_of_an_older_tildone_is_restored(person: Person, plans: Path, tmp_path: Path) -> None:
    """The backup itself is not migrated."""
    old = tmp_path / "old.db"
    shutil.copyfile(plans, tmp_path / "new.db")
    by_hand(old, migrations()[0])
    by_hand(
        old, f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}; ATTACH '{tmp_path}/new.db' AS new"
    )
    connection = apsw.Connection(str(old))
    connection.execute("ATTACH ? AS new", (str(tmp_path / "new.db"),))
    columns = "session, id, parent, at, body"
    connection.execute(f"INSERT INTO events ({columns}) SELECT {columns} FROM new.events WHERE session = 'two'")  # noqa: S608  no text of others
    connection.close()
    before = old.read_bytes()
    plans.unlink()

    person.says("restore", str(old))

    assert ids(SqliteStore(plans).history("two")) == ["y", "x"]
    assert old.read_bytes() == before


def test_an_active_agent_continues_from_the_restored_state(person: Person, plans: Path) -> None:
    """Its write fails because the head moved, and is retried; nothing that it wrote is lost."""
    person.says("backup", "copy.db")
    agent = SqliteStore(plans)
    chain(agent, "two", "z")

    person.says("restore", "copy.db")

    with pytest.raises(HeadMoved):
        agent.append("two", planned("late", "z", "thought of before"))
    chain(agent, "two", "again")
    assert ids(agent.history("two")) == ["again", "y", "x"]
    assert ids(agent.history("two", "z"))[0] == "z"


def test_backup_and_restore_work_during_concurrent_writes(person: Person, plans: Path) -> None:
    """Every acknowledged write is in the store at the end, and the file is intact."""
    with start("busy", plans) as writer:
        wait_for("busy-0", writer)
        answers = [person.run("backup", "copy.db"), person.run("restore", "copy.db")]
        [done] = finish([writer])

    assert [answer.code for answer in answers] == [0, 0], answers
    told = ["busy-0", *done.stdout.split()]
    store = SqliteStore(plans)
    assert set(told) <= set(ids(store.events("s")))
    assert [finding.what for finding in store.check()][-1].endswith("all intact")
    assert ids(SqliteStore(person.folder / "copy.db").history("s"))[-1] == "busy-0"


NESTED = b"[" * 100_000 + b"]" * 100_000


def changed(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old, new)


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(change(content.splitlines(keepends=True)))


HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "a line that is not JSON": lambda content: content + b"\x00\xff{broken\n",
    "a truncated line": lambda content: content + b'{"type":"message","id":"zz","parentId"',
    "a deeply nested line": lambda content: content + NESTED + b"\n",
    "a huge number": lambda content: content + b'{"type":"x","id":"y","n":' + b"9" * 5000 + b"}\n",
    "an infinite number": lambda content: content + b'{"type":"x","n":1e999}\n',
}
HARMFUL: dict[str, Callable[[bytes], bytes]] = {
    "no header": lines(lambda found: found[1:]),
    "a broken header": changed(b'{"type":"session"', b'{"type":\xff"session"'),
    "nothing but zeros": lambda content: bytes(len(content)),
    "a broken first event": lines(lambda found: [found[0], b"\x00" * 20 + b"\n", *found[2:]]),
    "a broken middle event": lines(lambda found: [*found[:2], b"\xff\xfe\n", *found[3:]]),
    "a newer format": changed(b'"version":3', b'"version":99'),
    "an event of no known kind": changed(b'"fact":"plan_changed"', b'"fact":"plan_chanted"'),
    "a time that is none": changed(b'"actor":"user"', b'"actor":"nobody"'),
}


@pytest.fixture
def sessions(person: Person) -> Path:
    """The folder of a store with two sessions; the tests damage the file of the one named bad."""
    person.environ["TILDONE_STORE"] = "jsonl:sessions"
    for name in ("good", "bad"):
        for text in ("one", "two", "three"):
            person.says("todo", "add", text, "--session", name)
    return person.folder / "sessions"


def damage(folder: Path, change: Callable[[bytes], bytes]) -> str:
    [path] = folder.glob("*_bad.jsonl")
    before = path.read_bytes()
    path.write_bytes(change(before))
    assert path.read_bytes() != before
    return path.name


@pytest.mark.parametrize("what", HARMFUL)
def test_the_other_sessions_are_listed_backed_up_migrated_and_examined(
    person: Person, sessions: Path, what: str
) -> None:
    """What is left out is named, and the exit code says that something is missing."""
    name = damage(sessions, HARMFUL[what])

    listed = person.run("sessions", "--json")
    backed_up = person.run("backup", "plans.db", "--json")
    migrated = person.run("migrate", "copy.db")
    examined = person.run("doctor", "--json")

    for answer in (listed, backed_up, migrated):
        assert answer.code == 5, answer
        assert "left out: " in answer.err
        assert name in answer.err
        assert "Traceback" not in answer.err
    assert [each["name"] for each in listed.json["sessions"]] == ["good"]
    assert len(listed.json["left_out"]) == len(backed_up.json["left_out"]) == 1
    assert backed_up.json["sessions"] == 1
    for store in ("plans.db", "copy.db"):
        assert person.says("todo", "export", "-", "--session", "good", "--store", store) == (
            "- [ ] one\n- [ ] two\n- [ ] three\n"
        )
        copied = json.loads(person.says("sessions", "--json", "--store", store))
        assert [each["name"] for each in copied["sessions"]] == ["good"]
    assert examined.code == 5
    assert any(name in check["message"] and check["status"] == "problem" for check in examined.json["checks"])


@pytest.mark.parametrize("what", HARMLESS)
def test_a_line_that_nothing_depends_on_costs_nothing_else(person: Person, sessions: Path, what: str) -> None:
    damage(sessions, HARMLESS[what])

    assert len(json.loads(person.says("sessions", "--json"))["sessions"]) == 2
    assert json.loads(person.says("backup", "plans.db", "--json"))["events"] == 6
    assert person.says("todo", "export", "-", "--session", "bad") == "- [ ] one\n- [ ] two\n- [ ] three\n"
    assert person.run("doctor", "--json").code == 0


def test_a_history_in_a_circle_is_left_out_while_its_plan_is_shown(person: Person, sessions: Path) -> None:
    """Every event has the whole plan, so that the newest one is enough to show it."""

    def in_a_circle(content: bytes) -> bytes:
        header, *entries = map(json.loads, content.splitlines())
        entries[1]["parentId"] = entries[2]["id"]
        return b"".join(json.dumps(each).encode() + b"\n" for each in (header, *entries))

    name = damage(sessions, in_a_circle)

    assert len(json.loads(person.says("sessions", "--json"))["sessions"]) == 2
    backed_up, log = person.run("backup", "plans.db", "--json"), person.run("log", "--session", "bad")
    assert (backed_up.code, backed_up.json["sessions"], log.code) == (5, 1, 5)
    assert name in backed_up.err
    assert name in log.err
    assert "Traceback" not in backed_up.err + log.err


def test_a_double_id_means_its_last_entry(person: Person, sessions: Path) -> None:
    """As in pi."""

    def twice(content: bytes) -> bytes:
        *before, last = content.splitlines(keepends=True)
        return b"".join((*before, last, last.replace(b"three", b"fourth")))

    damage(sessions, twice)

    assert person.says("todo", "export", "-", "--session", "bad") == "- [ ] one\n- [ ] two\n- [ ] fourth\n"
    assert json.loads(person.says("backup", "plans.db", "--json"))["events"] == 6


def test_many_sessions_that_are_left_out_are_counted(person: Person, sessions: Path) -> None:
    for number in range(12):
        (sessions / f"2026-01-01T00-00-00-000Z_x{number}.jsonl").write_bytes(b"\xff\n")
    (sessions / "of another program.jsonl").write_bytes(b"\xff\n")

    answer = person.run("sessions", "--json")

    assert (answer.code, len(answer.json["sessions"]), len(answer.json["left_out"])) == (5, 2, 12)
    assert "tildone: left out: 2 more\n" in answer.err


def test_an_incomplete_backup_does_not_replace_another(person: Person, sessions: Path) -> None:
    person.says("backup", "plans.db")
    before = (person.folder / "plans.db").read_bytes()
    damage(sessions, HARMFUL["no header"])

    answer = person.run("backup", "plans.db", "--force")

    assert answer.code == 5
    assert "plans.db was not overwritten, because the new backup would be incomplete: " in answer.err
    assert (person.folder / "plans.db").read_bytes() == before
    assert sorted(path.name for path in person.folder.iterdir()) == [".git", "plans.db", "sessions"]
