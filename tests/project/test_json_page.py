"""`docs/reference/json.md` lists the keys that `--json` prints."""

import json
import re
from pathlib import Path
from typing import Any

from tests.project.blocks import Reader
from tests.project.source import ROOT

PLAN = ['tildone todo add "Write it" "Test it" "Ship it"', "tildone todo done 1"]


def keys_of(section: str) -> set[str]:
    """Return the keys that a section names, and those of every event."""
    page = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    sections = [
        page.partition(f"## {heading}\n")[2].partition("\n## ")[0] for heading in (section, "Events and authors")
    ]
    return set(re.findall(r"`(\w+)`", " ".join(sections)))


def keys_in(data: Any) -> set[str]:
    """Return the keys of an object and of all objects in it."""
    if isinstance(data, list):
        return {key for item in data for key in keys_in(item)}
    return set(data).union(*map(keys_in, data.values())) if isinstance(data, dict) else set()


NAMES = ("todo", "log", "stats", "blame", "diff", "branch", "label", "sessions", "status", "extensions")
COMMANDS = [*NAMES[:-1], "extensions --extension e.py"]


def test_every_key_that_a_command_prints_is_documented(tmp_path: Path) -> None:
    (tmp_path / "e.py").write_text("def extension(api): ...\n", encoding="utf-8")
    _, _, *lines = Reader(tmp_path).outputs([*PLAN, *(f"tildone {command} --json" for command in COMMANDS)])
    printed = dict(zip((command.partition(" ")[0] for command in COMMANDS), map(json.loads, lines), strict=True))
    everywhere = {"version", "session", "number", "text", "phase"}
    unknown = {name: keys_in(data) - keys_of(f"`tildone {name}`") - everywhere for name, data in printed.items()}

    assert [name for name, data in printed.items() if data["version"] != 1] == []
    assert {name: keys for name, keys in unknown.items() if keys} == {}


CHECKS = [
    "tildone todo check 2 --seconds 9 --retries 1 --folder . --watch '*' -- test -f tested",
    "tildone todo check --plan -- test -f tested",
    "tildone todo after 3 2",
    "tildone todo touches 3 docs",
    "tildone verify 2 --plan --json || true",
]


def test_every_key_of_checks_and_of_the_order_is_documented(tmp_path: Path) -> None:
    commands = ["todo", "todo next", "todo done 2", "todo check", "verify 2", "approve"]
    asked = [f"tildone {command} --json 2> problems.txt || true" for command in commands]
    lines = Reader(tmp_path).outputs([*PLAN, *CHECKS, *asked])[-len(asked) :]
    printed = {command: keys_in(json.loads(line)) for command, line in zip(commands, lines, strict=True)}
    shown = [keys for command, keys in printed.items() if command not in ("todo next", "approve")]

    assert set().union(*printed.values()) - keys_of("`tildone todo`") == set()
    assert set.intersection(*shown) >= {"check", "proof", "approved"}
