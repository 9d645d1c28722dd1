"""`tildone trust`: a person sees what a project's settings or a plan's checks do, and lets them apply.

What tildone stores is readable by its owner alone.
"""

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.person import CTRL_C, Answer, Person
from tests.mcp.wire import INITIALIZED, initialize
from tests.suite.forking import PROGRAM
from tests.web.boards import Place, board, place_in

TEXT = 'store = "plans.db"\nsession = "ours"\nmax_nudges = 100\nmax_same = 2\n'


@pytest.fixture
def file(person: Person) -> Path:
    path = person.folder / "tildone.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def notice(file: Path) -> str:
    names = "store, session, max_nudges"
    return (
        f"tildone: {file} is not trusted, so its settings do not apply ({names}); to see and trust it: tildone trust\n"
    )


def test_a_person_is_asked(person: Person, file: Path) -> None:
    terminal = person.at_terminal("trust")
    terminal.until("[y/N]")
    terminal.type(b"n\n")
    refused = terminal.end()
    before = person.run("todo").err
    terminal = person.at_terminal("trust")
    terminal.until("[y/N]")
    terminal.type(b"y\n")
    assert (refused.code, terminal.end().code) == (1, 0)
    assert "Nothing was changed." in refused.out
    assert (before, person.run("todo").err) == (notice(file), "")


def test_doctor_mentions_an_untrusted_file_and_ctrl_c_trusts_nothing(person: Person, file: Path) -> None:
    told = person.run("doctor").out

    assert f"! {file} is not trusted, so its settings do not apply (store, session, max_nudges)" in told
    assert "tildone trust" in told

    terminal = person.at_terminal("trust")
    terminal.until("[y/N]")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130
    assert person.run("todo").err == notice(file)


PLAN_TEXT = "$ test -e all\n\n- [ ] Make it\n  $ test -e 'made here'\n- [ ] And this\n  $ test -e x\n  (folder sub)\n"


@pytest.mark.parametrize(("key", "code", "proposed"), [(b"y\n", 0, []), (b"n\n", 1, [1, 2, None])])
def test_the_person_is_asked(person: Person, key: bytes, code: int, proposed: list[int | None]) -> None:
    (person.folder / "plan.md").write_text(PLAN_TEXT, encoding="utf-8")
    terminal = person.at_terminal("trust", "plan.md")
    terminal.until("Let these commands run as checks? [y/N]")
    terminal.type(key)
    answer = terminal.end()
    person.says("import", "plan.md")

    assert answer.code == code
    assert [check["number"] for check in person.run("approve", "--json").json["checks"]] == proposed


START = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"})
TODOS = json.dumps({"mode": "replace", "todos": [{"text": "secret"}]})


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    if os.name == "nt":
        pytest.skip("Windows has no modes")
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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
@pytest.mark.slow
def test_everything_that_is_made_under_no_umask_is_private(tmp_path: Path) -> None:
    """Plans, checks, a run, hooks, MCP, a board, installed hooks, backups, and a worker of a fleet with a repository.

    Git gives the files of a working tree or a clone the modes of any new file: nobody gets past the folder above them.
    """
    before = os.umask(0)
    try:
        place = place_in(tmp_path)
        made = _made_by_everything(place)
    finally:
        os.umask(before)

    kinds = (
        *("tildone.db", "outputs/*.log", "approved/*", "listings/*", "agents/*", "board/*", "sessions/*/*.jsonl"),
        *("fleet/runs/*.output", "fleet/runs/*.epoch", "fleet/reports/*.md", "fleet/worktrees/*"),
        *("fleet/repositories/*", "trusted/*"),
    )
    assert [kind for kind in kinds if not list((place.home / "tildone").glob(kind))] == []
    assert {str(path): oct(mode) for path, mode in made.items() if mode & 0o077} == {}


def _made_by_everything(place: Place) -> dict[Path, int]:
    """Use tildone, and return the modes of all that is then in the home folder."""
    place.home.chmod(0o700)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C", str(place.folder)]
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(place.folder), str(place.folder.parent / "origin")], check=True)
    (place.folder / "tildone.toml").write_text("max_nudges = 3\n")
    (place.folder / "a.md").write_text("- [ ] Keep it: `touch kept`\n")
    # Its working tree stays: the one of a run that is done is removed.
    (place.folder / "b.md").write_text("- [ ] Fail: `test -e never`\n")
    (place.folder / "file").write_text("one\n")
    temporary = {"TMPDIR": str(place.home / "tmp")}
    (place.home / "tmp").mkdir(0o700)
    person = Person(place.folder, place.home, place.environment() | temporary)
    called = {"jsonrpc": "2.0", "method": "tools/call", "id": 2}
    mcp = [initialize(), INITIALIZED, {**called, "params": {"name": "todo", "arguments": {"add": ["Three"]}}}]
    event = {**json.loads(START), "cwd": str(place.folder)}
    list_ = {"tool_name": "TodoWrite", "tool_input": {"todos": [{"content": "a", "status": "pending"}]}}
    later = {**event, "hook_event_name": "PostToolUse", **list_}
    repository = f"file://{place.folder.parent / 'origin'}"
    for given, *words in (
        ("", "todo", "add", "One", "Two"),
        ("", "todo", "check", "1", "--", "grep", "-r", "two", "file"),
        ("", "todo", "done", "1"),
        ("", "todo", "done", "2"),
        ("", "trust", "--yes"),
        ("", "share", "on"),
        ("", "install", "claude", "--no-check"),
        ("", "todo", "add", "Say hello: `echo hello`", "--session", "run"),
        ("", "run", "--allow", "*", "--mode", "print", "--session", "run"),
        ("\n".join(map(json.dumps, mcp)) + "\n", "mcp"),
        (json.dumps(event), "hook", "claude", "SessionStart"),
        (json.dumps(later), "hook", "claude", "PostToolUse"),
        (json.dumps({**event, "hook_event_name": "Stop"}), "hook", "claude", "Stop"),
        ("", "backup"),
        ("", "fleet", "up"),
        ("", "fleet", "add", "a.md"),
        ("", "fleet", "add", "a.md", "--repo", repository),
        ("", "fleet", "add", "b.md", "--repo", repository),
        ("", "fleet", "work", "--allow", "*", "--retries", "0", "--until-idle"),
    ):
        answer = person.run(*words, given=given)
        assert answer.code in (0, 3), (words, answer)
    with board(place) as running:
        running.browser().get("/api/sessions")
        return {path: path.lstat().st_mode & 0o777 for path in _below(place.home) if not path.is_symlink()}


def _below(folder: Path) -> Iterator[Path]:
    """Everything below a folder, without what git has put into its own."""
    for path in folder.iterdir():
        yield path
        if path.is_dir() and not (path / ".git").exists():
            yield from _below(path)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
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


def test_an_export_and_settings_of_a_project_keep_the_umask(person: Person, umask: int) -> None:
    person.says("call", "write_todos", TODOS, "--dialect", "indexed")

    for name in ("plan.md", "session.jsonl"):
        person.says("export", name)
        assert (person.folder / name).stat().st_mode & 0o777 == 0o666 & ~umask, name

    person.run("install", "claude", "--scope", "project", "--no-check")

    assert (person.folder / ".claude/settings.json").stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_doctor_mends_a_store_elsewhere_but_not_its_folder(person: Person) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), Path(name, "plans.db")
        person.says("call", "write_todos", TODOS, "--dialect", "indexed", "--store", str(store))
        folder.chmod(0o755)
        store.chmod(0o644)

        person.run("doctor", "--fix", "--store", str(store))

        assert [path.stat().st_mode & 0o777 for path in (folder, store)] == [0o755, 0o600]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_doctor_fixes_no_coding_agent(person: Person) -> None:
    assert person.run("doctor", "claude", "--fix").code == 2


def permissions(answer: Answer) -> list[tuple[str, str, str]]:
    checks = [each for each in answer.json["checks"] if each["name"] == "permissions"]
    return [(each["status"], each["message"], each["remedy"]) for each in checks]
