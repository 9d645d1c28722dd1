"""A provider's model behind our port: one request, streamed, which ends when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import cast

from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model as Inner
from pydantic_ai.settings import ModelSettings

from tildone.host.model import ChatRequest, Delta
from tildone.host.providers.decoding import Deltas, answer, usage_of
from tildone.host.providers.encoding import history, parameters
from tildone.host.providers.error_mapping import to_model_failure
from tildone.kit.signal import AbortSignal

APIS = {
    "AnthropicModel": "anthropic-messages",
    "BedrockConverseModel": "bedrock-converse-stream",
    "GoogleModel": "google-generative-ai",
    "MistralModel": "mistral-conversations",
    "OpenAIChatModel": "openai-completions",
    "OpenAIResponsesModel": "openai-responses",
}
"""The library's classes, and what pi calls the protocols they speak."""

SETTINGS = ModelSettings(
    max_retries=0,  # whoever asks decides about asking again, and tells the person
    cache=True,  # a conversation is sent again with every request: unchanged, it costs a tenth
)


class ProviderModel:
    """A model of the library."""

    def __init__(self, inner: Inner, name: str) -> None:
        kinds = [APIS[kind.__name__] for kind in type(inner).__mro__ if kind.__name__ in APIS]
        self.provider = inner.system
        self.api = kinds[0] if kinds else self.provider
        self.id = name
        self._inner = inner
        self._settings = cast(
            "ModelSettings",
            {name: set_to for name, set_to in SETTINGS.items() if name not in inner.unsupported_settings},
        )
        self._open = contextlib.AsyncExitStack()
        self._entered = False

    async def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[Delta, None]:
        """The answer as it comes. Closing the stream, or the signal, closes the connection."""
        signal = signal or AbortSignal()
        if not self._entered:
            self._entered = True
            await self._open.enter_async_context(self._inner)
        arrived: asyncio.Queue[Delta | None] = asyncio.Queue()
        # A task of its own, so that it can be cancelled while it waits for the network: that closes the connection.
        listening = asyncio.create_task(self._listen(request, arrived))
        listening.add_done_callback(lambda _: arrived.put_nowait(None))
        unsubscribe = signal.on_abort(listening.cancel)
        try:
            while (delta := await arrived.get()) is not None:
                signal.raise_if_aborted()
                yield delta
        finally:
            unsubscribe()
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
        signal.raise_if_aborted()
        listening.result()

    async def close(self) -> None:
        """Let go of connections."""
        self._entered = False
        await self._open.aclose()

    async def _listen(self, request: ChatRequest, arrived: asyncio.Queue[Delta | None]) -> None:
        deltas = Deltas()
        try:
            asked = history(request.messages, self), parameters(request)
            async with model_request_stream(
                self._inner, asked[0], model_settings=self._settings, model_request_parameters=asked[1]
            ) as response:
                async for event in response:
                    for delta in deltas.of(event):
                        usage = {"usage": usage_of(response.usage)} if response.usage.has_values() else {}
                        arrived.put_nowait(delta | usage)
                message = answer(response.get(), self)
        except Exception as error:  # a library this size raises anything, and whatever it is ends this request only
            raise to_model_failure(error, self._inner.base_url) from error
        arrived.put_nowait({"type": "done", "reason": message["stopReason"], "message": message})
