"""A model that is none: it works through a plan whose tasks carry commands, with the tools that any model has.

It writes the plan, and then starts each task, runs its commands and completes it, one call a message. A command that
fails ends the run; nothing is tried twice unless somebody says something.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

from tildone.host.content import TextBlock, ToolCallBlock
from tildone.host.messages import StopReason, ToolResultMessage, assistant_message
from tildone.host.model import ChatRequest, ModelFailure
from tildone.host.shell_model.moves import Said, next_move
from tildone.host.shell_model.script import Script
from tildone.host.shell_model.tongues import spoken
from tildone.host.stream_events import AnswerDone, BlockDelta, BlockEnd, BlockEvent, BlockKind, BlockStart, StreamEvent
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

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """The answer, in pieces."""
        block = self._answer(request)
        for event in _block_events(block):
            # The host and its screen have their turn between pieces, as they do while a real model thinks.
            await asyncio.sleep(0)
            if signal is not None:
                signal.raise_if_aborted()
            yield event
        reason = StopReason.TOOL_USE if isinstance(block, ToolCallBlock) else StopReason.STOP
        yield AnswerDone(assistant_message([block], self, reason, self._now()))

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _answer(self, request: ChatRequest) -> TextBlock | ToolCallBlock:
        tongue = spoken({tool.name for tool in request.tools})
        if tongue is None:
            raise ModelFailure("the shell model needs the todo tools of one dialect", transient=False)
        move = next_move(self._script, tongue, request.messages)
        if isinstance(move, Said):
            return TextBlock(move.text)
        calls = sum(isinstance(message, ToolResultMessage) for message in request.messages)
        return ToolCallBlock(f"call_{calls + 1}", *move)


def _block_events(block: TextBlock | ToolCallBlock) -> Iterator[BlockEvent]:
    match block:
        case TextBlock(text):
            yield from _streamed(BlockStart(BlockKind.TEXT, 0), text, block)
        case ToolCallBlock(call_id, name, arguments):  # exhaustive
            yield from _streamed(BlockStart(BlockKind.TOOL_CALL, 0, call_id, name), codec.dump(arguments), block)


def _streamed(start: BlockStart, whole: str, block: TextBlock | ToolCallBlock) -> Iterator[BlockEvent]:
    yield start
    yield from (BlockDelta(start.kind, start.index, piece) for piece in _pieces(whole))
    yield BlockEnd(start.kind, start.index, block)


def _pieces(whole: str) -> list[str]:
    return [whole[start : start + PIECE] for start in range(0, len(whole), PIECE)]
