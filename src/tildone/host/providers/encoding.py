"""Encodes requests for the provider library."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, assert_never

from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.messages import ModelMessage as LibraryMessage
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from tildone.host.content import Block, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock, arguments_of
from tildone.host.messages import (
    AssistantMessage,
    ModelMessage,
    ToolResultMessage,
    UserMessage,
    tool_calls,
)
from tildone.host.model import ChatRequest, Model, ToolSpec
from tildone.host.providers.provider_state import REDACTED, part_fields
from tildone.host.wire import JsonObject

APIS_WITH_ERROR_FLAG = {"anthropic-messages", "bedrock-converse-stream"}
"""APIs whose tool results can be marked as failed. For other APIs the library would change the text."""

MAX_CALL_ID_CHARACTERS = 40
"""The length of the longest tool call id that every provider accepts."""


def parameters(request: ChatRequest) -> ModelRequestParameters:
    """Return the system prompt and the tools of a request."""
    return ModelRequestParameters(
        function_tools=[_tool(spec) for spec in request.tools],
        instruction_parts=[InstructionPart(content=without_lone_surrogates(request.system))] if request.system else [],
    )


def history(messages: Sequence[ModelMessage], model: Model) -> list[LibraryMessage]:
    """Return the conversation of a request. The results of one answer's calls form one message."""
    ids = _foreign_ids(messages, model)
    encoded: list[LibraryMessage] = []
    for _, group in groupby(messages, key=type):
        results = []
        for message in group:
            match message:
                case UserMessage():
                    encoded.append(ModelRequest([UserPromptPart(_user_content(message))]))
                case AssistantMessage():
                    encoded.append(_response(message, model, ids))
                case ToolResultMessage():
                    results.append(_result(message, model, ids))
                case _:
                    assert_never(message)
        if results:
            encoded.append(ModelRequest(results))
    return encoded


def without_lone_surrogates(value: Any) -> Any:
    """Replace lone surrogates: they cannot be encoded, so this and every later request would fail."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {without_lone_surrogates(key): without_lone_surrogates(item) for key, item in value.items()}
        case list():
            return [without_lone_surrogates(item) for item in value]
        case _:
            return value


def _tool(spec: ToolSpec) -> ToolDefinition:
    return ToolDefinition(
        name=spec.name, description=spec.description, parameters_json_schema=dict(spec.parameters), strict=False
    )


def _user_content(message: UserMessage) -> str | list[UserContent]:
    match message.content:
        case str(text) | (TextBlock(text),):
            return str(without_lone_surrogates(text))
        case content:
            return [piece for block in content if (piece := _piece(block)) is not None]


def _piece(block: Block) -> str | BinaryContent | None:
    match block:
        case TextBlock(text):
            return str(without_lone_surrogates(text))
        case ImageBlock(data, mime_type):
            return BinaryContent(b64decode(data), media_type=mime_type)
        case _:
            return None


def _foreign_ids(messages: Sequence[ModelMessage], model: Model) -> dict[str, str]:
    """Map ids of other models' calls to a form that every provider accepts. The model's own ids are not changed."""
    answers = [message for message in messages if isinstance(message, AssistantMessage) and not _is_own(message, model)]
    ids = [call.id for answer in answers for call in tool_calls(answer)]
    return {call_id: re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:MAX_CALL_ID_CHARACTERS] for call_id in ids}


def _is_own(message: AssistantMessage, model: Model) -> bool:
    return (message.api, message.provider, message.model) == (model.api, model.provider, model.id)


def _result(message: ToolResultMessage, model: Model, ids: Mapping[str, str]) -> ToolReturnPart:
    pieces = [piece for block in message.content if (piece := _piece(block)) is not None]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    failed = message.is_error and model.api in APIS_WITH_ERROR_FLAG
    return ToolReturnPart(
        tool_name=message.tool_name,
        content="\n".join(texts) if len(texts) == len(pieces) else pieces,
        tool_call_id=ids.get(message.tool_call_id, message.tool_call_id),
        outcome="failed" if failed else "success",
    )


def _response(message: AssistantMessage, model: Model, ids: Mapping[str, str]) -> ModelResponse:
    provider = model.provider if _is_own(message, model) else None
    parts = [part for block in message.content if (part := _part(block, provider, ids)) is not None]
    return ModelResponse(parts, model_name=message.model, provider_name=provider)


def _part(block: Block, provider: str | None, ids: Mapping[str, str]) -> ModelResponsePart | None:
    """Return a part of an answer. If another model wrote it (`provider` is None), thinking and state are left out."""
    match block:
        case TextBlock(text):
            return TextPart(without_lone_surrogates(text), **_state(block, provider)) if text else None
        case ToolCallBlock():
            arguments = without_lone_surrogates(arguments_of(block))
            return ToolCallPart(block.name, arguments, ids.get(block.id, block.id), **_state(block, provider))
        case ThinkingBlock():
            return None if provider is None else _thinking(block, provider)
        case _:
            return None


def _thinking(block: ThinkingBlock, provider: str) -> ThinkingPart | None:
    if block.redacted:
        return ThinkingPart("", id=REDACTED, signature=block.signature, provider_name=provider)
    kept = part_fields(block, "id", "signature", "provider_details")
    return ThinkingPart(without_lone_surrogates(block.thinking), provider_name=provider, **kept) if kept else None


def _state(block: TextBlock | ToolCallBlock, provider: str | None) -> JsonObject:
    kept = part_fields(block, "id", "provider_details") if provider is not None else None
    return {"provider_name": provider, **kept} if kept else {}
