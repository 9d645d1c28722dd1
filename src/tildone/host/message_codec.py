"""Converts messages from pi's JSON objects and back.

Decoding never fails: a message that lacks a required field becomes an `UnknownMessage`, so a damaged or foreign record
is preserved but shown to nobody. Encoding a decoded record restores its fields and values; only missing content
becomes an empty list, and the text content of an assistant message or tool result a list with one block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from tildone.host.content import Content
from tildone.host.content_codec import decode_blocks, decode_usage, encode_blocks, encode_usage
from tildone.host.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    DeveloperMessage,
    Message,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
)
from tildone.host.wire import Fields, JsonObject, present


def decode_message(record: JsonObject) -> Message:
    """Return the message that a JSON object describes."""
    role = record.get("role")
    decode = _DECODERS.get(role) if isinstance(role, str) else None
    message = decode(Fields(record, "role")) if decode else None
    return UnknownMessage(record) if message is None else message


def encode_message(message: Message) -> JsonObject:
    """Return the JSON object of a message."""
    match message:
        case UserMessage(content, timestamp, extra):
            return {"role": "user", "content": _encode_content(content), **present(timestamp=timestamp), **extra}
        case AssistantMessage():
            return _encode_assistant(message)
        case ToolResultMessage():
            return _encode_tool_result(message)
        case CustomMessage():
            return {"role": "custom", **encode_custom(message), **present(timestamp=message.timestamp)}
        case DeveloperMessage(content, attribution, timestamp, extra):
            fields = present(attribution=attribution, content=_encode_content(content), timestamp=timestamp)
            return {"role": "developer", **fields, **extra}
        case BashExecutionMessage():
            return _encode_bash(message)
        case BranchSummaryMessage(summary, from_id, timestamp, extra):
            fields = present(summary=summary, fromId=from_id, timestamp=timestamp)
            return {"role": "branchSummary", **fields, **extra}
        case CompactionSummaryMessage(summary, tokens_before, timestamp, extra):
            fields = present(summary=summary, tokensBefore=tokens_before, timestamp=timestamp)
            return {"role": "compactionSummary", **fields, **extra}
        case UnknownMessage(record):
            return record
        case _:
            assert_never(message)


def decode_custom(fields: Fields) -> CustomMessage | None:
    """Return the custom message in the fields of a message or of an entry; None if a required field is missing."""
    custom_type, content = fields.text("customType"), _decode_content(fields)
    if custom_type is None or content is None:
        return None
    display, details, at = fields.flag("display"), fields.not_null("details"), fields.number("timestamp")
    return CustomMessage(custom_type, content, display, details, at, fields.rest)


def encode_custom(message: CustomMessage) -> JsonObject:
    """Return the fields that a custom message and its entry have in common."""
    required = {"customType": message.custom_type, "content": _encode_content(message.content)}
    return {**required, **present(display=message.display, details=message.details), **message.extra}


def _decode_user(fields: Fields) -> UserMessage:
    content = _decode_content(fields)
    return UserMessage(() if content is None else content, fields.number("timestamp"), fields.rest)


def _decode_assistant(fields: Fields) -> AssistantMessage:
    usage = fields.object("usage")
    return AssistantMessage(
        decode_blocks(fields.anything("content")),
        fields.text("api"),
        fields.text("provider"),
        fields.text("model"),
        None if usage is None else decode_usage(usage),
        fields.text("stopReason"),
        fields.number("timestamp"),
        fields.text("errorMessage"),
        fields.text("responseId"),
        fields.text("responseModel"),
        fields.text("rawStopReason"),
        fields.rest,
    )


def _encode_assistant(message: AssistantMessage) -> JsonObject:
    return {
        "role": "assistant",
        "content": encode_blocks(message.content),
        **present(
            api=message.api,
            provider=message.provider,
            model=message.model,
            usage=None if message.usage is None else encode_usage(message.usage),
            stopReason=message.stop_reason,
            timestamp=message.timestamp,
            errorMessage=message.error_message,
            responseId=message.response_id,
            responseModel=message.response_model,
            rawStopReason=message.raw_stop_reason,
        ),
        **message.extra,
    }


def _decode_tool_result(fields: Fields) -> ToolResultMessage | None:
    call_id, name = fields.text("toolCallId"), fields.text("toolName")
    if call_id is None or name is None:
        return None
    content, details = decode_blocks(fields.anything("content")), fields.not_null("details")
    return ToolResultMessage(
        call_id, name, content, details, fields.flag("isError"), fields.number("timestamp"), fields.rest
    )


def _encode_tool_result(message: ToolResultMessage) -> JsonObject:
    return {
        "role": "toolResult",
        "toolCallId": message.tool_call_id,
        "toolName": message.tool_name,
        "content": encode_blocks(message.content),
        **present(details=message.details, isError=message.is_error, timestamp=message.timestamp),
        **message.extra,
    }


def _decode_developer(fields: Fields) -> DeveloperMessage | None:
    content = _decode_content(fields)
    if content is None:
        return None
    return DeveloperMessage(content, fields.text("attribution"), fields.number("timestamp"), fields.rest)


def _decode_bash(fields: Fields) -> BashExecutionMessage | None:
    command, output = fields.text("command"), fields.text("output")
    if command is None or output is None:
        return None
    return BashExecutionMessage(
        command,
        output,
        fields.number("exitCode"),
        fields.flag("cancelled"),
        fields.flag("truncated"),
        fields.text("fullOutputPath"),
        fields.flag("excludeFromContext"),
        fields.number("timestamp"),
        fields.rest,
    )


def _encode_bash(message: BashExecutionMessage) -> JsonObject:
    optional = present(
        exitCode=message.exit_code,
        cancelled=message.cancelled,
        truncated=message.truncated,
        excludeFromContext=message.exclude_from_context,
        fullOutputPath=message.full_output_path,
        timestamp=message.timestamp,
    )
    return {
        "role": "bashExecution",
        "command": message.command,
        "output": message.output,
        **optional,
        **message.extra,
    }


def _decode_branch_summary(fields: Fields) -> BranchSummaryMessage | None:
    summary = fields.text("summary")
    if summary is None:
        return None
    return BranchSummaryMessage(summary, fields.text("fromId"), fields.number("timestamp"), fields.rest)


def _decode_compaction_summary(fields: Fields) -> CompactionSummaryMessage | None:
    summary = fields.text("summary")
    if summary is None:
        return None
    return CompactionSummaryMessage(summary, fields.number("tokensBefore"), fields.number("timestamp"), fields.rest)


def _decode_content(fields: Fields) -> Content | None:
    content = fields.anything("content")
    if isinstance(content, str):
        return content
    return decode_blocks(content) if isinstance(content, list) else None


def _encode_content(content: Content) -> str | list[JsonObject]:
    return content if isinstance(content, str) else encode_blocks(content)


_DECODERS: dict[str, Callable[[Fields], Message | None]] = {
    "user": _decode_user,
    "assistant": _decode_assistant,
    "toolResult": _decode_tool_result,
    "custom": decode_custom,
    "developer": _decode_developer,
    "bashExecution": _decode_bash,
    "branchSummary": _decode_branch_summary,
    "compactionSummary": _decode_compaction_summary,
}
