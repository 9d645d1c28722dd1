"""What a host says on standard input, read by its table. Nothing in it is taken to be there, or of the right kind."""

from __future__ import annotations

import os

from tildone.agents.identity import agent_id
from tildone.log.json_scanner import SPACE, parse
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.agents.identity import AgentId
    from tildone.hooks.hosts import Host

MOST = 32_000_000
"""How many bytes are listened to. More than that are read, and make no sense."""

PIECE = 1 << 16
TRIES = 16
"""How often an end is taken for the end of all: it may be that of a part."""

PERSONS = ("user", "sdk", "")
"""Where a prompt comes from that a person gave, if its host says so; the rest comes from timers and events."""

FINISHED = frozenset({"completed", "complete", "done", "failed", "error", "killed", "stopped", "cancelled", "canceled"})


@value
class HookEvent:
    """One event: from which host, what it calls it and what we do, and all that it said."""

    host: Host
    event: str
    moment: str
    said: Mapping[str, Any]
    environ: Mapping[str, str]

    def get(self, field: str) -> object:
        """What was said under the name that the host has for one of our fields; None if nothing was."""
        for path in self.host.fields[field].split():
            found = _at(self.said, path)
            if found is not None:
                return found
        return None

    def text(self, field: str) -> str:
        """The same, where a text is meant; empty if there is none."""
        found = self.get(field)
        return found if isinstance(found, str) else ""

    def agent_id(self, pid: int) -> AgentId:
        """The identity of the agent: its conversation if the event or the environment names it, else its process."""
        conversation = self.text("session") or self.environ.get(self.host.environ.get("session", ""), "")
        return agent_id(self.host.name, conversation, pid)

    @property
    def folder(self) -> str:
        """Where the agent is at work: the project that its host has open, if it is there."""
        here = self.text("cwd") or os.getcwd()
        project = self.environ.get(self.host.environ.get("project", ""), "")
        return project if project and _is_below(here, project) else here

    @property
    def from_person(self) -> bool:
        """Whether a prompt is a person's, as far as can be told."""
        return self.text("prompt").strip() != "" and self.text("source") in PERSONS

    @property
    def beside_the_plan(self) -> bool:
        """Whether this is not about the plan's own work: a subagent's, or an agent's that may only make plans."""
        return self.text("agent") != "" or self.text("mode") == "plan"

    @property
    def busy(self) -> bool:
        """Whether something runs, or will come, that wakes the agent up by itself."""
        tasks, crons = self.get("tasks"), self.get("crons")
        running = [
            task
            for task in (tasks if isinstance(tasks, list) else ())
            if isinstance(task, dict) and task.get("status") not in FINISHED
        ]
        return bool(running) or (isinstance(crons, list) and bool(crons))


def _at(said: object, path: str) -> object:
    for name in path.split("."):
        if isinstance(said, dict):
            said = said.get(name)
        elif isinstance(said, list) and name.isdecimal() and int(name) < len(said):
            said = said[int(name)]
        else:
            return None
    return said


def _is_below(folder: str, project: str) -> bool:
    return os.path.join(os.path.realpath(folder), "").startswith(os.path.join(os.path.realpath(project), ""))


def read(file: int) -> Mapping[str, Any] | None:
    """What is said on an open file: an object, once it is whole. None where nothing is said at all.

    Not every host closes what it writes to, so the end of the file is not waited for.

    Raises:
        ValueError: something else is said, or too much of it.
    """
    heard = bytearray()
    size = tries = 0
    while piece := os.read(file, PIECE):
        size += len(piece)
        if size <= MOST:
            heard += piece
        else:
            heard.clear()
        if piece.rstrip().endswith(b"}") and tries < TRIES:
            tries += 1
            try:
                return _object(heard)
            except ValueError:
                continue
    if size > MOST:
        raise ValueError("that was too much to listen to")
    return _object(heard) if heard.strip() else None


def _object(heard: bytearray) -> Mapping[str, Any]:
    found = parse(heard.decode("utf-8-sig", "replace").strip(SPACE))
    if isinstance(found, dict):
        return found
    raise ValueError("what was said is no JSON object")
