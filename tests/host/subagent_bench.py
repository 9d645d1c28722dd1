"""A host with the task tool, and a model with a script for the agent and for each of its subagents."""

import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from tests.host import records
from tests.host.records import Json
from tildone.base import replace
from tildone.run.events import AnswerDone, StreamEvent
from tildone.run.extension import NoUI
from tildone.run.host import Host
from tildone.run.kit.definition import AbortSignal, ToolDefinition
from tildone.run.messages import Cost, StopReason, TextBlock, ToolResultMessage, Usage, text_of, tool_call
from tildone.run.model import ChatRequest, RetryPolicy, assistant_message
from tildone.run.subagents import OpenedSubagent, Subagents, SubagentTask, subagent_host, task_tool
from tildone.run.transcript import Transcript
from tildone.stores.pi.session_file import header

USAGE = Usage(100, 10, 0, 0, 110, Cost(0.1, 0.2, 0, 0, 0.3))


class Scripts:
    """A model with a script for each conversation, chosen by the first words of its prompt; each answer has a usage."""

    api = provider = id = "script"

    def __init__(self, **scripts: Sequence[Any]) -> None:
        self.scripts = {name: list(script) for name, script in scripts.items()}
        self.requests: dict[str, list[ChatRequest]] = {name: [] for name in scripts}

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        name = text_of(request.messages[0])
        self.requests[name].append(request)
        script = self.scripts[name]
        answer = script.pop(0) if script else "done"
        if callable(answer):
            answer = await answer(signal)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            message = assistant_message([TextBlock(answer)], self, StopReason.STOP, 0)
        else:
            calls = [tool_call(f"{name}{len(self.requests[name])}{i}", *call) for i, call in enumerate(answer)]
            message = assistant_message(calls, self, StopReason.TOOL_USE, 0)
        yield AnswerDone(replace(message, usage=USAGE))

    async def close(self) -> None:
        """Nothing is open."""


class Parent:
    """A host with the task tool, and the hosts of its subagents."""

    def __init__(
        self,
        model: Any,
        *tools: ToolDefinition,
        ui: NoUI | None = None,
        listed: str = "",
        cwd: str = "/p",
        most: int = 4,
        prepare: Callable[[Host], None] = lambda _host: None,
    ) -> None:
        self.children: list[Host] = []
        self.ended = 0
        self.listed = listed
        self._ids = itertools.count()
        self._prepare = prepare
        retry = RetryPolicy(attempts=0)
        self.host = Host(
            model=model, transcript=self.transcript("parent"), cwd=cwd, now=lambda: 0, ui=ui, tools=tools, retry=retry
        )
        self.host.add_tool(task_tool(Subagents(self.host, self.open, most)))
        self.told: list[Json] = []
        self.host.listen(lambda event: self.told.append(records.event(event)))

    def transcript(self, name: str) -> Transcript:
        return Transcript(header(name, "/p", 0), now=lambda: 0, new_id=lambda: f"e{next(self._ids)}")

    def open(self, task: SubagentTask) -> OpenedSubagent:
        host = subagent_host(self.host, self.transcript(f"child{len(self.children)}"), task.description)
        self._prepare(host)
        self.children.append(host)
        return OpenedSubagent(host, self.end)

    def end(self) -> str:
        self.ended += 1
        return self.listed

    @property
    def results(self) -> list[ToolResultMessage]:
        return self.host.transcript.tool_results()


def task(name: str) -> tuple[str, Json]:
    return "task", {"description": f"look at {name}", "prompt": name}


def offered(request: ChatRequest) -> list[str]:
    return [spec.name for spec in request.tools]
