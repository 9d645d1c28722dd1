"""`tildone doctor`: what is wrong is found and named, with what to do; nothing is changed."""

import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.cli.person import Answer, Person
from tests.stores.contract import chain
from tests.stores.processes import finish, start, wait_for
from tildone.stores.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION, migrations
from tildone.stores.sqlite.store import SqliteStore

unix_only = pytest.mark.skipif(os.name == "nt", reason="permissions and pseudo-terminals are Unix's")
linux_only = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux has /proc")


@pytest.fixture
def plans(person: Person) -> Path:
    path = person.folder / "plans.db"
    person.environ["TILDONE_STORE"] = str(path)
    store = SqliteStore(path)
    chain(store, "one", "a", "b", "c")
    store.close()
    path.chmod(0o600)
    return path


def findings(answer: Answer, check: str) -> list[tuple[str, str]]:
    found: list[dict[str, Any]] = answer.json
    return [(each["health"], each["what"]) for each in found if each["check"] == check]


def by_hand(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below, with its bytes and when it was last written to."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files if path.suffix != ".pyc"}


def test_all_is_well_is_said_with_what_was_looked_at(person: Person, plans: Path) -> None:
    said = person.says("doctor")

    titles = [line for line in said.splitlines() if not line.startswith(" ")]
    assert titles[:6] == ["Versions", "Settings", "Store", "Permissions", "Space", "In use"]
    assert titles[-1] == "No problems found."
    assert all(line.startswith("  ✓ ") for line in said.splitlines() if line not in titles)
    assert "  ✓ 1 session and 3 events, all intact\n" in said
    assert f"  ✓ store: {plans} (from $TILDONE_STORE)\n" in said


def test_nothing_is_changed_by_looking(person: Person, plans: Path) -> None:
    """Not even the times of files; the log that a killed process left stays where it is."""
    with start("keep_open", plans) as writer:
        wait_for("held-0", writer)
        writer.kill()
    before = state_of(person.folder)
    assert any(name.endswith("-wal") for name in before)

    answer = person.run("doctor")

    shm = {name for name in before if name.endswith("-shm")}
    after = state_of(person.folder)
    assert answer.code == 0, answer
    assert after.keys() == before.keys()
    assert {name: after[name] for name in after if name not in shm} == {
        name: before[name] for name in before if name not in shm
    }


def test_no_store_is_made(person: Person) -> None:
    """Before the first plan, that there is none is no trouble."""
    said = person.says("doctor", "--store", "nowhere.db")

    assert f"  ✓ there is no store at {person.folder / 'nowhere.db'} yet; the first plan creates it\n" in said
    assert os.listdir(person.folder) == [".git"]
    assert list(person.home.rglob("*.db")) == []


def test_an_older_store_is_not_brought_up_to_date(person: Person) -> None:
    """That is odd, and any other command does it."""
    old = person.folder / "old.db"
    by_hand(old, migrations()[0])
    by_hand(old, f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}; PRAGMA journal_mode = WAL")
    before = state_of(person.folder)

    answer = person.run("doctor", "--store", "old.db", "--json")

    assert answer.code == 0
    assert ("odd", f"the store has not been migrated to schema {SCHEMA_VERSION}") in findings(answer, "store")
    assert state_of(person.folder) == before


def test_damage_is_named_with_a_remedy(person: Person, plans: Path) -> None:
    """The exit code says that something is bad."""
    by_hand(plans, "UPDATE sessions SET head = 'x'; DELETE FROM events WHERE id = 'b'")

    answer = person.run("doctor")

    assert answer.code == 5
    assert re.fullmatch(r"Of \d+ findings, 3 are bad\.", answer.out.splitlines()[-1])
    assert (
        "  ✗ event 'c' of session 'one' has parent 'b', which is missing\n"
        "    → restore a backup: tildone restore FILE\n"
        "  ✗ session 'one' should have 3 events, but has 2\n"
        "  ✗ session 'one' has head 'x', which is missing\n"
    ) in answer.out


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_what_is_no_store_is_said_to_be_none(person: Person, plans: Path, content: bytes) -> None:
    plans.write_bytes(content)

    answer = person.run("doctor", "--json")

    assert answer.code == 5
    [(health, what)] = findings(answer, "store")
    assert (health, str(plans) in what) == ("bad", True)


@pytest.mark.parametrize(
    "words",
    [
        "todo",
        "todo append x",
        "todo export -",
        "call list_todos {}",
        "log",
        "undo",
        "redo",
        "sessions",
        "checkout root",
        "branch",
        "diff",
        "blame",
        "label",
        "export",
        "doctor",
        "backup copy.db",
        "restore old.db",
        "prune --older-than 1y --yes",
        "migrate there.db",
        "migrate there.db --from plans.db --store old.db",
    ],
)
def test_a_newer_store_is_refused_in_clear_words_by_every_verb(person: Person, plans: Path, words: str) -> None:
    """And is left as it is."""
    old = person.folder / "old.db"
    chain(SqliteStore(old), "s", "a")
    by_hand(plans, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = plans.read_bytes()

    answer = person.run(*shlex.split(words))

    schemas = f"it has schema {SCHEMA_VERSION + 1}, this one supports up to {SCHEMA_VERSION}"
    newer = f"{plans} was written by a newer tildone: {schemas}"
    assert answer.code == 5
    assert newer in answer.out + answer.err
    assert plans.read_bytes() == before


@unix_only
def test_strangers_who_can_read_plans_are_odd(person: Person) -> None:
    """Only where they can get at them: every folder on the way has to let them through."""
    # Not in a folder of pytest's, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), Path(name, "plans.db")
        SqliteStore(store).close()
        store.chmod(0o644)
        folder.chmod(0o755)
        reached = person.run("doctor", "--json", "--store", str(store))
        folder.chmod(0o700)
        out_of_reach = person.run("doctor", "--json", "--store", str(store))

    assert findings(reached, "permissions") == [("odd", f"every user of this machine can read {store}")]
    assert reached.code == 0
    assert findings(out_of_reach, "permissions") == [
        ("fine", "you can read and write the store, and other users cannot read it")
    ]


@linux_only
def test_who_has_the_store_open_is_named(person: Person, plans: Path) -> None:
    with start("keep_open", plans) as holder:
        wait_for("held-0", holder)
        answer = person.run("doctor", "--json")
        finish([holder])

    [(health, what)] = findings(answer, "in use")
    assert health == "fine"
    assert what.startswith(f"process {holder.pid} has it open: ")
    assert findings(person.run("doctor", "--json"), "in use") == [("fine", "no other process has the store open")]


def test_each_setting_is_told_with_where_it_comes_from(person: Person) -> None:
    """What is said nearest counts."""
    settings = person.home / "config"
    (settings / "tildone").mkdir(parents=True)
    (settings / "tildone" / "config.toml").write_text('model = "openai:mine"\ncountdown = 7\nsession = "not this"\n')
    (person.folder / "tildone.toml").write_text('session = "ours"\nmax_nudges = 4\n')

    answer = person.run(
        "doctor",
        "--json",
        "--store",
        "plans.db",
        XDG_CONFIG_HOME=str(settings),
        TILDONE_MAX_NUDGES="5",
        APPDATA=str(settings),
    )

    told = [what for _, what in findings(answer, "settings")]
    assert f"store: {person.folder / 'plans.db'} (from --store)" in told
    assert f"session: ours (from {person.folder / 'tildone.toml'})" in told
    assert f"model: openai:mine (from {settings / 'tildone' / 'config.toml'})" in told
    assert "max_nudges: 5 (from $TILDONE_MAX_NUDGES)" in told
    assert "gate: on (default)" in told


def test_settings_that_can_not_be_read_are_a_finding(person: Person) -> None:
    """The rest can't be looked at then."""
    (person.folder / "tildone.toml").write_text("colour = 1\n")

    answer = person.run("doctor", "--json")

    assert answer.code == 5
    assert [(each["check"], each["health"]) for each in answer.json] == [("settings", "bad")]


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_bad_and_its_password_is_not_told(person: Person) -> None:
    answer = person.run("doctor", "--json", "--store", "postgresql://ann:sesame@localhost:1/plans?application_name=x")

    assert answer.code == 5
    assert [health for health, _ in findings(answer, "store")] == ["bad"]
    assert "sesame" not in answer.out + answer.err
    assert ("fine", "store: postgresql://ann@localhost:1/plans (from --store)") in findings(answer, "settings")


def test_session_files_are_looked_at_as_well(person: Person, plans: Path) -> None:
    person.says("migrate", "jsonl:sessions")

    answer = person.run("doctor", "--json", "--store", "jsonl:sessions")

    assert answer.code == 0, answer
    assert {health for health, _ in findings(answer, "store")} <= {"fine", "odd"}
    del plans


@unix_only
@pytest.mark.parametrize("columns", [80, 40, 30])
def test_a_narrow_terminal_is_not_overrun(person: Person, plans: Path, columns: int) -> None:
    """Lines are broken, and what can be done stays below what it is about."""
    by_hand(plans, "UPDATE sessions SET head = 'x'")
    narrow = Person(person.folder, person.home, person.environ, columns)

    answer = narrow.at_terminal("doctor", NO_COLOR="1").end()

    lines = answer.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert answer.code == 5
    assert any(line.startswith("    → ") for line in lines)


@unix_only
def test_what_is_found_can_not_paint_the_terminal(person: Person, plans: Path) -> None:
    """Names of sessions are text of others."""
    store = SqliteStore(plans)
    chain(store, "evil \x1b[31m\n  ✓ All is well", "a")
    store.close()
    by_hand(plans, "UPDATE sessions SET head = 'x'")

    said = person.at_terminal("doctor").end().out

    assert not re.search(r"^ *✓ All is well", said, re.MULTILINE)
    assert "evil \x1b" not in said
