"""A request of ours as the library's messages."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    InstructionPart,
    ModelMessage,
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
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from tildone.host.messages import Block, Message, ModelIdentity, arguments_of, tool_calls
from tildone.host.model import ChatRequest, ToolSpec
from tildone.host.providers.provider_state import REDACTED, read_state

KNOWS_ERRORS = {"anthropic-messages", "bedrock-converse-stream"}
"""Protocols that mark a failed result as such. In the others the library would wrap its text."""

ID_LENGTH = 40


def parameters(request: ChatRequest) -> ModelRequestParameters:
    """What goes with a conversation: the system prompt and the tools."""
    return ModelRequestParameters(
        function_tools=[_tool(spec) for spec in request.tools],
        instruction_parts=[InstructionPart(content=sound(request.system))] if request.system else [],
    )


def history(messages: Sequence[Message], speaker: ModelIdentity) -> list[ModelMessage]:
    """The conversation. Each message stays one of its own, but the results of one answer's calls go together."""
    ids = _foreign_ids(messages, speaker)
    told: list[ModelMessage] = []
    for role, group in groupby(messages, key=lambda message: message["role"]):
        match role:
            case "user":
                told += [ModelRequest([UserPromptPart(_user_content(message))]) for message in group]
            case "assistant":
                told += [_response(message, speaker, ids) for message in group]
            case "toolResult":
                told.append(ModelRequest([_result(message, speaker, ids) for message in group]))
            case _:
                raise ValueError(f"a model cannot be shown a {role} message")
    return told


def sound(said: Any) -> Any:
    """The same with every half of a surrogate pair replaced: it cannot be sent, and no request after it could."""
    match said:
        case str():
            return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {sound(key): sound(held) for key, held in said.items()}
        case list():
            return [sound(held) for held in said]
        case _:
            return said


def _tool(spec: ToolSpec) -> ToolDefinition:
    return ToolDefinition(
        name=spec.name, description=spec.description, parameters_json_schema=dict(spec.parameters), strict=False
    )


def _user_content(message: Message) -> str | list[UserContent]:
    content = message["content"]
    match content:
        case str():
            return str(sound(content))
        case [{"type": "text", "text": str(words)}]:
            return str(sound(words))
        case _:
            return [_piece(block) for block in content]


def _piece(block: Block) -> str | BinaryContent:
    if block["type"] == "image":
        return BinaryContent(b64decode(block["data"]), media_type=block["mimeType"])
    return str(sound(block["text"]))


def _foreign_ids(messages: Sequence[Message], speaker: ModelIdentity) -> dict[str, str]:
    """Ids of other models' calls, in a form that every provider takes; a model's own come back to it as they were."""
    answers = [message for message in messages if message["role"] == "assistant" and not _own(message, speaker)]
    ids = [call["id"] for answer in answers for call in tool_calls(answer)]
    return {call_id: re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)[:ID_LENGTH] for call_id in ids}


def _own(message: Message, speaker: ModelIdentity) -> bool:
    said_by = message.get("api"), message.get("provider"), message.get("model")
    return said_by == (speaker.api, speaker.provider, speaker.id)


def _result(message: Message, speaker: ModelIdentity, ids: Mapping[str, str]) -> ToolReturnPart:
    pieces = [_piece(block) for block in message["content"]]
    words = [piece for piece in pieces if isinstance(piece, str)]
    failed = message["isError"] and speaker.api in KNOWS_ERRORS
    return ToolReturnPart(
        tool_name=message["toolName"],
        content="\n".join(words) if len(words) == len(pieces) else pieces,
        tool_call_id=ids.get(message["toolCallId"], message["toolCallId"]),
        outcome="failed" if failed else "success",
    )


def _response(message: Message, speaker: ModelIdentity, ids: Mapping[str, str]) -> ModelResponse:
    provider = speaker.provider if _own(message, speaker) else None
    parts = [part for block in message["content"] if (part := _part(block, provider, ids)) is not None]
    return ModelResponse(parts, model_name=message.get("model"), provider_name=provider)


def _part(block: Block, provider: str | None, ids: Mapping[str, str]) -> ModelResponsePart | None:
    """A part of an answer. Without a provider it was another model's, whose thinking and marks mean nothing here."""
    match block["type"]:
        case "text" if block["text"]:
            return TextPart(sound(block["text"]), **_kept(block, "textSignature", provider))
        case "toolCall":
            call_id, arguments = ids.get(block["id"], block["id"]), sound(arguments_of(block))
            kept = _kept(block, "thoughtSignature", provider)
            return ToolCallPart(block["name"], arguments, call_id, **kept)
        case "thinking" if provider is not None:
            return _thinking(block, provider)
        case _:
            return None


def _thinking(block: Block, provider: str) -> ThinkingPart | None:
    if block.get("redacted"):
        return ThinkingPart("", id=REDACTED, signature=block.get("thinkingSignature"), provider_name=provider)
    kept = read_state(block, "thinkingSignature", "id", "signature", "provider_details")
    return ThinkingPart(sound(block["thinking"]), provider_name=provider, **kept) if kept else None


def _kept(block: Block, field: str, provider: str | None) -> dict[str, Any]:
    kept = read_state(block, field, "id", "provider_details") if provider is not None else None
    return {"provider_name": provider, **kept} if kept else {}
