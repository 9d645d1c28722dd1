"""The shell driver: works through a plan whose tasks name their commands, without a language model.

It reads the plan before each step, so it sees what others change. It starts a task, runs its commands and completes it,
one tool call per message, with the tools that models use. A command that fails ends the run; it is retried when the
user sends another message.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from collections.abc import Set as AbstractSet

from tildone.core.plan import Plan
from tildone.dialects import DIALECTS, dialect_named, tools_of
from tildone.dialects.base import Dialect
from tildone.host.content import TextBlock, ToolCallBlock
from tildone.host.messages import ModelMessage, StopReason, ToolResultMessage, tool_calls
from tildone.host.model import ChatRequest, ModelFailure, assistant_message
from tildone.host.shell_model.driver import Driver, FinalAnswer
from tildone.host.stream_events import AnswerDone, BlockDelta, BlockEnd, BlockEvent, BlockKind, BlockStart, StreamEvent
from tildone.host.tool_search import FIND_TOOLS
from tildone.kit.signal import AbortSignal
from tildone.log import codec
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.dialects.base import ToolCall

DELTA_CHARACTERS = 24


class ShellModel:
    """The model for one plan. It uses the dialect whose tools it is offered.

    `plan` reads the plan; `taken` returns the numbers of the tasks that others are working on.
    """

    api = "shell"
    provider = "tildone"
    id = "shell"

    def __init__(
        self, plan: Callable[[], Plan], now: Callable[[], int], taken: Callable[[], AbstractSet[int]] = frozenset
    ) -> None:
        self._plan = plan
        self._now = now
        self._taken = taken

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer."""
        block = self._answer(request)
        for event in _block_events(block):
            # Yield to the host and its screen between events, as a real model does.
            await asyncio.sleep(0)
            if signal is not None:
                signal.raise_if_aborted()
            yield event
        reason = StopReason.TOOL_USE if isinstance(block, ToolCallBlock) else StopReason.STOP
        yield AnswerDone(assistant_message([block], self, reason, self._now()))

    async def close(self) -> None:
        """Nothing to close."""

    def _answer(self, request: ChatRequest) -> TextBlock | ToolCallBlock:
        step = self._step(request)
        if isinstance(step, FinalAnswer):
            return TextBlock(step.text)
        calls = sum(isinstance(message, ToolResultMessage) for message in request.messages)
        return ToolCallBlock(f"call_{calls + 1}", *step)

    def _step(self, request: ChatRequest) -> ToolCall | FinalAnswer:
        """Return the driver's next step. Tools that have to be found are searched for first, once."""
        steps = [message for message in request.messages if not _is_search(message)]
        dialect = _offered_dialect(request)
        if dialect is not None:
            return Driver(self._plan(), dialect, self._taken).next_step(steps)
        if FIND_TOOLS in {tool.name for tool in request.tools} and len(steps) == len(request.messages):
            return FIND_TOOLS, {"query": "todo"}
        raise ModelFailure("the shell model needs the todo tools of one dialect", transient=False)


def _offered_dialect(request: ChatRequest) -> Dialect | None:
    """Return the dialect whose tools are all offered."""
    offered = {tool.name for tool in request.tools}
    name = next((name for name in DIALECTS if offered.issuperset(tools_of(name))), None)
    return None if name is None else dialect_named(name)


def _is_search(message: ModelMessage) -> bool:
    """Return whether a message is a search for tools, or its result."""
    if isinstance(message, ToolResultMessage):
        return message.tool_name == FIND_TOOLS
    return any(call.name == FIND_TOOLS for call in tool_calls(message))


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
    return [whole[start : start + DELTA_CHARACTERS] for start in range(0, len(whole), DELTA_CHARACTERS)]
