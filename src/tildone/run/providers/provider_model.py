"""A provider's model: streams one request at a time, which can be aborted at any moment.

Theory of operation. The library's stream can only be stopped by cancelling the task that reads it. So the request runs
in a task of its own, which puts events into a queue for `stream`. Setting the abort signal, or closing the
generator, cancels that task, which closes the connection even while it waits for the network. A marker in the queue,
put there whenever the task ends, wakes the reader; errors of the task are raised after the last event.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import cast

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError
from pydantic_ai.models import Model as Inner
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tildone.base import replace
from tildone.base.secrets import Redactor
from tildone.run.events import AnswerDone, BlockEvent, StreamEvent
from tildone.run.kit.definition import AbortSignal
from tildone.run.model import ChatRequest, ModelFailure, Price
from tildone.run.providers.coding import StreamAssembler, answer, history, parameters, usage_of
from tildone.run.providers.failures import address_hint, refusal_hint, to_model_failure

APIS = {
    "AnthropicModel": "anthropic-messages",
    "BedrockConverseModel": "bedrock-converse-stream",
    "GoogleModel": "google-generative-ai",
    "MistralModel": "mistral-conversations",
    "OpenAIChatModel": "openai-completions",
    "OpenAIResponsesModel": "openai-responses",
}
"""Pi's names of the APIs that the library's classes use."""

SETTINGS = ModelSettings(
    max_retries=0,  # the host retries, and reports it
    cache=True,  # every request repeats the conversation; cached input costs a tenth
)


class ProviderModel:
    """A model of the library."""

    def __init__(self, inner: Inner, name: str, price: Price | None = None) -> None:
        kinds = [APIS[kind.__name__] for kind in type(inner).__mro__ if kind.__name__ in APIS]
        self.provider = inner.system
        self.api = kinds[0] if kinds else self.provider
        self.id = name
        self._inner = inner
        self._price = price
        self._settings = cast(
            "ModelSettings",
            {name: setting for name, setting in SETTINGS.items() if name not in inner.unsupported_settings},
        )
        self._connections = contextlib.AsyncExitStack()
        self._entered = False

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer. Closing the stream or setting the signal closes the connection."""
        signal = signal or AbortSignal()
        if not self._entered:
            self._entered = True
            await self._connections.enter_async_context(self._inner)
        arrived: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        reading = asyncio.create_task(self._read(request, arrived))
        reading.add_done_callback(lambda _: arrived.put_nowait(None))
        unsubscribe = signal.on_abort(reading.cancel)
        try:
            while (event := await arrived.get()) is not None:
                signal.raise_if_aborted()
                yield event
        finally:
            unsubscribe()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        signal.raise_if_aborted()
        reading.result()

    async def close(self) -> None:
        """Close all connections."""
        self._entered = False
        await self._connections.aclose()

    async def _read(self, request: ChatRequest, arrived: asyncio.Queue[StreamEvent | None]) -> None:
        assembler = StreamAssembler()
        try:
            messages, request_parameters = history(request.messages, self), parameters(request)
            async with model_request_stream(
                self._inner, messages, model_settings=self._settings, model_request_parameters=request_parameters
            ) as response:
                async for part_event in response:
                    for event in assembler.events(part_event):
                        arrived.put_nowait(_with_usage(event, response.usage))
                message = answer(response.get(), self, self._price)
        except Exception as error:  # the library may raise anything, which must end only this request
            raise await self._explained(error) from error
        arrived.put_nowait(AnswerDone(message))

    async def _explained(self, error: Exception) -> ModelFailure:
        """Return the failure for an error, without secrets, and with a hint for the person if there is one."""
        failure = to_model_failure(error, self._inner.base_url)
        hint = ""
        if isinstance(error, ModelHTTPError) and not failure.transient:
            hint = await refusal_hint(error.status_code, self._inner, self.id)
        elif isinstance(error, ModelConnectionError):
            hint = address_hint(self._inner)
        text = Redactor(os.environ).text(f"{failure}\n{hint}" if hint else str(failure))
        return ModelFailure(text, transient=failure.transient, retry_after=failure.retry_after)


def _with_usage(event: BlockEvent, used: RequestUsage) -> BlockEvent:
    return replace(event, usage=usage_of(used)) if used.has_values() else event
