"""Calls the built-in tools in a folder, under a policy, with or without a UI that answers questions."""

import asyncio
import itertools
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.host.records import SilentModel
from tildone.run.extension import UI, NoUI, PermissionAnswer, PermissionReply, PermissionRequest
from tildone.run.host import Host
from tildone.run.kit.definition import AbortSignal, OnUpdate, ToolResult
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.files import ToolFailure
from tildone.run.tools.permissions import PermissionGuard, PermissionPolicy, PlanOf
from tildone.run.transcript import Transcript
from tildone.stores.pi.session_file import header

ANY_COMMAND = PermissionPolicy(allow=("*",), allow_write=("*",))

COMMANDS = {
    kind: lines.splitlines()
    for kind, lines in tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8")).items()
}
"""Command lines by what patterns do with them."""

_durations = itertools.count(1)


class AnsweringUI(NoUI):
    """A UI that gives these answers in turn; questions after the last one stay open."""

    has_ui = True

    def __init__(self, *answers: PermissionAnswer | PermissionReply | None) -> None:
        self.answers = list(answers)
        self.requests: list[PermissionRequest] = []
        self.asked = asyncio.Event()

    @property
    def questions(self) -> list[str]:
        return ["\n".join([request.question, *request.details]) for request in self.requests]

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        self.requests.append(request)
        self.asked.set()
        await asyncio.sleep(0)
        if not self.answers:
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        return PermissionReply(answer) if isinstance(answer, PermissionAnswer) else answer


class ToolBench:
    """The built-in tools in a folder."""

    def __init__(
        self, folder: Path, policy: PermissionPolicy = ANY_COMMAND, ui: UI | None = None, plan_of: PlanOf | None = None
    ) -> None:
        self.folder = folder
        self.tools = {tool.name: tool for tool in builtin_tools(PermissionGuard(policy, plan_of))}
        self.switch_conversation("session", ui)

    def switch_conversation(self, session: str, ui: UI | None = None) -> None:
        transcript = Transcript(header(session, str(self.folder), 0), now=lambda: 0, new_id=lambda: "e")
        host = Host(model=SilentModel(), transcript=transcript, cwd=str(self.folder), now=lambda: 0, ui=ui)
        self.ctx = host.ctx

    async def call(
        self, tool: str, *, signal: AbortSignal | None = None, on_update: OnUpdate | None = None, **params: Any
    ) -> ToolResult:
        return await self.tools[tool].execute("call", params, signal, on_update, self.ctx)

    async def bash(self, command: str, **more: Any) -> ToolResult:
        return await self.call("bash", command=command, **more)

    async def read(self, path: str, **more: Any) -> str:
        """Return the text of a file."""
        return (await self.call("read", path=path, **more)).text

    async def refusal(self, tool: str, **params: Any) -> str:
        """Return why a call fails."""
        with pytest.raises(ToolFailure) as refused:
            await self.call(tool, **params)
        return str(refused.value)


def unique_duration() -> str:
    """Return a number of seconds that no other process sleeps, so that a sleeping process can be identified."""
    return f"7777.{os.getpid()}{next(_durations):04d}"


def sleeping_processes(duration: str) -> list[int]:
    return [pid for pid in _processes() if duration in _proc_strings(pid, "cmdline")]


def marked_processes(duration: str) -> list[int]:
    """Return the processes that have `MARK` with this value in their environment."""
    return [pid for pid in _processes() if f"MARK={duration}" in _proc_strings(pid, "environ")]


def size_of(path: str) -> int:
    return Path(path).stat().st_size


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _proc_strings(pid: int, kind: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/{kind}").read_text(encoding="utf-8", errors="replace").split("\0")
    except OSError:
        return []
