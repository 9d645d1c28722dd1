"""The state that the parts of one host share: the turn loop, tool execution, extensions and their context."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum

from tildone.host.messages import CustomMessage, DeveloperMessage, Message, UserMessage, text_of
from tildone.host.model import Model
from tildone.host.parameters import served
from tildone.host.pending_work import PendingWork
from tildone.host.retry import RetryPolicy
from tildone.host.transcript import Transcript
from tildone.host.ui import UI
from tildone.kit.definition import ToolDefinition
from tildone.kit.signal import AbortController, AbortSignal

QueuedMessage = UserMessage | CustomMessage | DeveloperMessage
Cancel = Callable[[], None]
After = Callable[[int, Callable[[], None]], Cancel]


class Delivery(Enum):
    """When a message is delivered that arrives while a turn is running."""

    STEER = "steer"
    """Before the next request to the model."""

    FOLLOW_UP = "follow_up"
    """When the model has stopped."""

    NEXT_TURN = "next_turn"
    """With the next prompt of the person."""


class MessageQueues:
    """Messages that are waiting for delivery, by the time of their delivery."""

    def __init__(self) -> None:
        self.steering: deque[QueuedMessage] = deque()
        self.follow_up: deque[QueuedMessage] = deque()
        self.next_turn: deque[QueuedMessage] = deque()

    def add(self, message: QueuedMessage, delivery: Delivery) -> None:
        """Queue a message."""
        self._queue(delivery).append(message)

    def next(self, *, stopped: bool) -> QueuedMessage | None:
        """Remove and return the next message: a steering message or, once the model has stopped, a follow-up."""
        queue = self.steering or (self.follow_up if stopped else None)
        return queue.popleft() if queue else None

    def texts(self) -> tuple[list[str], list[str]]:
        """Return the texts of steering messages and of follow-ups."""
        return _texts(self.steering), _texts(self.follow_up)

    def clear(self) -> None:
        """Drop steering messages and follow-ups."""
        self.steering.clear()
        self.follow_up.clear()

    def _queue(self, delivery: Delivery) -> deque[QueuedMessage]:
        match delivery:
            case Delivery.STEER:
                return self.steering
            case Delivery.FOLLOW_UP:
                return self.follow_up
            case Delivery.NEXT_TURN:  # exhaustive
                return self.next_turn


class Runtime:
    """One host's model, conversation, tools and queues, and whether a turn is running."""

    def __init__(  # noqa: PLR0913  everything a host is given comes in by name
        self,
        *,
        model: Model,
        transcript: Transcript,
        cwd: str,
        now: Callable[[], int],
        ui: UI,
        mode: str,
        after: After,
        retry: RetryPolicy,
        preamble: str | None,
    ) -> None:
        self.model = model
        self.transcript = transcript
        self.cwd = cwd
        self.now = now
        self.ui = ui
        self.mode = mode
        self.after = after
        self.retry = retry
        self.preamble = preamble
        self.tools: dict[str, ToolDefinition] = {}
        self.inactive: set[str] = set()
        self.queues = MessageQueues()
        self.pending = PendingWork()
        self.task: asyncio.Task[None] | None = None
        self.controller: AbortController | None = None

    @property
    def is_running(self) -> bool:
        """Whether a turn is running."""
        return self.task is not None and not self.task.done()

    @property
    def signal(self) -> AbortSignal | None:
        """The abort signal of the running turn."""
        return self.controller.signal if self.controller is not None and self.is_running else None

    def abort(self, reason: str) -> None:
        """Ask the running turn to stop."""
        if self.controller is not None:
            self.controller.abort(reason)

    def add_tool(self, tool: ToolDefinition) -> None:
        """Register a tool; it replaces one of the same name.

        Raises:
            InvalidDefinition: the definition is not valid.
        """
        self.tools[tool.name] = served(tool)

    def active_tools(self) -> list[ToolDefinition]:
        """Return the tools that are offered to the model."""
        return [tool for name, tool in self.tools.items() if name not in self.inactive]


def _texts(queue: Iterable[Message]) -> list[str]:
    return [text_of(message) for message in queue]
