"""The port to a model: what it is asked, how it answers, and how it fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from tildone.errors import TildoneError
from tildone.host.messages import Message, ModelIdentity
from tildone.kit.signal import AbortSignal
from tildone.value import value

Delta = dict[str, Any]


@value
class ToolSpec:
    """A tool as a model is told of it. The schema goes out as it is."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@value
class ChatRequest:
    """Everything a model is given: `messages` are of the roles that `for_model` leaves."""

    system: str
    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()


class ModelFailure(TildoneError):
    """A model did not answer.

    What is `transient` may pass if the same is asked again, after `retry_after` seconds if the provider named them.
    """

    def __init__(self, message: str, *, transient: bool, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.transient = transient
        self.retry_after = retry_after


class Model(ModelIdentity, Protocol):
    """A model that answers."""

    def stream(self, request: ChatRequest, signal: AbortSignal | None = None) -> AsyncGenerator[Delta, None]:
        """The answer as it comes: pi's assistant message events, the last of them `done` with the whole message.

        A delta may carry the `usage` so far beside what pi's records hold. Closing the stream ends the request.

        Raises:
            Aborted: the signal said stop; the connection is closed by then.
            ModelFailure: there is no answer, or only a part of one.
        """

    async def close(self) -> None:
        """Let go of connections. The model may be used again, and then opens new ones."""
