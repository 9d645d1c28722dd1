"""The run behind the screen: opens the host, delivers what the person says, stops turns, and leaves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

from textual.widget import Widget

from tildone.dialects.run_prompts import CONTINUE
from tildone.errors import TildoneError, closest, did_you_mean
from tildone.host.entries import Entry, ModelChangeEntry
from tildone.host.events import (
    AgentEnd,
    EntryAppended,
    PublicEvent,
    QueueUpdate,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from tildone.host.host import Host
from tildone.host.messages import UserMessage, text_of
from tildone.host.meter import RunMeter
from tildone.host.runtime import Delivery
from tildone.host.transcript import Transcript
from tildone.kit.formatting import format_count
from tildone.kit.keys import ALL_BINDINGS, KeyBindings
from tildone.kit.text import clip_text
from tildone.kit.theme import plain
from tildone.tui.editing import Editor
from tildone.tui.palette import Palette
from tildone.tui.reading import SessionDetail
from tildone.tui.run.backend import RunBackend
from tildone.tui.run.conversation_feed import ConversationFeed, HostParts
from tildone.tui.run.layout import Layout
from tildone.tui.run.plan_list import RunPlanList
from tildone.tui.run.questions import AskedQuestion
from tildone.tui.run.ui import RunUI
from tildone.tui.transcript.widget import TranscriptPane

COMMAND = re.compile(r"/(?P<name>[a-z]\w*)(?:\s+(?P<rest>.*))?", re.DOTALL)
ESCAPED = "//"
"""The beginning of a message that begins with a slash."""

INTERRUPTED = 130
NOTIFICATION_COLUMNS = 120
MAX_MESSAGES_SHOWN = 12
LocalCommand = Callable[[str], Coroutine[Any, Any, None] | None]


class Running(Layout):
    """A run. `failure` is why it could not start; `code` is that of a signal or a key that ended it."""

    def __init__(self, backend: RunBackend, meter: RunMeter, theme: str, notices: list[str]) -> None:
        self.keys: KeyBindings = {**ALL_BINDINGS, **dict(backend.settings.keys)}
        super().__init__(Editor(backend.settings, backend.store), theme, self._make_transcript, RunPlanList)
        self.backend, self.meter = backend, meter
        self.host: Host | None = None
        self.failure: TildoneError | None = None
        self.code = 0
        self.now = SessionDetail("")
        self.queued: list[str] = []
        self.running_calls: dict[str, str] = {}
        self._model_name = backend.settings.model or "shell"
        parts = HostParts(self._tool, self._renderer, backend.conversations.cwd)
        self.feed = ConversationFeed(self.view, parts, self.told_words)
        self.ui = RunUI(
            changed=self.draw_soon,
            opened=self._question_opened,
            noted=self._note,
            edit=self.edit_outside,
            detail=self._question_detail,
        )
        self._shown: Transcript = backend.transcript
        self._stops_later = False
        self._start_notices = notices
        self._unlisten: Callable[[], None] = lambda: None
        self._spoken = asyncio.Event()

    def _make_transcript(self, palette: Palette) -> Widget:
        self.view = TranscriptPane(palette, keys=self.keys)
        return self.view

    @property
    def is_working(self) -> bool:
        """Whether a turn is running."""
        return self.host is not None and self.host.is_running

    @property
    def is_counting_down(self) -> bool:
        """Whether the model is about to be told to go on."""
        return self.host is not None and bool(self.host.pending) and not self.host.is_running

    def draw_soon(self) -> None:
        """Draw the lines around the conversation soon."""
        raise NotImplementedError

    def told_words(self) -> str:
        """Return the words for a message that told the model to go on."""
        raise NotImplementedError

    def local_commands(self) -> dict[str, LocalCommand]:
        """Return the commands of the screen itself, by name."""
        raise NotImplementedError

    async def edit_outside(self, text: str) -> str | None:
        """Let the person edit a text in their own editor."""
        raise NotImplementedError

    async def run_host(self) -> None:
        """Prepare the run, open the host, and wait until it is over."""
        try:
            if not self.backend.is_prepared:
                await asyncio.to_thread(self.backend.prepare)
            host = self.host = self.backend.open(self.ui)
            self._model_name = self.backend.settings.model or host.model.id
            self._unlisten = host.listen(self._handle)
            self.show_conversation()
            for notice in self._start_notices:
                self.feed.note(notice.removeprefix("tildone: "), "warning")
            await host.start(self.backend.start_reason)
            self.draw_soon()
            if self.backend.prompt is not None:
                self.feed.expect(self.backend.prompt)
                await host.prompt(self.backend.prompt)
            await self._until_over(host)
        except TildoneError as error:
            self.failure = error
        self.exit()

    def show_conversation(self) -> None:
        """Show the open conversation from its beginning."""
        host = self.host
        transcript = host.transcript if host else self.backend.transcript
        messages = transcript.messages()
        if messages:
            self.feed.show_all(messages)
        self._shown = transcript
        self.composer.sent_texts.begin([text_of(message) for message in messages if isinstance(message, UserMessage)])

    def deliver(self, text: str, *, later: bool = False) -> None:
        """Run a command; send anything else to the model, before its next request if it is working."""
        host = self.host
        if host is None:
            self.composer.fill(text)
            self.feed.note("The model is being loaded; your text is kept.", "warning")
            return
        command = COMMAND.fullmatch(text)
        name = command["name"] if command else ""
        local = self.local_commands()
        if name in local:
            work = local[name]((command["rest"] if command else "") or "")
            if work is not None:
                self.spawn(work)
        elif name and name not in host.commands:
            close = [f"/{known}" for known in closest(name, (*host.commands, *local))]
            self.feed.note(
                f"There is no command /{name}; {did_you_mean(close) if close else '/help lists them'}", "warning"
            )
        else:
            message = text[1:] if text.startswith(ESCAPED) else text
            if not name:
                self.feed.expect(message)
            self.spawn(self._send(host, message, later=later, is_command=bool(name)))

    async def _send(self, host: Host, text: str, *, later: bool, is_command: bool) -> None:
        if text.startswith("/") and not is_command:
            await (host.follow_up(text) if later else host.steer(text))
        else:
            await host.prompt(text, behavior=Delivery.FOLLOW_UP if later else Delivery.STEER)
        self._spoken.set()
        self.draw_soon()

    def take_over(self) -> None:
        """Stop a countdown, because the person does something."""
        if self.host is not None and self.is_counting_down:
            self.spawn(self.host.interrupt())

    def abort(self) -> None:
        """Stop the running turn."""
        if self.host is not None:
            self.host.request_abort()

    @property
    def is_command_running(self) -> bool:
        """Whether a tool is at work, and does not wait for the person."""
        return bool(self.running_calls) and self.ui.question is None

    def stop_later(self) -> None:
        """Stop the turn when the running tools have ended."""
        self._stops_later = True

    def leave(self, code: int = 0) -> None:
        """End the screen."""
        self.code = code
        self.exit()

    def retry(self) -> None:
        """Send the conversation to the model again, after a failure."""
        if self.host is not None and not self.is_working:
            self.feed.expect(CONTINUE)
            self.spawn(self._send(self.host, CONTINUE, later=False, is_command=False))

    def show_request(self) -> None:
        """Show what the model was sent, message by message, shortened."""
        messages = self.host.transcript.messages() if self.host else []
        lines = [f"{self._model_name} was sent {format_count(len(messages), 'message')}:"]
        for message in messages[-MAX_MESSAGES_SHOWN:]:
            kind = type(message).__name__.removesuffix("Message").lower()
            text = " ".join(text_of(message).split())
            lines.append(f"  {kind}: {clip_text(text, 100) if text else '(no text)'}")
        self.feed.note("\n".join(lines))

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something beside the rest."""
        self.run_worker(work, exit_on_error=True)

    async def _until_over(self, host: Host) -> None:
        """Wait for the end of a run that the person cannot go on with; otherwise, until they leave."""
        await host.over()
        while self.backend.can_ask:
            self._spoken.clear()
            self.draw_soon()
            await self._spoken.wait()
            await host.over()

    def _handle(self, event: PublicEvent) -> None:
        self.meter.feed(event)
        match event:
            case QueueUpdate(steering, follow_up):
                self.queued = [*steering, *follow_up]
            case ToolExecutionStart(call_id, name, args):
                command = args.get("command")
                self.running_calls[call_id] = command if isinstance(command, str) else name
            case ToolExecutionEnd(call_id):
                self.running_calls.pop(call_id, None)
                if self._stops_later and not self.running_calls:
                    self.abort()
            case EntryAppended(Entry(body=ModelChangeEntry(provider, name))):
                self._model_name = f"{provider}:{name}"
            case AgentEnd():
                self.running_calls.clear()
                self._stops_later = False
            case _:
                pass
        self.feed.render(event)
        self.draw_soon()

    def _note(self, text: str, kind: str) -> None:
        """Show a message; after `/clear`, in the new conversation."""
        if self.host is not None and self.host.transcript is not self._shown:
            self.view.clear()
            self.show_conversation()
        self.feed.note(text, kind)

    def _question_opened(self, question: AskedQuestion[Any] | None) -> None:
        if question is not None and question is self.panel.question:
            self.panel.fit()
        else:
            follows = self.view.viewport.follows
            self.panel.open(question)
            if follows:
                self.call_after_refresh(self.view.go_to_end)
            if question is None:
                self.meter.resume()
            else:
                self.meter.pause()
                self._call_for_attention(question)
        self.draw_soon()

    def _call_for_attention(self, question: AskedQuestion[Any]) -> None:
        """Ring the bell; a person who looks elsewhere gets a notification of the desktop, where the terminal can."""
        self.bell()
        if not self.app_focus and self._driver is not None:
            first = plain(question.rows(NOTIFICATION_COLUMNS)[0])
            self._driver.write(f"\x1b]9;tildone: {first}\x07")

    def _question_detail(self) -> str:
        raise NotImplementedError

    def _tool(self, name: str) -> Any:
        return self.host.tools.get(name) if self.host else None

    def _renderer(self, name: str) -> Any:
        return self.host.renderers.get(name) if self.host else None
