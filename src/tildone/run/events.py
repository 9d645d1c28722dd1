"""The events that a host publishes while an agent works.

There are two audiences. *Listeners* (a terminal, the JSON and RPC modes) receive every `PublicEvent`. *Extensions*
receive the `AgentEvent`s among them, and those of `extension`, which they may reply to. The class attribute
`type` is the name that pi's records use.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tildone.base import value
from tildone.run.kit.definition import ToolResult
from tildone.run.messages import (
    AssistantMessage,
    Block,
    CustomMessage,
    JsonObject,
    JsonValue,
    Message,
    ToolResultMessage,
    Usage,
)


@value
class MessageEntry:
    message: Message


@value
class CustomEntry:
    """Data of an extension that the model does not see."""

    custom_type: str
    data: JsonValue = None


@value
class CustomMessageEntry:
    """An extension's message; the timestamp is the entry's."""

    message: CustomMessage


@value
class LabelEntry:
    """A bookmark on another entry; None removes it."""

    target_id: str
    label: str | None = None


@value
class ConversationInfoEntry:
    """The name that a person gave the conversation."""

    name: str


@value
class ModelChangeEntry:
    """Another model answers from this entry on."""

    provider: str
    model_id: str


@value
class CompactionEntry:
    """A summary of everything before `first_kept_id`."""

    summary: str
    first_kept_id: str | None = None
    tokens_before: int | None = None


@value
class BranchSummaryEntry:
    """A summary of a branch that the conversation has left at `from_id`."""

    summary: str
    from_id: str | None = None


@value
class ContextEditEntry:
    """Replaces the content of another entry's message in requests to models; None leaves the message out."""

    target_id: str
    replacement: JsonValue = None


@value
class UnknownEntry:
    """An entry of an unknown type; `fields` are those that not every entry has."""

    type: str
    fields: JsonObject


EntryBody = (
    MessageEntry
    | CustomEntry
    | CustomMessageEntry
    | LabelEntry
    | ConversationInfoEntry
    | ModelChangeEntry
    | CompactionEntry
    | BranchSummaryEntry
    | ContextEditEntry
    | UnknownEntry
)


@value
class Entry:
    """One entry of the tree. `timestamp` is in milliseconds since 1970, or None if the record has no valid one."""

    id: str
    parent_id: str | None
    timestamp: int | None
    body: EntryBody
    record: JsonObject


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


@value
class AgentStart:
    type = "agent_start"


@value
class AgentEnd:
    """The agent has stopped; `messages` are all messages since the prompt."""

    type = "agent_end"
    messages: Sequence[Message]
    will_retry: bool = False


@value
class AgentSettled:
    """The run is over: nothing is queued, nothing will be retried."""

    type = "agent_settled"


@value
class TurnStart:
    """A request to the model is about to be made."""

    type = "turn_start"


@value
class TurnEnd:
    """The model has answered, and its tool calls have been executed."""

    type = "turn_end"
    message: AssistantMessage
    tool_results: Sequence[ToolResultMessage]


@value
class MessageStart:
    """A message begins; the model's is still empty."""

    type = "message_start"
    message: Message


@value
class MessageUpdate:
    """The model's message has grown."""

    type = "message_update"
    usage: Usage
    event: BlockEvent


@value
class MessageEnd:
    type = "message_end"
    message: Message


@value
class ToolExecutionStart:
    type = "tool_execution_start"
    call_id: str
    tool_name: str
    args: JsonObject


@value
class ToolExecutionUpdate:
    """A running tool has a partial result."""

    type = "tool_execution_update"
    call_id: str
    tool_name: str
    args: JsonValue
    partial_result: ToolResult


@value
class ToolExecutionAsks:
    """A running call waits for an answer of the person; or, with `asks` false, it does not wait any more."""

    type = "tool_execution_asks"
    call_id: str
    asks: bool


@value
class ToolExecutionEnd:
    """A call is done; the result is what the model will read."""

    type = "tool_execution_end"
    call_id: str
    tool_name: str
    result: ToolResult
    is_error: bool


@value
class QueueUpdate:
    """The queues have changed; the fields are the texts of the queued messages."""

    type = "queue_update"
    steering: Sequence[str]
    follow_up: Sequence[str]


@value
class RetryStart:
    """A request failed, and will be repeated after a pause."""

    type = "auto_retry_start"
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


@value
class RetryEnd:
    """A request that was repeated has succeeded, or failed for good."""

    type = "auto_retry_end"
    attempt: int
    final_error: str | None = None


@value
class EntryAppended:
    """An extension has added an entry to the conversation."""

    type = "entry_appended"
    entry: Entry


@value
class ConversationRenamed:
    type = "session_info_changed"
    name: str


@value
class ExtensionError:
    """A handler, a command or the loading of an extension has raised."""

    type = "extension_error"
    extension: str
    event: str
    error: str


@value
class CustomEvent:
    """A custom event of an extension, for listeners only."""

    type: str
    fields: JsonObject


AgentEvent = (
    AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionEnd
)
"""Events in the course of a run, for extensions and listeners."""

Report = (
    ToolExecutionUpdate
    | ToolExecutionAsks
    | QueueUpdate
    | RetryStart
    | RetryEnd
    | EntryAppended
    | ConversationRenamed
    | ExtensionError
    | CustomEvent
)
"""Events for listeners only."""

PublicEvent = AgentEvent | Report
