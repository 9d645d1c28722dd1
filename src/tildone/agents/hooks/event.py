"""A hook event: the JSON that a coding agent writes to standard input, read through its integration's field names.

Also what hooks remember of a conversation from one event to the next (`Remembered`).

The JSON comes from another program in any of its versions, so no field is assumed to be present or of the right type.
"""

from __future__ import annotations

import os
import stat
import sys

from tildone.agents.integrations import HookPoint
from tildone.base import TYPE_CHECKING, value
from tildone.base.json import WHITESPACE, parse
from tildone.stores.agents import CONTINUED_NOTE, AgentId, agent_id, agent_process, digest, marks_shell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tildone.agents.integrations import Field, Hooks, Integration
    from tildone.stores.agents import AgentRegistry


MAX_STDIN_BYTES = 32_000_000
"""Longer input is refused, after it has been read to its end so that the writer does not fail."""

CHUNK_BYTES = 1 << 16
MAX_EARLY_PARSES = 16
"""How often a chunk that ends in `}` is parsed as if the input ended there; the brace may end an inner object."""

BYTE_ORDER_MARK = "\ufeff"
MAX_MODEL_CHARS = 100

OUR_TOOLS = "tildone"
"""Part of our tools' names in agents that prefix a tool with the name of its MCP server."""

PERSON_SOURCES = ("user", "sdk", "")
"""The sources of prompts that a person typed. Agents that report a source have others for timers and events."""

FINISHED = ("completed", "complete", "done", "failed", "error", "killed", "stopped", "cancelled", "canceled")
"""The statuses of a background task that no longer runs."""

PLANNING = ("plan", "spec")
"""The permission modes in which an agent writes a plan, in Factory Droid under the second name."""

FORK = "fork"
"""The source of a conversation that was forked from another one."""

SUBAGENT_TASK = "subagent"
"""The type of a background task that is a subagent."""


@value
class HookEvent:
    """One event: the coding agent, its own name of the event, the point in its work, and the JSON it sent."""

    integration: Integration
    hooks: Hooks
    name: str
    point: HookPoint
    payload: Mapping[str, Any]
    environ: Mapping[str, str]

    def get(self, field: Field) -> object:
        return field_in(self.payload, self.hooks, field)

    def text(self, field: Field) -> str:
        """Return the value of a field that is text; empty if the agent sent none."""
        content = self.get(field)
        return content if isinstance(content, str) else ""

    @property
    def is_of_our_tool(self) -> bool:
        return OUR_TOOLS in self.text("tool")

    def agent_id(self, pid: int) -> AgentId:
        """Return the identity of the agent: its conversation, or else its process."""
        conversation = self.text("conversation") or self.environ.get(self.hooks.conversation_variable, "")
        return agent_id(self.integration.name, conversation, pid)

    @property
    def process(self) -> int:
        """The agent's process: the one that the agent names in the environment, or else the one that started the hook.

        The MCP server of an agent that names it goes by the same variable. 0 if the process cannot be determined.
        """
        client = self.integration.mcp
        named = self.environ.get(client.process_variable, "") if client is not None else ""
        if named.isdecimal():
            return int(named)
        # On Windows the parent process is a shell, a new one for each hook.
        return 0 if sys.platform == "win32" else agent_process((self.integration.executable,))

    @property
    def model(self) -> str:
        return self.text("model")[:MAX_MODEL_CHARS]

    @property
    def folder(self) -> str:
        """The folder the agent works in: its open project if that contains the working folder, else the latter."""
        cwd = self.text("cwd") or os.getcwd()
        project = self.environ.get(self.hooks.project_variable, "")
        if not project:
            return cwd
        inner, outer = (os.path.join(os.path.realpath(each), "") for each in (cwd, project))
        return project if inner.startswith(outer) else cwd

    @property
    def from_person(self) -> bool:
        """Whether a prompt appears to have been typed by a person, not by a model that runs the hook in its shell."""
        prompt = self.text("prompt").strip()
        is_own = prompt.startswith(self.hooks.own_prompts)
        return prompt != "" and not is_own and not marks_shell(self.environ) and self.text("source") in PERSON_SOURCES

    @property
    def is_fork(self) -> bool:
        """Whether the event says that the conversation began as a copy of another one."""
        return self.text("source") == FORK or self.text("forked_from") != ""

    @property
    def in_plan_mode(self) -> bool:
        """Whether the agent is planning, and therefore not working on the plan."""
        return self.text("permission_mode") in PLANNING

    @property
    def is_unattended(self) -> bool:
        """Whether the agent is known to run without a person at its interface, and then shows no notices."""
        variable, attended = self.hooks.attended_if
        return variable != "" and self.environ.get(variable, attended) != attended

    @property
    def ends_unattended(self) -> bool:
        return self.point is HookPoint.SESSION_END and self.is_unattended

    @property
    def can_warn(self) -> bool:
        """Whether the agent shows the person what a hook writes to standard error now, if it ends with a warning."""
        return self.point in self.hooks.warnings_at

    @property
    def max_continuations(self) -> int | None:
        """How often in a row the agent goes on because a hook asks for it; None without a limit."""
        limit = self.hooks.continuation_limit
        return None if limit is None else limit.read(self.environ.get(limit.variable, ""))

    @property
    def will_wake(self) -> bool:
        """Whether a background task or a timer will wake the agent by itself; a subagent is not woken by subagents."""
        tasks, timers = self.get("background_tasks"), self.get("scheduled_tasks")
        ignored = SUBAGENT_TASK if self.text("subagent") else None
        running = [
            task
            for task in (tasks if isinstance(tasks, list) else ())
            if isinstance(task, dict) and task.get("status") not in FINISHED and _task_type(task) != ignored
        ]
        return bool(running) or (isinstance(timers, list) and bool(timers))


def _task_type(task: Mapping[str, Any]) -> object:
    """Return the type of a background task. Some agents tell it of no task, but the kind of agent of a subagent."""
    return task.get("type", SUBAGENT_TASK if "agent_type" in task else "")


def field_in(payload: Mapping[str, Any], hooks: Hooks, field: Field) -> object:
    for path in hooks.fields[field].split():
        content = at_path(payload, path)
        if content is not None:
            return content
    return None


def read(file: int) -> Mapping[str, Any] | None:
    """Read a JSON object but not beyond it, as some agents keep the pipe open; return None for white space only."""
    received = bytearray()
    size = parses = 0
    while chunk := os.read(file, CHUNK_BYTES):
        size += len(chunk)
        if size <= MAX_STDIN_BYTES:
            received += chunk
        else:
            received.clear()
        if chunk.rstrip().endswith(b"}") and parses < MAX_EARLY_PARSES:
            parses += 1
            try:
                return _object(received)
            except ValueError:
                continue
    if size > MAX_STDIN_BYTES:
        raise ValueError(f"standard input is longer than {MAX_STDIN_BYTES:,} bytes")
    return _object(received) if received.strip() else None


def _object(received: bytearray) -> Mapping[str, Any]:
    # Removed by hand, because the codec that does it is one more module to import.
    payload = parse(received.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK).strip(WHITESPACE))
    if isinstance(payload, dict):
        return payload
    raise ValueError("standard input is not a JSON object")


def at_path(payload: object, path: str) -> object:
    """Return what is at a path such as `a.b`; None if there is nothing."""
    for name in path.split("."):
        if isinstance(payload, dict):
            payload = payload.get(name)
        elif isinstance(payload, list) and name.isdecimal() and int(name) < len(payload):
            payload = payload[int(name)]
        else:
            return None
    return payload


VARIABLES = ("XDG_RUNTIME_DIR", "TMPDIR", "TEMP")
FOLDERS = ("/tmp", "/dev/shm")  # noqa: S108  files are created exclusively, in a folder of the user
MAX_BYTES = 10_000
PENDING = "pending"
"""The name of a notice that is kept until the agent shows it."""


class Remembered:
    """What hooks remember about the conversation of one agent, by name: small files in a folder for temporary ones.

    These facts are needed when the store or the whole data folder cannot be used, so they are not kept there. The first
    folder that can be written is used: `$XDG_RUNTIME_DIR`, the folder for temporary files, or shared memory, which are
    rarely all full at once. They are lost at a restart of the machine, which ends every conversation.
    """

    def __init__(self, environ: Mapping[str, str], agent_id: AgentId) -> None:
        self._environ = environ
        self._key = digest(str(agent_id))

    def is_new(self, name: str) -> bool | None:
        """Remember a fact; return whether it was unknown. None means that it cannot be remembered."""
        if self.knows(name):
            return False
        return True if self._create(name, b"") else None

    def knows(self, name: str) -> bool:
        return any(os.path.exists(path) for path in self._paths(name))

    def leave(self, name: str, text: str) -> None:
        """Remember a text under a name, unless there is one already or nothing can be written."""
        if not self.knows(name):
            self._create(name, text.encode("utf-8", "backslashreplace")[:MAX_BYTES])

    def take(self, name: str) -> str:
        """Return the text under a name and forget it; empty if there is none."""
        for path in self._paths(name):
            try:
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read(MAX_BYTES)
                os.remove(path)
            except OSError:
                continue
            return text
        return ""

    def _create(self, name: str, content: bytes) -> bool:
        # Late, because most hooks only look.
        from tildone.base.private import make_private_folder, open_private

        for path in self._paths(name):
            try:
                make_private_folder(os.path.dirname(path))
                file = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            except OSError:
                continue
            try:
                if os.write(file, content) == len(content):
                    return True
            except OSError:
                os.remove(path)
            finally:
                os.close(file)
        return False

    def _paths(self, name: str) -> Iterator[str]:
        user = os.getuid() if hasattr(os, "getuid") else 0
        for folder in (*map(self._environ.get, VARIABLES), *FOLDERS):
            if folder and os.path.isdir(folder):
                own = os.path.join(folder, f"tildone-{user}")
                if _is_usable(own, user):
                    yield os.path.join(own, f"{self._key}.{name}")


def remembered(event: HookEvent, pid: int) -> Remembered | None:
    """Return what hooks remember about the conversation of an event; None if it is not known."""
    agent_id = event.agent_id(pid)
    return None if agent_id.is_unknown else Remembered(event.environ, agent_id)


def postponed_notice(event: HookEvent, pid: int) -> str:
    """Return the notice that was postponed until now; empty if there is none."""
    about = remembered(event, pid)
    return about.take(PENDING) if about is not None else ""


def _is_usable(folder: str, user: int) -> bool:
    """Return whether a folder belongs to the user or does not exist: others may create one of that name first."""
    try:
        found = os.lstat(folder)
    except OSError:
        return True
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user


def begin_row(event: HookEvent, agents: AgentRegistry, agent_id: AgentId) -> None:
    """Forget how often in a row the agent has gone on, if it begins to count again at this event."""
    limit = event.hooks.continuation_limit
    if limit is None:
        return
    is_prompt = event.point is HookPoint.PROMPT and event.from_person and not event.hooks.echoes_nudges
    if is_prompt or (event.point is HookPoint.BEFORE_TOOL and not limit.per_prompt):
        agents.take_note(agent_id, CONTINUED_NOTE)
