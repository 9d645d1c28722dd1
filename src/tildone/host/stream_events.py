"""The events of a streamed answer: the progress of each block, then the whole message."""

from __future__ import annotations

from enum import StrEnum

from tildone.host.content import Block, Usage
from tildone.host.messages import AssistantMessage
from tildone.value import value


class BlockKind(StrEnum):
    """The kinds of blocks that are streamed, as pi names them in its records."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "toolcall"


@value
class BlockStart:
    """A block begins; a tool call has its id and the tool's name from the start."""

    kind: BlockKind
    index: int
    call_id: str | None = None
    tool_name: str | None = None
    usage: Usage | None = None


@value
class BlockDelta:
    """More of a block: text, or a piece of the JSON text of a call's arguments."""

    kind: BlockKind
    index: int
    delta: str
    usage: Usage | None = None


@value
class BlockEnd:
    """A block is complete."""

    kind: BlockKind
    index: int
    block: Block
    usage: Usage | None = None


@value
class AnswerDone:
    """The complete message, which is the last event."""

    message: AssistantMessage


BlockEvent = BlockStart | BlockDelta | BlockEnd
"""Progress of one block. `usage` is the usage of the request so far, if the provider reports it."""

StreamEvent = BlockEvent | AnswerDone
