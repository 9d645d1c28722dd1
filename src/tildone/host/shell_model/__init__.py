"""The shell driver: in place of a language model, it works through a plan whose tasks name their commands.

It writes the plan, then starts each task, runs its commands and completes it, one tool call per message, with the same
tools that a model is offered. A command that fails ends the run; it is retried when the user sends another message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

from tildone.dialects import DIALECTS, dialect_named, tools_of
from tildone.dialects.base import Dialect
from tildone.host.messages import Block, assistant, empty_usage, text, tool_call
from tildone.host.model import ChatRequest, Delta, ModelFailure
from tildone.host.shell_model.driver import Driver, FinalAnswer
from tildone.host.shell_model.script import Script
from tildone.kit.signal import AbortSignal
from tildone.log import codec

DELTA_CHARACTERS = 24


class ShellModel:
    """The model for one script. It speaks the dialect whose tools it is offered."""

    api = "shell"
    provider = "tildone"
    id = "shell"

    def __init__(self, script: Script, now: Callable[[], int]) -> None:
        self._script = script
        self._now = now

    async def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[Delta, None]:
        """Stream the answer."""
        block = self._answer(request)
        for delta in _deltas(block):
            # Yield to the host and its screen between deltas, as a real model does.
            await asyncio.sleep(0)
            if signal is not None:
                signal.raise_if_aborted()
            yield delta
        reason = "toolUse" if block["type"] == "toolCall" else "stop"
        message = assistant([block], self, empty_usage(), reason, self._now())
        yield {"type": "done", "reason": reason, "message": message}

    async def close(self) -> None:
        """Nothing to close."""

    def _answer(self, request: ChatRequest) -> Block:
        step = Driver(self._script, _offered_dialect(request)).next_step(request.messages)
        if isinstance(step, FinalAnswer):
            return text(step.text)
        calls = sum(message["role"] == "toolResult" for message in request.messages)
        return tool_call(f"call_{calls + 1}", *step)


def _offered_dialect(request: ChatRequest) -> Dialect:
    """The dialect whose tools are all offered."""
    offered = {tool.name for tool in request.tools}
    name = next((name for name in DIALECTS if offered.issuperset(tools_of(name))), None)
    if name is None:
        raise ModelFailure("the shell model needs the todo tools of one dialect", transient=False)
    return dialect_named(name)


def _deltas(block: Block) -> Iterator[Delta]:
    at = {"contentIndex": 0}
    if block["type"] == "text":
        yield {"type": "text_start", **at}
        yield from ({"type": "text_delta", **at, "delta": piece} for piece in _pieces(block["text"]))
        yield {"type": "text_end", **at, "content": block["text"]}
        return
    yield {"type": "toolcall_start", **at, "id": block["id"], "toolName": block["name"]}
    yield from ({"type": "toolcall_delta", **at, "delta": piece} for piece in _pieces(codec.dump(block["arguments"])))
    yield {"type": "toolcall_end", **at, "toolCall": block}


def _pieces(whole: str) -> list[str]:
    return [whole[start : start + DELTA_CHARACTERS] for start in range(0, len(whole), DELTA_CHARACTERS)]
