"""The host: runs the turns of a model in one conversation, with its tools and extensions.

Whatever a person sends comes in through `prompt`, `steer`, `follow_up`, `abort`, `clear_queues`, `rename`, `open` or
`turn_to`. Each of them interrupts what extensions are about to start, such as a countdown; a turn that was aborted ends
with the same interruption. So no mode has to know what an extension has planned.

A handler of an extension that raises is reported as an `ExtensionError`, and the others still run: an extension cannot
break the host. Listeners are the host's own shells; an exception from one is a bug and is not caught.

Theory of operation. A run is a loop of *turns*. In a turn the waiting messages are added to the conversation, the model
is called, its tool calls are executed, and the results are added. The loop ends when an answer calls no tool and
nothing is queued, or when a subagent has called `yield`. Three things can go wrong, and the
conversation stays complete in each case:

- *The request fails.* The failure is recorded as an assistant message with the stop reason `error`. If it is transient,
  the retry policy decides whether and when to try again.
- *The run is aborted.* The signal ends the stream or the tool that is running; the answer is recorded with the stop
  reason `aborted`. After an aborted tool the loop makes one more request, which ends at once, so that every aborted
  run ends with an aborted message. An abort may come too late to stop anything. Messages that are queued stay so, and
  extensions are told of the interruption once they know of the end, so that nothing follows an aborted run by itself.
- *An extension raises.* The dispatcher reports it, and the run continues.

Before the run settles, extensions may keep the agent going (`BeforeSettle`), which starts the loop again.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import groupby
from typing import Any, TypeVar

from tildone.base import TildoneError, value
from tildone.base.schema import SchemaProblem, without_nulls
from tildone.run import events, extension
from tildone.run.extension import UI
from tildone.run.kit.components import Component
from tildone.run.kit.definition import (
    ABORTED,
    AbortController,
    Aborted,
    AbortSignal,
    ToolDefinition,
    ToolResult,
    error_result,
)
from tildone.run.messages import (
    PREAMBLE,
    AssistantMessage,
    CustomMessage,
    DeveloperMessage,
    ImageBlock,
    JsonValue,
    Message,
    StopReason,
    TextBlock,
    ToolCallBlock,
    ToolResultMessage,
    Usage,
    UserMessage,
    arguments_of,
    model_messages,
    stamped,
    system_prompt,
    text_of,
    tool_calls,
    tool_result_message,
)
from tildone.run.model import ChatRequest, Model, ModelFailure, RetryPolicy, ToolSpec, assistant_message, whole_answer
from tildone.run.parameters import checked, served
from tildone.run.tools.commands import ExecResult, execute_command
from tildone.run.transcript import Transcript
from tildone.run.turn_loop import (
    FIND_TOOLS,
    Delivery,
    MessageQueues,
    PendingWork,
    QueuedMessage,
    compact,
    event_loop_timer,
    find_tools,
    found_tools,
    result_problem,
    sound_result,
    yield_tool,
)

E = TypeVar("E", bound=extension.ExtensionEvent)
Handler = Callable[[E, "ExtensionContext"], Awaitable[extension.Reply | None] | extension.Reply | None]
AnyHandler = Handler[Any]
Listener = Callable[[events.PublicEvent], None]
Renderer = Callable[[CustomMessage], Component]
RunCommand = Callable[[str, "ExtensionContext"], Awaitable[None]]
Extension = Callable[["ExtensionAPI"], None]
Cancel = Callable[[], None]
After = Callable[[int, Callable[[], None]], Cancel]
Outcome = tuple[ToolResult, bool]
"""The result of a call, and whether it is an error."""

ABORTED_CALL = "Error: aborted"
ABORT_GRACE_SECONDS = 2.0
"""How long an aborted call may take to end by itself and then, cancelled, to clean up."""

BY_PERSON = "the person asked for it"
CLOSE_TIMEOUT_SECONDS = 5.0
"""How long the turn, and then the extensions, may take to end when the host is closed. An aborted call takes less."""


class HostBusy(TildoneError):
    """A turn is running, and the caller did not specify when to deliver the message."""


class ConversationView:
    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def id(self) -> str:
        return self._host.transcript.id

    @property
    def parent_id(self) -> str | None:
        """The id of the conversation that this one was forked from, if its file is known."""
        return self._host.transcript.parent_id

    @property
    def file(self) -> str | None:
        return self._host.transcript.file

    def branch(self) -> list[events.Entry]:
        return self._host.transcript.branch()

    def entries(self) -> list[events.Entry]:
        """Return every entry of every branch."""
        return self._host.transcript.entries


class ExtensionContext:
    """One host, as its extensions and tools see it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.conversation = ConversationView(host)

    @property
    def has_ui(self) -> bool:
        """Whether there is a UI that can show messages and ask questions."""
        return self._host.ui.has_ui

    @property
    def ui(self) -> UI:
        return self._host.ui

    @property
    def permission_scope(self) -> str:
        """The id of the conversation in which the person grants permissions; a subagent has those of its parent."""
        return self._host.permission_scope

    @property
    def cwd(self) -> str:
        return self._host.cwd

    @property
    def mode(self) -> str:
        """The mode of the host: print, json, rpc or terminal."""
        return self._host.mode

    @property
    def model(self) -> Model:
        return self._host.model

    @property
    def signal(self) -> AbortSignal | None:
        """The abort signal of the running turn; None when nothing runs."""
        return self._host.signal

    @property
    def is_idle(self) -> bool:
        """Whether no turn is running."""
        return not self._host.is_running

    def now(self) -> int:
        """Return the time of the host's clock, in milliseconds since 1970."""
        return self._host.now()

    def after(self, delay_ms: int, callback: Callable[[], None], *, holds: bool = False) -> Cancel:
        """Call back after a delay, unless the returned function is called; with `holds`, the run is not over before."""
        if not holds:
            return self._host.after(delay_ms, callback)
        release = self._host.pending.hold()
        cancel = self._host.after(delay_ms, lambda: _then(callback, release))
        return lambda: _then(cancel, release)

    def abort(self) -> None:
        """Stop the running turn."""
        self._host.stop("an extension asked for it")


_CALLS: ContextVar[tuple[tuple[Host, str], ...]] = ContextVar("calls", default=())
"""The call that is executed in this context, after those that have started its host as that of a subagent."""


@contextmanager
def asking() -> Iterator[None]:
    """Tell listeners that the calls of this context wait for the person meanwhile."""
    calls = _CALLS.get()
    for host, call_id in calls:
        host.count_question(call_id, 1)
    try:
        yield
    finally:
        for host, call_id in calls:
            host.count_question(call_id, -1)


def _then(first: Callable[[], None], last: Callable[[], None]) -> None:
    """Call both functions, the last even if the first raises."""
    try:
        first()
    finally:
        last()


class Dispatcher:
    """The handlers and listeners of one host. A handler is called with the event and `ctx`."""

    def __init__(self, ctx: ExtensionContext) -> None:
        self._ctx = ctx
        self.handlers: dict[type, tuple[tuple[str, AnyHandler], ...]] = {}
        self._listeners: list[Listener] = []

    def on(self, name: str, kind: type[E], handler: Handler[E]) -> None:
        self.handlers[kind] = (*self.handlers.get(kind, ()), (name, handler))

    def listen(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def emit(self, event: extension.ExtensionEvent) -> list[extension.Reply]:
        """Deliver an event to extensions, then to listeners if it is public; return the replies of the extensions."""
        replies = [await self._reply(name, handler, event) for name, handler in self.handlers.get(type(event), ())]
        if isinstance(event, events.AgentEvent):
            self.publish(event)
        return [reply for reply in replies if reply is not None]

    async def context(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages of a request. Extensions may change them, one after another."""
        for name, handler in self.handlers.get(extension.ContextRequest, ()):
            reply = await self._reply(name, handler, extension.ContextRequest(messages))
            messages = reply.messages if isinstance(reply, extension.ContextReply) else messages
        return messages

    def publish(self, event: events.PublicEvent) -> None:
        """Deliver an event to listeners only."""
        for listener in tuple(self._listeners):
            listener(event)

    def report(self, name: str, event: str, error: Exception) -> events.ExtensionError:
        """Tell listeners that an extension has raised."""
        report = events.ExtensionError(name, event, str(error))
        self.publish(report)
        return report

    async def _reply(self, name: str, handler: AnyHandler, event: extension.ExtensionEvent) -> extension.Reply | None:
        try:
            reply = handler(event, self._ctx)
            return await reply if inspect.isawaitable(reply) else reply
        except Exception as error:  # noqa: BLE001  an extension may raise anything: it is reported, and the others run
            self.report(name, event.type, error)
            return None


@value
class SlashCommand:
    """A command that the person types as `/name` and arguments; it calls `run(arguments, ctx)`."""

    name: str
    description: str
    run: RunCommand


class ExtensionAPI:
    """The host as one extension uses it."""

    def __init__(self, name: str, host: Host) -> None:
        self.name = name
        self._host = host

    def on(self, kind: type[E], handler: Handler[E]) -> None:
        """Register `handler(event, ctx)`, sync or async, for one kind of event; see `extension` for replies."""
        self._host.dispatcher.on(self.name, kind, handler)

    def register_tool(self, tool: ToolDefinition) -> None:
        """Offer a tool to the model; it replaces one of the same name.

        Raises InvalidDefinition if the definition is not valid, or its schema cannot be used.
        """
        self._host.add_tool(tool)

    def register_command(self, name: str, description: str, run: RunCommand) -> None:
        """Offer a command to the person: `run(arguments, ctx)`."""
        self._host.commands[name] = SlashCommand(name, description, run)

    def register_message_renderer(self, custom_type: str, render: Renderer) -> None:
        """Set the renderer for messages of a custom type."""
        self._host.renderers[custom_type] = render

    def tool(self, name: str) -> ToolDefinition | None:
        """Return the tool with this name, for wrapping it or delegating to it."""
        return self._host.tools.get(name)

    def active_tools(self) -> list[str]:
        """Return the names of the tools that are offered to the model."""
        return [tool.name for tool in self._host.active_tools()]

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Offer only these tools to the model."""
        self._host.inactive = set(self._host.tools) - set(names)

    def send_message(
        self,
        message: CustomMessage | DeveloperMessage,
        *,
        trigger_turn: bool = False,
        deliver_as: Delivery | None = None,
    ) -> None:
        """Add a message to the conversation; with `trigger_turn` the model answers it."""
        self._host.send_custom(message, trigger_turn=trigger_turn, deliver_as=deliver_as)

    def send_user_message(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Send a message on behalf of the person.

        Raises HostBusy if a turn is running, and `deliver_as` does not say when to deliver.
        """
        self._host.send_user(text, deliver_as=deliver_as)

    async def exec(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        cwd: str | None = None,
        signal: AbortSignal | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  ending the processes is part of the contract
    ) -> ExecResult:
        """Run a program without a shell and without asking, and return its output, exit code and whether it was killed.

        It runs in `cwd`, which is the working directory of the host or relative to it, and gets no secrets in its
        environment. When the signal is set, or after `timeout` seconds, it is ended with everything it has started.
        Raises ToolFailure if the program cannot be started.
        """
        folder = self._host.cwd if cwd is None else os.path.join(self._host.cwd, cwd)
        return await execute_command([command, *args], folder, signal, timeout)

    def publish(self, kind: str, **fields: JsonValue) -> None:
        """Publish a custom event to listeners."""
        self._host.publish(events.CustomEvent(kind, fields))

    def append_entry(self, custom_type: str, data: JsonValue) -> None:
        """Append an entry to the conversation that the model does not see."""
        entry = self._host.transcript.append(events.CustomEntry(custom_type, data))
        self._host.publish(events.EntryAppended(entry))


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
        self.model = model
        self.transcript = transcript
        self.cwd = cwd
        self.now = now
        self.ui = ui or extension.NoUI()
        self.mode = mode
        self.after = after or event_loop_timer
        self.retry = retry or RetryPolicy()
        self.preamble = preamble
        self.abort_grace = abort_grace
        self.tools: dict[str, ToolDefinition] = {}
        self.inactive: set[str] = set()
        self.commands: dict[str, SlashCommand] = {}
        self.renderers: dict[str, Renderer] = {}
        self.queues = MessageQueues()
        self.pending = PendingWork()
        self.yielded: ToolResult | None = None
        self.task: asyncio.Task[None] | None = None
        self.ctx = ExtensionContext(self)
        self.dispatcher = Dispatcher(self.ctx)
        self.listen = self.dispatcher.listen
        self.publish = self.dispatcher.publish
        self._executor = ToolExecutor(self)
        self._include_yield = include_yield
        self._permission_scope = permission_scope
        self._controller: AbortController | None = None
        self._run: Run | None = None
        self._compaction: asyncio.Future[None] | None = None
        self._abort_requests = 0
        self._questions: Counter[str] = Counter()
        for tool in tools:
            self.add_tool(tool)
        if include_yield:
            self.add_tool(yield_tool(self._end_with))

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()

    @property
    def is_compacting(self) -> bool:
        """Whether what is running is no turn, but the summary of the conversation."""
        return self._compaction is not None and not self._compaction.done()

    @property
    def signal(self) -> AbortSignal | None:
        """The abort signal of the running turn."""
        return self._controller.signal if self._controller is not None and self.is_running else None

    @property
    def permission_scope(self) -> str:
        """The conversation in which the person has granted permissions: that of the agent that is no subagent."""
        return self._permission_scope or self.transcript.id

    def add_tool(self, tool: ToolDefinition) -> None:
        """Register a tool; it replaces one of the same name. A subagent has only tools that are inherited."""
        checked = served(tool)
        if tool.inherit or not self._include_yield:
            self.tools[tool.name] = checked

    def active_tools(self) -> list[ToolDefinition]:
        """Return the tools that the model can call."""
        return [tool for name, tool in self.tools.items() if name not in self.inactive]

    def offered_tools(self) -> list[ToolDefinition]:
        """Return the tools of the next request: the active ones that need not be found, and the search for the rest."""
        active = self.active_tools()
        if not any(tool.discoverable for tool in active):
            return active
        found = found_tools(self.transcript)
        hidden = [tool for tool in active if tool.discoverable and tool.name not in found]
        offered = [tool for tool in active if not tool.discoverable or tool.name in found]
        return [*offered, find_tools(hidden)] if hidden and FIND_TOOLS not in self.tools else offered

    def callable_tool(self, name: str) -> ToolDefinition | None:
        """Return the tool that a call names; None if there is no such tool, or it is not active."""
        active = self.active_tools()
        discoverable = [tool for tool in active if tool.discoverable]
        if name == FIND_TOOLS and name not in self.tools and discoverable:
            return find_tools(discoverable)
        return next((tool for tool in active if tool.name == name), None)

    def load(self, extensions: Iterable[tuple[str, Extension]]) -> list[events.ExtensionError]:
        """Load extensions under their names; publish and return the errors of those that raised.

        Nothing stays registered of an extension that raised.
        """
        failures = []
        for name, register in extensions:
            tables: list[dict[Any, Any]] = [self.tools, self.dispatcher.handlers, self.commands, self.renderers]
            before, inactive = [dict(table) for table in tables], self.inactive
            try:
                register(ExtensionAPI(name, self))
            except Exception as error:  # noqa: BLE001  an extension may raise anything: it is reported, and the others load
                for table, entries in zip(tables, before, strict=True):
                    table.clear()
                    table.update(entries)
                self.inactive = inactive
                failures.append(self.dispatcher.report(name, "load", error))
        return failures

    async def start(self, reason: str = "startup") -> None:
        """Tell extensions that the conversation is open, so that they read their state from it."""
        await self.dispatcher.emit(extension.ConversationStart(reason))

    async def close(self) -> None:
        """Abort the running turn, wait for its end, and tell the extensions; do not wait for what takes too long."""
        self.request_abort("the host is closing")
        try:
            await _within_timeout(self.settled())
        finally:
            await _within_timeout(self.dispatcher.emit(extension.ConversationEnd()))

    async def interrupt(self) -> None:
        """Tell extensions that the person takes over: countdowns are cancelled."""
        await self.dispatcher.emit(extension.Interruption())

    async def prompt(self, text: str, images: Sequence[ImageBlock] = (), behavior: Delivery | None = None) -> None:
        """Process a line from the person: run a command, or start a turn or queue the text for the running one.

        Raises HostBusy if a turn is running, and `behavior` is None.
        """
        name, _, rest = text[1:].partition(" ") if text.startswith("/") else ("", "", "")
        if name in self.commands:
            await self.interrupt()
            try:
                await self.commands[name].run(rest, self.ctx)
            except Exception as error:  # noqa: BLE001  an extension may raise anything: it is reported
                self.dispatcher.report(name, "command", error)
        else:
            await self._speak((TextBlock(text), *images), behavior)

    async def steer(self, text: str) -> None:
        await self._speak((TextBlock(text),), Delivery.STEER)

    async def follow_up(self, text: str) -> None:
        """Send a message of the person that is delivered when the model has stopped."""
        await self._speak((TextBlock(text),), Delivery.FOLLOW_UP)

    def send_user(self, text: str, *, deliver_as: Delivery | None = None) -> None:
        """Send a message on behalf of the person."""
        self._deliver(UserMessage((TextBlock(text),), self.now()), deliver_as)

    def send_custom(
        self, message: CustomMessage | DeveloperMessage, *, trigger_turn: bool, deliver_as: Delivery | None
    ) -> None:
        """Add a message to the conversation, now or at the time that `deliver_as` names."""
        dated = stamped(message, self.now())
        queues = self.queues.of
        if deliver_as is Delivery.NEXT_TURN:
            queues[Delivery.NEXT_TURN].append(dated)
        elif self.is_running and self._run is not None and self._run.at_work:
            queues[Delivery.FOLLOW_UP if deliver_as is Delivery.FOLLOW_UP else Delivery.STEER].append(dated)
        elif not trigger_turn:
            self.publish(events.MessageStart(dated))
            self.remember(dated)
            self.publish(events.MessageEnd(dated))
        elif self.is_running:
            queues[Delivery.FOLLOW_UP].append(dated)
        else:
            self._begin(dated)

    def remember(self, message: Message) -> None:
        body = (
            events.CustomMessageEntry(message) if isinstance(message, CustomMessage) else events.MessageEntry(message)
        )
        self.transcript.append(body)

    def request_abort(self, reason: str = BY_PERSON) -> None:
        """Stop the running turn, and whatever its end would start; `settled` waits until it has."""
        self._abort_requests += 1
        self.stop(reason)

    def stop(self, reason: str) -> None:
        """Ask the running turn to stop."""
        if self._controller is not None:
            self._controller.abort(reason)

    async def abort(self, reason: str = BY_PERSON) -> None:
        """Stop the running turn, and whatever is about to start one, and wait until it has."""
        stopped = self.task
        self.request_abort(reason)
        await self.interrupt()
        if stopped is not None:
            # Only this one: the person may begin another meanwhile.
            await asyncio.shield(stopped)

    async def settled(self) -> None:
        """Wait until no turn is running."""
        while self.task is not None and not self.task.done():
            await asyncio.shield(self.task)

    async def over(self) -> None:
        """Wait until no turn is running and none is pending."""
        while self.is_running or self.pending:
            await self.settled()
            await self.pending.released()

    async def clear_queues(self) -> tuple[list[str], list[str]]:
        """Drop the queued messages; return the texts of steering messages and of follow-ups."""
        await self.interrupt()
        waiting = self.queues.texts()
        self.queues.of[Delivery.STEER].clear()
        self.queues.of[Delivery.FOLLOW_UP].clear()
        self.publish_queues()
        return waiting

    def withdraw(self, texts: Iterable[str]) -> None:
        """Drop the person's queued messages with these texts."""
        for text in texts:
            for queue in (self.queues.of[Delivery.STEER], self.queues.of[Delivery.FOLLOW_UP]):
                for message in [each for each in queue if isinstance(each, UserMessage) and text_of(each) == text]:
                    queue.remove(message)
        self.publish_queues()

    async def rename(self, name: str) -> None:
        """Name the conversation; an empty name removes it."""
        await self.interrupt()
        self.transcript.append(events.ConversationInfoEntry(name))
        self.publish(events.ConversationRenamed(name))

    async def open(self, transcript: Transcript, reason: str) -> None:
        await self.abort("another conversation is opened")
        self.use(transcript)
        await self.start(reason)

    def use(self, transcript: Transcript) -> None:
        """Continue in another conversation, without telling anyone."""
        self.transcript = transcript

    async def turn_to(self, entry_id: str | None) -> None:
        """Continue from another entry; the entries after it remain on a branch of their own."""
        await self.abort("the conversation goes on from another point")
        self.transcript.move(entry_id)
        await self.dispatcher.emit(extension.BranchChange(self.transcript.leaf))

    async def compact(self, plan_text: str) -> None:
        """Replace the conversation in later requests by a summary that the model writes, and the text of the plan.

        Raises:
            HostBusy: a turn is running.
            ModelFailure: there is no summary; the conversation is unchanged.
            Aborted: it was aborted like a turn; the conversation is unchanged.
        """
        if self.is_running:
            raise HostBusy("a turn is running: wait for its end, or stop it")
        controller = self._controller = AbortController()
        work = self._compaction = asyncio.ensure_future(
            compact(self.model, self.transcript, self.now, self.publish, controller.signal, plan_text)
        )
        # Others wait for the task of the host, and its failure is reported to the caller alone.
        self.task = asyncio.get_running_loop().create_task(_ended(work))
        await self.task
        work.result()

    def set_model(self, model: Model) -> None:
        """Let another model answer, from the next request on."""
        self.model = model
        self.publish(events.EntryAppended(self.transcript.append(events.ModelChangeEntry(model.provider, model.id))))

    async def _speak(self, content: tuple[TextBlock | ImageBlock, ...], behavior: Delivery | None) -> None:
        """Deliver a message of the person. An abort in progress, or requested meanwhile, is awaited first."""
        await self.interrupt()
        requests = self._abort_requests
        while self.signal is not None and self.signal.aborted and self.task is not None:
            await asyncio.shield(self.task)
        await self.dispatcher.emit(extension.PersonSpoke())
        self._deliver(UserMessage(content, self.now()), behavior)
        if self._abort_requests != requests:
            self.request_abort()

    def count_question(self, call_id: str, step: int) -> None:
        """Count the questions that a call waits for; publish its first, and the end of its last."""
        self._questions[call_id] += step
        count = self._questions[call_id]
        if count == 0:
            del self._questions[call_id]
        if count == max(0, step):
            self.publish(events.ToolExecutionAsks(call_id, asks=count > 0))

    def _end_with(self, result: ToolResult) -> None:
        """End the run of a subagent with this result, once the calls of its answer are executed."""
        self.yielded = result

    def _deliver(self, message: QueuedMessage, behavior: Delivery | None) -> None:
        if not self.is_running:
            self._begin(message)
            return
        if behavior is None:
            raise HostBusy("a turn is running: say whether to steer it or to wait for its end")
        self.queues.of[behavior].append(message)
        self.publish_queues()

    def _begin(self, opening: QueuedMessage) -> None:
        if self.yielded is not None:
            return  # a subagent that has ended is not continued
        controller = self._controller = AbortController()
        self._run = Run(self, self._executor, [opening], controller.signal)
        self.task = asyncio.get_running_loop().create_task(self._run.complete())

    def publish_queues(self) -> None:
        self.publish(events.QueueUpdate(*self.queues.texts()))


async def _within_timeout(work: Coroutine[Any, Any, object]) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(work, CLOSE_TIMEOUT_SECONDS)


async def _ended(work: asyncio.Future[None]) -> None:
    await asyncio.wait({work})


class Run:
    """One run of an agent, from a prompt to its end. `at_work` is false from the last turn until it has settled."""

    def __init__(self, host: Host, executor: ToolExecutor, opening: list[Message], signal: AbortSignal) -> None:
        self._host = host
        self._dispatcher = host.dispatcher
        self._executor = executor
        self._opening = opening
        self._signal = signal
        self._added: list[Message] = []
        self._failure: ModelFailure | None = None
        self._given_system: str | None = None
        self.at_work = True

    async def complete(self) -> None:
        """Run the agent until it has settled: retries, queued messages and continuations included."""
        await self._prepare()
        attempt = 0
        while True:
            last = await self._turns()
            attempt += 1
            failed = last.stop_reason == StopReason.ERROR
            again = self.at_work = (
                failed and not self._signal.aborted and self._host.retry.allows(self._failure, attempt)
            )
            await self._dispatcher.emit(events.AgentEnd(self._added, again))
            if not again:
                if attempt > 1:
                    self._dispatcher.publish(events.RetryEnd(attempt, (last.error_message or "") if failed else None))
                if self._host.yielded is None and await self._keeps_going(last):
                    attempt = 0
                    continue
                break
            if not await self._back_off(last, attempt):
                self._dispatcher.publish(events.RetryEnd(attempt, ABORTED))
                break
        if self._signal.aborted:
            await self._dispatcher.emit(extension.Interruption())
        await self._dispatcher.emit(events.AgentSettled())

    async def _keeps_going(self, last: AssistantMessage) -> bool:
        """Return whether an extension or a queued message keeps the agent from settling."""
        for reply in await self._dispatcher.emit(extension.BeforeSettle(self._added, last.stop_reason)):
            if isinstance(reply, extension.KeepGoing):
                self._opening.extend(stamped(message, self._host.now()) for message in reply.messages)
        if self._signal.aborted:
            return False
        if not self._opening and not last.failed:
            self._opening = self._queued(stopped=True)
        return bool(self._opening)

    async def _prepare(self) -> None:
        """Let extensions replace the system prompt, and add their messages and those of the queue to this prompt."""
        host = self._host
        event = extension.BeforeAgentStart(text_of(self._opening[0]), self._system_prompt(host.offered_tools()))
        for reply in await self._dispatcher.emit(event):
            match reply:
                case extension.AgentStartReply(message, system):
                    if message is not None:
                        self._opening.append(stamped(message, host.now()))
                    self._given_system = self._given_system if system is None else system
        self._opening.extend(host.queues.of[Delivery.NEXT_TURN])
        host.queues.of[Delivery.NEXT_TURN].clear()

    def _system_prompt(self, tools: Sequence[ToolDefinition]) -> str:
        return system_prompt(tools, self._host.cwd, preamble=self._host.preamble or PREAMBLE)

    async def _turns(self) -> AssistantMessage:
        """Run turns until the model stops or fails, and return its last message."""
        self.at_work = True
        await self._dispatcher.emit(events.AgentStart())
        while True:
            await self._dispatcher.emit(events.TurnStart())
            for message in self._opening:
                await self._add(message)
            self._opening = []
            answer = await self._answer()
            results = [] if answer.failed else await self._executor.execute(tool_calls(answer), self._signal)
            for result in results:
                await self._add(result)
            await self._dispatcher.emit(events.TurnEnd(answer, results))
            if answer.failed or self._host.yielded is not None:
                return answer
            self._opening = [] if self._signal.aborted else self._queued(stopped=not results)
            if not results and not self._opening:
                return answer

    def _queued(self, *, stopped: bool) -> list[Message]:
        message = self._host.queues.next(stopped=stopped)
        if message is None:
            return []
        self._host.publish_queues()
        return [message]

    async def _answer(self) -> AssistantMessage:
        """Request and record the model's next message; a failure or an abort is also recorded as a message."""
        model, now = self._host.model, self._host.now
        await self._dispatcher.emit(events.MessageStart(assistant_message([], model, StopReason.PENDING, now())))
        try:
            answer = await self._streamed()
        except (Aborted, asyncio.CancelledError):
            answer = assistant_message([], model, StopReason.ABORTED, now(), error=ABORTED)
        except ModelFailure as failure:
            answer = assistant_message([], model, StopReason.ERROR, now(), error=str(failure))
            self._failure = failure
        self._added.append(answer)
        self._host.remember(answer)
        await self._dispatcher.emit(events.MessageEnd(answer))
        return answer

    async def _streamed(self) -> AssistantMessage:
        host = self._host
        self._signal.raise_if_aborted()
        offered = host.offered_tools()
        tools = tuple(ToolSpec(tool.name, tool.description, tool.schema) for tool in offered)
        system = self._system_prompt(offered) if self._given_system is None else self._given_system
        request = ChatRequest(system, model_messages(await self._dispatcher.context(host.transcript.messages())), tools)
        return await whole_answer(
            host.model,
            request,
            self._signal,
            lambda event: self._dispatcher.emit(events.MessageUpdate(event.usage or Usage(), event)),
        )

    async def _add(self, message: Message) -> None:
        self._added.append(message)
        await self._dispatcher.emit(events.MessageStart(message))
        self._host.remember(message)
        await self._dispatcher.emit(events.MessageEnd(message))

    async def _back_off(self, last: AssistantMessage, attempt: int) -> bool:
        """Wait before the next attempt; return False if the wait was aborted."""
        retry = self._host.retry
        delay = retry.delay(attempt, self._failure)
        self._dispatcher.publish(
            events.RetryStart(attempt, retry.attempts, int(delay * 1000), last.error_message or "")
        )
        return await retry.pause(delay, self._signal)


class ToolExecutor:
    """Executes the tool calls of one message.

    Neighbouring calls run concurrently, except those of `exclusive` tools, which run alone. Every call gets a result,
    in the order of the calls: unknown tools, arguments that do not fit the schema, calls that an extension blocks,
    tools that raise, return something else or are aborted all produce an error result for the model.

    An aborted call ends in time. Its tool gets the signal, and a grace period to end by itself; then its task is
    cancelled, and has the same time to clean up. A call that ignores both is left behind, as is work in a thread: the
    model reads that it was aborted, and whatever the tool still does or reports has no effect on the conversation.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._left_behind: set[asyncio.Task[Outcome]] = set()

    async def execute(self, calls: Sequence[ToolCallBlock], signal: AbortSignal) -> list[ToolResultMessage]:
        results: list[ToolResultMessage] = []
        for _, group in groupby(enumerate(calls), key=lambda numbered: self._lane(*numbered)):
            concurrent = [self._result(call, signal) for _, call in group]
            results.extend(await asyncio.gather(*concurrent))
        return results

    def _lane(self, position: int, call: ToolCallBlock) -> int:
        """Return the lane of a call: neighbouring calls in one lane run concurrently, an exclusive call has its own."""
        tool = self._host.tools.get(call.name)
        return position if tool is not None and tool.exclusive else -1

    async def _result(self, call: ToolCallBlock, signal: AbortSignal) -> ToolResultMessage:
        await self._host.dispatcher.emit(events.ToolExecutionStart(call.id, call.name, call.arguments))
        result, is_error = await self._outcome_in_time(call, signal)
        for reply in await self._host.dispatcher.emit(extension.ToolResultReady(call.id, call.name, result, is_error)):
            if isinstance(reply, extension.ReplaceResult):
                result = sound_result(reply.result)
                is_error = result_problem(reply.result) != "" or (
                    is_error if reply.is_error is None else reply.is_error
                )
        await self._host.dispatcher.emit(events.ToolExecutionEnd(call.id, call.name, result, is_error))
        return tool_result_message(call, result, is_error=is_error, at=self._host.now())

    async def _outcome_in_time(self, call: ToolCallBlock, signal: AbortSignal) -> Outcome:
        grace, over = self._host.abort_grace, asyncio.Event()
        work = asyncio.ensure_future(self._outcome(call, signal, over))
        aborted = asyncio.get_running_loop().create_future()
        unsubscribe = signal.on_abort(lambda: aborted.set_result(None))
        try:
            await asyncio.wait({work, aborted}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await asyncio.wait({work}, timeout=grace)
            if not work.done():
                work.cancel()
                await asyncio.wait({work}, timeout=grace)
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            unsubscribe()
            over.set()
        if work.done():
            return (error_result(ABORTED_CALL), True) if work.cancelled() else work.result()
        self._left_behind.add(work)
        work.add_done_callback(self._forget)
        return error_result(ABORTED_CALL), True

    def _forget(self, work: asyncio.Task[Outcome]) -> None:
        """Drop a call that was left behind, with its outcome."""
        self._left_behind.discard(work)
        if not work.cancelled():
            work.exception()  # so that it counts as seen

    async def _outcome(self, call: ToolCallBlock, signal: AbortSignal, over: asyncio.Event) -> Outcome:
        _CALLS.set((*_CALLS.get(), (self._host, call.id)))  # in the context of this call's own task
        tool = self._host.callable_tool(call.name)
        if tool is None:
            known = ", ".join(offered.name for offered in self._host.offered_tools())
            return error_result(f"Error: unknown tool {call.name!r}; known are {known}"), True
        arguments, wrong = _read(tool, arguments_of(call))
        if wrong:
            refusal = tool.refuse(wrong, arguments) if tool.refuse else None
            return refusal or error_result(f"Error: {'; '.join(map(str, wrong))}"), True
        for reply in await self._host.dispatcher.emit(extension.ToolCallRequest(call.id, tool.name, arguments)):
            match reply:
                case extension.BlockCall(reason):
                    return error_result(reason), True
                case extension.ChangeArguments(changed):
                    arguments = changed
        return await self._executed(tool, call.id, arguments, signal, over)

    async def _executed(
        self, tool: ToolDefinition, call_id: str, arguments: JsonValue, signal: AbortSignal, over: asyncio.Event
    ) -> Outcome:
        def on_update(partial: ToolResult) -> None:
            problem = result_problem(partial)
            if problem:
                raise TypeError(problem)
            if not over.is_set():
                update = events.ToolExecutionUpdate(call_id, tool.name, arguments, sound_result(partial))
                self._host.dispatcher.publish(update)

        try:
            signal.raise_if_aborted()
            result = sound_result(await tool.execute(call_id, arguments, signal, on_update, self._host.ctx))
        except Aborted:
            return error_result(ABORTED_CALL), True
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # The tool awaited work of its own that was cancelled, such as by a callback of the signal.
            return error_result(ABORTED_CALL if signal.aborted else "Error: cancelled"), True
        except Exception as error:  # noqa: BLE001  by contract, a tool reports failure by raising any exception
            return error_result(str(error) or type(error).__name__), True
        return result, result.is_error


def _read(tool: ToolDefinition, arguments: JsonValue) -> tuple[JsonValue, Sequence[SchemaProblem]]:
    """Return the arguments in the form that the tool expects, and the problems with them."""
    if tool.interpret is not None:
        return tool.interpret(without_nulls(tool.schema, arguments))
    arguments, wrong = checked(tool.schema, arguments, strict=tool.strict)
    return arguments, wrong or tool.demands(arguments)
