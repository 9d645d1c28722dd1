"""Turns what happens in the host into blocks of the transcript: live, or from a conversation that was stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from time import monotonic

from tildone.host.call_row import CallRow, custom_component
from tildone.host.content import TextBlock, ThinkingBlock, ToolCallBlock
from tildone.host.events import (
    ExtensionError,
    MessageEnd,
    MessageUpdate,
    PublicEvent,
    RetryStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
)
from tildone.host.extension_api import Renderer
from tildone.host.messages import (
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    StopReason,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from tildone.host.stream_events import BlockDelta, BlockEnd, BlockEvent, BlockKind
from tildone.kit.components import Component, Container, RenderOptions, Text
from tildone.kit.components.drawing import draw
from tildone.kit.components.fitting import Line
from tildone.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.kit.formatting import format_count
from tildone.kit.theme import Role, plain
from tildone.tui.run.failures import failure_notice
from tildone.tui.transcript.blocks import (
    AnswerBlock,
    Block,
    CallBlock,
    CallState,
    NoticeBlock,
    PersonMessage,
    Remark,
    Separator,
    Thinking,
)
from tildone.tui.transcript.widget import TranscriptPane
from tildone.value import replace, value
from tildone.views.sanitize import printable

NOTE_ROLES = {"info": Role.MUTED, "warning": Role.WARNING, "error": Role.ERROR}
UNLIMITED_COLUMNS = 1_000_000


@value
class HostParts:
    """What of the host is needed to draw: its tools and renderers by name, and the names of the tools of the plan."""

    tools: Callable[[str], ToolDefinition | None]
    renderer: Callable[[str], Renderer | None]
    plan_tools: frozenset[str]
    cwd: str


class PlanCall:
    """A call that changes the plan: only the lines are shown that were not there after the call `before` it."""

    def __init__(self, row: CallRow) -> None:
        self._row = row
        self._result: ToolResult | None = None
        self._before: PlanCall | None = None

    @property
    def is_merged(self) -> bool:
        """Whether the result replaces the line of the call."""
        return self._row.is_merged

    @cached_property
    def lines(self) -> frozenset[str]:
        """The lines of the plan after the call. They do not depend on what has been drawn, or when."""
        return frozenset() if self._result is None else frozenset(map(plain, self._drawn(self._result)))

    def end(self, result: ToolResult, before: PlanCall | None) -> None:
        """The call has succeeded; `before` is the last one that did so earlier."""
        self._result, self._before = result, before

    def header(self, options: RenderOptions) -> Component:
        """Return the call."""
        return self._row.header(options)

    def result(self, result: ToolResult, options: RenderOptions) -> Component:
        """Return the lines of the plan that are new; all of them, if it is expanded or an error."""
        if options.expanded or options.is_error or options.is_partial:
            return self._row.result(result, options)
        known = self._before.lines if self._before else frozenset()
        return Container(Text(tuple(line)) for line in self._drawn(result) if plain(line) not in known)

    def _drawn(self, result: ToolResult) -> list[Line]:
        return draw(self._row.result(result, RenderOptions()), UNLIMITED_COLUMNS, safe=printable)


class ConversationFeed:
    """Feeds one transcript. `told` returns the words for a message that told the model to go on."""

    def __init__(self, view: TranscriptPane, parts: HostParts, told: Callable[[], str]) -> None:
        self._view, self._parts, self._told = view, parts, told
        self._streamed: dict[BlockKind, int] = {}
        self._running: dict[str, tuple[int, CallBlock]] = {}
        self._plan_call: PlanCall | None = None
        self._own: list[str] = []

    def expect(self, text: str) -> None:
        """The person has sent this text: it is shown as theirs when it is delivered."""
        self._own.append(text)

    def note(self, text: str, kind: str = "info") -> None:
        """Show a message to the person."""
        self._view.add(Remark(Text(text, NOTE_ROLES.get(kind, Role.MUTED))))

    def show_all(self, messages: Iterable[Message]) -> None:
        """Show a conversation from its beginning."""
        self._streamed.clear()
        self._running.clear()
        self._plan_call = None
        self._view.load(list(self._blocks(list(messages))))

    def render(self, event: PublicEvent) -> None:
        """Show an event; those without a visible form are ignored."""
        match event:
            case MessageUpdate(event=progress):
                self._progress(progress)
            case MessageEnd(AssistantMessage() as message):
                self._finish_text()
                self._stopped(message)
            case MessageEnd(message):
                for block in self._message_blocks(message):
                    self._view.add(block)
            case ToolExecutionStart(call_id, name, args):
                call = CallBlock(self._call_view(call_id, name, args), since=monotonic(), path=_path(args))
                self._running[call_id] = self._view.add(call), call
            case ToolExecutionUpdate(call_id, _, _, result) if call_id in self._running:
                self._update(call_id, replace(self._running[call_id][1], result=result))
            case ToolExecutionEnd(call_id, _, result, is_error) if call_id in self._running:
                call = self._running[call_id][1]
                state = CallState.FAILED if is_error else CallState.DONE
                passed = monotonic() - (call.since or 0.0)
                ended = replace(call, result=result, state=state, since=None, seconds=passed)
                self._ended(ended)
                self._update(call_id, ended)
                del self._running[call_id]
            case RetryStart(attempt, most, delay_ms, error):
                aside = f"try {attempt + 1} of {most + 1} in {delay_ms / 1000:g} s"
                self._view.add(NoticeBlock(error or "The request failed.", aside, role=Role.WARNING))
            case ExtensionError(extension, name, error):
                self._view.add(NoticeBlock(f"{extension} failed at {name}", details=(error,), role=Role.WARNING))
            case _:
                return

    def _update(self, call_id: str, call: CallBlock) -> None:
        number, _ = self._running[call_id]
        self._running[call_id] = number, call
        self._view.replace(number, call)

    def _ended(self, call: CallBlock) -> None:
        """Compare the plan after this call with that after the last one."""
        if isinstance(call.view, PlanCall) and call.state is CallState.DONE:
            call.view.end(call.result, self._plan_call)
            self._plan_call = call.view

    def _redraw(self, call_id: str) -> None:
        """Draw a running call again, because its renderer asks for it."""
        if call_id in self._running:
            self._update(call_id, self._running[call_id][1])

    def _progress(self, progress: BlockEvent) -> None:
        match progress:
            case BlockDelta(BlockKind.TEXT | BlockKind.THINKING as kind, _, delta):
                if kind not in self._streamed:
                    self._finish_text()
                    self._streamed[kind] = self._view.add(AnswerBlock() if kind is BlockKind.TEXT else Thinking())
                self._view.append_text(self._streamed[kind], delta)
            case BlockEnd(BlockKind.TEXT | BlockKind.THINKING):
                self._finish_text()
            case _:
                return

    def _finish_text(self) -> None:
        while self._streamed:
            _, block = self._streamed.popitem()
            self._view.finish_text(block)

    def _stopped(self, message: AssistantMessage) -> None:
        for block in _stop_blocks(message, live=True):
            self._view.add(block)

    def _message_blocks(self, message: Message) -> Iterator[Block]:
        match message:
            case UserMessage():
                yield self._person_block(text_of(message))
            case CustomMessage() if message.display:
                yield Remark(custom_component(message, self._parts.renderer(message.custom_type)))
            case CompactionSummaryMessage() | BranchSummaryMessage():
                yield Separator("what came before is replaced by a summary")
            case _:
                return

    def _person_block(self, text: str) -> Block:
        """A message of the person, or one that told the model to go on, which is not repeated."""
        if text in self._own:
            self._own.remove(text)
            return PersonMessage(text)
        return Separator(self._told())

    def _call_view(self, call_id: str, name: str, args: object) -> CallRow | PlanCall:
        cwd = self._parts.cwd
        row = CallRow(call_id, name, self._parts.tools(name), args, cwd=cwd, invalidate=lambda: self._redraw(call_id))
        return PlanCall(row) if name in self._parts.plan_tools else row

    def _blocks(self, messages: list[Message]) -> Iterator[Block]:
        results = {message.tool_call_id: message for message in messages if isinstance(message, ToolResultMessage)}
        for message in messages:
            match message:
                case AssistantMessage():
                    yield from self._answer_blocks(message, results)
                    yield from _stop_blocks(message, live=False)
                case UserMessage():
                    yield PersonMessage(shortened(text_of(message)))
                case _:
                    yield from self._message_blocks(message)

    def _answer_blocks(self, message: AssistantMessage, results: dict[str, ToolResultMessage]) -> Iterator[Block]:
        for block in message.content:
            match block:
                case TextBlock(text) if text.strip():
                    yield AnswerBlock(text)
                case ThinkingBlock(thinking) if thinking.strip():
                    yield Thinking(thinking)
                case ToolCallBlock(call_id, name, arguments):
                    result = results.get(call_id)
                    state = CallState.FAILED if result is None or result.is_error else CallState.DONE
                    view = self._call_view(call_id, name, arguments)
                    call = CallBlock(view, _result(result), state, path=_path(arguments))
                    self._ended(call)
                    yield call
                case _:
                    pass


def shortened(text: str) -> str:
    """Return the first line of a text, and how many more there are: a plan that was sent is not shown again."""
    first, *more = text.strip().split("\n")
    return f"{first} … ({format_count(len(more), 'more line')})" if len(more) > 8 else text.strip()  # noqa: PLR2004  a few lines are shown


def _path(args: Mapping[str, object]) -> str:
    """The file that a call is about: the built-in tools name it so, and others do."""
    path = args.get("path")
    return path if isinstance(path, str) else ""


def _result(message: ToolResultMessage | None) -> ToolResult:
    if message is None:
        return ToolResult((TextContent("There is no result: it was interrupted."),), {})
    texts = tuple(TextContent(block.text) for block in message.content if isinstance(block, TextBlock))
    return ToolResult(texts, message.details)


def _stop_blocks(message: AssistantMessage, *, live: bool) -> Iterator[Block]:
    """Why a model did not finish its answer."""
    match message.stop_reason:
        case StopReason.ERROR:
            yield failure_notice(message, live=live)
        case StopReason.ABORTED:
            yield NoticeBlock("Interrupted.", "(cut off)" if message.content else "", role=Role.WARNING)
        case StopReason.LENGTH:
            yield NoticeBlock("The answer was cut: it grew longer than the model may write.", role=Role.WARNING)
        case _:
            return
