"""A provider's model that is connected to a scripted server, and its requests and answers as JSON objects."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.host import records as messages
from tests.host.models.model_server import ModelServer, Turn
from tests.host.records import Json
from tildone.run.kit.definition import AbortSignal
from tildone.run.model import ChatRequest, Model, ToolSpec
from tildone.run.providers import open_model

CHAT = "openai-chat:gpt-5"
ANTHROPIC = "anthropic:claude-sonnet-5-5"

both_formats = pytest.mark.parametrize("spec", [CHAT, ANTHROPIC])

LOOK = ToolSpec(
    "look",
    "Look at a file.",
    {
        "type": "object",
        "title": "Look",
        "properties": {"path": {"type": "string", "maxLength": 80}, "lines": {"type": "integer", "default": 10}},
        "required": ["path"],
        "additionalProperties": False,
    },
)


@asynccontextmanager
async def open_scripted(spec: str, *script: Turn) -> AsyncIterator[tuple[Model, ModelServer]]:
    with ModelServer(*script) as server, pytest.MonkeyPatch.context() as patch:
        for name, setting in {
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "ANTHROPIC_BASE_URL": server.url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",
            "NO_PROXY": "127.0.0.1",
            # Nothing is encrypted here, and reading a machine's certificates takes longer than most of these tests.
            "SSL_CERT_DIR": os.path.dirname(__file__),
        }.items():
            patch.setenv(name, setting)
        patch.delenv("SSL_CERT_FILE", raising=False)
        model = open_model(spec)
        try:
            yield model, server
        finally:
            await model.close()


def chat_request(*conversation: Json | str, system: str = "", tools: tuple[ToolSpec, ...] = (LOOK,)) -> ChatRequest:
    """Return a request; a string is a message of the person."""
    records = [messages.user(item, 0) if isinstance(item, str) else item for item in conversation or ("Go",)]
    return ChatRequest(system, [messages.model_message(record) for record in records], tools)


async def stream_records(
    model: Model, request: ChatRequest | None = None, signal: AbortSignal | None = None
) -> list[Json]:
    return [messages.delta(event) async for event in model.stream(request or chat_request(), signal)]


async def answer_record(model: Model, request: ChatRequest | None = None) -> Json:
    message: Json = (await stream_records(model, request))[-1]["message"]
    return message


def without_usage(deltas: list[Json]) -> list[Json]:
    """Return the stream events without their usage and without the last one."""
    return [{name: value for name, value in delta.items() if name != "usage"} for delta in deltas[:-1]]
