"""What tildone stores is readable by its owner alone, whichever command creates it and whatever the umask."""

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.person import Answer, Person
from tests.suite.forking import PROGRAM

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")

START = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"})
TODOS = json.dumps({"mode": "replace", "todos": [{"text": "secret"}]})


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def loose(folder: Path) -> dict[str, str]:
    """Everything below a folder that others can read, or that is otherwise not 0700 or 0600."""
    found = {path: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    wrong = {path: mode for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)}
    return {str(path): oct(mode) for path, mode in wrong.items()}


@pytest.mark.usefixtures("umask")
def test_a_hook_that_comes_first_creates_private_files(person: Person) -> None:
    given = json.dumps({**json.loads(START), "cwd": str(person.folder)})
    plan = {"tool_name": "TodoWrite", "tool_input": {"todos": [{"content": "a", "status": "pending"}]}}
    after = json.dumps({**json.loads(given), "hook_event_name": "PostToolUse", **plan})
    person.run("hook", "claude", "SessionStart", given=given, XDG_RUNTIME_DIR=str(person.home))
    person.run("hook", "claude", "PostToolUse", given=after, XDG_RUNTIME_DIR=str(person.home))

    data = person.home / ".local"

    assert (data / "share/tildone/tildone.db").exists()
    assert (data / "share/tildone/agents").exists()
    assert loose(data) == {}


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("store", ["new/plans.db", "jsonl:new/sessions"])
def test_a_store_its_lock_and_its_backup_are_private(person: Person, store: str) -> None:
    person.says("call", "write_todos", TODOS, "--dialect", "indexed", "--store", store)
    person.says("backup", "--store", store)
    person.says("share", "on", "--store", store)

    assert loose(person.folder / "new") == {}
    assert loose(person.home / ".local") == {}


@pytest.mark.usefixtures("umask")
def test_the_conversation_of_a_run_is_private(person: Person) -> None:
    person.says("todo", "add", "Say hello: `echo hello`")
    run = person.run("run", "--allow", "*", "--mode", "print")

    data = person.home / ".local"

    assert run.code == 0, run
    assert list(data.rglob("sessions/*/*.jsonl"))
    assert loose(data) == {}


def test_the_files_that_sqlite_adds_are_private_while_the_store_is_open(person: Person) -> None:
    program = (
        "import os, sys; os.umask(0); from tildone.stores.sqlite.store import SqliteStore; "
        "from tests.stores.contract import chain; store = SqliteStore(sys.argv[1]); chain(store, 'one', 'a'); "
        "print(sorted((name, oct(os.stat(name).st_mode & 0o777)) for name in os.listdir('.')), flush=True); os._exit(0)"
    )
    python = PROGRAM.with_name("python")
    done = subprocess.run(
        [python, "-c", program, "plans.db"],
        cwd=person.home,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        check=True,
        timeout=60,
    )

    expected = [(name, "0o600") for name in ("plans.db", "plans.db-shm", "plans.db-wal")]
    assert done.stdout.decode().strip() == str(expected)


@pytest.mark.usefixtures("umask")
def test_an_existing_folder_keeps_its_mode_and_only_the_store_in_it_is_private(person: Person) -> None:
    person.folder.chmod(0o755)

    person.says("call", "write_todos", TODOS, "--dialect", "indexed", "--store", "plans.db")

    assert person.folder.stat().st_mode & 0o777 == 0o755
    assert (person.folder / "plans.db").stat().st_mode & 0o777 == 0o600


def test_an_export_keeps_the_umask(person: Person, umask: int) -> None:
    person.says("call", "write_todos", TODOS, "--dialect", "indexed")

    for name in ("plan.md", "session.jsonl"):
        person.says("export", name)
        assert (person.folder / name).stat().st_mode & 0o777 == 0o666 & ~umask, name


def test_settings_of_a_project_keep_the_umask(person: Person, umask: int) -> None:
    person.run("install", "claude", "--scope", "project", "--no-check")

    assert (person.folder / ".claude/settings.json").stat().st_mode & 0o777 == 0o666 & ~umask


def test_doctor_finds_what_other_users_can_read_and_mends_it(person: Person) -> None:
    """Nothing but tildone's own files, and no target of a link."""
    person.says("call", "write_todos", TODOS, "--dialect", "indexed")
    data, other = person.home / ".local/share/tildone", person.home / "mine"
    other.write_text("")
    (data / "link").symlink_to(other)
    for path in (other, data, data / "tildone.db", data.parent):
        path.chmod(0o755)

    before = person.run("doctor", "--json")
    fixed = person.run("doctor", "--fix", "--json")
    after = person.run("doctor", "--json")

    assert permissions(before) == [
        ("warning", f"2 files and folders in {data} have modes that give other users access", "tildone doctor --fix")
    ]
    assert permissions(fixed) == [("ok", f"took access to 2 files and folders in {data} away from other users", "")]
    assert permissions(after) == [("ok", "you can read and write the store, and other users cannot read it", "")]
    (data / "link").unlink()
    assert loose(data) == {}
    assert [path.stat().st_mode & 0o777 for path in (other, data.parent)] == [0o755, 0o755]


def test_doctor_mends_a_store_elsewhere_but_not_its_folder(person: Person) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), Path(name, "plans.db")
        person.says("call", "write_todos", TODOS, "--dialect", "indexed", "--store", str(store))
        folder.chmod(0o755)
        store.chmod(0o644)

        person.run("doctor", "--fix", "--store", str(store))

        assert [path.stat().st_mode & 0o777 for path in (folder, store)] == [0o755, 0o600]


def test_doctor_names_a_file_whose_mode_it_cannot_change(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe without a writer is opened without waiting; a socket cannot be opened."""
    data = person.home / ".local/share/tildone"
    data.mkdir(parents=True, mode=0o700)
    os.mkfifo(data / "pipe", 0o644)
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(data)
        server.bind("socket")
        answer = person.run("doctor", "--fix", "--json")

    assert answer.code == 5
    assert (data / "pipe").stat().st_mode & 0o777 == 0o600
    assert permissions(answer) == [
        ("problem", f"cannot change the mode of {data / 'socket'}: No such device or address", "")
    ]


def test_doctor_fixes_no_coding_agent(person: Person) -> None:
    assert person.run("doctor", "claude", "--fix").code == 2


def permissions(answer: Answer) -> list[tuple[str, str, str]]:
    checks = [each for each in answer.json["checks"] if each["name"] == "permissions"]
    return [(each["status"], each["message"], each["remedy"]) for each in checks]
