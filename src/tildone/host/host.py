"""The host: one conversation, its tools and extensions, and the turns that a model takes in it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tildone.errors import TildoneError
from tildone.host import messages
from tildone.host.dispatcher import Dispatcher, Event
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.messages import Message
from tildone.host.model import Model
from tildone.host.pending_work import PendingWork
from tildone.host.port import After, Command, Delivery, Renderer
from tildone.host.retry import RetryPolicy
from tildone.host.transcript import Entry, Transcript
from tildone.host.turn_loop import Run
from tildone.host.ui import UI, NoUI
from tildone.kit.definition import ToolDefinition, validated
from tildone.kit.signal import AbortController, AbortSignal

Extension = Callable[[ExtensionAPI], None]
Listener = Callable[[Event], None]


class HostBusy(TildoneError):
    """A turn is running; say whether to steer it or to wait for its end."""


class Host:
    """Runs an agent. Everything outside (screen, files, model) was handed in."""

    def __init__(  # noqa: PLR0913  everything a host stands on comes in by name
        self,
        *,
        model: Model,
        transcript: Transcript,
        cwd: str,
        now: Callable[[], int],
        ui: UI | None = None,
        mode: str = "print",
        tools: Iterable[ToolDefinition] = (),
        retry: RetryPolicy | None = None,
        preamble: str | None = None,
        after: After | None = None,
    ) -> None:
        self.model = model
        self.transcript = transcript
        self.cwd = cwd
        self.now = now
        self.ui: UI = ui or NoUI()
        self.mode = mode
        self.retry = retry or RetryPolicy()
        self.preamble = preamble
        self.after: After = after or event_loop_timer
        self.tools: dict[str, ToolDefinition] = {}
        self.inactive: set[str] = set()
        self.commands: dict[str, Command] = {}
        self.renderers: dict[str, Renderer] = {}
        self.steering: deque[Message] = deque()
        self.following: deque[Message] = deque()
        self.next_turn: deque[Message] = deque()
        self.holds = PendingWork()
        self.bus = Dispatcher(self._complain)
        self.ctx = ExtensionContext(self)
        self._listeners: list[Listener] = []
        self._controller: AbortController | None = None
        self._run: Run | None = None
        self._task: asyncio.Task[None] | None = None
        for tool in tools:
            self.add_tool(tool)

    def load(self, extensions: Iterable[tuple[str, Extension]]) -> None:
        """Let extensions plug in, each under its name."""
        for name, extension in extensions:
            try:
                extension(ExtensionAPI(self, name))
            except Exception as error:  # noqa: BLE001  an extension is a stranger: it is reported, and the rest load
                self._complain(name, "load", error)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Be told of every event, as the records of pi's event stream; call the answer to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def start(self, reason: str = "startup") -> None:
        """Begin, or begin again in another session: extensions read the state they need."""
        await self.emit({"type": "session_start", "reason": reason})

    async def close(self) -> None:
        """End what runs, and tell the extensions."""
        self.request_abort("the host is closing")
        await self.settled()
        await self.emit({"type": "session_shutdown"})

    @property
    def is_running(self) -> bool:
        """Whether a turn is running."""
        return self._task is not None and not self._task.done()

    @property
    def signal(self) -> AbortSignal | None:
        """Tells when the running turn is aborted."""
        return self._controller.signal if self._controller is not None and self.is_running else None

    def offered(self) -> list[ToolDefinition]:
        """The tools that the model is offered now."""
        return [tool for name, tool in self.tools.items() if name not in self.inactive]

    def add_tool(self, tool: ToolDefinition) -> None:
        """Take a tool in; one of the same name makes way."""
        self.tools[tool.name] = validated(tool)

    async def prompt(self, text: str, images: Sequence[dict[str, Any]] = (), behavior: Delivery | None = None) -> None:
        """Take in what a person typed: a command is run, anything else begins a turn or joins the running one.

        Raises:
            HostBusy: a turn is running, and nothing was said about when to deliver.
        """
        name, _, rest = text[1:].partition(" ") if text.startswith("/") else ("", "", "")
        if name in self.commands:
            await self._run_command(self.commands[name], rest)
            return
        self._deliver(messages.user(text, self.now(), images), behavior)

    def steer(self, text: str) -> None:
        """Say something that the model reads before its next request."""
        self._deliver(messages.user(text, self.now()), "steer")

    def follow_up(self, text: str) -> None:
        """Say something that the model reads when it has stopped."""
        self._deliver(messages.user(text, self.now()), "follow_up")

    def send_user(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Say something in the person's place."""
        self._deliver(messages.user(text, self.now()), deliver_as)

    def send_custom(self, message: dict[str, Any], *, trigger_turn: bool, deliver_as: Delivery | None) -> None:
        """Put a custom message into the conversation, now or when it is its turn."""
        made = {"role": "custom", "timestamp": self.now(), **message}
        if deliver_as == "next_turn":
            self.next_turn.append(made)
        elif self.is_running and self._run is not None and self._run.at_work:
            (self.following if deliver_as == "follow_up" else self.steering).append(made)
        elif not trigger_turn:
            self.say(made)
        elif self.is_running:
            self.following.append(made)
        else:
            self._begin([made])

    def append_custom_entry(self, custom_type: str, data: Any) -> None:
        """Remember something that the model does not see."""
        entry = self.transcript.append("custom", customType=custom_type, data=data)
        self.tell({"type": "entry_appended", "entry": entry})

    def request_abort(self, reason: str) -> None:
        """Stop the running turn; `settled` tells when it has."""
        if self._controller is not None:
            self._controller.abort(reason)

    async def settled(self) -> None:
        """Wait until nothing runs."""
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    async def over(self) -> None:
        """Wait until nothing runs, and nothing is about to begin by itself."""
        while self.is_running or self.holds:
            await self.settled()
            await self.holds.released()

    def clear_queues(self) -> tuple[list[str], list[str]]:
        """Forget what waits to be said; the texts of it."""
        waiting = [messages.text_of(m) for m in self.steering], [messages.text_of(m) for m in self.following]
        self.steering.clear()
        self.following.clear()
        self.tell_queues()
        return waiting

    def use(self, transcript: Transcript) -> None:
        """Go on in another session."""
        self.transcript = transcript

    async def turn_to(self, entry_id: str | None) -> None:
        """Go on from another point of the conversation; what was said after it stays, on a branch of its own.

        Raises:
            UnknownEvent: there is no such entry.
        """
        self.request_abort("the conversation goes on from another point")
        await self.settled()
        self.transcript.move(entry_id)
        await self.emit({"type": "session_tree", "leaf": self.transcript.leaf})

    async def emit(self, event: Event) -> list[Any]:
        """Tell extensions of an event, then whoever listens; what the extensions answered."""
        answers = await self.bus.emit(event, self.ctx)
        if event["type"] in PUBLIC:
            self.tell(event)
        return answers

    def tell(self, event: Event) -> None:
        """Tell whoever listens, and no extension."""
        for listener in tuple(self._listeners):
            listener(event)

    def tell_queues(self) -> None:
        """Tell what waits to be said."""
        steering, following = map(messages.text_of, self.steering), map(messages.text_of, self.following)
        self.tell({"type": "queue_update", "steering": list(steering), "followUp": list(following)})

    def say(self, message: Message) -> Entry:
        """Put a finished message into the conversation."""
        self.tell({"type": "message_start", "message": message})
        entry = self.remember(message)
        self.tell({"type": "message_end", "message": message})
        return entry

    def remember(self, message: Message) -> Entry:
        """Write a message down."""
        if message["role"] == "custom":
            kept = {key: message[key] for key in ("customType", "content", "display", "details") if key in message}
            return self.transcript.append("custom_message", **kept)
        return self.transcript.append("message", message=message)

    def _deliver(self, message: Message, behavior: Delivery | None) -> None:
        if not self.is_running:
            self._begin([message])
            return
        match behavior:
            case "steer":
                self.steering.append(message)
            case "follow_up":
                self.following.append(message)
            case "next_turn":
                self.next_turn.append(message)
            case None:
                raise HostBusy("a turn is running: say whether to steer it or to wait for its end")
        self.tell_queues()

    def _begin(self, opening: list[Message]) -> None:
        self._controller = AbortController()
        self._run = Run(self, opening, self._controller.signal)
        self._task = asyncio.get_running_loop().create_task(self._run.whole())

    async def _run_command(self, command: Command, arguments: str) -> None:
        try:
            await command.run(arguments, self.ctx)
        except Exception as error:  # noqa: BLE001  an extension is a stranger: it is reported
            self._complain(command.name, "command", error)

    def _complain(self, extension: str, event: str, error: Exception) -> None:
        self.tell({"type": "extension_error", "extensionPath": extension, "event": event, "error": str(error)})


def event_loop_timer(delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
    """Call back after a while, on the running event loop; call the answer to forget it."""
    return asyncio.get_running_loop().call_later(delay_ms / 1000, callback).cancel


PUBLIC = {
    "agent_start",
    "agent_end",
    "agent_settled",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
}
