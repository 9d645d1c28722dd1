"""The interface of the host for extensions."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tildone.host.command_exec import ExecResult, execute_command
from tildone.host.dispatcher import Dispatcher, E, Handler
from tildone.host.events import CustomEvent
from tildone.host.extension_context import ExtensionContext
from tildone.host.messages import CustomMessage, DeveloperMessage
from tildone.host.runtime import Delivery, Runtime
from tildone.host.wire import JsonValue
from tildone.kit.components import Component
from tildone.kit.definition import ToolDefinition
from tildone.kit.signal import AbortSignal
from tildone.value import value

Renderer = Callable[[CustomMessage], Component]
RunCommand = Callable[[str, ExtensionContext], Awaitable[None]]


@value
class SlashCommand:
    """A command that the person types as `/name` and arguments; it calls `run(arguments, ctx)`."""

    name: str
    description: str
    run: RunCommand


class Outbox(Protocol):
    """Where extensions send messages and entries."""

    def send_user(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Send a message on behalf of the person."""

    def send_custom(
        self, message: CustomMessage | DeveloperMessage, *, trigger_turn: bool, deliver_as: Delivery | None
    ) -> None:
        """Add a message to the conversation, now or at the time that `deliver_as` names."""

    def append_custom_entry(self, custom_type: str, data: JsonValue) -> None:
        """Add an entry that the model does not see."""


class Contributions:
    """The commands and renderers that extensions have registered."""

    def __init__(self) -> None:
        self.commands: dict[str, SlashCommand] = {}
        self.renderers: dict[str, Renderer] = {}


class ExtensionAPI:
    """The host as one extension uses it."""

    def __init__(
        self, name: str, runtime: Runtime, dispatcher: Dispatcher, contributions: Contributions, outbox: Outbox
    ) -> None:
        self.name = name
        self._runtime = runtime
        self._dispatcher = dispatcher
        self._contributions = contributions
        self._outbox = outbox

    def on(self, kind: type[E], handler: Handler[E]) -> None:
        """Register `handler(event, ctx)`, sync or async, for one kind of event; see `extension_events` for replies."""
        self._dispatcher.on(self.name, kind, handler)

    def register_tool(self, tool: ToolDefinition) -> None:
        """Offer a tool to the model; it replaces one of the same name.

        Raises:
            InvalidDefinition: the definition is not valid, or its schema cannot be used.
        """
        self._runtime.add_tool(tool)

    def register_command(self, name: str, description: str, run: RunCommand) -> None:
        """Offer a command to the person: `run(arguments, ctx)`."""
        self._contributions.commands[name] = SlashCommand(name, description, run)

    def register_message_renderer(self, custom_type: str, render: Renderer) -> None:
        """Set the renderer for messages of a custom type."""
        self._contributions.renderers[custom_type] = render

    def tool(self, name: str) -> ToolDefinition | None:
        """Return the tool with this name, for wrapping it or delegating to it."""
        return self._runtime.tools.get(name)

    def active_tools(self) -> list[str]:
        """Return the names of the tools that are offered to the model."""
        return [tool.name for tool in self._runtime.active_tools()]

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Offer only these tools to the model."""
        self._runtime.inactive = set(self._runtime.tools) - set(names)

    def send_message(
        self,
        message: CustomMessage | DeveloperMessage,
        *,
        trigger_turn: bool = False,
        deliver_as: Delivery | None = None,
    ) -> None:
        """Add a message to the conversation; with `trigger_turn` the model answers it."""
        self._outbox.send_custom(message, trigger_turn=trigger_turn, deliver_as=deliver_as)

    def send_user_message(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Send a message on behalf of the person.

        Raises:
            HostBusy: a turn is running, and `deliver_as` does not say when to deliver.
        """
        self._outbox.send_user(text, deliver_as=deliver_as)

    async def exec(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        cwd: str | None = None,
        signal: AbortSignal | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  ending the processes is part of the contract
    ) -> ExecResult:
        """Run a program without a shell and without asking, and return its output, exit code and whether it was killed.

        It runs in `cwd`, which is the working directory of the host or relative to it, and gets no secrets in its
        environment. When the signal is set, or after `timeout` seconds, it is ended with everything it has started.

        Raises:
            ToolFailure: the program cannot be started.
        """
        folder = self._runtime.cwd if cwd is None else os.path.join(self._runtime.cwd, cwd)
        return await execute_command([command, *args], folder, signal, timeout)

    def publish(self, kind: str, **fields: JsonValue) -> None:
        """Publish a custom event to listeners."""
        self._dispatcher.publish(CustomEvent(kind, fields))

    def append_entry(self, custom_type: str, data: JsonValue) -> None:
        """Append an entry to the conversation that the model does not see."""
        self._outbox.append_custom_entry(custom_type, data)
