"""A model that is none: it works through a plan whose tasks carry commands, with the tools that any model has.

It writes the plan, and then starts each task, runs its commands and completes it, one call a message. A command that
fails ends the run; nothing is tried twice unless somebody says something.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

from tildone.host.messages import Block, assistant, empty_usage, text, tool_call
from tildone.host.model import ChatRequest, Delta, ModelFailure
from tildone.host.shell_model.driver import Said, next_move
from tildone.host.shell_model.script import Script
from tildone.host.shell_model.tongues import spoken
from tildone.kit.signal import AbortSignal
from tildone.log import codec

PIECE = 24
"""How many characters of an answer come at once."""


class ShellModel:
    """The model for one script. It speaks whichever dialect it is offered."""

    api = "shell"
    provider = "tildone"
    id = "shell"

    def __init__(self, script: Script, now: Callable[[], int]) -> None:
        self._script = script
        self._now = now

    async def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[Delta, None]:
        """The answer, in pieces."""
        block = self._answer(request)
        for delta in _deltas(block):
            # The host and its screen have their turn between pieces, as they do while a real model thinks.
            await asyncio.sleep(0)
            if signal is not None:
                signal.raise_if_aborted()
            yield delta
        reason = "toolUse" if block["type"] == "toolCall" else "stop"
        message = assistant([block], self, empty_usage(), reason, self._now())
        yield {"type": "done", "reason": reason, "message": message}

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _answer(self, request: ChatRequest) -> Block:
        tongue = spoken({tool.name for tool in request.tools})
        if tongue is None:
            raise ModelFailure("the shell model needs the todo tools of one dialect", transient=False)
        move = next_move(self._script, tongue, request.messages)
        if isinstance(move, Said):
            return text(move.text)
        calls = sum(message["role"] == "toolResult" for message in request.messages)
        return tool_call(f"call_{calls + 1}", *move)


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
    return [whole[start : start + PIECE] for start in range(0, len(whole), PIECE)]
