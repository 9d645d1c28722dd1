"""The conversation on the screen: opens the host, sends what the person says, stops turns, and goes on elsewhere."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from itertools import zip_longest
from time import monotonic
from typing import Any, Protocol, TypeVar

from textual import on
from textual.containers import Vertical

from tildone.app.apply import Notice
from tildone.app.settings import Settings
from tildone.base import TildoneError, replace, value
from tildone.base.desktop import edit_text, editor_command, page_text, run_editor
from tildone.base.keys import KeyBindings
from tildone.log.store import Store
from tildone.plan.dialects.prompts import CONTINUE
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import printable, visible
from tildone.plan.text.styles import Role, Span, clip_text, wrap_text
from tildone.run import events
from tildone.run.extension import UI
from tildone.run.host import Host, Renderer
from tildone.run.kit.components import Text
from tildone.run.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.run.messages import (
    NO_ANSWER,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    StopReason,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
    UserMessage,
    last_text,
    model_messages,
    text_of,
    told_in,
)
from tildone.run.metering import RunMeter
from tildone.run.rendering import CallRow, custom_component, retry_words
from tildone.run.tools.typed import TYPED, TypedCommands, arguments_of_message, result_of_message
from tildone.run.transcript import Conversations, Transcript
from tildone.run.turn_loop import Delivery
from tildone.screens.run.composer import Composer, existing_file
from tildone.screens.run.questions import AskedQuestion, RunUI
from tildone.screens.run.sessions import TreeChoice, TreeScreen, list_conversations, sessions_screen
from tildone.screens.transcript.blocks import (
    AnswerBlock,
    Block,
    CallBlock,
    CallState,
    NoticeBlock,
    Offer,
    PersonMessage,
    Remark,
    Separator,
    Thinking,
)
from tildone.screens.transcript.widget import TranscriptPane
from tildone.screens.widgets.keys import Line, Palette
from tildone.screens.widgets.prompt import HelpScreen


class RunBackend(Protocol):
    """One run. It is opened in two steps, so that the screen can be drawn before the slow one."""

    store: Store
    conversations: Conversations
    transcript: Transcript
    start_reason: str
    prompt: str | None
    """What the run begins with; None, if the person says it. It is known once the run is prepared."""

    @property
    def settings(self) -> Settings:
        """The settings, with the session of the plan that the open conversation works on."""

    @property
    def title(self) -> str:
        """What that plan is called."""

    @property
    def can_ask(self) -> bool:
        """Whether the person can say what is to be done."""

    @property
    def is_prepared(self) -> bool:
        """Whether `prepare` is done."""

    def prepare(self) -> None:
        """Load the model. It takes seconds, and is called in a thread. Raises TildoneError if the run cannot start."""

    def open(self, ui: UI | None = None) -> Host:
        """Open the host with this UI, on the event loop. Raises TildoneError if the run cannot start."""


AGAIN, MODEL, DETAILS = "r", "m", "d"
KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "google": "GOOGLE_API_KEY",
}
_STATUS = re.compile(r"\b([45]\d\d)\b")
_REFUSED_KEY = ("401", "403")
_UNREACHABLE = re.compile(r"connect|refused|unreachable|resolve|timed? ?out", re.IGNORECASE)


def failure_notice(message: AssistantMessage, *, live: bool) -> NoticeBlock:
    """Return what happened, what is safe, and the keys that help; an old failure has no keys."""
    error = message.error_message or "The model failed."
    status = _STATUS.search(error)
    provider = message.provider or ""
    aside = " · ".join(text for text in (status[1] if status else "", provider) if text)
    offers = (Offer(AGAIN, "try again"), Offer(MODEL, "another model"), Offer(DETAILS, "what was sent")) if live else ()
    first, *more = error.strip().split("\n")
    if status and status[1] in _REFUSED_KEY:
        variable = KEY_VARIABLES.get(provider)
        hint = (f"Is {variable} right? Its value is not shown.",) if variable else ()
        return NoticeBlock("The provider refused the key.", aside, (*hint, first, *more), offers)
    if _UNREACHABLE.search(first) and not status:
        return NoticeBlock("Nothing answers at the provider's address.", aside, (first, *more), offers)
    return NoticeBlock(first, aside, tuple(more), offers)


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
        self._streamed: dict[events.BlockKind, int] = {}
        self._running: dict[str, tuple[int, CallBlock]] = {}
        self._failure: AssistantMessage | None = None
        self._retried: int | None = None
        """The block of a request that failed, which is changed while it is repeated."""
        self._retry = events.RetryStart(0, 0, 0, "")
        self._own: list[str] = []

    def expect(self, text: str) -> None:
        """The person has sent this text: it is shown as theirs when it is delivered."""
        self._own.append(text)

    def withdraw(self, queued: Iterable[str]) -> list[str]:
        """Return those of the queued texts that the person has sent, in their order, and expect them no longer."""
        texts = set(queued)
        withdrawn = [text for text in self._own if text in texts]
        self._own = [text for text in self._own if text not in texts]
        return withdrawn

    def note(self, text: str, kind: str = "info") -> None:
        self._view.add(Remark(Text(text, NOTE_ROLES.get(kind, Role.MUTED))))

    def show_all(self, messages: Iterable[Message]) -> None:
        self._streamed.clear()
        self._running.clear()
        self._failure = self._retried = None
        self._view.load(list(self._blocks(list(messages))))

    def render(self, event: events.PublicEvent) -> None:
        """Show an event; those without a visible form are ignored.

        It is known after a failure whether the request is repeated: that is one line, which changes.
        """
        match event:
            case events.MessageUpdate(event=progress):
                self._end_retry("answered")
                self._progress(progress)
            case events.MessageEnd(AssistantMessage() as message):
                self._finish_text()
                self._failure = message if message.stop_reason == StopReason.ERROR else None
                if self._failure is None:
                    self._end_retry("interrupted" if message.failed else "answered")
                for block in () if self._failure else _stop_blocks(message, live=True):
                    self._view.add(block)
            case events.AgentEnd(will_retry=False) | events.RetryEnd(final_error=str()) if self._failure is not None:
                self._show_failure(failure_notice(self._failure, live=True))
                self._failure = self._retried = None
            case events.RetryStart():
                until = monotonic() + event.delay_ms / 1000
                self._show_failure(_retry_notice(event, lambda now: f"· {retry_words(event, until - now)}"))
                self._retry = event
            case events.MessageEnd(message):
                for block in self._message_blocks(message):
                    self._view.add(block)
            case events.ToolExecutionStart(call_id, name, args):
                call = replace(self._call(call_id, name, args), since=monotonic())
                self._running[call_id] = self._view.add(call), call
            case events.ToolExecutionUpdate(call_id, _, _, result) if call_id in self._running:
                self._update(call_id, replace(self._running[call_id][1], result=result))
            case events.ToolExecutionAsks(call_id, asks) if call_id in self._running:
                call = self._running[call_id][1]
                asked = replace(_stopped(call), state=CallState.ASKING)
                since = monotonic() - (call.seconds or 0.0)
                running = replace(call, state=CallState.RUNNING, since=since, seconds=None)
                self._update(call_id, asked if asks else running)
            case events.ToolExecutionEnd(call_id, _, result, is_error) if call_id in self._running:
                call = self._running[call_id][1]
                self._update(call_id, _ended(_stopped(call), replace(result, is_error=is_error)))
                del self._running[call_id]
            case events.ExtensionError(extension, name, error):
                self._view.add(NoticeBlock(f"{extension} failed at {name}", details=(error,), role=Role.WARNING))
            case _:
                return

    def _show_failure(self, notice: NoticeBlock) -> None:
        if self._retried is None:
            self._retried = self._view.add(notice)
        else:
            self._view.replace(self._retried, notice)

    def _end_retry(self, how: str) -> None:
        """A request that was repeated has been answered, or interrupted."""
        if self._retried is not None:
            retry = self._retry
            words = f"· {how} (retry {retry.attempt} of {retry.max_attempts})"
            self._view.replace(self._retried, _retry_notice(retry, words))
            self._retried = None

    def _update(self, call_id: str, call: CallBlock) -> None:
        number, _ = self._running[call_id]
        self._running[call_id] = number, call
        self._view.replace(number, call)

    def _redraw(self, call_id: str) -> None:
        """Draw a running call again, because its renderer asks for it."""
        if call_id in self._running:
            self._update(call_id, self._running[call_id][1])

    def _progress(self, progress: events.BlockEvent) -> None:
        match progress:
            case events.BlockDelta(events.BlockKind.TEXT | events.BlockKind.THINKING as kind, _, delta):
                if kind not in self._streamed:
                    self._finish_text()
                    self._streamed[kind] = self._view.add(
                        AnswerBlock() if kind is events.BlockKind.TEXT else Thinking()
                    )
                self._view.append_text(self._streamed[kind], delta)
            case events.BlockEnd(events.BlockKind.TEXT | events.BlockKind.THINKING):
                self._finish_text()
            case _:
                return

    def _finish_text(self) -> None:
        while self._streamed:
            _, block = self._streamed.popitem()
            self._view.finish_text(block)

    def _message_blocks(self, message: Message) -> Iterator[Block]:
        match message:
            case UserMessage():
                text = text_of(message)
                if text in self._own:
                    self._own.remove(text)
                    yield PersonMessage(text)
                else:  # it told the model to go on, and is not repeated
                    yield Separator(self._told())
            case CustomMessage() if message.display:
                yield Remark(custom_component(message, self._parts.renderer(message.custom_type)))
            case BashExecutionMessage():
                call = self._call(f"{TYPED}{message.timestamp}", TYPED, arguments_of_message(message))
                yield _ended(call, result_of_message(message))
            case CompactionSummaryMessage() | BranchSummaryMessage():
                yield Separator("what came before is replaced by a summary")
            case _:
                return

    def _call(self, call_id: str, name: str, args: Mapping[str, object]) -> CallBlock:
        tool, cwd = self._parts.tools(name), self._parts.cwd
        view = CallRow(call_id, name, tool, args, cwd=cwd, invalidate=lambda: self._redraw(call_id))
        return CallBlock(view, path=_path(args), expanded=name == TYPED)

    def _blocks(self, messages: list[Message]) -> Iterator[Block]:
        results = {message.tool_call_id: message for message in messages if isinstance(message, ToolResultMessage)}
        for message, after in zip_longest(messages, messages[1:]):
            match message:
                case AssistantMessage():
                    yield from self._answer_blocks(message, results)
                    # A request that was repeated is followed by the next answer to it.
                    if message.stop_reason != StopReason.ERROR or not isinstance(after, AssistantMessage):
                        yield from _stop_blocks(message, live=False)
                    elif after.stop_reason != StopReason.ERROR:
                        yield replace(failure_notice(message, live=False), aside="· retried", role=Role.WARNING)
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
                    yield _ended(self._call(call_id, name, arguments), _result(results.get(call_id)))
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


def _retry_notice(retry: events.RetryStart, aside: str | Callable[[float], str]) -> NoticeBlock:
    return NoticeBlock((retry.error_message or "The request failed.").strip().split("\n")[0], aside, role=Role.WARNING)


def _stopped(call: CallBlock) -> CallBlock:
    """Return the call with the time that it has taken so far: until now, or until it began to ask."""
    return call if call.since is None else replace(call, since=None, seconds=monotonic() - call.since)


def _ended(call: CallBlock, result: ToolResult) -> CallBlock:
    state = CallState.FAILED if result.failed else CallState.DONE
    return replace(call, result=result, state=state, since=None)


def _result(message: ToolResultMessage | None) -> ToolResult:
    if message is None:
        return ToolResult((TextContent("There is no result: it was interrupted."),), {}, is_error=True)
    texts = tuple(TextContent(block.text) for block in message.content if isinstance(block, TextBlock))
    return ToolResult(texts, message.details, is_error=bool(message.is_error), told=told_in(message))


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


T = TypeVar("T")

MAX_MESSAGES_SHOWN = 12
NO_EDITOR = "There is no editor: set $VISUAL or $EDITOR"


@value
class AroundConversation:
    """What the screen around a conversation does for it.

    `changed` draws the lines around it soon, `say` shows a short message, and `told` returns the words for a message
    that told the model to go on. `opened` is called with the question that is asked now, and `detail` returns where a
    command would run. `deliver` delivers to the host what was sent while it was starting.
    """

    changed: Callable[[], None]
    say: Callable[[Notice], None]
    told: Callable[[], str]
    opened: Callable[[AskedQuestion[Any] | None], None]
    detail: Callable[[], str]
    deliver: Callable[[Host, str, bool], Awaitable[None]]


class Conversation(Vertical):
    """One run. `failure` is why it could not start; `ready` is the host once it takes messages.

    `early` is what was sent before, and whether it is for when the model has stopped.
    """

    def __init__(
        self,
        backend: RunBackend,
        meter: RunMeter,
        composer: Composer,
        around: AroundConversation,
        palette: Palette,
        keys: KeyBindings,
    ) -> None:
        super().__init__(id="left")
        self.backend, self.meter = backend, meter
        self.host: Host | None = None
        self.ready: Host | None = None
        self.failure: TildoneError | None = None
        self.early: list[tuple[str, bool]] = []
        self.queued: list[str] = []
        self.running_calls: dict[str, str] = {}
        self.model_name = backend.settings.model or "shell"
        self.view = TranscriptPane(palette, keys=keys)
        parts = HostParts(
            lambda name: self.host.tools.get(name) if self.host else None,
            lambda name: self.host.renderers.get(name) if self.host else None,
            backend.conversations.cwd,
        )
        self.typed = TypedCommands()
        self.feed = ConversationFeed(self.view, parts, around.told)
        self.ui = RunUI(
            changed=around.changed,
            opened=around.opened,
            noted=self.note,
            edit=self.edit_outside,
            pager=self.page,
            detail=around.detail,
        )
        self._composer, self._around, self._palette, self._keys = composer, around, palette, keys
        self._shown: Transcript = backend.transcript
        self._stops = self._stops_later = False
        self.unlisten: Callable[[], None] = lambda: None
        """Stops following the host."""
        self._spoken = asyncio.Event()

    @property
    def transcript(self) -> Transcript:
        return (self.host or self.backend).transcript

    @property
    def is_working(self) -> bool:
        return self.host is not None and self.host.is_running

    @property
    def waiting(self) -> list[str]:
        """What was sent and has not been read yet."""
        return [*self.queued, *(text for text, _ in self.early)]

    @property
    def is_counting_down(self) -> bool:
        """Whether the model is about to be told to go on."""
        return self.host is not None and bool(self.host.pending) and not self.host.is_running

    async def run(self, notices: list[str]) -> None:
        """Prepare the run, open the host, and wait until it is over."""
        try:
            if not self.backend.is_prepared:
                await asyncio.to_thread(self.backend.prepare)
            host = self.host = self.backend.open(self.ui)
            self.model_name = self.backend.settings.model or host.model.id
            self.unlisten = host.listen(lambda event: self._handle(host, event))
            self.show()
            for notice in notices:
                self.feed.note(notice.removeprefix("tildone: "), "warning")
            await host.start(self.backend.start_reason)
            self._around.changed()
            if self.backend.prompt is not None:
                self.feed.expect(self.backend.prompt)
                await host.prompt(self.backend.prompt)
            while self.early:
                await self._around.deliver(host, *self.early.pop(0))
            self.ready = host
            await self._until_over(host)
        except TildoneError as error:
            self.failure = error
        self.app.exit()

    def show(self) -> None:
        messages = self.transcript.messages()
        self.feed.show_all(messages)
        self._shown = self.transcript
        texts = [text_of(message) for message in messages if isinstance(message, UserMessage)]
        self._composer.sent_texts.begin(texts)

    def note(self, text: str, kind: str) -> None:
        """Show a message; after `/clear`, in the new conversation."""
        if self.host is not None and self.host.transcript is not self._shown:
            self.view.clear()
            self.show()
        self.feed.note(text, kind)

    async def send(self, host: Host, text: str, *, later: bool = False, is_command: bool = False) -> None:
        """Send a text to the model, or to the host if it is one of its commands. What comes of it is followed."""
        self.view.go_to_end()
        if not is_command:
            self.feed.expect(text)
        if text.startswith("/") and not is_command:
            await (host.follow_up(text) if later else host.steer(text))
        else:
            await host.prompt(text, behavior=Delivery.FOLLOW_UP if later else Delivery.STEER)
        self._spoken.set()
        self._around.changed()

    def take_back(self) -> list[str]:
        """Return what the person has sent and nobody has read, the oldest first; it is not delivered any more."""
        texts = self.feed.withdraw(self.queued)
        if self.host is not None:
            self.host.withdraw(texts)
        texts += [text for text, _ in self.early]
        self.early.clear()
        return texts

    def run_typed(self, host: Host, typed: str) -> None:
        """Run a command that the person has typed, `!` included."""

        async def run() -> None:
            if problem := await self.typed.run(host, typed):
                self._fail(problem)

        self.view.go_to_end()
        self.spawn(run())

    def take_over(self) -> None:
        """Stop a countdown, because the person does something."""
        if self.host is not None and self.is_counting_down:
            self.spawn(self.host.interrupt())

    def stop(self, *, later: bool = False) -> None:
        """Stop the running turn, now or when the running tools have ended."""
        self._stops = True
        if later:
            self._stops_later = True
        elif self.host is not None:
            self.host.request_abort()

    def retry(self) -> None:
        if self.host is not None and not self.is_working:
            self.spawn(self.send(self.host, CONTINUE))

    def show_request(self) -> None:
        """Show what the model was sent, message by message, shortened."""
        messages = model_messages(self.host.transcript.messages()) if self.host else []
        lines = [f"{self.model_name} was sent {format_count(len(messages), 'message')}:"]
        for message in messages[-MAX_MESSAGES_SHOWN:]:
            kind = type(message).__name__.removesuffix("Message").lower()
            text = " ".join(text_of(message).split())
            lines.append(f"  {kind}: {clip_text(text, 100) if text else '(no text)'}")
        self.feed.note("\n".join(lines))

    def copy_answer(self) -> None:
        text = last_text(self.host.transcript.messages()) if self.host else ""
        if text:
            self.view.copy(text)
        else:
            self._fail(NO_ANSWER)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something beside the rest."""
        self.app.run_worker(work, exit_on_error=True)

    def show_tree(self, palette: Palette) -> None:
        if self.host is not None and len(self.app.screen_stack) == 1:
            tree = TreeScreen(self.host.transcript, palette, self.backend.title, self._keys)
            self.app.push_screen(tree, self._tree_chosen)

    def show_others(self, palette: Palette) -> None:
        async def show() -> None:
            found = await asyncio.to_thread(list_conversations, self.backend.conversations)
            self.app.push_screen(sessions_screen(found, self.transcript.file, palette), self._conversation_chosen)

        if self.host is not None and len(self.app.screen_stack) == 1:
            self.spawn(show())

    async def edit_outside(self, text: str) -> str | None:
        """Let the person edit a text in their own editor; the screen comes back afterwards."""
        if not editor_command():
            self._fail(NO_EDITOR)
            return None
        return await self._outside(edit_text, text)

    @on(TranscriptPane.OfferChosen)
    def on_offer(self, message: TranscriptPane.OfferChosen) -> None:
        if message.key == AGAIN:
            self.retry()
        elif message.key == MODEL:
            self._composer.fill("/model ")
            self._composer.focus()
        else:
            self.show_request()

    @on(TranscriptPane.Copied)
    def on_copied(self, message: TranscriptPane.Copied) -> None:
        self._around.say(Notice(message.words))

    @on(TranscriptPane.PagerWanted)
    async def on_pager_wanted(self, message: TranscriptPane.PagerWanted) -> None:
        await self.page(message.text)

    async def page(self, text: str) -> None:
        """Show a long text in the person's own pager; in a screen, if there is none."""
        shown = visible(text)

        def rows(columns: int) -> list[Line]:
            return [(Span(part),) for line in shown.split("\n") for part in wrap_text(printable(line), columns) or [""]]

        if not await self._outside(page_text, shown):
            self.app.push_screen(HelpScreen(self._palette, rows))

    @on(TranscriptPane.FileWanted)
    async def on_file_wanted(self, message: TranscriptPane.FileWanted) -> None:
        path = existing_file(message.path, self.backend.conversations.cwd)
        if not editor_command():
            self._fail(NO_EDITOR)
        elif path is None:
            self._fail(f"There is no file {message.path}")
        elif why := await self._outside(run_editor, path):
            self._fail(f"The editor failed: {why}")

    @on(TranscriptPane.BlockChosen)
    def on_block_chosen(self, message: TranscriptPane.BlockChosen) -> None:
        """Fork from a message of the person, or edit it and go another way."""
        entry = self._entry_of(message.number)
        if entry is None:
            self._fail("Only one of your messages can be forked or edited.")
        elif message.what == "fork":
            self.spawn(self._fork(entry))
        else:
            self.spawn(self._edit_message(entry))

    async def _until_over(self, host: Host) -> None:
        """Wait for the end of a run that the person cannot go on with; otherwise, until they leave."""
        await host.over()
        await self.typed.over()
        while self.backend.can_ask:
            self._spoken.clear()
            self._around.changed()
            await self._spoken.wait()
            await host.over()

    def _handle(self, host: Host, event: events.PublicEvent) -> None:
        if getattr(event, "tool_name", "") != TYPED:
            self._follow(host, event)
        self.feed.render(event)
        self._around.changed()

    def _follow(self, host: Host, event: events.PublicEvent) -> None:
        """Follow the work of the model."""
        self.meter.feed(event)
        match event:
            case events.QueueUpdate(steering, follow_up):
                self.queued = [*steering, *follow_up]
            case events.ToolExecutionStart(call_id, name, args):
                command = args.get("command")
                self.running_calls[call_id] = command if isinstance(command, str) else name
            case events.ToolExecutionEnd(call_id):
                self.running_calls.pop(call_id, None)
                if self._stops_later and not self.running_calls:
                    self.stop()
            case events.EntryAppended(events.Entry(body=events.ModelChangeEntry(provider, name))):
                self.model_name = f"{provider}:{name}"
            case events.AgentEnd():
                self.running_calls.clear()
            case events.AgentSettled():
                # What was sent after the person had stopped the turn begins the next one.
                for text in self.take_back() if self._stops else ():
                    self.spawn(self.send(host, text))
                self._stops = self._stops_later = False
            case _:
                pass

    async def _outside(self, program: Callable[[str], T], text: str) -> T:
        """Let a program have the terminal; the screen comes back afterwards."""
        with self.app.suspend():
            result = await asyncio.to_thread(program, text)
        self.app.refresh(layout=True)
        return result

    def _fail(self, why: str) -> None:
        self._around.say(Notice(why, failed=True))

    def _tree_chosen(self, choice: TreeChoice | None) -> None:
        self._composer.focus()
        host = self.host
        if choice is None or host is None:
            return
        match choice.what:
            case "go":
                self.spawn(self._go_to(choice.node.tip))
            case "fork":
                self.spawn(self._fork(choice.node.id))
            case _:
                host.transcript.append(events.LabelEntry(choice.node.id, choice.label or None))
                self._around.say(Notice(f"Labelled “{choice.label}”." if choice.label else "The label is removed."))

    def _conversation_chosen(self, file: str | None) -> None:
        self._composer.focus()
        if file is not None:
            self.spawn(self._open(file))

    async def _go_to(self, entry_id: str | None) -> None:
        if self.host is not None:
            await self.host.turn_to(entry_id)
            self._show_again()

    async def _fork(self, entry_id: str) -> None:
        """Begin a new conversation from before a message, with its text in the editor."""
        try:
            made, text = self.backend.conversations.fork(self.transcript, entry_id)
        except TildoneError as error:
            self._fail(str(error))
            return
        await self._use(made, "fork")
        self._composer.fill(text)
        self._around.say(Notice("A new conversation; files stay as they are."))

    async def _edit_message(self, entry_id: str) -> None:
        """Go on from before a message, with its text in the editor; the branch stays."""
        entry = self.transcript.entry(entry_id)
        text = text_of(entry.body.message) if isinstance(entry.body, events.MessageEntry) else ""
        await self._go_to(entry.parent_id)
        self._composer.fill(text)
        self._composer.focus()

    async def _open(self, file: str) -> None:
        try:
            conversation = await asyncio.to_thread(self.backend.conversations.load, file)
        except (TildoneError, OSError) as error:
            self._fail(str(error))
            return
        await self._use(conversation, "resume")

    async def _use(self, conversation: Transcript, reason: str) -> None:
        if self.host is not None:
            await self.host.open(conversation, reason)
            self._show_again()

    def _show_again(self) -> None:
        self.view.clear()
        self.show()
        self._around.changed()

    def _entry_of(self, number: int) -> str | None:
        """The entry of a block, if it is a message of the person: the newest on this branch with its text."""
        block = next((entry.block for entry in self.view.document.entries if entry.id == number), None)
        if self.host is None or not isinstance(block, PersonMessage):
            return None
        shown = block.text.partition(" … (")[0]
        for entry in reversed(self.host.transcript.branch()):
            message = entry.body.message if isinstance(entry.body, events.MessageEntry) else None
            if isinstance(message, UserMessage) and text_of(message).strip().startswith(shown):
                return entry.id
        return None
