"""The messages of a conversation as typed records.

`Message` is a closed union over pi's roles. Messages of other roles are kept verbatim in `UnknownMessage`, fields that
are not known in `extra`. `message_codec` turns messages into pi's JSON objects and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, assert_never

from tildone.host.content import Block, Content, TextBlock, ToolCallBlock, Usage, blocks, result_blocks
from tildone.host.wire import NO_EXTRA, Extra, JsonObject, JsonValue
from tildone.kit.definition import ToolResult
from tildone.value import replace, value


class StopReason(StrEnum):
    """Why a model ended its message. Files of other programs may hold reasons that are not listed here."""

    PENDING = "pending"
    STOP = "stop"
    LENGTH = "length"
    TOOL_USE = "toolUse"
    ERROR = "error"
    ABORTED = "aborted"


class ModelIdentity(Protocol):
    """Which model answers: the API it is reached by, its provider, its name."""

    @property
    def api(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def id(self) -> str: ...


@value
class UserMessage:
    """A message of the person, or of an extension in their place."""

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
        """Whether the model did not come to its end: the request failed, or it was aborted."""
        return self.stop_reason in {StopReason.ERROR, StopReason.ABORTED}


@value
class ToolResultMessage:
    """The result of a tool call."""

    tool_call_id: str
    tool_name: str
    content: tuple[Block, ...]
    details: JsonValue = None
    is_error: bool = False
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class CustomMessage:
    """An extension's message: the model reads it, and the person sees it if `display` is set."""

    custom_type: str
    content: Content
    display: bool = False
    details: JsonValue = None
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class DeveloperMessage:
    """An instruction to the model that is not the person's. `attribution` names its origin."""

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
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude_from_context: bool = False
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
    """A summary that stands for everything before a compaction."""

    summary: str
    tokens_before: int | None = None
    timestamp: int | None = None
    extra: Extra = NO_EXTRA


@value
class UnknownMessage:
    """A message of a role that is not known here, verbatim. Models are not shown it."""

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
"""What a model is shown; see `model_context`."""


def assistant_message(
    content: Sequence[Block], model: ModelIdentity, stop_reason: StopReason, at: int, *, error: str | None = None
) -> AssistantMessage:
    """A message of that model which used no tokens."""
    return AssistantMessage(
        tuple(content), model.api, model.provider, model.id, Usage(), stop_reason, at, error_message=error
    )


def tool_result_message(call: ToolCallBlock, result: ToolResult, *, is_error: bool, at: int) -> ToolResultMessage:
    """The result of that call."""
    return ToolResultMessage(call.id, call.name, result_blocks(result), result.details, is_error, at)


def content_of(message: Message) -> Content:
    """The content of a message; its summary if it is one; nothing for the rest."""
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
    """The text of a message, without thinking, calls and images."""
    return "\n".join(block.text for block in blocks(content_of(message)) if isinstance(block, TextBlock))


def tool_calls(message: Message) -> list[ToolCallBlock]:
    """The calls in a message, in order."""
    content = message.content if isinstance(message, AssistantMessage) else ()
    return [block for block in content if isinstance(block, ToolCallBlock)]


def last_answer(messages: Sequence[Message]) -> AssistantMessage | None:
    """The newest message of a model."""
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)


def stamped(message: CustomMessage | DeveloperMessage, at: int) -> CustomMessage | DeveloperMessage:
    """The message with a timestamp, unless it has one."""
    return message if message.timestamp is not None else replace(message, timestamp=at)
