"""A host as its parts see it: what runs, extensions and tools may ask of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from tildone.host.dispatcher import Dispatcher, Event
from tildone.host.messages import Message
from tildone.host.model import Model
from tildone.host.pending_work import PendingWork
from tildone.host.retry import RetryPolicy
from tildone.host.transcript import Entry, Transcript
from tildone.host.ui import UI
from tildone.kit.definition import ToolDefinition
from tildone.kit.signal import AbortSignal
from tildone.value import value

Delivery = Literal["steer", "follow_up", "next_turn"]
Renderer = Callable[[dict[str, Any]], Any]
CommandRun = Callable[[str, Any], Awaitable[None]]
After = Callable[[int, Callable[[], None]], Callable[[], None]]


@value
class Command:
    """Something a person can call by typing `/name` and what follows it: `run(arguments, ctx)`."""

    name: str
    description: str
    run: CommandRun


class HostPort(Protocol):
    """The host, from the inside."""

    model: Model
    transcript: Transcript
    cwd: str
    now: Callable[[], int]
    ui: UI
    mode: str
    retry: RetryPolicy
    preamble: str | None
    after: After
    holds: PendingWork
    bus: Dispatcher
    ctx: Any
    tools: dict[str, ToolDefinition]
    inactive: set[str]
    commands: dict[str, Command]
    renderers: dict[str, Renderer]
    steering: deque[Message]
    following: deque[Message]
    next_turn: deque[Message]

    @property
    def is_running(self) -> bool:
        """Whether a turn is running."""

    @property
    def signal(self) -> AbortSignal | None:
        """Tells when the running turn is aborted."""

    def offered(self) -> list[ToolDefinition]:
        """The tools that the model is offered now."""

    def add_tool(self, tool: ToolDefinition) -> None:
        """Take a tool in."""

    def send_user(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Say something in the person's place."""

    def send_custom(self, message: dict[str, Any], *, trigger_turn: bool, deliver_as: Delivery | None) -> None:
        """Put a custom message into the conversation."""

    def append_custom_entry(self, custom_type: str, data: Any) -> None:
        """Remember something that the model does not see."""

    def request_abort(self, reason: str) -> None:
        """Stop the running turn."""

    async def emit(self, event: Event) -> list[Any]:
        """Tell extensions of an event, then whoever listens."""

    def tell(self, event: Event) -> None:
        """Tell whoever listens, and no extension."""

    def tell_queues(self) -> None:
        """Tell what waits to be said."""

    def remember(self, message: Message) -> Entry:
        """Write a message down."""
