"""`docs/reference/json.md` lists the fields that `--json` prints."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.project.blocks import Reader
from tests.project.source import ROOT

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
COMMANDS = {
    command: re.findall(r"`(\w+)`", fields)
    for commands, fields in re.findall(r"^\| (`[^|]+) \| (`[^|]+) \|$", PAGE.split("## A task")[0], re.MULTILINE)
    for command in re.findall(r"`([^`]+)`", commands)
}


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Someone with a plan of three tasks, one of them closed."""
    reader = Reader(tmp_path)
    reader.outputs(['tildone todo add "Write it" "Test it" "Ship it"', "tildone todo done 1"])
    return reader


def fields_below(heading: str) -> list[str]:
    """Return the fields in the table below a heading."""
    rows = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [
        field for names in re.findall(r"^\| (`[^|]+) \|", rows, re.MULTILINE) for field in re.findall(r"`(\w+)`", names)
    ]


def printed(reader: Reader, command: str) -> dict[str, Any]:
    [line] = reader.outputs([f"tildone {command} --json"])
    data: dict[str, Any] = json.loads(line)
    return data


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_the_fields_that_the_page_lists(command: str, reader: Reader) -> None:
    data = printed(reader, command)

    assert list(data) == ["version", *COMMANDS[command]]
    assert data["version"] == 1


@pytest.mark.parametrize(
    ("command", "part", "heading"),
    [
        ("todo", "tasks", "A task of `todo`"),
        ("log", "events", "An event of `log`"),
        ("blame", "tasks", "A task of `blame`"),
        ("sessions", "sessions", "A session of `sessions`"),
    ],
)
def test_the_objects_have_the_fields_that_the_page_lists(command: str, part: str, heading: str, reader: Reader) -> None:
    first, *_ = printed(reader, command)[part]

    assert sorted(first) == sorted(fields_below(heading))
