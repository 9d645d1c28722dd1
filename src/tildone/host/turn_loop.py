"""One run of an agent: requests to the model, the tools it calls, what is said in between, until it stops."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tildone.host import messages
from tildone.host.messages import Message
from tildone.host.model import ChatRequest, ModelFailure, ToolSpec
from tildone.host.port import HostPort
from tildone.host.system_prompt import PREAMBLE, system_prompt
from tildone.host.tool_execution import execute_calls
from tildone.kit.signal import Aborted, AbortSignal


class Run:
    """What happens between a prompt and the moment the agent has settled."""

    def __init__(self, host: HostPort, opening: list[Message], signal: AbortSignal) -> None:
        self.host = host
        self.opening = opening
        self.signal = signal
        self.made: list[Message] = []
        self.failure: ModelFailure | None = None
        self.system = ""
        self.at_work = True

    async def whole(self) -> None:
        """The agent's run, again after a failure that may pass, and what was queued for its end."""
        await self._prepare()
        attempt = 0
        while True:
            last = await self._agent()
            attempt += 1
            again = self.at_work = self._may_retry(last, attempt)
            await self.host.emit({"type": "agent_end", "messages": self.made, "willRetry": again})
            if not again:
                self._retries_over(last, attempt)
                if await self._kept_going(last):
                    attempt = 0
                    continue
                break
            if not await self._backed_off(last, attempt):
                break
        await self.host.emit({"type": "agent_settled"})

    async def _kept_going(self, last: Message) -> bool:
        """Whether an extension, asked before the agent settles, has something to say that keeps it going.

        What was queued while the agent came to its end is said now, too.
        """
        host = self.host
        event = {"type": "agent_before_settle", "messages": self.made, "stopReason": last["stopReason"]}
        for answer in await host.bus.emit(event, host.ctx):
            self.opening.extend({"timestamp": host.now(), **message} for message in answer.get("messages", ()))
        if not self.opening and _goes_on(last):
            self.opening = self._queued(stopped=True)
        return bool(self.opening) and not self.signal.aborted

    async def _prepare(self) -> None:
        """Extensions may add hidden messages, and have a word in the system prompt."""
        host = self.host
        self.system = system_prompt(host.offered(), host.cwd, preamble=host.preamble or PREAMBLE)
        prompt = messages.text_of(self.opening[0])
        event = {"type": "before_agent_start", "prompt": prompt, "systemPrompt": self.system}
        for answer in await host.bus.emit(event, host.ctx):
            if answer.get("message"):
                self.opening.append({"role": "custom", "timestamp": host.now(), **answer["message"]})
            self.system = answer.get("systemPrompt", self.system)
        while host.next_turn:
            self.opening.append(host.next_turn.popleft())

    async def _agent(self) -> Message:
        """Turns until the model has nothing left to do, or cannot go on; its last message."""
        host = self.host
        self.at_work = True
        await host.emit({"type": "agent_start"})
        while True:
            await host.emit({"type": "turn_start"})
            for message in self.opening:
                await self._say(message)
            self.opening = []
            answer = await self._answered()
            results = await execute_calls(host, messages.tool_calls(answer), self.signal) if _goes_on(answer) else []
            for result in results:
                await self._say(result)
            await host.emit({"type": "turn_end", "message": answer, "toolResults": results})
            if not _goes_on(answer):
                return answer
            # Where a tool was aborted the model is asked once more, in vain: its answer says that this was the end.
            self.opening = [] if self.signal.aborted else self._queued(stopped=not results)
            if not results and not self.opening:
                return answer

    def _queued(self, *, stopped: bool) -> list[Message]:
        """What is to be said now: steering at any time, the rest only when the model has stopped."""
        host = self.host
        queue = host.steering or (host.following if stopped else None)
        if not queue:
            return []
        message = queue.popleft()
        host.tell_queues()
        return [message]

    async def _answered(self) -> Message:
        """The model's next message, streamed as it comes; a failure or an abort is a message, too."""
        host, model = self.host, self.host.model
        partial = messages.assistant([], model, messages.empty_usage(), "pending", host.now())
        host.tell({"type": "message_start", "message": partial})
        await host.bus.emit({"type": "message_start", "message": partial}, host.ctx)
        try:
            answer = await self._streamed()
        except (Aborted, asyncio.CancelledError):
            answer = messages.assistant([], model, messages.empty_usage(), "aborted", host.now(), error="Aborted")
        except ModelFailure as failure:
            answer = messages.assistant([], model, messages.empty_usage(), "error", host.now(), error=str(failure))
            self.failure = failure
        self.made.append(answer)
        host.remember(answer)
        await host.emit({"type": "message_end", "message": answer})
        return answer

    async def _streamed(self) -> Message:
        host = self.host
        self.signal.raise_if_aborted()
        request = ChatRequest(
            self.system,
            await self._conversation(),
            tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in host.offered()),
        )
        answer: Message | None = None
        stream: AsyncIterator[dict[str, Any]] = host.model.stream(request, self.signal)
        async with contextlib.aclosing(stream) as deltas:  # type: ignore[type-var]  # an async generator
            async for delta in deltas:
                if delta["type"] == "done":
                    answer = delta["message"]
                else:
                    usage = delta.pop("usage", None) or messages.empty_usage()
                    update = {"type": "message_update", "usage": usage, "assistantMessageEvent": delta}
                    await host.emit(update)
        if answer is None:
            raise ModelFailure("the model's answer ended before it was complete", transient=True)
        return answer

    async def _conversation(self) -> list[Message]:
        """What the model reads; extensions may change it, for this request only."""
        host = self.host
        event: dict[str, Any] = {"type": "context", "messages": host.transcript.messages()}
        async for answer in host.bus.answers(event, host.ctx):
            event["messages"] = answer.get("messages", event["messages"])
        return messages.for_model(event["messages"])

    async def _say(self, message: Message) -> None:
        host = self.host
        self.made.append(message)
        await host.emit({"type": "message_start", "message": message})
        host.remember(message)
        await host.emit({"type": "message_end", "message": message})

    def _may_retry(self, last: Message, attempt: int) -> bool:
        if last["stopReason"] != "error" or self.failure is None or self.signal.aborted:
            return False
        return self.host.retry.allows(self.failure, attempt)

    async def _backed_off(self, last: Message, attempt: int) -> bool:
        """Wait before the next attempt; False when the person would not wait."""
        host = self.host
        delay = host.retry.delay(attempt, self.failure)
        host.tell(
            {
                "type": "auto_retry_start",
                "attempt": attempt,
                "maxAttempts": host.retry.attempts,
                "delayMs": int(delay * 1000),
                "errorMessage": last.get("errorMessage", ""),
            }
        )
        return await host.retry.waited(delay, self.signal)

    def _retries_over(self, last: Message, attempt: int) -> None:
        if attempt == 1:
            return
        ended: dict[str, Any] = {"type": "auto_retry_end", "success": last["stopReason"] != "error", "attempt": attempt}
        if not ended["success"]:
            ended["finalError"] = last.get("errorMessage", "")
        self.host.tell(ended)


def _goes_on(answer: Message) -> bool:
    return answer["stopReason"] not in {"aborted", "error"}
