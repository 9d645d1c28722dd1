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
from tildone.host.tool_search import FIND_TOOLS, find_tools, found_tools
from tildone.host.transcript import Transcript
from tildone.host.ui import UI
from tildone.kit.definition import ToolDefinition, ToolResult
from tildone.kit.signal import AbortController, AbortSignal

QueuedMessage = UserMessage | CustomMessage | DeveloperMessage
Cancel = Callable[[], None]
After = Callable[[int, Callable[[], None]], Cancel]

ABORT_GRACE_SECONDS = 2.0
"""How long an aborted call may take to end by itself and then, cancelled, to clean up."""


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
        include_yield: bool = False,
        permission_scope: str | None = None,
        abort_grace: float = ABORT_GRACE_SECONDS,
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
        self.include_yield = include_yield
        self.yielded: ToolResult | None = None
        self.abort_grace = abort_grace
        self._permission_scope = permission_scope
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

    @property
    def permission_scope(self) -> str:
        """The conversation in which the person has granted permissions: that of the agent that is no subagent."""
        return self._permission_scope or self.transcript.id

    def end_with(self, result: ToolResult) -> None:
        """End the run of a subagent with this result, once the calls of its answer are executed."""
        self.yielded = result

    def add_tool(self, tool: ToolDefinition) -> None:
        """Register a tool; it replaces one of the same name. A subagent has only tools that are inherited.

        Raises:
            InvalidDefinition: the definition is not valid.
        """
        checked = served(tool)
        if tool.inherit or not self.include_yield:
            self.tools[tool.name] = checked

    def active_tools(self) -> list[ToolDefinition]:
        """Return the tools that the model can call."""
        return [tool for name, tool in self.tools.items() if name not in self.inactive]

    def offered_tools(self) -> list[ToolDefinition]:
        """Return the tools of the next request: the active ones that need not be found, and the search for the rest."""
        active = self.active_tools()
        if not any(tool.discoverable for tool in active):
            return active
        found = found_tools(self.transcript)
        hidden = [tool for tool in active if tool.discoverable and tool.name not in found]
        offered = [tool for tool in active if not tool.discoverable or tool.name in found]
        return [*offered, find_tools(hidden)] if hidden and FIND_TOOLS not in self.tools else offered

    def callable_tool(self, name: str) -> ToolDefinition | None:
        """Return the tool that a call names; None if there is no such tool, or it is not active."""
        active = self.active_tools()
        discoverable = [tool for tool in active if tool.discoverable]
        if name == FIND_TOOLS and name not in self.tools and discoverable:
            return find_tools(discoverable)
        return next((tool for tool in active if tool.name == name), None)


def _texts(queue: Iterable[Message]) -> list[str]:
    return [text_of(message) for message in queue]
