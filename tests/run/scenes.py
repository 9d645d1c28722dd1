"""What the tests of runs share: plans, what a session file says, and a model's address in the environment."""

import json
from pathlib import Path
from typing import Any

from tests.cli.person import Person
from tests.host.models.wire import Turn, Wire

CHAT, ANTHROPIC = "openai-chat:scripted", "anthropic:scripted"
EVERYTHING = ("--allow", "*")

WRITE: Turn = {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}, {"text": "Two"}]}}


def plan(person: Person, text: str, name: str = "plan.md") -> str:
    """A plan in the person's folder; its name."""
    (person.folder / name).write_text(text, encoding="utf-8")
    return name


def address(wire: Wire) -> dict[str, str]:
    """The environment in which both providers are this one."""
    return {
        "OPENAI_BASE_URL": f"{wire.url}/v1",
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": wire.url,
        "ANTHROPIC_API_KEY": "none",
    }


def records(out: str) -> list[dict[str, Any]]:
    """One JSON object a line."""
    return [json.loads(line) for line in out.splitlines()]


def conversations(person: Person) -> list[Path]:
    """The session files, oldest first."""
    return sorted(person.home.rglob("*.jsonl"))


def entries(file: Path) -> list[dict[str, Any]]:
    """What a session file holds, its header first."""
    return records(file.read_text(encoding="utf-8"))


def statuses(person: Person, session: str) -> str:
    """The plan of a session, as signs."""
    shown = person.says("todo", "--session", session)
    return "".join(line.strip()[0] for line in shown.splitlines() if " [" in line)
