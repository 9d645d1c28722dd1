"""Builds and reads messages, entries and events as pi's JSON objects.

Everything passes through the codecs, so comparisons also test them.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tildone.run import messages
from tildone.run import messages as content
from tildone.run.codec import (
    decode_block,
    decode_blocks,
    decode_body,
    decode_message,
    decode_usage,
    encode_block,
    encode_block_event,
    encode_event,
    encode_message,
    encode_usage,
)
from tildone.run.events import AnswerDone, PublicEvent, StreamEvent
from tildone.run.kit.definition import AbortSignal
from tildone.run.messages import ModelMessage, model_messages
from tildone.run.model import ChatRequest, Model
from tildone.run.transcript import Transcript

Json = dict[str, Any]
Message = Json
Content = str | Sequence[Json]


@dataclass(frozen=True)
class SilentModel:
    """A model that has a name, and must not be called."""

    api: str = "none"
    provider: str = "none"
    id: str = "none"

    def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[StreamEvent, None]:
        raise NotImplementedError(request, signal)

    async def close(self) -> None:
        """Nothing is open."""


def user(said: Content, at: int, images: Sequence[Json] = ()) -> Json:
    return {"role": "user", "content": [*blocks(said), *images], "timestamp": at}


def assistant(said: Sequence[Json], model: Model, usage: Json, stop: str, at: int, *, error: str | None = None) -> Json:
    made = messages.AssistantMessage(
        decode_blocks(list(said)), model.api, model.provider, model.id, decode_usage(usage), stop, at, error
    )
    return encode_message(made)


def tool_result(call_id: str, name: str, said: Content, details: Any = None, *, is_error: bool, at: int) -> Json:
    shown = decode_blocks(blocks(said))
    return encode_message(messages.ToolResultMessage(call_id, name, shown, details, is_error, at))


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def tool_call(call_id: str, name: str, arguments: str | Json) -> Json:
    return encode_block(content.tool_call(call_id, name, arguments))


def blocks(said: Content) -> list[Json]:
    return [text(said)] if isinstance(said, str) else list(said)


def empty_usage() -> Json:
    return encode_usage(content.Usage())


def add_usage(one: Json, other: Json) -> Json:
    return encode_usage(content.add_usage(decode_usage(one), decode_usage(other)))


def text_of(message: Json) -> str:
    return messages.text_of(decode_message(message))


def tool_calls(message: Json) -> list[Json]:
    return [encode_block(call) for call in messages.tool_calls(decode_message(message))]


def arguments_of(call: Json) -> Any:
    block = decode_block(call)
    assert isinstance(block, content.ToolCallBlock)
    return content.arguments_of(block)


def for_model(conversation: Iterable[Json]) -> list[Json]:
    return [encode_message(message) for message in model_messages([decode_message(record) for record in conversation])]


def model_message(message: Json) -> ModelMessage:
    decoded = decode_message(message)
    assert isinstance(decoded, ModelMessage)
    return decoded


def said_in(transcript: Transcript) -> list[Json]:
    return [encode_message(message) for message in transcript.messages()]


def shown(request_messages: Iterable[ModelMessage]) -> list[Json]:
    return [encode_message(message) for message in request_messages]


def add(transcript: Transcript, kind: str, **fields: Any) -> Json:
    """Append an entry, and return its record."""
    return transcript.append(decode_body({"type": kind, **fields})).record


def event(told: PublicEvent) -> Json:
    return encode_event(told)


def delta(told: StreamEvent) -> Json:
    """A stream event, with its usage if it has one."""
    if isinstance(told, AnswerDone):
        return {"type": "done", "reason": told.message.stop_reason, "message": encode_message(told.message)}
    return encode_block_event(told) | ({} if told.usage is None else {"usage": encode_usage(told.usage)})
