"""One run of an agent, from a prompt to the moment it has settled.

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
import contextlib
from collections.abc import Sequence

from tildone.host.content import Usage
from tildone.host.dispatcher import Dispatcher
from tildone.host.entries import CustomMessageEntry, Entry, MessageEntry
from tildone.host.events import (
    AgentEnd,
    AgentSettled,
    AgentStart,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    QueueUpdate,
    RetryEnd,
    RetryStart,
    TurnEnd,
    TurnStart,
)
from tildone.host.extension_events import (
    AgentStartReply,
    BeforeAgentStart,
    BeforeSettle,
    ContextReply,
    ContextRequest,
    Interruption,
    KeepGoing,
    Reply,
)
from tildone.host.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ModelMessage,
    StopReason,
    assistant_message,
    stamped,
    text_of,
    tool_calls,
)
from tildone.host.model import ChatRequest, ModelFailure, ToolSpec
from tildone.host.model_context import model_messages
from tildone.host.runtime import Runtime
from tildone.host.stream_events import AnswerDone
from tildone.host.system_prompt import PREAMBLE, system_prompt
from tildone.host.tool_execution import ToolExecutor
from tildone.kit.definition import ToolDefinition
from tildone.kit.signal import ABORTED, Aborted, AbortSignal


class Run:
    """One run. `at_work` is false from the end of the last turn until the run has settled."""

    def __init__(
        self,
        runtime: Runtime,
        dispatcher: Dispatcher,
        executor: ToolExecutor,
        opening: list[Message],
        signal: AbortSignal,
    ) -> None:
        self._runtime = runtime
        self._dispatcher = dispatcher
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
            again = self.at_work = self._may_retry(last, attempt)
            await self._dispatcher.emit(AgentEnd(self._added, again))
            if not again:
                self._report_retries(last, attempt)
                if self._runtime.yielded is None and await self._keeps_going(last):
                    attempt = 0
                    continue
                break
            if not await self._back_off(last, attempt):
                self._dispatcher.publish(RetryEnd(attempt, ABORTED))
                break
        if self._signal.aborted:
            await self._dispatcher.emit(Interruption())
        await self._dispatcher.emit(AgentSettled())

    async def _keeps_going(self, last: AssistantMessage) -> bool:
        """Return whether an extension or a queued message keeps the agent from settling."""
        for reply in await self._dispatcher.emit(BeforeSettle(self._added, last.stop_reason)):
            if isinstance(reply, KeepGoing):
                self._opening.extend(stamped(message, self._runtime.now()) for message in reply.messages)
        if self._signal.aborted:
            return False
        if not self._opening and not last.failed:
            self._opening = self._queued(stopped=True)
        return bool(self._opening)

    async def _prepare(self) -> None:
        """Let extensions replace the system prompt, and add their messages and those of the queue to this prompt."""
        runtime = self._runtime
        event = BeforeAgentStart(text_of(self._opening[0]), self._system_prompt(runtime.offered_tools()))
        for reply in await self._dispatcher.emit(event):
            match reply:
                case AgentStartReply(message, system):
                    if message is not None:
                        self._opening.append(stamped(message, runtime.now()))
                    self._given_system = self._given_system if system is None else system
        while runtime.queues.next_turn:
            self._opening.append(runtime.queues.next_turn.popleft())

    def _system_prompt(self, tools: Sequence[ToolDefinition]) -> str:
        return system_prompt(tools, self._runtime.cwd, preamble=self._runtime.preamble or PREAMBLE)

    async def _turns(self) -> AssistantMessage:
        """Run turns until the model stops or fails, and return its last message."""
        self.at_work = True
        await self._dispatcher.emit(AgentStart())
        while True:
            await self._dispatcher.emit(TurnStart())
            for message in self._opening:
                await self._add(message)
            self._opening = []
            answer = await self._answer()
            results = [] if answer.failed else await self._executor.execute(tool_calls(answer), self._signal)
            for result in results:
                await self._add(result)
            await self._dispatcher.emit(TurnEnd(answer, results))
            if answer.failed or self._runtime.yielded is not None:
                return answer
            self._opening = [] if self._signal.aborted else self._queued(stopped=not results)
            if not results and not self._opening:
                return answer

    def _queued(self, *, stopped: bool) -> list[Message]:
        message = self._runtime.queues.next(stopped=stopped)
        if message is None:
            return []
        self._dispatcher.publish(QueueUpdate(*self._runtime.queues.texts()))
        return [message]

    async def _answer(self) -> AssistantMessage:
        """Request and record the model's next message; a failure or an abort is also recorded as a message."""
        model, now = self._runtime.model, self._runtime.now
        await self._dispatcher.emit(MessageStart(assistant_message([], model, StopReason.PENDING, now())))
        try:
            answer = await self._streamed()
        except (Aborted, asyncio.CancelledError):
            answer = assistant_message([], model, StopReason.ABORTED, now(), error=ABORTED)
        except ModelFailure as failure:
            answer = assistant_message([], model, StopReason.ERROR, now(), error=str(failure))
            self._failure = failure
        self._added.append(answer)
        remember(self._runtime, answer)
        await self._dispatcher.emit(MessageEnd(answer))
        return answer

    async def _streamed(self) -> AssistantMessage:
        runtime = self._runtime
        self._signal.raise_if_aborted()
        offered = runtime.offered_tools()
        tools = tuple(ToolSpec(tool.name, tool.description, tool.schema) for tool in offered)
        system = self._system_prompt(offered) if self._given_system is None else self._given_system
        request = ChatRequest(system, await self._context(), tools)
        answer: AssistantMessage | None = None
        async with contextlib.aclosing(runtime.model.stream(request, self._signal)) as stream:
            async for event in stream:
                if isinstance(event, AnswerDone):
                    answer = event.message
                else:
                    await self._dispatcher.emit(MessageUpdate(event.usage or Usage(), event))
        if answer is None:
            raise ModelFailure("the model's answer ended before it was complete", transient=True)
        return answer

    async def _context(self) -> list[ModelMessage]:
        """Return the messages of the request. Extensions may change them, one after another."""
        event = ContextRequest(self._runtime.transcript.messages())
        event = await self._dispatcher.fold(event, _with_reply)
        return model_messages(event.messages)

    async def _add(self, message: Message) -> None:
        self._added.append(message)
        await self._dispatcher.emit(MessageStart(message))
        remember(self._runtime, message)
        await self._dispatcher.emit(MessageEnd(message))

    def _may_retry(self, last: AssistantMessage, attempt: int) -> bool:
        if last.stop_reason != StopReason.ERROR or self._failure is None or self._signal.aborted:
            return False
        return self._runtime.retry.allows(self._failure, attempt)

    async def _back_off(self, last: AssistantMessage, attempt: int) -> bool:
        """Wait before the next attempt; return False if the wait was aborted."""
        retry = self._runtime.retry
        delay = retry.delay(attempt, self._failure)
        self._dispatcher.publish(RetryStart(attempt, retry.attempts, int(delay * 1000), last.error_message or ""))
        return await retry.pause(delay, self._signal)

    def _report_retries(self, last: AssistantMessage, attempt: int) -> None:
        if attempt > 1:
            failed = last.stop_reason == StopReason.ERROR
            self._dispatcher.publish(RetryEnd(attempt, (last.error_message or "") if failed else None))


def _with_reply(event: ContextRequest, reply: Reply) -> ContextRequest:
    return ContextRequest(reply.messages) if isinstance(reply, ContextReply) else event


def remember(runtime: Runtime, message: Message) -> Entry:
    """Add a message to the conversation."""
    body = CustomMessageEntry(message) if isinstance(message, CustomMessage) else MessageEntry(message)
    return runtime.transcript.append(body)
