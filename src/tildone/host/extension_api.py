"""What an extension may do to a host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tildone.host.dispatcher import Handler
from tildone.host.port import Command, CommandRun, Delivery, HostPort, Renderer
from tildone.kit.definition import ToolDefinition


class ExtensionAPI:
    """The host, from the side of one extension."""

    def __init__(self, host: HostPort, name: str) -> None:
        self._host = host
        self.name = name

    def on(self, event: str, handler: Handler) -> None:
        """Be told of an event: `handler(event, ctx)`, sync or async. An answer may steer what happens next."""
        self._host.bus.on(self.name, event, handler)

    def register_tool(self, tool: ToolDefinition) -> None:
        """Offer a tool to the model; one of the same name is overridden."""
        self._host.add_tool(tool)

    def register_command(self, name: str, description: str, run: CommandRun) -> None:
        """Offer a command to the person: `run(arguments, ctx)`."""
        self._host.commands[name] = Command(name, description, run)

    def register_message_renderer(self, custom_type: str, render: Renderer) -> None:
        """Say how messages of a custom type are drawn."""
        self._host.renderers[custom_type] = render

    def tool(self, name: str) -> ToolDefinition | None:
        """The tool of that name, to wrap it or to delegate to it."""
        return self._host.tools.get(name)

    def active_tools(self) -> list[str]:
        """The names of the tools that the model is offered."""
        return [tool.name for tool in self._host.offered()]

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Offer these tools only."""
        self._host.inactive = set(self._host.tools) - set(names)

    def send_message(
        self, message: dict[str, Any], *, trigger_turn: bool = False, deliver_as: Delivery | None = None
    ) -> None:
        """Put a custom message ({customType, content, display, details?}) into the conversation."""
        self._host.send_custom(message, trigger_turn=trigger_turn, deliver_as=deliver_as)

    def send_user_message(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Say something in the person's place.

        Raises:
            HostBusy: a turn is running, and nothing was said about when to deliver.
        """
        self._host.send_user(text, deliver_as=deliver_as)

    def tell(self, event: dict[str, Any]) -> None:
        """Tell whoever listens to the host's events of one of the extension's own."""
        self._host.tell(event)

    def append_entry(self, custom_type: str, data: Any) -> None:
        """Remember something in the session that the model does not see."""
        self._host.append_custom_entry(custom_type, data)
