"""Renders a host's events as lines of text: messages, tool calls and their results.

Finished lines are written once and never changed. Work in progress (the last line of an answer, running calls, queued
messages) is available as `unfinished`, `running` and `queued`: a live screen draws it below the finished lines and
redraws it when it changes; other outputs wait until it is finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tildone.cli.run.line_output import UNLIMITED_COLUMNS
from tildone.dialects import DIALECTS, tools_of
from tildone.host.events import (
    ExtensionError,
    MessageEnd,
    MessageUpdate,
    PublicEvent,
    QueueUpdate,
    RetryStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from tildone.host.host import Host
from tildone.host.messages import AssistantMessage, CustomMessage, Message, StopReason, UserMessage, text_of
from tildone.host.stream_events import BlockDelta, BlockEnd, BlockEvent, BlockKind
from tildone.kit.components import Component, Container, Markdown, RenderOptions, Text
from tildone.kit.components.defaults import call_component, default_call, default_result, result_component
from tildone.kit.components.drawing import Line, draw
from tildone.kit.definition import ToolDefinition, ToolResult
from tildone.kit.formatting import format_count
from tildone.kit.keys import KeyBindings
from tildone.kit.theme import Role, Span, plain
from tildone.value import replace, value
from tildone.views.sanitize import printable

NO_KEYS: KeyBindings = {"app.tools.expand": ""}
"""Results cannot be expanded once they are written, so no key is offered."""

PLAN_TOOLS = frozenset(tool for name in DIALECTS for tool in tools_of(name))
INDENT = Span("  ")
INDENT_COLUMNS = 2
MIN_COLUMNS = 8


@value
class RunningCall:
    """A call without a result: its rendered header, and its output so far."""

    header: tuple[Line, ...]
    output: str = ""


class LineSink(Protocol):
    """Where lines are written."""

    live: bool
    """Whether work in progress can be drawn, and replaced later."""

    @property
    def columns(self) -> int:
        """The width of a line."""

    def put(self, lines: Sequence[Line]) -> None:
        """Write finished lines."""

    def refresh(self) -> None:
        """Redraw work in progress, which has changed."""


class EventRenderer:
    """Renders the events of one host."""

    def __init__(self, host: Host, sink: LineSink) -> None:
        self.running: dict[str, RunningCall] = {}
        self.queued: list[str] = []
        self._host = host
        self._sink = sink
        self._text = ""
        self._written = 0
        self._plan: Component = Container(())

    def render(self, event: PublicEvent) -> None:
        """Render an event. Events without a visible form are ignored."""
        match event:
            case MessageUpdate(event=progress):
                self._render_progress(progress)
            case MessageEnd(message):
                self._render_message(message)
            case ToolExecutionStart():
                self._start_call(event)
            case ToolExecutionUpdate():
                self._update_call(event)
            case ToolExecutionEnd():
                self._end_call(event)
            case QueueUpdate(steering, follow_up):
                self.queued = [*steering, *follow_up]
                self._sink.refresh()
            case RetryStart(attempt, max_attempts, delay_ms):
                pause = f"Trying again in {delay_ms / 1000:g} s ({attempt} of {max_attempts})"
                self.put(Text(pause, Role.WARNING))
            case ExtensionError(extension, name, error):
                self.put(Text(f"{extension} failed at {name}: {error}", Role.WARNING))
            case _:
                pass

    @property
    def unfinished(self) -> list[Line]:
        """The lines of a streamed answer that may still change."""
        return self._lines(Markdown(self._text, Role.TEXT))[self._written :] if self._text else []

    def put(self, component: Component) -> None:
        """Write a component that belongs to no event."""
        self._sink.put(self._lines(component))

    def _render_progress(self, progress: BlockEvent) -> None:
        match progress:
            case BlockDelta(BlockKind.TEXT, _, delta):
                self._text += delta
                self._write_text(self._text.rpartition("\n")[0] if "\n" in delta else "")
            case BlockEnd(BlockKind.TEXT):
                self._finish_text()
            case _:
                return
        self._sink.refresh()

    def _write_text(self, text: str) -> None:
        """Write the lines of the text that are not written yet. Complete lines of Markdown do not change later."""
        if text:
            lines, written = self._lines(Markdown(text, Role.TEXT)), self._written
            self._written = len(lines)
            self._sink.put(lines[written:])

    def _finish_text(self) -> None:
        text, self._text = self._text, ""
        self._write_text(text.rstrip("\n"))
        self._written = 0

    def _render_message(self, message: Message) -> None:
        match message:
            case UserMessage():
                self.put(Text((Span("❯ ", Role.ACCENT), Span(_first_line(message), Role.TEXT))))
            case CustomMessage() if message.display:
                self.put(self._custom_component(message))
            case AssistantMessage():
                self._finish_text()
                self._render_stop_reason(message)
            case _:
                return

    def _render_stop_reason(self, message: AssistantMessage) -> None:
        """Write why a model did not finish its answer."""
        match message.stop_reason:
            case StopReason.ERROR:
                self.put(Text(f"✗ {message.error_message or 'The model failed'}", Role.ERROR))
            case StopReason.ABORTED:
                self.put(Text("✗ Interrupted", Role.WARNING))
            case StopReason.LENGTH:
                self.put(Text("The answer was cut: it grew longer than the model may write", Role.WARNING))
            case _:
                return

    def _custom_component(self, message: CustomMessage) -> Component:
        render = self._host.renderers.get(message.custom_type)
        try:
            return render(message) if render else Text(text_of(message))
        except Exception:  # noqa: BLE001  an extension's renderer may raise anything: the plain text is shown
            return Text(text_of(message))

    def _start_call(self, event: ToolExecutionStart) -> None:
        header = tuple(self._lines(self._call_component(event.tool_name, event.args)))
        self.running[event.call_id] = RunningCall(header)
        if self._sink.live:
            self._sink.refresh()
        elif not self._is_merged(event.tool_name):
            self._sink.put(header)

    def _update_call(self, event: ToolExecutionUpdate) -> None:
        call = self.running.get(event.call_id)
        if call is not None:
            self.running[event.call_id] = replace(call, output=event.partial_result.text)
            self._sink.refresh()

    def _end_call(self, event: ToolExecutionEnd) -> None:
        call = self.running.pop(event.call_id)
        lines = self._result_lines(event.tool_name, event.result, is_error=event.is_error)
        if self._is_merged(event.tool_name):
            self._sink.put(lines)
            return
        header = call.header if self._sink.live else ()
        self._sink.put([*header, *([INDENT, *line] for line in lines)])

    def _is_merged(self, name: str) -> bool:
        """Return whether the result replaces the line of the call."""
        tool = self._host.tools.get(name)
        return tool is not None and tool.merged

    def _call_component(self, name: str, args: Any) -> Component:
        tool = self._host.tools.get(name)
        if tool is None:
            return Text(name, bold=True)
        try:
            return call_component(tool, args)
        except Exception:  # noqa: BLE001  a tool's renderer may raise anything: the default is used
            return default_call(tool, args)

    def _result_lines(self, name: str, result: ToolResult, *, is_error: bool) -> list[Line]:
        component = _result_component(self._host.tools.get(name), result, RenderOptions(is_error=is_error))
        if name in PLAN_TOOLS and not is_error:
            # Every change shows the whole plan; write only the lines that are new since the last one.
            before = set(map(plain, _draw_lines(self._plan, UNLIMITED_COLUMNS)))
            self._plan = component
            new = [Text(tuple(line)) for line in _draw_lines(component, UNLIMITED_COLUMNS) if plain(line) not in before]
            component = Container(tuple(new))
        # Only a result below the line of its call is indented.
        lines = self._lines(component, indented=not self._is_merged(name))
        return [line for line in lines if plain(line).strip()]

    def _lines(self, component: Component, *, indented: bool = False) -> list[Line]:
        return _draw_lines(component, max(self._sink.columns - (INDENT_COLUMNS if indented else 0), MIN_COLUMNS))


def _draw_lines(component: Component, columns: int) -> list[Line]:
    return draw(component, columns, safe=printable, keys=NO_KEYS)


def _result_component(tool: ToolDefinition | None, result: ToolResult, options: RenderOptions) -> Component:
    if tool is None:
        return default_result(result, options)
    try:
        return result_component(tool, result, options)
    except Exception:  # noqa: BLE001  a tool's renderer is a stranger: the result is shown like any other
        return default_result(result, options, tool.label)


def _first_line(message: Message) -> str:
    """The first line of a message, and how many more there are: a plan or a picture is not shown again."""
    lines = text_of(message).strip().split("\n")
    more = len(lines) - 1
    return f"{lines[0]} … ({format_count(more, 'more line')})" if more else lines[0]
