"""`docs/reference/json.md` lists the keys that `--json` prints."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.project.blocks import Reader
from tests.project.source import ROOT

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Someone with a plan of three tasks, one of them closed."""
    reader = Reader(tmp_path)
    reader.outputs(['tildone todo add "Write it" "Test it" "Ship it"', "tildone todo done 1"])
    return reader


def keys_of(section: str) -> set[str]:
    """Return the keys that a section names, and those of every event."""
    sections = [
        PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0] for heading in (section, "Events and authors")
    ]
    return set(re.findall(r"`(\w+)`", " ".join(sections)))


def keys_in(data: Any) -> set[str]:
    """Return the keys of an object and of all objects in it."""
    if isinstance(data, list):
        return {key for item in data for key in keys_in(item)}
    return set(data).union(*map(keys_in, data.values())) if isinstance(data, dict) else set()


COMMANDS = (
    "todo",
    "log",
    "stats",
    "blame",
    "diff",
    "branch",
    "label",
    "sessions",
    "status",
    "extensions --extension e.py",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_key_that_a_command_prints_is_documented(command: str, reader: Reader) -> None:
    (reader.home / "e.py").write_text("def extension(api): ...\n", encoding="utf-8")
    [line] = reader.outputs([f"tildone {command} --json"])
    data = json.loads(line)
    command = command.partition(" ")[0]

    assert data["version"] == 1
    assert keys_in(data) - keys_of(f"`tildone {command}`") - {"version", "session", "number", "text", "phase"} == set()


CHECKS = [
    "tildone todo check 2 --seconds 9 --retries 1 --folder . --watch '*' -- test -f tested",
    "tildone todo check --plan -- test -f tested",
    "tildone todo after 3 2",
    "tildone todo touches 3 docs",
    "tildone verify 2 --plan --json || true",
]


@pytest.mark.parametrize("command", ["todo", "todo next", "todo done 2", "todo check", "verify 2", "approve"])
def test_every_key_of_checks_and_of_the_order_is_documented(command: str, reader: Reader) -> None:
    reader.outputs(CHECKS)
    [line] = reader.outputs([f"tildone {command} --json 2> problems.txt || true"])

    found = keys_in(json.loads(line))
    assert found - keys_of("`tildone todo`") == set()
    assert command in ("todo next", "approve") or {"check", "proof", "approved"} <= found
