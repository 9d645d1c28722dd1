"""`tildone doctor` finds and names what is wrong and changes nothing.

`tildone prune` deletes old sessions permanently, and no others.
"""

import json
import os
import platform
import re
import shlex
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.cli.person import CTRL_C, Answer, Person
from tests.stores.contract import by_hand, chain, ids
from tests.stores.processes import finish, start, wait_for
from tests.suite.forking import PROGRAM
from tests.trusted import write_trusted
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.model import Status, Task, flat
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
    report: dict[str, Any] = answer.json
    assert report["version"] == 1
    return [(each["status"], each["message"]) for each in report["checks"] if each["name"] == check]


def write_plan(person: Person, *texts: str) -> None:
    """Write the plan of the project, with an agent's tool."""
    todos = [{"text": text} for text in texts]
    person.says("call", "write_todos", json.dumps({"mode": "replace", "todos": todos}), "--dialect", "indexed")


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below, with its bytes and when it was last written to."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files if path.suffix != ".pyc"}


def test_a_healthy_installation_is_reported_with_every_check(person: Person, plans: Path) -> None:
    said = person.says("doctor")

    titles = [line for line in said.splitlines() if not line.startswith(" ")]
    checks = ["Program", "Extras", "Settings", "Project", "Store", "Permissions", "Space", "In use"]
    assert titles[: len(checks)] == checks
    assert titles[-1] == "No problems found."
    assert all(line.startswith("  ✓ ") for line in said.splitlines() if line not in titles)
    assert "  ✓ 1 session and 3 events, all intact\n" in said
    assert f"  ✓ store: {plans} (from $TILDONE_STORE)\n" in said

    answer = person.run("doctor", "--json")

    [versions, installation] = findings(answer, "program")
    python = platform.python_version().rstrip("+")
    assert versions == ("ok", f"tildone {metadata.version('tildone')}, Python {python}, {sys.platform}")
    assert installation[0] == "ok"
    assert installation[1].startswith("installed by ")
    assert installation[1].endswith(f": {PROGRAM}")
    told = [re.split(r": (?:installed,|not installed; it is needed)", what) for _, what in findings(answer, "extras")]
    assert dict(told) == {
        "mcp": " for tildone mcp --http",
        "run": " for models in tildone run",
        "postgres": " for plans in PostgreSQL",
        "tui": " for tildone watch",
        "web": " for tildone board",
    }

    person.says("migrate", "jsonl:sessions")

    answer = person.run("doctor", "--json", "--store", "jsonl:sessions")

    assert answer.code == 0, answer
    assert {health for health, _ in findings(answer, "store")} <= {"ok", "warning"}
    del plans


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


def test_what_is_not_there_or_cannot_be_reached_is_told_without_its_password(person: Person) -> None:
    """A missing store is no problem before the first plan, and none is made."""
    said = person.says("doctor", "--store", "nowhere.db")

    assert f"  ✓ there is no store at {person.folder / 'nowhere.db'} yet; the first plan creates it\n" in said
    assert os.listdir(person.folder) == [".git"]
    assert list(person.home.rglob("*.db")) == []

    answer = person.run("doctor", "--json", "--store", "postgresql://ann:sesame@localhost:1/plans?application_name=x")

    assert answer.code == 5
    assert [health for health, _ in findings(answer, "store")] == ["problem"]
    assert "sesame" not in answer.out + answer.err
    assert ("ok", "store: postgresql://ann@localhost:1/plans (from --store)") in findings(answer, "settings")


def test_an_older_store_is_not_migrated(person: Person) -> None:
    """It is a warning; any other command migrates the store."""
    old = person.folder / "old.db"
    by_hand(old, migrations()[0])
    by_hand(old, f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION_ID}; PRAGMA journal_mode = WAL")
    before = state_of(person.folder)

    answer = person.run("doctor", "--store", "old.db", "--json")

    assert answer.code == 0
    assert ("warning", f"the store has not been migrated to schema {SCHEMA_VERSION}") in findings(answer, "store")
    assert state_of(person.folder) == before


def test_damage_is_reported_with_a_remedy(person: Person, plans: Path) -> None:
    """The exit code shows that a check failed."""
    by_hand(plans, "UPDATE sessions SET head = 'x'; DELETE FROM events WHERE id = 'b'")

    answer = person.run("doctor")

    assert answer.code == 5
    assert re.fullmatch(r"4 problems in \d+ findings\.", answer.out.splitlines()[-1])
    assert (
        "  ✗ event 'c' of session 'one' has parent 'b', which is missing\n"
        "    → restore a backup: tildone restore FILE\n"
        "  ✗ session 'one' should have 3 events, but has 2\n"
        "  ✗ session 'one' has a head that does not match its checksum\n"
    ) in answer.out


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_file_that_is_not_a_store_is_reported(person: Person, plans: Path, content: bytes) -> None:
    plans.write_bytes(content)

    answer = person.run("doctor", "--json")

    assert answer.code == 5
    [(health, what)] = findings(answer, "store")
    assert (health, str(plans) in what) == ("problem", True)


def test_every_verb_refuses_a_newer_store(person: Person, plans: Path) -> None:
    """The store is not changed."""
    old = person.folder / "old.db"
    chain(SqliteStore(old), "s", "a")
    by_hand(plans, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = plans.read_bytes()
    for words in (
        *("todo", "todo append x", "todo export -", "call list_todos {}", "log", "undo", "redo", "sessions"),
        *("checkout root", "branch", "diff", "blame", "label", "export", "doctor", "backup copy.db", "restore old.db"),
        *("prune --older-than 1y --yes", "migrate there.db", "migrate there.db --from plans.db --store old.db"),
    ):
        answer = person.run(*shlex.split(words))

        schemas = f"it has schema {SCHEMA_VERSION + 1}, this one supports up to {SCHEMA_VERSION}"
        newer = f"{plans} was written by a newer tildone: {schemas}"
        assert answer.code == 5, words
        assert newer in answer.out + answer.err, words
        assert plans.read_bytes() == before, words


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

    assert findings(reached, "permissions") == [("warning", f"{store} has a mode that gives other users access")]
    assert reached.code == 0
    assert findings(out_of_reach, "permissions") == [
        ("ok", "you can read and write the store, and other users cannot read it")
    ]


@linux_only
def test_processes_that_have_the_store_open_are_listed(person: Person, plans: Path) -> None:
    with start("keep_open", plans) as holder:
        wait_for("held-0", holder)
        answer = person.run("doctor", "--json")
        finish([holder])

    [(health, what)] = findings(answer, "in use")
    assert health == "ok"
    assert what.startswith(f"process {holder.pid} has it open: ")
    assert findings(person.run("doctor", "--json"), "in use") == [("ok", "no other process has the store open")]


def test_each_setting_is_reported_with_its_origin(person: Person) -> None:
    """The origin with the highest precedence is shown."""
    settings = person.home / "config"
    (settings / "tildone").mkdir(parents=True)
    (settings / "tildone" / "config.toml").write_text('model = "openai:mine"\ncountdown = 7\nsession = "not this"\n')
    write_trusted(person.folder / "tildone.toml", 'session = "ours"\nmax_nudges = 4\n', person.environment({}))

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


def test_invalid_settings_are_findings_and_the_other_checks_go_on(person: Person, plans: Path) -> None:
    """With the line; what is valid applies, and what is not has its default."""
    write_trusted(person.folder / "tildone.toml", 'countdown = 9\n\ncolour = 1\ngate = "of"\n', person.environment({}))

    answer = person.run("doctor", "--json", TILDONE_MAX_SAME="x")

    file = person.folder / "tildone.toml"
    found = findings(answer, "settings")
    assert answer.code == 5
    assert [status for status, _ in found[:4]] == ["problem", "problem", "problem", "ok"]
    assert found[0][1].startswith(f"{file}, line 3: there is no setting 'colour'; ")
    assert found[1][1].startswith(f'{file}, line 4: gate must be "on" or "off"')
    assert found[2][1].startswith("$TILDONE_MAX_SAME: ")
    assert ("ok", f"countdown: 9 (from {file})") in found
    assert findings(answer, "store")[-1] == ("ok", "1 session and 3 events, all intact")
    del plans


def test_a_file_that_is_not_toml_is_a_finding_with_its_position(person: Person) -> None:
    write_trusted(person.folder / "tildone.toml", "gate = \n", person.environment({}))

    answer = person.run("doctor", "--json")

    assert answer.code == 5
    assert "(at line 1, column 8)" in findings(answer, "settings")[0][1]
    assert findings(answer, "space")


@pytest.mark.parametrize(
    ("environ", "what", "remedy"),
    [
        ({"TILDONE_GATE": "off"}, "gate: off (from $TILDONE_GATE)", "unset TILDONE_GATE"),
        ({"TILDONE_MAX_NUDGES": "0"}, "max_nudges: 0 (from $TILDONE_MAX_NUDGES)", "unset TILDONE_MAX_NUDGES"),
    ],
)
def test_settings_that_disable_the_gate_are_warnings(
    person: Person, environ: dict[str, str], what: str, remedy: str
) -> None:
    answer = person.run("doctor", "--json", **environ)

    assert answer.code == 0
    [found] = [each for each in answer.json["checks"] if each["status"] == "warning" and each["name"] == "settings"]
    assert found["message"] == f"{what}; agents that stop are never continued"
    assert found["remedy"] == remedy


def test_a_pattern_of_checks_that_allows_more_than_it_looks_like_is_a_warning(person: Person) -> None:
    person.sets('check_allow = ["find *", "ls *"]\n')

    answer = person.run("doctor", "--json")

    assert answer.code == 0
    assert [what for status, what in findings(answer, "settings") if status == "warning"] == [
        "check_allow 'find *' allows more than it looks like: find runs other programs with -exec"
    ]


def test_the_plan_of_the_project_is_reported(person: Person) -> None:
    """And what keeps agents from being continued on it."""
    assert findings(person.run("doctor", "--json"), "project") == [("ok", f"{person.folder}: no plan yet")]

    write_plan(person, "one", "two")
    person.run("pause")
    paused = person.run("doctor", "--json")
    person.run("resume")

    plan = ("ok", f"{person.folder}: 2 tasks, 2 open")
    assert findings(paused, "project") == [
        plan,
        ("warning", "agents are paused: they are not continued when they stop"),
    ]
    assert findings(person.run("doctor", "--json"), "project") == [plan]


def test_a_bound_that_was_reached_is_reported(person: Person) -> None:
    """The gate has let the agent go, and stays silent until a person speaks."""
    write_plan(person, "one")
    stop = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(person.folder)}
    for _ in range(2):
        person.run("hook", "claude", given=json.dumps(stop), TILDONE_MAX_NUDGES="1")

    [_, (status, what)] = findings(person.run("doctor", "--json"), "project")

    assert (status, what.split(")")[0]) == ("warning", "a bound was reached (told to go on once, and nothing changed")


def test_another_copy_on_path_is_a_warning(person: Person) -> None:
    """Its name would start that copy, so hints give the path of this one."""
    other = person.folder / "bin" / "tildone"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)

    answer = person.run("doctor", "--json", PATH=str(other.parent))

    [found] = [each for each in answer.json["checks"] if each["status"] == "warning" and each["name"] == "program"]
    assert found["message"] == f"tildone on your PATH is another copy: {other}"
    assert found["remedy"] == f"remove it, or call this copy: {shlex.quote(str(PROGRAM))}"


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


DAY = 86_400_000


@pytest.fixture
def aged_plans(person: Person) -> Path:
    """A store with sessions of several ages, some of them with an open task."""
    path = person.folder / "plans.db"
    person.environ["TILDONE_STORE"] = str(path)
    store = SqliteStore(path)
    for name, days, status in [
        ("ancient", 400, Status.COMPLETED),
        ("open", 200, Status.PENDING),
        ("old", 100, Status.ABANDONED),
        ("recent", 10, Status.COMPLETED),
    ]:
        written(store, name, days, status)
    store.close()
    return path


def written(store: SqliteStore, name: str, days: int, status: Status, text: str = "x") -> None:
    """Append an event that was written `days` days ago."""
    head = store.session_head(name).head
    at = time.time_ns() // 1_000_000 - days * DAY
    fact = PlanChanged(flat(Task(text, status)))
    store.append(name, Event(f"{len(ids(store.events(name)))}", head, at, Actor.AGENT, fact))


def names(path: Path) -> list[str]:
    store = SqliteStore(path)
    found = [info.name for info in store.sessions()]
    store.close()
    return found


def test_old_sessions_are_listed_and_deleted(person: Person, aged_plans: Path) -> None:
    """The oldest first, with age, events and open tasks; sessions with open tasks are kept."""
    said = person.says("prune", "--older-than", "90d", "--yes").splitlines()

    assert said == [
        "400 days       1 event    0 open  ancient",
        "200 days       1 event    1 open  open",
        "100 days       1 event    0 open  old",
        "1 session with open tasks would be kept; to delete them as well, use --open",
        "Deleted 2 sessions with 2 events. Their space remains reserved for new plans.",
    ]
    assert names(aged_plans) == ["recent", "open"]


@pytest.mark.parametrize(
    ("span", "left"), [("1y", 3), ("12w", 2), ("3M", 2), ("1d", 1), ("9d", 1), ("11d", 2), ("500d", 4)]
)
def test_ages_are_converted_to_days(person: Person, aged_plans: Path, span: str, left: int) -> None:
    """A month has 30 days, a year 365."""
    person.says("prune", "--older-than", span, "--yes")

    assert len(names(aged_plans)) == left


def test_nothing_is_deleted_without_a_valid_age_and_an_agreement(person: Person, aged_plans: Path) -> None:
    assert person.refused(2, "prune", "--older-than", "90d") == (
        "tildone: confirmation requires a terminal; use --yes to skip it, or --dry-run to list the sessions\n"
    )
    assert len(names(aged_plans)) == 4

    assert person.says("prune", "--older-than", "1y", "--dry-run") == "400 days       1 event    0 open  ancient\n"
    assert len(names(aged_plans)) == 4

    said = person.says("prune", "--older-than", "2y", "--yes")

    assert said == f"No session in {aged_plans} was last changed more than 2 years ago.\n"
    assert person.run("prune", "--older-than", "2y", "--json", "--dry-run").json == {"version": 1, "sessions": []}

    assert (
        person.refused(4, "prune", "--older-than", "1y", "--yes", "--store", "nowhere.db")
        == f"tildone: there is no store at {person.folder / 'nowhere.db'}; to see which store is used: tildone doctor\n"
    )
    assert not (person.folder / "nowhere.db").exists()

    for span in ("", "90", "d", "0d", "-1d", "1h", "1.5y", "٣d", "1 d", f"{10**9}d"):
        answer = person.run("prune", "--yes", *([f"--older-than={span}"] if span else []))

        assert answer.code == 2, span
        assert "(90d, 12w, 6m, 1y)" in answer.err, span
        assert len(names(aged_plans)) == 4, span


def test_prune_prints_json_and_open_includes_sessions_with_open_tasks(person: Person, aged_plans: Path) -> None:
    found = person.run("prune", "--older-than", "90d", "--json", "--yes").json["sessions"]

    assert [(each["title"], each["days"], each["events"], each["open"], each["removed"]) for each in found] == [
        ("ancient", 400, 1, 0, True),
        ("open", 200, 1, 1, False),
        ("old", 100, 1, 0, True),
    ]
    assert len(names(aged_plans)) == 2

    person.says("prune", "--older-than", "90d", "--open", "--yes")

    assert names(aged_plans) == ["recent"]


def test_pruning_shrinks_the_file(person: Person, aged_plans: Path) -> None:
    """The space of deleted sessions is returned to the disk."""
    store = SqliteStore(aged_plans)
    for _ in range(30):
        written(store, "large", 300, Status.COMPLETED, "x" * 20_000)
    store.close()
    before = aged_plans.stat().st_size

    assert "KB were freed." in person.says("prune", "--older-than", "250d", "--yes")
    assert aged_plans.stat().st_size < before / 4


@pytest.mark.parametrize(("typed", "left", "code"), [(b"y\n", 2, 0), (b"\n", 4, 0), (b"n\n", 4, 0), (CTRL_C, 4, 130)])
def test_prune_asks_for_confirmation(person: Person, aged_plans: Path, typed: bytes, left: int, code: int) -> None:
    """Any answer but yes is a no."""
    terminal = person.at_terminal("prune", "--older-than", "90d")

    terminal.until("Delete 2 sessions with 2 events permanently? [y/N] ")
    terminal.type(typed)
    answer = terminal.end()

    assert answer.code == code
    assert ("Nothing was deleted." in answer.out) == (left == 4 and code == 0)
    assert len(names(aged_plans)) == left


def test_a_session_that_changes_during_the_prompt_is_kept(person: Person, aged_plans: Path) -> None:
    """An agent changes one of them before the person answers."""
    terminal = person.at_terminal("prune", "--older-than", "90d")
    terminal.until("[y/N] ")
    store = SqliteStore(aged_plans)
    written(store, "old", 0, Status.IN_PROGRESS)

    terminal.type(b"y\n")
    said = terminal.end().out

    assert "old has changed in the meantime: it was kept." in said
    assert "Deleted 1 session with 1 event." in said
    assert names(aged_plans) == ["old", "recent", "open"]
