"""Converts a conversation to the messages of a model request.

Providers accept only user messages, assistant messages and tool results, and require the result of every tool call
directly after the call. Other messages become user messages or are left out. A call whose result is missing, because
the process died while the tool ran, gets an error result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import assert_never

from tildone.host.content import Block, Content, TextBlock, blocks
from tildone.host.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    DeveloperMessage,
    Message,
    ModelMessage,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    tool_calls,
)
from tildone.value import replace
from tildone.views.sanitize import visible

NO_RESULT = "No result: the call was interrupted."


def model_messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return the messages of a request, in an order that every provider accepts."""
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
