"""The messages of a conversation as typed records, and what of them a model is sent.

`Message` is a closed union over pi's roles. A message of another role is an `UnknownMessage`, which holds its record
verbatim; unknown fields are in `extra`. A field is None if the record does not have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, assert_never

from tildone.base import replace, value
from tildone.plan import codec
from tildone.plan.text.safe import visible
from tildone.run.kit.definition import TextContent, ToolDefinition, ToolResult

PREAMBLE = (
    "You are a coding agent. Work through the task with the tools you have, keep the plan up to date as you go, "
    "and stop when it is done."
)

SUBAGENT_PREAMBLE = (
    "You are a subagent: another agent has given you one task, and nobody else reads what you write. Work on it with "
    "the tools you have, and on nothing else. When it is done, call yield with a complete report."
)


def system_prompt(tools: Sequence[ToolDefinition], cwd: str, *, preamble: str = PREAMBLE) -> str:
    """Return the system prompt for these tools; a guideline that several of them share appears once."""
    parts = [preamble]
    snippets = [f"- {tool.name}: {tool.prompt_snippet}" for tool in tools if tool.prompt_snippet]
    if snippets:
        parts.append("\n".join(["Available tools:", *snippets]))
    guidelines = dict.fromkeys(line for tool in tools for line in tool.prompt_guidelines)
    if guidelines:
        parts.append("\n".join(["Guidelines:", *(f"- {line}" for line in guidelines)]))
    parts.append(f"Working directory: {cwd}")
    return "\n\n".join(parts)


JsonValue = Any
"""A JSON value that is passed through unread: tool arguments, details, an extension's data."""

JsonObject = dict[str, JsonValue]
Extra = Mapping[str, JsonValue]

NO_EXTRA: Extra = {}


@value
class TextBlock:
    """Text. `signature` and `provider_state` are opaque data to be sent back to the provider."""

    text: str
    signature: str | None = None
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class ThinkingBlock:
    """A model's reasoning. If it is `redacted`, only its signature is known."""

    thinking: str
    signature: str | None = None
    redacted: bool | None = None
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class ImageBlock:
    """An image, base64-encoded."""

    data: str
    mime_type: str
    extra: Extra = NO_EXTRA


@value
class ToolCallBlock:
    """A tool call. Arguments that are not a JSON object are in `raw_arguments`, and `arguments` is empty."""

    id: str
    name: str
    arguments: JsonObject
    raw_arguments: str | None = None
    signature: str | None = None
    provider_state: JsonObject | None = None
    extra: Extra = NO_EXTRA


@value
class UnknownBlock:
    """A block of an unknown type, verbatim."""

    record: JsonObject


Block = TextBlock | ThinkingBlock | ImageBlock | ToolCallBlock | UnknownBlock
Content = str | tuple[Block, ...]


@value
class Cost:
    """The price of a request in dollars; None marks a number that the record does not have."""

    input: float | None = 0
    output: float | None = 0
    cache_read: float | None = 0
    cache_write: float | None = 0
    total: float | None = 0
    extra: Extra = NO_EXTRA


@value
class Usage:
    """The tokens of a request; None marks a number that the record does not have.

    `input` excludes tokens that were read from or written to the cache.
    """

    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0
    total_tokens: int | None = 0
    cost: Cost | None = Cost()
    reasoning: int | None = None
    extra: Extra = NO_EXTRA


def tool_call(call_id: str, name: str, arguments: str | Extra) -> ToolCallBlock:
    """Return a call with the arguments that a model wrote; text other than a JSON object becomes `raw_arguments`."""
    if not isinstance(arguments, str):
        return ToolCallBlock(call_id, name, dict(arguments))
    if not arguments.strip():
        return ToolCallBlock(call_id, name, {})
    try:
        parsed = codec.parse_strictly(arguments)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return ToolCallBlock(call_id, name, parsed)
    return ToolCallBlock(call_id, name, {}, raw_arguments=arguments)


def arguments_of(call: ToolCallBlock) -> str | JsonObject:
    """Return the arguments of a call: an object, or the model's text if it is not a JSON object."""
    return call.arguments if call.raw_arguments is None else call.raw_arguments


def blocks(content: Content) -> tuple[Block, ...]:
    return (TextBlock(content),) if isinstance(content, str) else content


def result_blocks(result: ToolResult) -> tuple[Block, ...]:
    return tuple(
        TextBlock(each.text) if isinstance(each, TextContent) else ImageBlock(each.data_base64, each.mime_type)
        for each in result.content
    )


def add_usage(one: Usage, other: Usage | None) -> Usage:
    """Return the sum of two usages; a missing number counts as 0, except `reasoning`."""
    if other is None:
        return one
    costs = (one.cost or Cost(), other.cost or Cost())
    reasoning = one.reasoning if other.reasoning is None else (one.reasoning or 0) + other.reasoning
    cost = Cost(**_sums(*costs, "input", "output", "cache_read", "cache_write", "total"))
    return Usage(
        **_sums(one, other, "input", "output", "cache_read", "cache_write", "total_tokens"),
        cost=cost,
        reasoning=reasoning,
    )


def _sums(one: object, other: object, *names: str) -> JsonObject:
    return {name: (getattr(one, name) or 0) + (getattr(other, name) or 0) for name in names}


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
"""The messages that are sent to models; see `model_messages`."""


TOLD = "tildoneTold"
"""The field of a result's record, added to those of pi, for what the call has changed in the plan."""


def tool_result_message(call: ToolCallBlock, result: ToolResult, *, is_error: bool, at: int) -> ToolResultMessage:
    extra = {TOLD: [*result.told]} if result.told else NO_EXTRA
    return ToolResultMessage(call.id, call.name, result_blocks(result), result.details, is_error, at, extra)


def told_in(message: ToolResultMessage) -> tuple[str, ...]:
    """Return what a recorded call has changed in the plan; empty if it is not known."""
    lines = message.extra.get(TOLD)
    return tuple(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else ()


def content_of(message: Message) -> Content:
    """Return the content of a message, or its summary; empty for messages that have neither."""
    match message:
        case BranchSummaryMessage(summary=summary) | CompactionSummaryMessage(summary=summary):
            return summary
        case BashExecutionMessage() | UnknownMessage():
            return ()
        case _:
            return message.content


def text_of(message: Message) -> str:
    """Return the text of a message, without thinking, calls and images."""
    return "\n".join(block.text for block in blocks(content_of(message)) if isinstance(block, TextBlock))


def tool_calls(message: Message) -> list[ToolCallBlock]:
    content = message.content if isinstance(message, AssistantMessage) else ()
    return [block for block in content if isinstance(block, ToolCallBlock)]


def last_answer(messages: Sequence[Message]) -> AssistantMessage | None:
    return next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)


NO_ANSWER = "There is no answer to copy"


def last_text(messages: Sequence[Message]) -> str:
    """Return the text of the last answer that has one, without hidden characters; empty if there is none."""
    answers = (text_of(message) for message in reversed(messages) if isinstance(message, AssistantMessage))
    return visible(next((text for text in answers if text.strip()), ""))


def stamped(message: CustomMessage | DeveloperMessage, at: int) -> CustomMessage | DeveloperMessage:
    """Return the message with the timestamp `at`, unless it has one."""
    return message if message.timestamp is not None else replace(message, timestamp=at)


NO_RESULT = "No result: the call was interrupted."


def model_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return the messages of a request, in an order that every provider accepts.

    Providers accept only user messages, assistant messages and tool results, and require the result of every tool call
    directly after the call. Other messages become user messages or are left out. A call whose result is missing,
    because the process died while the tool ran, gets an error result.
    """
    return [sent for position in range(len(messages)) for sent in _converted(messages, position)]


def _converted(messages: Sequence[Message], position: int) -> Iterator[ModelMessage]:
    message = messages[position]
    match message:
        case UserMessage():
            yield from _as_user(message, message.content)
        case CustomMessage() | DeveloperMessage():
            yield from _as_user(message, tuple(map(_visible, blocks(message.content))))
        case AssistantMessage():
            if message.content:
                yield message
                yield from _results(message, messages[position + 1 :])
        case BashExecutionMessage():
            if not message.exclude_from_context:
                yield from _as_user(message, _command_text(message))
        case BranchSummaryMessage(summary=summary):
            yield from _as_user(message, _summary_text("another branch of this conversation", summary))
        case CompactionSummaryMessage(summary=summary):
            yield from _as_user(message, _summary_text("the conversation before this point", summary))
        case ToolResultMessage() | UnknownMessage():
            return  # results are inserted after their calls
        case _:
            assert_never(message)


def _visible(block: Block) -> Block:
    """The block of a message of an extension, which may quote task texts: without hidden characters."""
    return replace(block, text=visible(block.text)) if isinstance(block, TextBlock) else block


def _as_user(
    message: UserMessage
    | CustomMessage
    | DeveloperMessage
    | BashExecutionMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage,
    content: Content,
) -> Iterator[UserMessage]:
    kept = tuple(block for block in blocks(content) if not isinstance(block, TextBlock) or block.text)
    if not kept:
        return
    unchanged = isinstance(message, UserMessage) and kept == message.content
    yield message if unchanged and isinstance(message, UserMessage) else UserMessage(kept, message.timestamp or 0)


def _results(message: AssistantMessage, later: Sequence[Message]) -> Iterator[ToolResultMessage]:
    """Return the results of a message's calls, in the order of the calls, from anywhere before the next answer."""
    found: dict[str, ToolResultMessage] = {}
    for candidate in later:
        if isinstance(candidate, AssistantMessage) and candidate.content:
            break
        if isinstance(candidate, ToolResultMessage):
            found.setdefault(candidate.tool_call_id, candidate)
    for call in tool_calls(message):
        missing = ToolResultMessage(
            call.id, call.name, (TextBlock(NO_RESULT),), is_error=True, timestamp=message.timestamp
        )
        yield found.get(call.id, missing)


def _command_text(message: BashExecutionMessage) -> str:
    output = message.output
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", output)), default=0))
    lines = [f"I ran a command in the shell: {message.command}"]
    lines.append(f"{fence}\n{output}\n{fence}" if output else "It printed nothing.")
    if message.cancelled:
        lines.append("It was cancelled.")
    elif message.exit_code:
        lines.append(f"It ended with exit code {message.exit_code}.")
    if message.truncated:
        path = message.full_output_path
        lines.append(f"Its output was cut; all of it is in {path}." if path else "Its output was cut.")
    return "\n".join(lines)


def _summary_text(subject: str, summary: str) -> str:
    return f"Summary of {subject}:\n\n<summary>\n{summary}\n</summary>"
