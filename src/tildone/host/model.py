"""The port to a model: what a request holds, how the answer is streamed, and how it fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from tildone.errors import TildoneError
from tildone.host.messages import ModelIdentity, ModelMessage
from tildone.host.stream_events import StreamEvent
from tildone.host.wire import Extra
from tildone.kit.signal import AbortSignal
from tildone.value import value


@value
class ToolSpec:
    """A tool as a model is told of it. The schema is sent unchanged."""

    name: str
    description: str
    parameters: Extra


@value
class ChatRequest:
    """Everything a model is given."""

    system: str
    messages: Sequence[ModelMessage]
    tools: tuple[ToolSpec, ...] = ()


class ModelFailure(TildoneError):
    """A model did not answer.

    A `transient` failure may pass if the request is repeated, after `retry_after` seconds if the provider named them.
    """

    def __init__(self, message: str, *, transient: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class Model(ModelIdentity, Protocol):
    """A model that answers."""

    def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[StreamEvent, None]:
        """The answer as it arrives; the last event is `AnswerDone`. Closing the stream ends the request.

        Raises:
            Aborted: the signal was set; the connection is closed by then.
            ModelFailure: there is no answer, or only a part of one.
        """

    async def close(self) -> None:
        """Close connections. The model may be used again, and then opens new ones."""
