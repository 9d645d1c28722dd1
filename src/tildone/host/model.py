"""The interface to a model: requests, the stream of an answer, and failures."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from tildone.errors import TildoneError
from tildone.host.content import Block, Usage
from tildone.host.messages import AssistantMessage, ModelMessage, StopReason
from tildone.host.stream_events import StreamEvent
from tildone.host.wire import Extra
from tildone.kit.signal import AbortSignal
from tildone.value import value


@value
class ToolSpec:
    """The description of a tool in a request. The schema is sent unchanged."""

    name: str
    description: str
    parameters: Extra


@value
class ChatRequest:
    """The input of one model request."""

    system: str
    messages: Sequence[ModelMessage]
    tools: tuple[ToolSpec, ...] = ()


class ModelFailure(TildoneError):
    """A request to a model failed.

    A `transient` failure may be retried, after `retry_after` seconds if the provider named a delay.
    """

    def __init__(self, message: str, *, transient: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class Model(Protocol):
    """A model that answers: its API, its provider and its name."""

    @property
    def api(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def id(self) -> str: ...

    def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer; the last event is `AnswerDone`. Closing the stream ends the request.

        Raises:
            Aborted: the signal was set; the connection is closed by then.
            ModelFailure: the answer is missing or incomplete.
        """

    async def close(self) -> None:
        """Close all connections. A later request opens new ones."""


def assistant_message(
    content: Sequence[Block], model: Model, stop_reason: StopReason, at: int, *, error: str | None = None
) -> AssistantMessage:
    """Return a message of `model` with a usage of zero tokens."""
    return AssistantMessage(
        tuple(content), model.api, model.provider, model.id, Usage(), stop_reason, at, error_message=error
    )
