"""Reading creates and changes nothing, whatever the store; and a store that may only be read can be read."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import tildone
from tests.cli.person import Person
from tests.suite.forking import PROGRAM

READING = [
    [],
    ["todo"],
    ["todo", "export", "-"],
    ["log"],
    ["log", "--all", "--json"],
    ["log", "--tasks"],
    ["diff"],
    ["blame"],
    ["branch"],
    ["label"],
    ["status"],
    ["status", "--line"],
    ["status", "--json"],
    ["sessions"],
    ["sessions", "--json"],
    ["export"],
    ["export", "--as", "json"],
    ["doctor"],
    ["help"],
    ["--version"],
    ["completion", "bash"],
    ["complete-words", "zsh", "--", "todo", "done", ""],
    ["complete-words", "zsh", "--", "--session", ""],
    ["install"],
    ["prune", "--older-than", "1d", "--dry-run"],
    ["import", "plan.md", "--dry-run"],
]
MOVING = [["undo"], ["redo"], ["checkout", "root"]]


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder, with its mode and content."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("store", ["", "plans.db", "jsonl:plans"], ids=["default", "sqlite", "jsonl"])
def test_reading_creates_nothing(person: Person, store: str) -> None:
    """In an empty home, with a store that does not exist."""
    (person.folder / "plan.md").write_text("- [ ] Parse\n", encoding="utf-8")
    before = tree(person.folder.parent)
    for argv in (*READING, *MOVING):
        answer = person.run(*argv, **({"TILDONE_STORE": store} if store else {}))

        assert "Traceback" not in answer.err, argv
        assert tree(person.folder.parent) == before, argv


def test_reading_changes_no_store(person: Person) -> None:
    (person.folder / "plan.md").write_text("- [ ] Parse\n", encoding="utf-8")
    person.says("todo", "append", "Parse")
    before = tree(person.folder.parent)
    for argv in READING:
        person.run(*argv)

        assert tree(person.folder.parent) == before, argv


def test_a_hook_creates_nothing_where_there_is_no_plan(person: Person) -> None:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "StatusLine", "Stop")
    before = tree(person.folder.parent)
    for event, store in product(events, ("plans.db", "jsonl:plans")):
        payload = f'{{"hook_event_name": "{event}", "session_id": "1a2b3c4d", "tool_name": "Bash", "tool_input": {{}}}}'

        answer = person.run("hook", "claude", event, "--store", store, given=payload)

        assert (answer.code, answer.out, answer.err) == (0, "", ""), (event, store)
        assert tree(person.folder.parent) == before, (event, store)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may read."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder = Path(name, "kept # 100%?")
        folder.mkdir()
        yield folder
        folder.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_a_store_that_may_only_be_read_is_read(person: Person, public: Path) -> None:
    """File and folder are write-protected, as in a snapshot or on a read-only medium."""
    protect(person, public)
    for argv in (["todo"], ["log"], ["status"], ["sessions"], ["export"], ["blame"], ["diff"], []):
        done = as_ordinary_user(person, public, [*argv, "--store", str(public / "plans.db"), "--session", "s"])

        assert (done.returncode, done.stderr) == (0, ""), argv
        assert "Parse" in done.stdout or argv == ["sessions"], argv
        assert os.listdir(public) == ["plans.db"], argv


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_writing_to_a_store_that_may_only_be_read_is_an_error(person: Person, public: Path) -> None:
    protect(person, public)

    done = as_ordinary_user(person, public, ["todo", "append", "two", "--store", str(public / "plans.db")])

    assert done.returncode == 5
    assert done.stderr.startswith(f"tildone: {public / 'plans.db'} can't be written: ")


def protect(person: Person, folder: Path) -> None:
    person.says("todo", "append", "Parse", "--store", str(folder / "plans.db"), "--session", "s")
    (folder / "plans.db").chmod(0o444)
    folder.chmod(0o555)


def as_ordinary_user(person: Person, folder: Path, argv: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the program in a folder as a user whom permissions concern: root may write anywhere."""
    command: list[str] = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root may write anywhere, and setpriv is not installed")
        command = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        readable = "import sys; open(sys.argv[1]).close()"
        words = [*command, sys.executable, "-c", readable, tildone.__file__]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("an ordinary user may not read this installation")
    return subprocess.run(
        [*command, str(PROGRAM), *argv],
        cwd=folder,
        env=person.environment({"HOME": str(folder)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
