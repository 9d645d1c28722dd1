"""Renders a host's events as lines of text, and says how the run ended and how it can go on.

Lines are written once and never changed, so a line of an answer is written when it is finished, and of a call its
header when it begins and its result when it ends.
"""

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from tildone.base import replace, value
from tildone.base.distribution import program
from tildone.base.keys import NO_KEYS
from tildone.cli import INTERRUPTED
from tildone.cli.output import UNLIMITED_COLUMNS, colored, max_columns, on_terminal, put_notice
from tildone.cli.run.arguments import RunArguments
from tildone.log.session import Session
from tildone.plan.events import Directive
from tildone.plan.model import open_tasks, progress
from tildone.plan.text.amounts import describe_bound, format_count
from tildone.plan.text.safe import printable, printable_lines
from tildone.plan.text.styles import Role, Span, ansi, plain
from tildone.run import events
from tildone.run.host import Host
from tildone.run.kit.components import Component, RenderOptions, Text, rows
from tildone.run.kit.definition import ToolResult, fitted
from tildone.run.kit.drawing import Line, MarkdownReader, Row, Table
from tildone.run.messages import AssistantMessage, CustomMessage, Message, StopReason, UserMessage, last_answer, text_of
from tildone.run.rendering import CallRow, custom_component, retry_words
from tildone.run.tools.typed import TYPED
from tildone.run.transcript import Conversations


class LineOutput:
    """A stream. A terminal gets colours, and lines that fit its width, above the row in which a person types."""

    def __init__(self, stream: TextIO) -> None:
        self.prompt = ""
        """What begins the row in which the person types; empty if nothing was asked."""
        self._stream = stream
        self._color = colored(stream)

    @property
    def columns(self) -> int:
        return max_columns(self._stream)

    def put(self, lines: Sequence[Line]) -> None:
        """Write the lines, then the prompt again, and flush."""
        prompt = self.prompt
        self.end_row()
        self.write("".join(f"{ansi(line, color=self._color, safe=str)}\n" for line in lines))
        if prompt:
            self.ask(prompt)

    def ask(self, prompt: str) -> None:
        self.end_row()
        self.prompt = prompt
        self.write(prompt)

    def entered(self) -> None:
        """The person has pressed Enter, which the terminal has echoed."""
        self.prompt = ""

    def end_row(self) -> None:
        """End the row in which the person could type, if there is one."""
        if self.prompt:
            self.prompt = ""
            self.write("\n")

    def write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            if not on_terminal(self._stream):
                raise  # a terminal that was closed sends SIGHUP, which ends the run


INDENT = Span("  ")
FAILED = Span("✗ ", Role.ERROR)
INDENT_COLUMNS = 2
MIN_COLUMNS = 8


class EventRenderer:
    def __init__(self, host: Host, output: LineOutput) -> None:
        self.expanded = False
        self._running: dict[str, CallRow] = {}
        self._collapsed: tuple[CallRow, ToolResult, RenderOptions] | None = None
        self._failed: set[str] = set()
        self._failure = ""
        """Why the last request failed, if that is not shown yet."""
        self._host = host
        self._output = output
        self._reader = MarkdownReader(Role.TEXT)
        self._line = ""

    def render(self, event: events.PublicEvent) -> None:
        """Render an event. Events without a visible form are ignored."""
        match event:
            case events.MessageUpdate(event=progress):
                self._render_progress(progress)
            case events.MessageEnd(message):
                self._render_message(message)
            case events.ToolExecutionStart():
                self._start_call(event)
            case events.ToolExecutionEnd():
                self._end_call(event)
            case events.RetryStart(delay_ms=delay):
                why = event.error_message.strip() or "The request failed."
                self.put(Text(f"! {why} · {retry_words(event, delay / 1000)}", Role.WARNING))
            case events.AgentEnd(will_retry=False) if self._failure:
                # Only now it is known that the request is not repeated.
                self.put(Text(f"✗ {self._failure}", Role.ERROR))
                self._failure = ""
            case events.RetryEnd(final_error=str()) if self._failure:
                self.put(Text("✗ Interrupted", Role.WARNING))
                self._failure = ""
            case events.ExtensionError(extension, name, error):
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
            if not row.is_merged and not row.tells:
                self.put(row.header(options))
            self._output.put(self._finished_call(row, result, options))
            self._collapsed = None

    def _render_progress(self, progress: events.BlockEvent) -> None:
        match progress:
            case events.BlockDelta(events.BlockKind.TEXT, _, delta):
                *complete, self._line = (self._line + delta).split("\n")
                for line in complete:
                    self._output.put(self._fitted(self._reader.read(line.removesuffix("\r"))))
            case events.BlockEnd(events.BlockKind.TEXT):
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
                self._failure = ""
                self._render_stop_reason(message)
            case _:
                return

    def _render_stop_reason(self, message: AssistantMessage) -> None:
        match message.stop_reason:
            case StopReason.ERROR:
                self._failure = message.error_message or "The model failed"
            case StopReason.ABORTED:
                self.put(Text("✗ Interrupted", Role.WARNING))
            case StopReason.LENGTH:
                self.put(Text("The answer was cut: it grew longer than the model may write", Role.WARNING))
            case _:
                return

    def _start_call(self, event: events.ToolExecutionStart) -> None:
        tool = self._host.tools.get(event.tool_name)
        cwd = self._host.ctx.cwd
        row = CallRow(event.call_id, event.tool_name, tool, event.args, cwd=cwd, invalidate=lambda: None)
        self._running[event.call_id] = row
        if not row.is_merged and not row.tells:
            self.put(row.header(RenderOptions()))

    def _end_call(self, event: events.ToolExecutionEnd) -> None:
        row = self._running.pop(event.call_id)
        options = RenderOptions(expanded=self.expanded or event.tool_name == TYPED, is_error=event.is_error)
        result = replace(event.result, is_error=event.is_error)
        self._output.put(self._finished_call(row, result, options))
        expanded = replace(options, expanded=True)
        drawn, complete = (self._lines(row.result(result, each), UNLIMITED_COLUMNS) for each in (options, expanded))
        if drawn != complete:
            self._collapsed = row, result, expanded
        # Why a tool's renderer failed is written once for each tool.
        if row.failure and row.name not in self._failed:
            self._failed.add(row.name)
            self.put(Text(row.failure, Role.WARNING))

    def _finished_call(self, row: CallRow, result: ToolResult, options: RenderOptions) -> list[Line]:
        """Return the lines of a result, below that of its call indented. That of a failed call begins with a sign."""
        room = self._output.columns - (0 if row.is_merged else INDENT_COLUMNS)
        lines = [line for line in self._lines(row.result(result, options), room) if plain(line).strip()]
        if row.is_merged:
            return lines
        below = [[INDENT, *line] for line in lines]
        if below and result.failed:
            below[0][0] = FAILED
        return [*self._lines(row.header(options, result)), *below] if row.tells else below

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


OUTCOME_FAILED = 1


@value
class RunOutcome:
    """How a run ended. `reported` means that the reason has been shown; `next_step` is what the person may do now."""

    code: int
    reason: str = ""
    reported: bool = True
    next_step: str = ""


class OutcomeReport:
    """Describes the outcomes of one run. `session` returns that of the plan it works on."""

    def __init__(self, arguments: RunArguments, session: Callable[[], Session], conversations: Conversations) -> None:
        self._arguments = arguments
        self._session = session
        self._conversations = conversations
        self._first = session().name, session().state.head

    def outcome(self, host: Host) -> RunOutcome:
        last = last_answer(host.transcript.messages())
        stop_reason = last.stop_reason if last else StopReason.STOP
        state = self._session().state
        if stop_reason == StopReason.ABORTED and state.directive is Directive.STOP:
            return RunOutcome(OUTCOME_FAILED, "stopped by tildone stop", reported=False, next_step=self.next_step(host))
        if stop_reason == StopReason.ABORTED and state.tripped:
            reason = f"stopped: {describe_bound(state.tripped.bound, state.tripped.limit)}"
            return RunOutcome(OUTCOME_FAILED, reason, reported=False, next_step=self.next_step(host))
        if stop_reason == StopReason.ABORTED:
            return self.interrupted(host, INTERRUPTED)
        if last is not None and stop_reason == StopReason.ERROR:
            return RunOutcome(OUTCOME_FAILED, last.error_message or "the model failed", next_step=self.next_step(host))
        left = len(open_tasks(state.plan))
        if left:
            why = " (paused)" if state.directive is Directive.PAUSE else ""
            # Elsewhere, nothing else has shown the bound that ended the run.
            if not why and state.tripped is not None and self._arguments.mode != "terminal":
                why = f" ({describe_bound(state.tripped.bound, state.tripped.limit)})"
            remaining = f"{left} of {format_count(progress(state.plan).total, 'task')} left open{why}"
            return RunOutcome(OUTCOME_FAILED, remaining, reported=False, next_step=self.next_step(host))
        return RunOutcome(0)

    def interrupted(self, host: Host, code: int) -> RunOutcome:
        return RunOutcome(code, "interrupted", next_step=self.next_step(host))

    def next_step(self, host: Host) -> str:
        """Return the command that continues the run; empty if nothing was stored."""
        arguments, transcript = self._arguments, host.transcript
        if not arguments.stored or transcript.file is None:
            return ""
        choice = "--continue" if self._conversations.is_latest(transcript) else f"--resume {transcript.id}"
        command = f"{program()} run {choice}"
        folder = arguments.settings.session_dir
        if folder != arguments.defaults.session_dir:
            command += f" --session-dir {shlex.quote(folder)}"
        # Code is not stored in a conversation.
        command += "".join(f" --extension {shlex.quote(form)}" for form in arguments.given.values("extension"))
        if self._session().state.directive is not Directive.GO:
            command = f"{program()} resume{self.plan_options()} && {command}"
        return f"To go on: {command}"

    def log_hint(self) -> str | None:
        session, (first, head) = self._session(), self._first
        if not self._arguments.stored or session.state.head in (None, head if session.name == first else None):
            return None
        return f"How it went: {program()} log{self.plan_options()}"

    def plan_options(self) -> str:
        """Return the options that name the plan, as far as it is not the one that is meant without them."""
        settings, defaults = self._arguments.settings, self._arguments.defaults
        words, session = [], self._session().name
        if session != defaults.session:
            words += ["--session", shlex.quote(session)]
        if settings.store != defaults.store:
            words += ["--store", shlex.quote(settings.store.redacted)]
        return "".join(f" {word}" for word in words)


def report_on_stderr(outcome: RunOutcome) -> int:
    """Write the reason and the next step to standard error, for modes whose output is for programs. Return the code."""
    if outcome.code:
        lines = [f"tildone: {outcome.reason}", *filter(None, [outcome.next_step])]
        put_notice("\n".join(line for text in lines for line in printable_lines(text)))
    return outcome.code
