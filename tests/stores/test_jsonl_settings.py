"""`jsonl:FOLDER` as the address of a store, in every place that takes one and with every command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite.forking import PROGRAM
from tests.trusted import write_trusted
from tildone.app.opening import dialect_of_session, open_session, open_store
from tildone.app.settings import Settings, load
from tildone.base.errors import StoreError, UsageError
from tildone.plan.dialects import BY_HAND
from tildone.run.hosting import open_conversations
from tildone.stores import parse_address
from tildone.stores.pi.store import JsonlStore


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "data")}


def test_a_relative_folder_is_resolved_where_it_was_set(tmp_path: Path, home: dict[str, str]) -> None:
    """Against the folder of the settings file, else against the working folder; a tilde is the home folder."""
    deep = tmp_path / "deep"
    deep.mkdir()
    (tmp_path / ".git").mkdir()
    write_trusted(tmp_path / "tildone.toml", 'store = "jsonl:plans"\n', home)

    assert str(load({}, home, str(deep)).store) == f"jsonl:{tmp_path / 'plans'}"
    assert str(load({}, home | {"TILDONE_STORE": "jsonl:../mine"}, str(deep)).store) == f"jsonl:{tmp_path / 'mine'}"
    assert str(load({"store": "jsonl:~/x"}, home, str(deep)).store) == "jsonl:" + os.path.expanduser(
        os.path.join("~", "x")
    )


def test_a_store_without_a_folder_is_refused(tmp_path: Path, home: dict[str, str]) -> None:
    """Session files are not created in whatever the working folder is."""
    with pytest.raises(UsageError, match="jsonl: needs a path after the colon"):
        load({"store": "jsonl:"}, home, str(tmp_path))


def test_the_configured_store_is_opened(tmp_path: Path) -> None:
    """It can read the plans of every dialect."""
    settings = Settings(store=parse_address(f"jsonl:{tmp_path}"), session="s", project="/p")
    header = {"type": "session", "version": 3, "id": "s"}
    told = {"role": "toolResult", "toolName": "todo_write", "details": {"phases": [{"name": "A", "tasks": []}]}}
    entry = {"type": "message", "id": "r", "parentId": None, "message": told}
    (tmp_path / "any.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n", encoding="utf-8")

    store = open_store(settings)

    assert isinstance(store, JsonlStore)
    assert dialect_of_session(settings, store).name == "phased"
    assert [phase.name for phase in open_session(settings, BY_HAND, store).plan.phases] == ["A"]


def test_a_file_instead_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")

    with pytest.raises(StoreError, match="cannot open"):
        open_store(Settings(store=parse_address(f"jsonl:{tmp_path / 'file'}"), session="s", project="/p"))


def test_conversations_are_not_stored_in_the_folder_of_plans(tmp_path: Path) -> None:
    """Each would take the entries of the other for an abandoned branch."""
    settings = Settings(store=parse_address(f"jsonl:{tmp_path}"), session="s", project="/p", session_dir=str(tmp_path))

    with pytest.raises(UsageError, match="can't be both the store and the session-dir"):
        open_conversations(settings, str(tmp_path))
    open_conversations(settings, str(tmp_path), kept=False)


def test_a_command_loads_no_other_kind_of_store(tmp_path: Path) -> None:
    """Nor any module that is slow to import."""
    run = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), sep='\\n', file=sys.stderr))
sys.argv[1:] = ['call', 'write_todos', '{"mode": "replace", "todos": [{"text": "one"}]}']
from tildone.cli import main
sys.exit(main())
"""
    environ = os.environ | {"TILDONE_STORE": f"jsonl:{tmp_path}", "TILDONE_SESSION": "s"}

    answer = subprocess.run([sys.executable, "-I", "-c", run], env=environ, capture_output=True, text=True, check=True)

    heavy = {"apsw", "argparse", "asyncio", "contextlib", "datetime", "inspect", "logging", "pathlib", "typing"}
    assert {name.split(".")[0] for name in answer.stderr.split()} & heavy == set()
    assert "tildone.stores.pi.examination" not in answer.stderr
    assert len(list(tmp_path.glob("*.jsonl"))) == 1


def test_commands_work_on_a_session_of_pi(tmp_path: Path) -> None:
    """The plan that an agent in pi wrote is shown, edited and undone; the conversation stays."""
    trace = Path(__file__).parents[1] / "traces" / "early-stop.json"
    [recorded] = json.loads(trace.read_text(encoding="utf-8"))["session_files"]
    text = "".join(f"{json.dumps(entry)}\n" for entry in recorded["entries"])
    (tmp_path / "pi.jsonl").write_text(text, encoding="utf-8")
    environ = os.environ | {"TILDONE_STORE": f"jsonl:{tmp_path}", "TILDONE_SESSION": recorded["entries"][0]["id"]}

    def says(*words: str) -> str:
        done = subprocess.run([PROGRAM, *words], env=environ, capture_output=True, text=True, check=True, timeout=60)
        return done.stdout

    shown = says("todo")
    says("todo", "append", "Write a test")
    changed = says("todo")
    says("undo")

    assert "Write schema" in shown
    assert "Write a test" in changed
    assert says("todo") == shown
    assert (tmp_path / "pi.jsonl").read_text(encoding="utf-8").startswith(text)
