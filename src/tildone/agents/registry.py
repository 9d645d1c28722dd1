"""The registry of agents: one small file per agent, in one folder per project.

Theory of operation. Hooks and MCP servers are separate processes that may run at the same moment. Each record is a JSON
file that is replaced as a whole (write to a temporary file, then rename), so a reader sees the old record or the new
one, never a part. Writers are not serialized: the last one wins. That is safe because only the processes of one agent
write its record, and facts that several of them write at the same time are separate files, called *notes*. Only the
choice of a session depends on other records, and it is made under a lock (`tildone.agents.assignment`).

A record that cannot be parsed is treated as missing: the agent is registered again, and its plan is not affected.

A record stays for a month, and few agents are at work. Those that may be are listed in a folder of markers
(`tildone.agents.live`), so that no hook reads the records of all agents that there have been.
"""

from __future__ import annotations

import os
import sys

from tildone.agents.identity import AgentId, digest
from tildone.agents.processes import is_running, start_time
from tildone.errors import StoreError
from tildone.log.json_scanner import parse, quoted
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.agents.live import LiveMarkers
    from tildone.log.usage import AgentUsage

FRESH_FOR_MS = 3_600_000
"""How long a record is valid without renewal, and how long an agent without a known process counts as active."""

ACTIVE_FOR_MS = 7 * 24 * 3_600_000
"""How long an agent counts as active after its last renewal while its process runs."""

REMOVED_AFTER_MS = 30 * 24 * 3_600_000
EXPIRY_EVERY_MS = 24 * 3_600_000

CALLER_NOTE = "caller"
"""Name of a note about a process that runs several agents: the id of the one that is about to call a tool."""

MODEL_NOTE = "model"
"""Name of a note: the agent's model, which many agents report in some of their events only."""

USAGE_NOTE = "usage"
"""Name of a note: what the agent's conversation has used so far, as JSON (`tildone.log.usage`)."""

LIST_NOTE = "list"
"""Name of a note: the todo list that the model keeps with a tool of its coding agent. It outlives the record."""

CLAIM_NOTE = "claim"
"""Name of a note: when the agent's claims have to be renewed, in milliseconds since 1970; empty if it has none."""

SUBAGENT_MARK = "#sub:"
"""Separates the session of an agent from the id of its subagent in the name of the subagent's session."""

_RECORD = ".json"
_FIELD_TYPES = (str, str, int, int, int)


@value
class Agent:
    """An agent and its session: the plan it works on.

    `reader` is the name under which the store records which head of the session its model has seen. The agent keeps it
    under another identity, and gets a new one when its model loses its context. `last_active` is in milliseconds since
    1970. `started` is the start time of its process, which distinguishes it from a later process with the same id; 0 if
    unknown.
    """

    id: AgentId
    session: str
    reader: str = ""
    pid: int = 0
    last_active: int = 0
    started: int = 0

    @property
    def is_subagent(self) -> bool:
        """Whether it is a subagent, whose list is below the plan of another agent (`tildone.agents.subagents`)."""
        return SUBAGENT_MARK in self.session

    def is_fresh(self, pid: int, now: int) -> bool:
        """Return whether the record is recent and belongs to process `pid` (0: unknown): it needs no renewal."""
        return pid in (0, self.pid) and now - self.last_active < FRESH_FOR_MS

    def is_gone(self, now: int) -> bool:
        """Return whether it is certainly not active, and will not be again before its record is renewed."""
        if now - self.last_active >= ACTIVE_FOR_MS:
            return True
        return not self.is_active(now) and (not self.pid or sys.platform != "win32")

    def is_active(self, now: int) -> bool:
        """Return whether its process runs; if that cannot be determined, whether the record is recent."""
        if not self.pid or sys.platform == "win32":
            return now - self.last_active < FRESH_FOR_MS
        if now - self.last_active >= ACTIVE_FOR_MS or (self.started and start_time(self.pid) != self.started):
            return False
        return is_running(self.pid)


def new_reader(agent_id: AgentId, now: int) -> str:
    """Return the name of a reader that has seen nothing: of a new agent, or of one whose model lost its context."""
    return f"{agent_id}@{now}"


def is_due(note: str, now: int) -> bool:
    """Return whether the claims of an agent have to be renewed, according to the note about it."""
    return note != "" and (not note.isdecimal() or now >= int(note))


class AgentRegistry:
    """The agents of one project, in a folder that all projects share."""

    def __init__(self, folder: str, project: str) -> None:
        self.folder = os.path.join(folder, digest(project))
        self.project = project

    def get(self, agent_id: AgentId) -> Agent | None:
        """Return the agent with that identity, if it is registered."""
        return _load(self._path(agent_id))

    def all(self) -> Iterator[Agent]:
        """Yield every registered agent, with subagents."""
        for name in self._names():
            agent = _load(os.path.join(self.folder, name)) if name.endswith(_RECORD) else None
            if agent is not None:
                yield agent

    def is_empty(self) -> bool:
        """Return whether no agent is registered."""
        try:
            with os.scandir(self.folder) as entries:
                return not any(entry.name.endswith(_RECORD) for entry in entries)
        except OSError:
            return True

    def live(self, now: int) -> Iterator[Agent]:
        """Yield the agents that may be at work: all but those whose process or time has certainly ended."""
        markers = self._live
        for name in markers.names(self._all_names):
            path = os.path.join(self.folder, name + _RECORD)
            agent = _load(path)
            if agent is not None and not agent.is_gone(now):
                yield agent
                continue
            markers.remove(name)
            # Its own process may have renewed the record since it was read.
            renewed = _load(path)
            if renewed is not None and renewed != agent and not renewed.is_gone(now):
                markers.add(name)
                yield renewed

    def active(self, now: int) -> Iterator[Agent]:
        """Yield the agents that are active, as far as that can be determined, without subagents."""
        return (agent for agent in self.live(now) if not agent.is_subagent and agent.is_active(now))

    def save(self, agent: Agent) -> None:
        """Write an agent's record, replacing the one it had.

        Raises:
            StoreError: it cannot be written.
        """
        self._write(self._path(agent.id), _encode(agent))
        # After the record: whoever removes the marker of an agent looks at its record once more.
        try:
            markers = self._live
            markers.names(self._all_names)
            markers.add(digest(str(agent.id)))
        except OSError as error:
            raise StoreError(f"cannot write in {self.folder}: {error.strerror}") from error

    def remove(self, agent_id: AgentId) -> None:
        """Remove an agent's record and notes, but neither its plan nor what a resumed conversation still needs."""
        own = digest(str(agent_id))
        for name in self._names():
            if name.partition(".")[0] == own and name != f"{own}.{LIST_NOTE}":
                _remove_file(os.path.join(self.folder, name))

    def release(self, agent: Agent) -> None:
        """Record that an agent has ended. If it has a session of its own, its record stays for a later resume."""
        if agent.session == self.project:
            self.remove(agent.id)
        else:
            self.save(replace(agent, pid=0, last_active=0, started=0))

    def note(self, agent_id: AgentId, name: str) -> str:
        """Return a note about an agent; empty if there is none."""
        try:
            with open(self._path(agent_id, f".{name}"), encoding="utf-8") as file:
                return file.read()
        except (OSError, ValueError):
            return ""

    def cost(self, agent_id: AgentId) -> float:
        """Return what an agent's conversation has cost so far, in dollars; 0 if that is unknown."""
        usage = self.usage(agent_id)
        return (usage.cost if usage else None) or 0.0

    def usage(self, agent_id: AgentId) -> AgentUsage | None:
        """Return what an agent's conversation has used so far; None if that is unknown."""
        text = self.note(agent_id, USAGE_NOTE)
        if not text:
            return None
        from tildone.log.usage import usage_of_text  # noqa: PLC0415  few agents tell what they use

        return usage_of_text(text)

    def set_note(self, agent_id: AgentId, name: str, text: str) -> None:
        """Write a note about an agent, in a separate file.

        Raises:
            StoreError: it cannot be written.
        """
        if text != self.note(agent_id, name):
            self._write(self._path(agent_id, f".{name}"), text)

    def take_note(self, agent_id: AgentId, name: str) -> str:
        """Return a note about an agent, and remove it; empty if there is none."""
        text = self.note(agent_id, name)
        if text:
            _remove_file(self._path(agent_id, f".{name}"))
        return text

    def remove_expired(self, now: int) -> None:
        """Remove records and notes that are older than `REMOVED_AFTER_MS`; at most once a day, as it reads them all."""
        if not self._live.is_due(EXPIRY_EVERY_MS, now):
            return
        for name in self._names():
            path = os.path.join(self.folder, name)
            try:
                expired = os.stat(path).st_mtime * 1000 < now - REMOVED_AFTER_MS
            except OSError:
                continue
            if expired and not name.startswith("."):
                _remove_file(path)

    @property
    def _live(self) -> LiveMarkers:
        # Late, because a hook with nothing to say needs to know of no other agent.
        from tildone.agents.live import LiveMarkers  # noqa: PLC0415  see above

        return LiveMarkers(self.folder)

    def _all_names(self) -> list[str]:
        return [name.removesuffix(_RECORD) for name in self._names() if name.endswith(_RECORD)]

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.folder))
        except OSError:
            return []

    def _path(self, agent_id: AgentId, suffix: str = _RECORD) -> str:
        return os.path.join(self.folder, digest(str(agent_id)) + suffix)

    def _write(self, path: str, text: str) -> None:
        # Late, because most hooks write nothing.
        from tildone.files.atomic import replace_file  # noqa: PLC0415  see above
        from tildone.files.private import PRIVATE_FILE, make_private_folder  # noqa: PLC0415  see above

        try:
            make_private_folder(self.folder)
            # Not durable: after a power failure, no agent is running, and an fsync would delay every hook.
            replace_file(path, text.encode(), mode=PRIVATE_FILE, durable=False)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error


def _encode(agent: Agent) -> str:
    return (
        f'{{"key":{quoted(str(agent.id))},"session":{quoted(agent.session)},"reader":{quoted(agent.reader)},'
        f'"pid":{agent.pid},"at":{agent.last_active},"born":{agent.started}}}'
    )


def _load(path: str) -> Agent | None:
    try:
        with open(path, encoding="utf-8") as file:
            record = parse(file.read())
        # Records of earlier versions have no reader.
        reader = record.get("reader", record["key"])
        fields = (record["session"], reader, record["pid"], record["at"], record.get("born", 0))
        agent = Agent(AgentId.parse(record["key"]), *fields)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    valid = all(isinstance(field, expected) for field, expected in zip(fields, _FIELD_TYPES, strict=True))
    return agent if valid else None


def _remove_file(path: str) -> None:
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreError(f"cannot remove {path}: {error.strerror}") from error
