"""Turns what happens in the host into blocks of the transcript: live, or from a conversation that was stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
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
from tildone.host.host import Renderer
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
from tildone.kit.components import Text
from tildone.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.kit.formatting import format_count
from tildone.kit.theme import Role
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

NOTE_ROLES = {"info": Role.MUTED, "warning": Role.WARNING, "error": Role.ERROR}


@value
class HostParts:
    """What of the host is needed to draw: its tools and renderers by name, and its working folder."""

    tools: Callable[[str], ToolDefinition | None]
    renderer: Callable[[str], Renderer | None]
    cwd: str


class ConversationFeed:
    """Feeds one transcript. `told` returns the words for a message that told the model to go on."""

    def __init__(self, view: TranscriptPane, parts: HostParts, told: Callable[[], str]) -> None:
        self._view, self._parts, self._told = view, parts, told
        self._streamed: dict[BlockKind, int] = {}
        self._running: dict[str, tuple[int, CallBlock]] = {}
        self._own: list[str] = []

    def expect(self, text: str) -> None:
        """The person has sent this text: it is shown as theirs when it is delivered."""
        self._own.append(text)

    def note(self, text: str, kind: str = "info") -> None:
        self._view.add(Remark(Text(text, NOTE_ROLES.get(kind, Role.MUTED))))

    def show_all(self, messages: Iterable[Message]) -> None:
        """Show a conversation from its beginning."""
        self._streamed.clear()
        self._running.clear()
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
                passed = monotonic() - (call.since or 0.0)
                self._update(call_id, _ended(replace(call, seconds=passed), replace(result, is_error=is_error)))
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

    def _call_view(self, call_id: str, name: str, args: object) -> CallRow:
        tool, cwd = self._parts.tools(name), self._parts.cwd
        return CallRow(call_id, name, tool, args, cwd=cwd, invalidate=lambda: self._redraw(call_id))

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
                    call = CallBlock(self._call_view(call_id, name, arguments), path=_path(arguments))
                    yield _ended(call, _result(results.get(call_id)))
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


def _ended(call: CallBlock, result: ToolResult) -> CallBlock:
    state = CallState.FAILED if result.failed else CallState.DONE
    return replace(call, result=result, state=state, since=None)


def _result(message: ToolResultMessage | None) -> ToolResult:
    if message is None:
        return ToolResult((TextContent("There is no result: it was interrupted."),), {}, is_error=True)
    texts = tuple(TextContent(block.text) for block in message.content if isinstance(block, TextBlock))
    return ToolResult(texts, message.details, is_error=bool(message.is_error))


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
