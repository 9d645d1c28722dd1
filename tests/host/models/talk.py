"""A provider's model that is connected to a script, and what is said to it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.host import records as messages
from tests.host.models.wire import Turn, Wire
from tests.host.records import Json
from tildone.host.model import ChatRequest, Model, ToolSpec
from tildone.host.providers import open_model
from tildone.kit.signal import AbortSignal

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
async def talk(spec: str, *script: Turn) -> AsyncIterator[tuple[Model, Wire]]:
    """The model of that name, answering from a script."""
    with Wire(*script) as wire, pytest.MonkeyPatch.context() as patch:
        for name, setting in {
            "OPENAI_BASE_URL": f"{wire.url}/v1",
            "ANTHROPIC_BASE_URL": wire.url,
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
            yield model, wire
        finally:
            await model.close()


def asking(*said: Json | str, system: str = "", tools: tuple[ToolSpec, ...] = (LOOK,)) -> ChatRequest:
    """A request; text stands for what a person says."""
    told = [messages.user(each, 0) if isinstance(each, str) else each for each in said or ("Go",)]
    return ChatRequest(system, [messages.model_message(each) for each in told], tools)


async def heard(model: Model, request: ChatRequest | None = None, signal: AbortSignal | None = None) -> list[Json]:
    """Everything a model answers."""
    return [messages.delta(event) async for event in model.stream(request or asking(), signal)]


async def answer(model: Model, request: ChatRequest | None = None) -> Json:
    """The message that a model answers with."""
    message: Json = (await heard(model, request))[-1]["message"]
    return message


def bare(deltas: list[Json]) -> list[Json]:
    """Deltas without the usage that is told beside them, and without the last."""
    return [{name: told for name, told in delta.items() if name != "usage"} for delta in deltas[:-1]]
