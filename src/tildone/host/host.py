"""The host: runs the turns of a model in one conversation, with its tools and extensions.

Whatever a person sends comes in through `prompt`, `steer`, `follow_up`, `abort`, `clear_queues`, `rename`, `open` or
`turn_to`. Each of them interrupts what extensions are about to start, such as a countdown; a turn that was aborted ends
with the same interruption. So no mode has to know what an extension has planned.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any

from tildone.errors import TildoneError
from tildone.host.compaction import compact
from tildone.host.content import ImageBlock, TextBlock
from tildone.host.dispatcher import Dispatcher, Listener
from tildone.host.entries import ConversationInfoEntry, CustomEntry, ModelChangeEntry
from tildone.host.events import (
    ConversationRenamed,
    EntryAppended,
    ExtensionError,
    MessageEnd,
    MessageStart,
    PublicEvent,
    QueueUpdate,
)
from tildone.host.extension_api import Contributions, ExtensionAPI, Renderer, SlashCommand
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import BranchChange, ConversationEnd, ConversationStart, Interruption, PersonSpoke
from tildone.host.messages import CustomMessage, DeveloperMessage, UserMessage, stamped
from tildone.host.model import Model
from tildone.host.pending_work import PendingWork, event_loop_timer
from tildone.host.registrations import restorer
from tildone.host.retry import RetryPolicy
from tildone.host.runtime import ABORT_GRACE_SECONDS, After, Cancel, Delivery, QueuedMessage, Runtime
from tildone.host.tool_execution import ToolExecutor
from tildone.host.tools.yield_result import yield_tool
from tildone.host.transcript import Transcript
from tildone.host.turn_loop import Run, remember
from tildone.host.ui import UI, NoUI
from tildone.host.wire import JsonValue
from tildone.kit.definition import ToolDefinition, ToolResult
from tildone.kit.signal import AbortController, AbortSignal

Extension = Callable[[ExtensionAPI], None]

BY_PERSON = "the person asked for it"
CLOSE_TIMEOUT_SECONDS = 5.0
"""How long the turn, and then the extensions, may take to end when the host is closed. An aborted call takes less."""


class HostBusy(TildoneError):
    """A turn is running, and the caller did not specify when to deliver the message."""


class Host:
    """Runs an agent with the given model, conversation, UI and clock."""

    def __init__(  # noqa: PLR0913  everything a host is given comes in by name
        self,
        *,
        model: Model,
        transcript: Transcript,
        cwd: str,
        now: Callable[[], int],
        ui: UI | None = None,
        mode: str = "print",
        tools: Iterable[ToolDefinition] = (),
        retry: RetryPolicy | None = None,
        preamble: str | None = None,
        after: After | None = None,
        include_yield: bool = False,
        permission_scope: str | None = None,
        abort_grace: float = ABORT_GRACE_SECONDS,
    ) -> None:
        """Create the host: with `include_yield`, of a subagent; `permission_scope` is the conversation it is in.

        An aborted call has `abort_grace` seconds to end by itself, and as long again once it is cancelled.
        """
        self.runtime = Runtime(
            model=model,
            transcript=transcript,
            cwd=cwd,
            now=now,
            ui=ui or NoUI(),
            mode=mode,
            after=after or event_loop_timer,
            retry=retry or RetryPolicy(),
            preamble=preamble,
            include_yield=include_yield,
            permission_scope=permission_scope,
            abort_grace=abort_grace,
        )
        self.ctx = ExtensionContext(self.runtime)
        self.dispatcher = Dispatcher(self.ctx)
        self._executor = ToolExecutor(self.runtime, self.dispatcher, self.ctx)
        self._contributions = Contributions()
        self._run: Run | None = None
        self._compaction: asyncio.Future[None] | None = None
        self._abort_requests = 0
        for tool in tools:
            self.runtime.add_tool(tool)
        if include_yield:
            self.runtime.add_tool(yield_tool(self.runtime.end_with))

    @property
    def model(self) -> Model:
        """The model that answers."""
        return self.runtime.model

    @property
    def transcript(self) -> Transcript:
        """The conversation."""
        return self.runtime.transcript

    @property
    def tools(self) -> dict[str, ToolDefinition]:
        """The registered tools by name, active or not."""
        return self.runtime.tools

    @property
    def commands(self) -> dict[str, SlashCommand]:
        """The commands of the extensions by name."""
        return self._contributions.commands

    @property
    def renderers(self) -> dict[str, Renderer]:
        """The renderers of custom messages, by custom type."""
        return self._contributions.renderers

    @property
    def pending(self) -> PendingWork:
        """Work that will start without the person, such as a countdown."""
        return self.runtime.pending

    @property
    def yielded(self) -> ToolResult | None:
        """The result with which a subagent has ended."""
        return self.runtime.yielded

    @property
    def is_running(self) -> bool:
        """Whether a turn is running."""
        return self.runtime.is_running

    @property
    def is_compacting(self) -> bool:
        """Whether what is running is no turn, but the summary of the conversation."""
        return self._compaction is not None and not self._compaction.done()

    @property
    def signal(self) -> AbortSignal | None:
        """The abort signal of the running turn."""
        return self.runtime.signal

    def load(self, extensions: Iterable[tuple[str, Extension]]) -> list[ExtensionError]:
        """Load extensions under their names; publish and return the errors of those that raised.

        Nothing stays registered of an extension that raised.
        """
        failures = []
        for name, extension in extensions:
            restore = restorer(self.runtime, self.dispatcher, self._contributions)
            try:
                extension(ExtensionAPI(name, self.runtime, self.dispatcher, self._contributions, self))
            except Exception as error:  # noqa: BLE001  an extension may raise anything: it is reported, and the others load
                restore()
                failures.append(self.dispatcher.report(name, "load", error))
        return failures

    def listen(self, listener: Listener) -> Cancel:
        """Deliver every public event to `listener`; call the returned function to unsubscribe."""
        return self.dispatcher.listen(listener)

    def publish(self, event: PublicEvent) -> None:
        """Deliver an event to listeners only."""
        self.dispatcher.publish(event)

    async def start(self, reason: str = "startup") -> None:
        """Tell extensions that the conversation is open, so that they read their state from it."""
        await self.dispatcher.emit(ConversationStart(reason))

    async def close(self) -> None:
        """Abort the running turn, wait for its end, and tell the extensions; do not wait for what takes too long."""
        self.request_abort("the host is closing")
        try:
            await _within_timeout(self.settled())
        finally:
            await _within_timeout(self.dispatcher.emit(ConversationEnd()))

    async def interrupt(self) -> None:
        """Tell extensions that the person takes over: countdowns are cancelled."""
        await self.dispatcher.emit(Interruption())

    async def prompt(self, text: str, images: Sequence[ImageBlock] = (), behavior: Delivery | None = None) -> None:
        """Process a line from the person: run a command, or start a turn or queue the text for the running one.

        Raises:
            HostBusy: a turn is running, and `behavior` is None.
        """
        name, _, rest = text[1:].partition(" ") if text.startswith("/") else ("", "", "")
        if name in self.commands:
            await self.interrupt()
            await self._run_command(self.commands[name], rest)
        else:
            await self._speak((TextBlock(text), *images), behavior)

    async def steer(self, text: str) -> None:
        """Send a message of the person that is delivered before the next request to the model."""
        await self._speak((TextBlock(text),), Delivery.STEER)

    async def follow_up(self, text: str) -> None:
        """Send a message of the person that is delivered when the model has stopped."""
        await self._speak((TextBlock(text),), Delivery.FOLLOW_UP)

    def send_user(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Send a message on behalf of the person."""
        self._deliver(UserMessage((TextBlock(text),), self.runtime.now()), deliver_as)

    def send_custom(
        self, message: CustomMessage | DeveloperMessage, *, trigger_turn: bool, deliver_as: Delivery | None
    ) -> None:
        """Add a message to the conversation, now or at the time that `deliver_as` names."""
        dated = stamped(message, self.runtime.now())
        queues = self.runtime.queues
        if deliver_as is Delivery.NEXT_TURN:
            queues.add(dated, Delivery.NEXT_TURN)
        elif self.is_running and self._run is not None and self._run.at_work:
            queues.add(dated, Delivery.FOLLOW_UP if deliver_as is Delivery.FOLLOW_UP else Delivery.STEER)
        elif not trigger_turn:
            self.publish(MessageStart(dated))
            remember(self.runtime, dated)
            self.publish(MessageEnd(dated))
        elif self.is_running:
            queues.add(dated, Delivery.FOLLOW_UP)
        else:
            self._begin(dated)

    def append_custom_entry(self, custom_type: str, data: JsonValue) -> None:
        """Add an entry that the model does not see."""
        self.publish(EntryAppended(self.transcript.append(CustomEntry(custom_type, data))))

    def request_abort(self, reason: str = BY_PERSON) -> None:
        """Stop the running turn, and whatever its end would start; `settled` waits until it has."""
        self._abort_requests += 1
        self.runtime.abort(reason)

    async def abort(self, reason: str = BY_PERSON) -> None:
        """Stop the running turn, and whatever is about to start one, and wait until it has."""
        stopped = self.runtime.task
        self.request_abort(reason)
        await self.interrupt()
        if stopped is not None:
            # Only this one: the person may begin another meanwhile.
            await asyncio.shield(stopped)

    async def settled(self) -> None:
        """Wait until no turn is running."""
        while self.runtime.task is not None and not self.runtime.task.done():
            await asyncio.shield(self.runtime.task)

    async def over(self) -> None:
        """Wait until no turn is running and none is pending."""
        while self.is_running or self.pending:
            await self.settled()
            await self.pending.released()

    async def clear_queues(self) -> tuple[list[str], list[str]]:
        """Drop the queued messages; return the texts of steering messages and of follow-ups."""
        await self.interrupt()
        waiting = self.runtime.queues.texts()
        self.runtime.queues.clear()
        self._publish_queues()
        return waiting

    async def rename(self, name: str) -> None:
        """Name the conversation; an empty name removes it."""
        await self.interrupt()
        self.transcript.append(ConversationInfoEntry(name))
        self.publish(ConversationRenamed(name))

    async def open(self, transcript: Transcript, reason: str) -> None:
        """Stop the turn, and continue in another conversation."""
        await self.abort("another conversation is opened")
        self.use(transcript)
        await self.start(reason)

    def use(self, transcript: Transcript) -> None:
        """Continue in another conversation, without telling anyone."""
        self.runtime.transcript = transcript

    async def turn_to(self, entry_id: str | None) -> None:
        """Continue from another entry; the entries after it remain on a branch of their own.

        Raises:
            UnknownEvent: there is no such entry.
        """
        await self.abort("the conversation goes on from another point")
        self.transcript.move(entry_id)
        await self.dispatcher.emit(BranchChange(self.transcript.leaf))

    async def compact(self, plan_text: str) -> None:
        """Replace the conversation in later requests by a summary that the model writes, and the text of the plan.

        Raises:
            HostBusy: a turn is running.
            ModelFailure: there is no summary; the conversation is unchanged.
            Aborted: it was aborted like a turn; the conversation is unchanged.
        """
        if self.is_running:
            raise HostBusy("a turn is running: wait for its end, or stop it")
        controller = self.runtime.controller = AbortController()
        work = self._compaction = asyncio.ensure_future(
            compact(self.runtime, self.dispatcher, controller.signal, plan_text)
        )
        # Others wait for the task of the host, and its failure is reported to the caller alone.
        self.runtime.task = asyncio.get_running_loop().create_task(_ended(work))
        await self.runtime.task
        work.result()

    def set_model(self, model: Model) -> None:
        """Let another model answer, from the next request on."""
        self.runtime.model = model
        self.publish(EntryAppended(self.transcript.append(ModelChangeEntry(model.provider, model.id))))

    async def _speak(self, content: tuple[TextBlock | ImageBlock, ...], behavior: Delivery | None) -> None:
        """Deliver a message of the person. A turn that was aborted takes no more: its end is waited for.

        An abort that is requested meanwhile is for this message, too.
        """
        await self.interrupt()
        requests = self._abort_requests
        while self.signal is not None and self.signal.aborted and self.runtime.task is not None:
            await asyncio.shield(self.runtime.task)
        await self.dispatcher.emit(PersonSpoke())
        self._deliver(UserMessage(content, self.runtime.now()), behavior)
        if self._abort_requests != requests:
            self.request_abort()

    def _deliver(self, message: QueuedMessage, behavior: Delivery | None) -> None:
        if not self.is_running:
            self._begin(message)
            return
        if behavior is None:
            raise HostBusy("a turn is running: say whether to steer it or to wait for its end")
        self.runtime.queues.add(message, behavior)
        self._publish_queues()

    def _begin(self, opening: QueuedMessage) -> None:
        if self.yielded is not None:
            return  # a subagent that has ended is not continued
        controller = self.runtime.controller = AbortController()
        self._run = Run(self.runtime, self.dispatcher, self._executor, [opening], controller.signal)
        self.runtime.task = asyncio.get_running_loop().create_task(self._run.complete())

    async def _run_command(self, command: SlashCommand, arguments: str) -> None:
        try:
            await command.run(arguments, self.ctx)
        except Exception as error:  # noqa: BLE001  an extension may raise anything: it is reported
            self.dispatcher.report(command.name, "command", error)

    def _publish_queues(self) -> None:
        self.publish(QueueUpdate(*self.runtime.queues.texts()))


async def _within_timeout(work: Coroutine[Any, Any, object]) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(work, CLOSE_TIMEOUT_SECONDS)


async def _ended(work: asyncio.Future[None]) -> None:
    await asyncio.wait({work})
