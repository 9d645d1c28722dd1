"""Time of a hook, which runs at every stop and tool call of an agent, against a Python process that does nothing."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench.cold import BASE, command
from bench.measure import Row, medians
from tildone.app.opening import open_session
from tildone.app.settings import Settings, load
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Everything, Mark
from tildone.stores.assignment import ProvidedTools
from tildone.stores.sqlite.store import SqliteStore

SILENT, SPEAKING = 2.5, 5.0


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """Three hooks that print nothing, which is the common case, and one that continues the agent."""
    none, done, todo = (project(folder / name) for name in ("none", "done", "todo"))
    acts: list[tuple[str, float, Callable[[], object]]] = [
        ("cold: hook Stop, no plan", SILENT, hook(folder, none, "Stop")),
        ("cold: hook Stop, all done", SILENT, hook(folder, done, "Stop")),
        ("cold: hook PreToolUse, nothing to say", SILENT, hook(folder, todo, "PreToolUse")),
        ("cold: hook Stop, told to go on", SPEAKING, hook(folder, todo, "Stop")),
    ]
    plan(folder, done, Status.COMPLETED)
    plan(folder, todo, Status.PENDING)
    # This process is the coding agent, and its model has our tools.
    with ProvidedTools(load({}, environ(folder), str(todo)).agents_dir, os.getpid()):
        bare, *taken = medians(
            [command(environ(folder), sys.executable, "-I", "-c", "pass"), *(a for *_, a in acts)], rounds
        )
    for (name, aim, _), took in zip(acts, taken, strict=True):
        yield Row(name, BASE, aim, took, bare)


def project(folder: Path) -> Path:
    """An empty git repository; an empty folder if there is no git, which makes the hooks a little faster."""
    folder.mkdir()
    git = shutil.which("git")
    if git is not None:
        subprocess.run([git, "init", "-q"], cwd=folder, check=True)
    return folder


def plan(folder: Path, where: Path, status: Status) -> None:
    """Ten tasks, all of one status."""
    settings: Settings = load({}, environ(folder), str(where))
    session = open_session(settings, BY_HAND, SqliteStore(settings.store.location))
    tasks = tuple(Task(f"Task number {number} of a plan of ten") for number in range(10))
    session.change((Append(tasks), Mark(Everything(), status)))
    session.store.close()


def hook(folder: Path, where: Path, event: str, session: str = "") -> Callable[[], object]:
    """Run the hook as Claude Code does, on the project's session or the one of that name."""
    payload = {"session_id": session or where.name, "cwd": str(where), "hook_event_name": event, "tool_name": "Bash"}
    words, given = [str(Path(sys.executable).with_name("tildone")), "hook", "claude"], json.dumps(payload).encode()
    words += ["--session", session] if session else []
    return lambda: subprocess.run(words, env=environ(folder), input=given, check=True, stdout=subprocess.DEVNULL)


def environ(folder: Path) -> Mapping[str, str]:
    """Scratch data folders, compiled bytecode, and a nudge limit that a benchmark does not reach."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("TILDONE_", "CLAUDE_"))}
    usual.pop("PYTHONDONTWRITEBYTECODE", None)
    homes = {"XDG_DATA_HOME": str(folder / "hooks"), "XDG_CONFIG_HOME": str(folder / "hooks")}
    return {**usual, **homes, "PYTHONPYCACHEPREFIX": str(folder), "TILDONE_MAX_NUDGES": "1000000"}
