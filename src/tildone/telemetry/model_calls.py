"""Tells of the requests of a host to its model, by OpenTelemetry's semantic conventions for generative AI."""

from __future__ import annotations

import json

from tildone.history.spans import TraceSpan, span_id
from tildone.host.compaction import COMPACTION_END, COMPACTION_START
from tildone.host.content import TextBlock, ToolCallBlock, Usage, blocks
from tildone.host.content_codec import decode_usage
from tildone.host.events import CustomEvent, MessageEnd, MessageStart
from tildone.host.messages import AssistantMessage, ToolResultMessage, UserMessage
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.history.spans import Attribute, ShownText, SpanPlace
    from tildone.host.events import PublicEvent
    from tildone.host.host import Host
    from tildone.host.messages import Message
    from tildone.telemetry.exporting import SpanSink

CHAT, SUMMARY = "chat", "summary"
PROVIDERS = {
    "amazon-bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google-gla": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""The names of providers in the conventions, where they differ from ours."""


@value
class _Request:
    """A request that is being answered: where its span belongs, and since when."""

    place: SpanPlace
    at: int
    number: int


class ModelCalls:
    """Tells of the requests of a host. `place` returns where a request belongs that begins now."""

    def __init__(
        self, host: Host, place: Callable[[], SpanPlace], now: Callable[[], int], sink: SpanSink, shown: ShownText
    ) -> None:
        self._host, self._place, self._now, self._sink, self._shown = host, place, now, sink, shown
        self._request: _Request | None = None
        self._number = 0
        self._said: list[Message] = []

    def feed(self, event: PublicEvent) -> None:
        """Take an event of the host into account."""
        match event:
            case MessageStart(AssistantMessage()):
                self._begin()
            case CustomEvent(type=kind) if kind == COMPACTION_START:
                self._begin()
            case MessageEnd(AssistantMessage() as answer):
                self._end(CHAT, answer.usage, self._answered(answer), answer.stop_reason if answer.failed else "")
                self._said.clear()
            case CustomEvent(type=kind, fields=fields) if kind == COMPACTION_END:
                used = fields.get("usage")
                usage = decode_usage(used) if isinstance(used, dict) else None
                self._end(SUMMARY, usage, {}, "" if usage else "error")
            case MessageEnd(message) if self._shown:
                self._said.append(message)
            case _:
                pass

    def _begin(self) -> None:
        self._number += 1
        self._request = _Request(self._place(), self._now(), self._number)

    def _end(self, purpose: str, usage: Usage | None, more: dict[str, Attribute], failed: str | None) -> None:
        request, self._request = self._request, None
        if request is None:
            return
        model, place, conversation = self._host.model, request.place, self._host.transcript.id
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": CHAT,
            "gen_ai.provider.name": PROVIDERS.get(model.provider, model.provider),
            "gen_ai.request.model": model.id,
            "gen_ai.conversation.id": conversation,
            **_tokens(usage or Usage()),
            **more,
        }
        if purpose != CHAT:
            attributes["tildone.purpose"] = purpose
        if failed:
            attributes["error.type"] = failed
        own = span_id(place.trace, conversation, request.at, request.number)
        end = max(request.at, self._now())
        name = f"{CHAT} {model.id}"
        span = TraceSpan(
            name, place.trace, own, place.parent, request.at, end, attributes, failed or "", is_client=True
        )
        self._sink.add([span])

    def _answered(self, answer: AssistantMessage) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        reason = answer.raw_stop_reason or answer.stop_reason
        if reason:
            found["gen_ai.response.finish_reasons"] = (str(reason),)
        if answer.response_model:
            found["gen_ai.response.model"] = answer.response_model
        if answer.response_id:
            found["gen_ai.response.id"] = answer.response_id
        if self._shown:
            found["gen_ai.input.messages"] = self._shown(json.dumps([_parts(each) for each in self._said]))
            found["gen_ai.output.messages"] = self._shown(json.dumps([_parts(answer)]))
        return found


def _tokens(usage: Usage) -> dict[str, Attribute]:
    """Return the tokens and the cost of a request, as far as they are known. Cached tokens are part of the input."""
    cached = {
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read or 0,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write or 0,
    }
    counts: dict[str, int | float] = {
        "gen_ai.usage.input_tokens": (usage.input or 0) + sum(cached.values()),
        "gen_ai.usage.output_tokens": usage.output or 0,
        **cached,
        "tildone.usage.cost": (usage.cost.total if usage.cost else 0) or 0,
    }
    return {name: count for name, count in counts.items() if count}


def _parts(message: Message) -> dict[str, object]:
    """Return a message in the form of the conventions."""
    match message:
        case AssistantMessage(content=content):
            return {"role": "assistant", "parts": [_part(block) for block in content]}
        case ToolResultMessage(tool_call_id=call, content=content):
            text = "".join(block.text for block in content if isinstance(block, TextBlock))
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": text}]}
        case UserMessage(content=content):
            return {"role": "user", "parts": [_part(block) for block in blocks(content)]}
        case _:
            return {"role": "system", "parts": []}


def _part(block: object) -> dict[str, object]:
    match block:
        case TextBlock(text=text):
            return {"type": "text", "content": text}
        case ToolCallBlock(id=call, name=name, arguments=arguments):
            return {"type": "tool_call", "id": call, "name": name, "arguments": arguments}
        case _:
            return {"type": type(block).__name__}
