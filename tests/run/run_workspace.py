"""Plan files, conversation files and the environment of `tildone run` in tests."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.person import Answer, Person
from tests.host.models.model_server import ModelServer, Turn
from tests.suite.forking import PROGRAM
from tildone.plan.model import Status

CHAT, ANTHROPIC = "openai-chat:scripted", "anthropic:scripted"
ALLOW_ALL = ("--allow", "*")

ICONS = {status.icon for status in Status}

WRITE: Turn = {"tool": "write_todos", "args": {"mode": "replace", "todos": [{"text": "One"}, {"text": "Two"}]}}


def write_plan(person: Person, text: str, name: str = "plan.md") -> str:
    """Write a file to the person's folder, and return its name."""
    (person.folder / name).write_text(text, encoding="utf-8")
    return name


def provider_environment(server: ModelServer) -> dict[str, str]:
    """Return the environment variables that connect both providers to this server."""
    return {
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "none",
    }


def run_model(person: Person, *argv: str, script: Sequence[Turn], **environ: str) -> tuple[Answer, ModelServer]:
    """Run a model that answers from a script."""
    with ModelServer(*script) as server:
        return person.run("run", *argv, "--model", CHAT, **provider_environment(server) | environ), server


def edit(action: str, *indices: int) -> Turn:
    return {"tool": "edit_todos", "args": {"action": action, "indices": list(indices)}}


@contextmanager
def start(person: Person, *argv: str, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the program in a process of its own, with pipes; on exit, it is killed if it has not ended."""
    pipe, given = subprocess.PIPE, person.environment(environ)
    command = [str(PROGRAM), *argv]
    with subprocess.Popen(command, cwd=person.folder, env=given, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def json_lines(out: str) -> list[dict[str, Any]]:
    """Parse one JSON object per line."""
    return [json.loads(line) for line in out.splitlines()]


def conversation_files(person: Person) -> list[Path]:
    """Return the conversation files, oldest first."""
    return sorted(person.home.rglob("*.jsonl"))


def conversation_entries(file: Path) -> list[dict[str, Any]]:
    """Return the records of a conversation file, its header first."""
    return json_lines(file.read_text(encoding="utf-8"))


def statuses(person: Person, session: str = "") -> str:
    """Return the signs of the tasks of a session, by default of the project's."""
    shown = person.says("todo", *(("--session", session) if session else ()))
    return "".join(sign for line in shown.splitlines() if (sign := line.strip()[:1]) in ICONS)
