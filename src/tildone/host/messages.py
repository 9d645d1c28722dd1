"""The messages of a conversation as typed records.

`Message` is a closed union over pi's roles. A message of another role is an `UnknownMessage`, which holds its record
verbatim; unknown fields are in `extra`. A field is None if the record does not have it. `message_codec` converts
messages to pi's JSON objects and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from tildone.host.content import Block, Content, TextBlock, ToolCallBlock, Usage, blocks, result_blocks
from tildone.host.wire import NO_EXTRA, Extra, JsonObject, JsonValue
from tildone.kit.definition import ToolResult
from tildone.value import replace, value


class StopReason(StrEnum):
    """Why a model ended its message. Files of other programs may contain other reasons."""

    PENDING = "pending"
    STOP = "stop"
    LENGTH = "length"
    TOOL_USE = "toolUse"
    ERROR = "error"
    ABORTED = "aborted"


@value
class UserMessage:
    """A message from the person, or from an extension on their behalf."""

    content: Content
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class AssistantMessage:
    """A model's answer."""

    content: tuple[Block, ...]
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    timestamp: int | None = None
    error_message: str | None = None
    response_id: str | None = None
    response_model: str | None = None
    raw_stop_reason: str | None = None
    extra: Extra = NO_EXTRA

    @property
    def failed(self) -> bool:
        """Whether the answer is incomplete: the request failed or was aborted."""
        return self.stop_reason in {StopReason.ERROR, StopReason.ABORTED}


@value
class ToolResultMessage:
    """The result of a tool call."""

    tool_call_id: str
    tool_name: str
    content: tuple[Block, ...]
    details: JsonValue = None
    is_error: bool | None = False
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class CustomMessage:
    """An extension's message: the model reads it, and the person sees it if `display` is set."""

    custom_type: str
    content: Content
    display: bool | None = False
    details: JsonValue = None
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class DeveloperMessage:
    """An instruction to the model from someone other than the person. `attribution` names its origin."""

    content: Content
    attribution: str | None = None
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class BashExecutionMessage:
    """A command that the person ran in pi's own shell."""

    command: str
    output: str
    exit_code: int | None = None
    cancelled: bool | None = False
    truncated: bool | None = False
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class BranchSummaryMessage:
    """A summary of a branch that the conversation has left."""

    summary: str
    from_id: str | None = None
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class CompactionSummaryMessage:
    """A summary that replaces everything before a compaction."""

    summary: str
    tokens_before: int | None = None
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class UnknownMessage:
    """A message of an unknown role, verbatim. It is not sent to models."""

    record: JsonObject


Message = (
    UserMessage
    | AssistantMessage
    | ToolResultMessage
    | CustomMessage
    | DeveloperMessage
    | BashExecutionMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
    | UnknownMessage
)

ModelMessage = UserMessage | AssistantMessage | ToolResultMessage
"""The messages that are sent to models; see `model_context`."""


def tool_result_message(call: ToolCallBlock, result: ToolResult, *, is_error: bool, at: int) -> ToolResultMessage:
    return ToolResultMessage(call.id, call.name, result_blocks(result), result.details, is_error, at)


def content_of(message: Message) -> Content:
    """Return the content of a message, or its summary; empty for messages that have neither."""
    match message:
        case (
            UserMessage(content=content)
            | AssistantMessage(content=content)
            | ToolResultMessage(content=content)
            | CustomMessage(content=content)
            | DeveloperMessage(content=content)
        ):
            return content
        case BranchSummaryMessage(summary=summary) | CompactionSummaryMessage(summary=summary):
            return summary
        case BashExecutionMessage() | UnknownMessage():
            return ()
        case _:
            assert_never(message)


def text_of(message: Message) -> str:
    """Return the text of a message, without thinking, calls and images."""
    return "\n".join(block.text for block in blocks(content_of(message)) if isinstance(block, TextBlock))


def tool_calls(message: Message) -> list[ToolCallBlock]:
    content = message.content if isinstance(message, AssistantMessage) else ()
    return [block for block in content if isinstance(block, ToolCallBlock)]


def last_answer(messages: Sequence[Message]) -> AssistantMessage | None:
    """Return the newest message of a model."""
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)


def stamped(message: CustomMessage | DeveloperMessage, at: int) -> CustomMessage | DeveloperMessage:
    """Return the message with the timestamp `at`, unless it has one."""
    return message if message.timestamp is not None else replace(message, timestamp=at)
