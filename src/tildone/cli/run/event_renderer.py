"""A run as it is told line by line: what is said, which tools are called, what comes of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tildone.cli.run.line_output import UNLIMITED_COLUMNS
from tildone.dialects import DIALECTS, tools_of
from tildone.host.dispatcher import Event
from tildone.host.host import Host
from tildone.host.messages import Message, text_of
from tildone.kit.components import Component, Container, Markdown, RenderOptions, Text
from tildone.kit.components.defaults import call_component, default_call, default_result, result_component
from tildone.kit.components.drawing import Line, draw
from tildone.kit.definition import ToolDefinition, ToolResult, result_from_json
from tildone.kit.formatting import format_count
from tildone.kit.keys import KeyBindings
from tildone.kit.theme import Role, Span, plain
from tildone.value import replace, value
from tildone.views.sanitize import printable

NO_KEYS: KeyBindings = {"app.tools.expand": ""}
"""What was told is not told again in full, so there is no key for it."""

PLAN_TOOLS = frozenset(tool for name in DIALECTS for tool in tools_of(name))
INDENT = Span("  ")
INDENTED = 2
NARROWEST = 8


@value
class RunningCall:
    """A call whose result has not come: its header, since when it runs, and what it has given so far."""

    header: tuple[Line, ...]
    since: float
    so_far: str = ""


class LineSink(Protocol):
    """Where the story is told."""

    live: bool
    """Whether what is still under way can be shown, and be replaced later."""

    @property
    def columns(self) -> int:
        """How wide a line may be."""

    def put(self, lines: Sequence[Line]) -> None:
        """Tell these lines, for good."""

    def refresh(self) -> None:
        """What is under way has changed."""


class EventRenderer:
    """Tells what a host does. `running` and `unfinished` are what is under way, `waiting` is what will be said."""

    def __init__(self, host: Host, screen: LineSink) -> None:
        self.running: dict[str, RunningCall] = {}
        self.waiting: list[str] = []
        self._host = host
        self._screen = screen
        self._text = ""
        self._told = 0
        self._plan: Component = Container(())
        self._hearing: dict[str, Callable[[Event], None]] = {
            "message_update": self._streamed,
            "message_end": self._said,
            "tool_execution_start": self._called,
            "tool_execution_update": self._updated,
            "tool_execution_end": self._ended,
            "queue_update": self._queued,
            "auto_retry_start": self._retried,
            "extension_error": self._broken,
        }

    def hear(self, event: Event) -> None:
        """Tell of an event, if it is worth telling."""
        tell = self._hearing.get(event["type"])
        if tell is not None:
            tell(event)

    @property
    def unfinished(self) -> list[Line]:
        """The beginning of a line that a model is still writing."""
        return self._lines(Markdown(self._text, Role.TEXT))[self._told :] if self._text else []

    def begin_now(self) -> None:
        """What is under way has waited for an answer, and begins only now."""
        self.running = {name: replace(call, since=time.monotonic()) for name, call in self.running.items()}

    def put(self, component: Component) -> None:
        """Tell something that is not an event."""
        self._screen.put(self._lines(component))

    def _streamed(self, event: Event) -> None:
        delta = event["assistantMessageEvent"]
        match delta["type"]:
            case "text_delta":
                self._text += delta["delta"]
                self._tell_text(self._text.rpartition("\n")[0] if "\n" in delta["delta"] else "")
            case "text_end":
                self._finish_text()
            case _:
                return
        self._screen.refresh()

    def _tell_text(self, text: str) -> None:
        """Tell the lines of a text that were not told yet; a line of the text stays a line."""
        if text:
            lines, told = self._lines(Markdown(text, Role.TEXT)), self._told
            self._told = len(lines)
            self._screen.put(lines[told:])

    def _finish_text(self) -> None:
        text, self._text = self._text, ""
        self._tell_text(text.rstrip("\n"))
        self._told = 0

    def _said(self, event: Event) -> None:
        message: Message = event["message"]
        match message["role"]:
            case "user":
                self._screen.put(self._lines(Text((Span("❯ ", Role.ACCENT), Span(_first_line(message), Role.TEXT)))))
            case "custom" if message.get("display"):
                self._screen.put(self._lines(self._custom(message)))
            case "assistant":
                self._finish_text()
                self._stopped(message)
            case _:
                return

    def _stopped(self, message: Message) -> None:
        """Tell why a model did not come to its end."""
        match message["stopReason"]:
            case "error":
                self.put(Text(f"✗ {message.get('errorMessage') or 'The model failed'}", Role.ERROR))
            case "aborted":
                self.put(Text("✗ Interrupted", Role.WARNING))
            case "length":
                self.put(Text("The answer was cut: it grew longer than the model may write", Role.WARNING))
            case _:
                return

    def _custom(self, message: Message) -> Component:
        render = self._host.renderers.get(message["customType"])
        try:
            return render(message) if render else Text(text_of(message))
        except Exception:  # noqa: BLE001  an extension's renderer is a stranger: the words are shown as they are
            return Text(text_of(message))

    def _called(self, event: Event) -> None:
        header = tuple(self._lines(self._call(event["toolName"], event["args"])))
        self.running[event["toolCallId"]] = RunningCall(header, time.monotonic())
        if self._screen.live:
            self._screen.refresh()
        elif not self._is_merged(event["toolName"]):
            self._screen.put(header)

    def _updated(self, event: Event) -> None:
        call = self.running.get(event["toolCallId"])
        if call is not None:
            so_far = result_from_json(event["partialResult"]).text
            self.running[event["toolCallId"]] = replace(call, so_far=so_far)
            self._screen.refresh()

    def _ended(self, event: Event) -> None:
        call = self.running.pop(event["toolCallId"])
        name, result = event["toolName"], result_from_json(event["result"])
        lines = self._result(name, result, is_error=event["isError"])
        if self._is_merged(name):
            self._screen.put(lines)
            return
        header = call.header if self._screen.live else ()
        self._screen.put([*header, *([INDENT, *line] for line in lines)])

    def _queued(self, event: Event) -> None:
        self.waiting = [*event["steering"], *event["followUp"]]
        self._screen.refresh()

    def _retried(self, event: Event) -> None:
        seconds = event["delayMs"] / 1000
        self.put(Text(f"Trying again in {seconds:g} s ({event['attempt']} of {event['maxAttempts']})", Role.WARNING))

    def _broken(self, event: Event) -> None:
        self.put(Text(f"{event['extensionPath']} failed at {event['event']}: {event['error']}", Role.WARNING))

    def _is_merged(self, name: str) -> bool:
        """Whether the result takes the place of the call."""
        tool = self._host.tools.get(name)
        return tool is not None and tool.merged

    def _call(self, name: str, args: Any) -> Component:
        tool = self._host.tools.get(name)
        if tool is None:
            return Text(name, bold=True)
        try:
            return call_component(tool, args)
        except Exception:  # noqa: BLE001  a tool's renderer is a stranger: the call is shown like any other
            return default_call(tool, args)

    def _result(self, name: str, result: ToolResult, *, is_error: bool) -> list[Line]:
        shown = _shown(self._host.tools.get(name), result, RenderOptions(is_error=is_error))
        if name in PLAN_TOOLS and not is_error:
            # A plan is shown with every change; only what is new in it is worth telling.
            told = set(map(plain, _drawn(self._plan, UNLIMITED_COLUMNS)))
            self._plan = shown
            new = [Text(tuple(line)) for line in _drawn(shown, UNLIMITED_COLUMNS) if plain(line) not in told]
            shown = Container(tuple(new))
        return [line for line in self._lines(shown, indented=True) if plain(line).strip()]

    def _lines(self, component: Component, *, indented: bool = False) -> list[Line]:
        return _drawn(component, max(self._screen.columns - (INDENTED if indented else 0), NARROWEST))


def _drawn(component: Component, columns: int) -> list[Line]:
    return draw(component, columns, safe=printable, keys=NO_KEYS)


def _shown(tool: ToolDefinition | None, result: ToolResult, options: RenderOptions) -> Component:
    if tool is None:
        return default_result(result, options)
    try:
        return result_component(tool, result, options)
    except Exception:  # noqa: BLE001  a tool's renderer is a stranger: the result is shown like any other
        return default_result(result, options, tool.label)


def _first_line(message: Message) -> str:
    """What was said, as far as a line goes; a plan or a picture is not told again."""
    lines = text_of(message).strip().split("\n")
    more = len(lines) - 1
    return f"{lines[0]} … ({format_count(more, 'more line')})" if more else lines[0]
