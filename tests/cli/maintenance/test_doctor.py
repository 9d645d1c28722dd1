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


def test_a_healthy_installation_is_reported_with_every_check(person: Person, plans: Path) -> None:
    said = person.says("doctor")

    titles = [line for line in said.splitlines() if not line.startswith(" ")]
    assert titles[:6] == ["Versions", "Settings", "Store", "Permissions", "Space", "In use"]
    assert titles[-1] == "No problems found."
    assert all(line.startswith("  ✓ ") for line in said.splitlines() if line not in titles)
    assert "  ✓ 1 session and 3 events, all intact\n" in said
    assert f"  ✓ store: {plans} (from $TILDONE_STORE)\n" in said


def test_doctor_changes_nothing(person: Person, plans: Path) -> None:
    """Not even time stamps; the WAL of a killed process is not checkpointed."""
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


def test_doctor_creates_no_store(person: Person) -> None:
    """A missing store is no problem before the first plan."""
    said = person.says("doctor", "--store", "nowhere.db")

    assert f"  ✓ there is no store at {person.folder / 'nowhere.db'} yet; the first plan creates it\n" in said
    assert os.listdir(person.folder) == [".git"]
    assert list(person.home.rglob("*.db")) == []


def test_an_older_store_is_not_migrated(person: Person) -> None:
    """It is a warning; any other command migrates the store."""
    old = person.folder / "old.db"
    by_hand(old, migrations()[0])
    by_hand(old, f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}; PRAGMA journal_mode = WAL")
    before = state_of(person.folder)

    answer = person.run("doctor", "--store", "old.db", "--json")

    assert answer.code == 0
    assert ("odd", f"the store has not been migrated to schema {SCHEMA_VERSION}") in findings(answer, "store")
    assert state_of(person.folder) == before


def test_damage_is_reported_with_a_remedy(person: Person, plans: Path) -> None:
    """The exit code shows that a check failed."""
    by_hand(plans, "UPDATE sessions SET head = 'x'; DELETE FROM events WHERE id = 'b'")

    answer = person.run("doctor")

    assert answer.code == 5
    assert re.fullmatch(r"3 errors in \d+ findings\.", answer.out.splitlines()[-1])
    assert (
        "  ✗ event 'c' of session 'one' has parent 'b', which is missing\n"
        "    → restore a backup: tildone restore FILE\n"
        "  ✗ session 'one' should have 3 events, but has 2\n"
        "  ✗ session 'one' has head 'x', which is missing\n"
    ) in answer.out


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_file_that_is_not_a_store_is_reported(person: Person, plans: Path, content: bytes) -> None:
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
def test_every_verb_refuses_a_newer_store(person: Person, plans: Path, words: str) -> None:
    """The store is not changed."""
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
def test_a_store_that_other_users_can_read_is_a_warning(person: Person) -> None:
    """Only if they can traverse every folder above it."""
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
def test_processes_that_have_the_store_open_are_listed(person: Person, plans: Path) -> None:
    with start("keep_open", plans) as holder:
        wait_for("held-0", holder)
        answer = person.run("doctor", "--json")
        finish([holder])

    [(health, what)] = findings(answer, "in use")
    assert health == "fine"
    assert what.startswith(f"process {holder.pid} has it open: ")
    assert findings(person.run("doctor", "--json"), "in use") == [("fine", "no other process has the store open")]


def test_each_setting_is_reported_with_its_origin(person: Person) -> None:
    """The origin with the highest precedence is shown."""
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


def test_an_unreadable_settings_file_is_a_finding(person: Person) -> None:
    """The other checks cannot run without settings."""
    (person.folder / "tildone.toml").write_text("colour = 1\n")

    answer = person.run("doctor", "--json")

    assert answer.code == 5
    assert [(each["check"], each["health"]) for each in answer.json] == [("settings", "bad")]


@pytest.mark.slow
def test_an_unreachable_server_is_an_error_and_its_password_is_not_printed(person: Person) -> None:
    answer = person.run("doctor", "--json", "--store", "postgresql://ann:sesame@localhost:1/plans?application_name=x")

    assert answer.code == 5
    assert [health for health, _ in findings(answer, "store")] == ["bad"]
    assert "sesame" not in answer.out + answer.err
    assert ("fine", "store: postgresql://ann@localhost:1/plans (from --store)") in findings(answer, "settings")


def test_session_files_are_checked_as_well(person: Person, plans: Path) -> None:
    person.says("migrate", "jsonl:sessions")

    answer = person.run("doctor", "--json", "--store", "jsonl:sessions")

    assert answer.code == 0, answer
    assert {health for health, _ in findings(answer, "store")} <= {"fine", "odd"}
    del plans


@unix_only
@pytest.mark.parametrize("columns", [80, 40, 30])
def test_findings_are_wrapped_to_a_narrow_terminal(person: Person, plans: Path, columns: int) -> None:
    """The remedy stays below its finding."""
    by_hand(plans, "UPDATE sessions SET head = 'x'")
    narrow = Person(person.folder, person.home, person.environ, columns)

    answer = narrow.at_terminal("doctor", NO_COLOR="1").end()

    lines = answer.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert answer.code == 5
    assert any(line.startswith("    → ") for line in lines)


@unix_only
def test_findings_are_printable(person: Person, plans: Path) -> None:
    """Session names are untrusted text."""
    store = SqliteStore(plans)
    chain(store, "evil \x1b[31m\n  ✓ All is well", "a")
    store.close()
    by_hand(plans, "UPDATE sessions SET head = 'x'")

    said = person.at_terminal("doctor").end().out

    assert not re.search(r"^ *✓ All is well", said, re.MULTILINE)
    assert "evil \x1b" not in said
