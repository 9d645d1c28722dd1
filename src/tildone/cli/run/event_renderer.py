"""Renders a host's events as lines of text: messages, tool calls and their results.

Lines are written once and never changed, so a line of an answer is written when it is finished, and of a call its
header when it begins and its result when it ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from tildone.cli.run.line_output import UNLIMITED_COLUMNS, LineOutput
from tildone.host.call_row import CallRow, custom_component
from tildone.host.events import (
    ExtensionError,
    MessageEnd,
    MessageUpdate,
    PublicEvent,
    RetryStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from tildone.host.host import Host
from tildone.host.messages import AssistantMessage, CustomMessage, Message, StopReason, UserMessage, text_of
from tildone.host.stream_events import BlockDelta, BlockEnd, BlockEvent, BlockKind
from tildone.kit.components import Component, RenderOptions, Text
from tildone.kit.components.drawing import fitted
from tildone.kit.components.fitting import Line
from tildone.kit.components.layout import rows
from tildone.kit.components.markdown import MarkdownReader
from tildone.kit.components.row import Row, Table
from tildone.kit.definition import ToolResult
from tildone.kit.formatting import format_count
from tildone.kit.keys import NO_KEYS
from tildone.kit.theme import Role, Span, plain
from tildone.value import replace
from tildone.views.sanitize import printable

INDENT = Span("  ")
FAILED = Span("✗ ", Role.ERROR)
INDENT_COLUMNS = 2
MIN_COLUMNS = 8


class EventRenderer:
    """Renders the events of one host."""

    def __init__(self, host: Host, output: LineOutput) -> None:
        self.expanded = False
        self._running: dict[str, CallRow] = {}
        self._collapsed: tuple[CallRow, ToolResult, RenderOptions] | None = None
        self._failed: set[str] = set()
        self._host = host
        self._output = output
        self._reader = MarkdownReader(Role.TEXT)
        self._line = ""

    def render(self, event: PublicEvent) -> None:
        """Render an event. Events without a visible form are ignored."""
        match event:
            case MessageUpdate(event=progress):
                self._render_progress(progress)
            case MessageEnd(message):
                self._render_message(message)
            case ToolExecutionStart():
                self._start_call(event)
            case ToolExecutionEnd():
                self._end_call(event)
            case RetryStart(attempt, max_attempts, delay_ms):
                pause = f"Trying again in {delay_ms / 1000:g} s ({attempt} of {max_attempts})"
                self.put(Text(pause, Role.WARNING))
            case ExtensionError(extension, name, error):
                self.put(Text(f"{extension} failed at {name}: {error}", Role.WARNING))
            case _:
                pass

    def put(self, component: Component) -> None:
        """Write a component that belongs to no event."""
        self._output.put(self._lines(component))

    def toggle_expanded(self) -> None:
        """Show results expanded from now on, or collapsed again. The newest collapsed one is written again, in full."""
        self.expanded = not self.expanded
        self.put(Text(f"Results are shown {'expanded' if self.expanded else 'collapsed'} from now on", Role.DIM))
        if self.expanded and self._collapsed is not None:
            row, result, options = self._collapsed
            if not row.is_merged:
                self.put(row.header(options))
            self._output.put(self._finished_call(row, result, options))
            self._collapsed = None

    def _render_progress(self, progress: BlockEvent) -> None:
        match progress:
            case BlockDelta(BlockKind.TEXT, _, delta):
                *complete, self._line = (self._line + delta).split("\n")
                for line in complete:
                    self._output.put(self._fitted(self._reader.read(line.removesuffix("\r"))))
            case BlockEnd(BlockKind.TEXT):
                self._finish_text()
            case _:
                return

    def _finish_text(self) -> None:
        lines = self._fitted(self._reader.rest(self._line))
        self._reader, self._line = MarkdownReader(Role.TEXT), ""
        self._output.put(lines)

    def _render_message(self, message: Message) -> None:
        match message:
            case UserMessage():
                self.put(Text((Span("❯ ", Role.ACCENT), Span(_first_line(message), Role.TEXT))))
            case CustomMessage() if message.display:
                self.put(custom_component(message, self._host.renderers.get(message.custom_type)))
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

    def _start_call(self, event: ToolExecutionStart) -> None:
        tool = self._host.tools.get(event.tool_name)
        cwd = self._host.ctx.cwd
        row = CallRow(event.call_id, event.tool_name, tool, event.args, cwd=cwd, invalidate=lambda: None)
        self._running[event.call_id] = row
        if not row.is_merged:
            self.put(row.header(RenderOptions()))

    def _end_call(self, event: ToolExecutionEnd) -> None:
        row = self._running.pop(event.call_id)
        options = RenderOptions(expanded=self.expanded, is_error=event.is_error)
        result = replace(event.result, is_error=event.is_error)
        self._output.put(self._finished_call(row, result, options))
        if self._is_collapsed(row, result, options):
            self._collapsed = row, result, replace(options, expanded=True)
        self._report_failure(row)

    def _is_collapsed(self, row: CallRow, result: ToolResult, options: RenderOptions) -> bool:
        """Return whether the expanded view shows more."""
        complete = row.result(result, replace(options, expanded=True))
        return self._drawn(row.result(result, options)) != self._drawn(complete)

    def _finished_call(self, row: CallRow, result: ToolResult, options: RenderOptions) -> list[Line]:
        """Return the lines of a result. That of a failed call begins with a sign."""
        component = row.result(result, options)
        if row.is_merged:
            return [line for line in self._lines(component) if plain(line).strip()]
        below = self._below(component)
        if below and result.failed:
            below[0][0] = FAILED
        return below

    def _report_failure(self, row: CallRow) -> None:
        """Write why a tool's renderer failed, once for each tool."""
        if row.failure and row.name not in self._failed:
            self._failed.add(row.name)
            self.put(Text(row.failure, Role.WARNING))

    def _below(self, component: Component) -> list[Line]:
        """Return a result as it is shown below the line of its call: indented, without empty lines."""
        lines = self._lines(component, self._output.columns - INDENT_COLUMNS)
        return [[INDENT, *line] for line in lines if plain(line).strip()]

    def _drawn(self, component: Component) -> list[Line]:
        return self._lines(component, UNLIMITED_COLUMNS)

    def _lines(self, component: Component, columns: int | None = None) -> list[Line]:
        return self._fitted(rows(component, NO_KEYS), columns)

    def _fitted(self, laid_out: Iterable[Row | Table], columns: int | None = None) -> list[Line]:
        width = self._output.columns if columns is None else columns
        return [[*line.spans] for line in fitted(laid_out, max(width, MIN_COLUMNS), safe=printable)]


def _first_line(message: Message) -> str:
    """The first line of a message, and how many more there are: a plan or a picture is not shown again."""
    lines = text_of(message).strip().split("\n")
    more = len(lines) - 1
    return f"{lines[0]} … ({format_count(more, 'more line')})" if more else lines[0]
