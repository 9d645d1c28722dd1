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
from tests.cli.plan.checking import AGENT, tasks
from tests.mcp.wire import INITIALIZED, initialize
from tests.suite.forking import PROGRAM
from tests.web.boards import Place, board, place_in

TEXT = 'store = "plans.db"\nsession = "ours"\nmax_nudges = 100\nmax_same = 2\n'
SHOWN = (
    'FILE sets:\n  store = "FOLDER/plans.db"\n  session = "ours"\n  max_nudges = 100\n'
    "  max_same = 2  (applies without trust)\n"
)


@pytest.fixture
def file(person: Person) -> Path:
    path = person.folder / "tildone.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def shown(file: Path) -> str:
    return SHOWN.replace("FILE", str(file)).replace("FOLDER", str(file.parent))


def notice(file: Path, names: str = "store, session, max_nudges") -> str:
    return (
        f"tildone: {file} is not trusted, so its settings do not apply ({names}); to see and trust it: tildone trust\n"
    )


def test_trust_shows_the_settings_lets_them_apply_and_can_be_revoked(person: Person, file: Path) -> None:
    assert person.says("trust", "--yes") == f"{shown(file)}Trusted. To take it back: tildone trust --revoke\n"
    assert person.says("todo") == "No tasks in session 'ours'. Add one with: tildone todo add TEXT\n"
    assert person.says("trust") == f"{shown(file).replace('  (applies without trust)', '')}Already trusted.\n"

    person.says("trust", "--yes")

    assert person.says("trust", "--revoke") == f"No longer trusted: {file}\n"
    assert person.run("todo").err == notice(file)
    assert person.says("trust", "--revoke") == f"Not trusted: {file}\n"

    person.says("trust", "--yes")
    file.unlink()

    assert person.says("trust", "--revoke") == f"No longer trusted: {file}\n"


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


def test_an_untrusted_file_is_mentioned_once_and_gives_no_orders(person: Person, file: Path) -> None:
    asked = person.run("trust")
    assert (asked.code, asked.err) == (2, "tildone: confirmation requires a terminal; use --yes to skip it\n")
    assert person.run("todo").err == notice(file)

    told = person.run("doctor").out

    assert f"! {file} is not trusted, so its settings do not apply (store, session, max_nudges)" in told
    assert "tildone trust" in told

    terminal = person.at_terminal("trust")
    terminal.until("[y/N]")
    terminal.type(CTRL_C)

    assert terminal.end().code == 130
    assert person.run("todo").err == notice(file)

    answer = person.run("todo", "add", "Mine")

    assert (answer.code, answer.err) == (0, notice(file))
    assert not (file.parent / "plans.db").exists()
    assert person.run("todo", "--json").json["session"] == str(file.parent)


def test_after_a_change_the_file_has_to_be_trusted_again(person: Person, file: Path) -> None:
    person.says("trust", "--yes")
    file.write_text('session = "theirs"\n', encoding="utf-8")
    before = person.run("todo").err

    said = person.says("trust", "--yes")

    assert before == notice(file, "session")
    assert said.startswith(f'{file} has changed since it was trusted; it sets:\n  session = "theirs"\n')
    assert person.says("todo") == "No tasks in session 'theirs'. Add one with: tildone todo add TEXT\n"


def test_programs_can_read_it(person: Person, file: Path) -> None:
    refused = person.run("trust", "--json")
    trusted = person.run("trust", "--yes", "--json").json
    revoked = person.run("trust", "--revoke", "--json").json

    assert refused.code == 2
    settings = {"store": str(file.parent / "plans.db"), "session": "ours", "max_nudges": 100, "max_same": 2}
    assert {name: trusted[name] for name in ("file", "trusted", "changed", "settings")} == {
        "file": str(file),
        "trusted": True,
        "changed": True,
        "settings": settings,
    }
    assert (revoked["trusted"], revoked["changed"]) == (False, True)


def test_other_files_are_refused_or_have_nothing_to_trust(person: Person) -> None:
    assert person.refused(4, "trust") == f"tildone: there is no {person.folder / 'tildone.toml'}\n"

    for name, text, code, err in (
        ("none.md", None, 4, "there is no none.md"),
        ("a.txt", "buy milk\n", 3, "a.txt is not a Markdown plan; only such a file carries checks to trust"),
        ("bad.md", "\udcff", 3, "could not read bad.md as markdown: 'utf-8' codec can't decode"),
    ):
        if text is not None:
            (person.folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))

        assert person.refused(code, "trust", name, "--yes").startswith(f"tildone: {err}"), name

    (person.folder / "plan.md").write_text("- [ ] Read it\n", encoding="utf-8")

    assert person.says("trust", "plan.md") == "plan.md has no checks.\nThere is nothing to approve.\n"

    (person.folder / "tildone.toml").write_text("max_same = 2\n", encoding="utf-8")

    assert "max_same = 2" in person.says("trust", "tildone.toml", "--yes")


def test_a_file_with_a_mistake_is_not_trusted_and_an_empty_one_sets_nothing(person: Person, file: Path) -> None:
    """Settings are shown harmless and without passwords."""
    file.write_text("gate = 1\n", encoding="utf-8")

    assert (
        person.refused(3, "trust", "--yes")
        == f'tildone: {file}, line 1: gate must be "on" or "off"; correct it first\n'
    )

    file.write_text("# nothing yet\n", encoding="utf-8")

    assert (
        person.says("trust", "--yes") == f"{file} sets:\n  nothing\nTrusted. To take it back: tildone trust --revoke\n"
    )

    file.write_text('store = "postgresql://me:hunter2@db/plans"\nsession = "\\u001b[2Jx\\u202e"\n', encoding="utf-8")

    said = person.says("trust", "--yes")

    assert 'store = "postgresql://me@db/plans"' in said
    assert not {"hunter2", "\x1b", "\u202e"} & {word for word in ("hunter2", "\x1b", "\u202e") if word in said}


PLAN_TEXT = "$ test -e all\n\n- [ ] Make it\n  $ test -e 'made here'\n- [ ] And this\n  $ test -e x\n  (folder sub)\n"
PLAN_SHOWN = """\
plan.md has 3 checks:
#1 Make it
  command: ["test","-e","made here"]
  folder:  .
#2 And this
  command: ["test","-e","x"]
  folder:  sub
The plan
  command: ["test","-e","all"]
  folder:  .
"""
TRUSTED = "Trusted. To take it back: tildone trust plan.md --revoke\n"
HINT = "3 checks are proposed and do not run until you approve them: tildone trust plan.md\n"


@pytest.fixture
def plan_file(person: Person) -> Path:
    path = person.folder / "plan.md"
    path.write_text(PLAN_TEXT, encoding="utf-8")
    return path


def proposed(person: Person) -> list[object]:
    return [check["number"] for check in person.run("approve", "--json").json["checks"]]


@pytest.mark.usefixtures("plan_file")
def test_the_checks_of_an_untrusted_file_are_proposed_and_trust_lets_a_task_go_on(person: Person) -> None:
    assert person.says("import", "plan.md").endswith(HINT)
    assert proposed(person) == [1, 2, None]
    assert person.run("import", "plan.md", "--json").json["imported"][0]["proposed_checks"] == 3

    person.says("import", "plan.md")
    assert person.run("todo", "done", "1").code != 0
    assert tasks(person)[1]["status"] == "blocked"

    person.says("trust", "plan.md", "--yes")

    assert tasks(person)[1]["status"] == "pending"


@pytest.mark.usefixtures("plan_file")
def test_the_checks_of_a_trusted_file_run(person: Person) -> None:
    assert person.says("trust", "plan.md", "--yes") == PLAN_SHOWN + TRUSTED

    assert "proposed" not in person.says("import", "plan.md")
    assert proposed(person) == []
    (person.folder / "made here").touch()
    assert person.run("todo", "done", "1").code == 0
    assert person.says("trust", "plan.md") == f"{marked(PLAN_SHOWN)}Already trusted.\n"


def marked(shown: str) -> str:
    """The list of checks that are approved."""
    return (
        shown.replace("it\n", "it (approved)\n")
        .replace("this\n", "this (approved)\n")
        .replace("plan\n", "plan (approved)\n")
    )


def test_a_changed_check_has_to_be_trusted_again(person: Person, plan_file: Path) -> None:
    """What the file no longer has is no longer approved; changes of other lines need nothing."""
    person.says("trust", "plan.md", "--yes")
    plan_file.write_text(f"{PLAN_TEXT}- [ ] No check\n", encoding="utf-8")
    same = person.says("trust", "plan.md")
    plan_file.write_text(PLAN_TEXT.replace("-e x", "-e y"), encoding="utf-8")
    imported = person.says("import", "plan.md")

    said = person.says("trust", "plan.md", "--yes")

    assert same.endswith("Already trusted.\n")
    assert "1 check is proposed and does not run until you approve it: tildone trust plan.md\n" in imported
    assert said.startswith("plan.md has changed since it was trusted; it has 3 checks:\n#1 Make it (approved)\n")
    assert f"No longer approved, because it is not in the file: test -e x\n{TRUSTED}" in said
    plan_file.write_text(PLAN_TEXT, encoding="utf-8")
    person.says("import", "plan.md")
    assert proposed(person) == [2]


def test_trust_is_taken_back_from_exactly_what_was_trusted(person: Person, plan_file: Path) -> None:
    """Also if the file is gone."""
    person.says("trust", "plan.md", "--yes")
    person.says("import", "plan.md")
    plan_file.unlink()

    said = person.says("trust", "plan.md", "--revoke")

    assert said == f"No longer trusted: {plan_file}\n  test -e 'made here'\n  test -e x\n  test -e all\n"
    assert proposed(person) == [1, 2, None]
    assert person.says("trust", "plan.md", "--revoke") == f"Not trusted: {plan_file}\n"


@pytest.mark.usefixtures("plan_file")
@pytest.mark.parametrize(("key", "code"), [(b"y\n", 0), (b"n\n", 1)])
def test_the_person_is_asked(person: Person, key: bytes, code: int) -> None:
    terminal = person.at_terminal("trust", "plan.md")
    terminal.until("Let these commands run as checks? [y/N]")
    terminal.type(key)
    answer = terminal.end()
    person.says("import", "plan.md")

    assert answer.code == code
    assert (not proposed(person)) == (code == 0)


@pytest.mark.usefixtures("plan_file")
def test_without_a_terminal_and_in_the_shell_of_an_agent_nothing_is_trusted(person: Person) -> None:
    alone = person.run("trust", "plan.md")
    agent = person.run("trust", "plan.md", "--yes", **AGENT)
    person.says("import", "plan.md")

    assert (alone.code, alone.err) == (2, "tildone: confirmation requires a terminal; use --yes to skip it\n")
    assert (agent.code, agent.err) == (3, "tildone: only a person can trust a file: this is the shell of claude:c-1\n")
    assert proposed(person) == [1, 2, None]


@pytest.mark.usefixtures("plan_file")
def test_programs_can_read_the_checks_of_a_plan(person: Person) -> None:
    data = person.run("trust", "plan.md", "--yes", "--json").json

    assert (data["trusted"], data["changed"]) == (True, True)
    assert data["checks"][1] == {"number": 2, "check": {"command": ["test", "-e", "x"], "folder": "sub"}}
    assert person.run("trust", "plan.md", "--revoke", "--json").json["changed"] is True


def test_nothing_in_a_file_controls_the_terminal(person: Person, plan_file: Path) -> None:
    plan_file.write_text("- [ ] \x1b[2Jx\n  $ cat '\x1b[2J\u202e'\n", encoding="utf-8")

    said = person.says("trust", "plan.md", "--yes")

    assert "\x1b" not in said
    assert "\u202e" not in said


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
        ("", "fleet", "work", "--allow", "*", "--until-idle"),
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
