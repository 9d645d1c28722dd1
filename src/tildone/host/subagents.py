"""Subagents: agents that the model of a host starts, each in a conversation and a host of its own.

Theory of operation. A call of the `task` tool opens a host for the subagent, sends it the prompt and waits until it
has ended: with the tool `yield`, or with an answer. Its parent learns three things while it works: that it begins a
turn (`SubagentTurn`), which tools it is about to call (`ToolCallRequest`), so that extensions which block calls block
those of subagents, too, and what its answers cost (`SUBAGENT_USAGE`). The tools are the parent's own, under the same
permissions.

A subagent always ends. The abort of the parent's turn aborts it, and a turn that it begins afterwards is aborted at its
start. A failure of its model is a failed result. Its requests count towards the bounds of the parent. Only so many run
at the same time; the others wait for one to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tildone.host.content import Usage, add_usage
from tildone.host.content_codec import decode_usage, encode_usage
from tildone.host.events import CustomEvent, ExtensionError, MessageEnd, PublicEvent, ToolExecutionStart, TurnStart
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import BlockCall, Reply, SubagentTurn, ToolCallRequest
from tildone.host.host import Host
from tildone.host.messages import AssistantMessage, StopReason, ToolResultMessage, last_answer, text_of
from tildone.host.subagent_ui import SubagentUI
from tildone.host.system_prompt import SUBAGENT_PREAMBLE
from tildone.host.transcript import Transcript
from tildone.kit.definition import OnUpdate, ToolResult, error_result, send_update, text_result
from tildone.kit.formatting import format_count
from tildone.kit.signal import AbortSignal
from tildone.kit.truncate import keep_head
from tildone.value import replace, value

TASK = "task"
"""The name of the tool that starts a subagent."""

SUBAGENT_USAGE = "subagent_usage"
"""The type of the event that reports the `usage` of one answer of a subagent."""

MAX_CONCURRENT = 4

ABORTED = "Error: aborted"
STOPPED = "Error: the subagent was stopped before it had finished"
NO_ANSWER = "The subagent ended without an answer."


@value
class SubagentTask:
    """What a subagent is to do: a short name for people, and the prompt."""

    description: str
    prompt: str


@value
class OpenedSubagent:
    """The host of a subagent. `ended` records its end, and returns its list as text; empty if it has none."""

    host: Host
    ended: Callable[[], str]


OpenSubagent = Callable[[SubagentTask], OpenedSubagent]


def subagent_host(parent: Host, transcript: Transcript, name: str) -> Host:
    """Return a host for a subagent: the parent's model, its active tools that are inherited, and its permissions."""
    host = Host(
        model=parent.model,
        transcript=transcript,
        cwd=parent.cwd,
        now=parent.now,
        ui=SubagentUI(parent.ui, name),
        mode=parent.mode,
        tools=parent.active_tools(),
        retry=parent.retry,
        preamble=SUBAGENT_PREAMBLE,
        after=parent.after,
        include_yield=True,
        permission_scope=parent.permission_scope,
        # Its calls end before that of the parent is cancelled, so that the parent gets its result.
        abort_grace=parent.abort_grace / 4,
    )
    host.inactive = set(parent.inactive)
    return host


class Subagents:
    """The subagents of one host."""

    def __init__(self, parent: Host, open_subagent: OpenSubagent, max_concurrent: int = MAX_CONCURRENT) -> None:
        self._parent = parent
        self._open = open_subagent
        self._slots = asyncio.Semaphore(max_concurrent)

    async def run(
        self, task: SubagentTask, call_id: str, signal: AbortSignal | None, on_update: OnUpdate | None
    ) -> ToolResult:
        """Let a subagent do the task, and return its result for the model of the parent.

        Raises:
            Aborted: the signal was set before it could begin.
            TildoneError: its host cannot be opened, or its conversation cannot be stored.
        """
        signal = signal or AbortSignal()
        async with self._slots:
            signal.raise_if_aborted()
            opened = self._open(task)
            work = _Work(self._parent, opened.host, call_id, signal, on_update)
            try:
                await work.complete(task.prompt)
            finally:
                # A countdown to another turn has no effect any more.
                await opened.host.interrupt()
                await opened.host.close()
                listed = opened.ended()
            return work.result(task, listed)


class _Work:
    """The work of one subagent: what it reports to its parent, and its result."""

    def __init__(self, parent: Host, host: Host, call_id: str, signal: AbortSignal, on_update: OnUpdate | None) -> None:
        self._parent = parent
        self._host = host
        self._call_id = call_id
        self._signal = signal
        self._on_update = on_update
        self._requests = self._tool_calls = 0
        self._usage = Usage()
        host.listen(self._follow)
        host.load([(TASK, self._register)])

    async def complete(self, prompt: str) -> None:
        """Send the prompt, and wait for the end of the subagent."""
        host = self._host
        unsubscribe = self._signal.on_abort(lambda: host.request_abort(self._signal.reason or ABORTED))
        try:
            await host.start()
            host.send_user(prompt)
            await host.settled()
            while host.pending and host.yielded is None:
                await host.pending.released()
                await host.settled()
        finally:
            unsubscribe()

    def result(self, task: SubagentTask, listed: str) -> ToolResult:
        """Return what the subagent has reported, or why it has failed."""
        outcome = self._outcome()
        kept = keep_head(outcome.text)
        parts = [kept.content]
        if kept.truncated:
            parts.append(f"(cut: {kept.output_lines} of {format_count(kept.total_lines, 'line')})")
        if listed:
            parts.append(f"The subagent's list:\n{listed}")
        details = {
            "description": task.description,
            "conversation": self._host.transcript.id,
            "requests": self._requests,
            "toolCalls": self._tool_calls,
            "usage": encode_usage(self._usage),
        }
        return replace(text_result("\n\n".join(parts), details), is_error=outcome.is_error)

    def _outcome(self) -> ToolResult:
        if self._signal.aborted:
            return error_result(ABORTED)
        if self._host.yielded is not None:
            return self._host.yielded
        answer = last_answer(self._host.transcript.messages())
        if answer is None or answer.stop_reason == StopReason.ABORTED:
            return error_result(STOPPED)
        if answer.failed:
            return error_result(f"Error: the subagent's model failed: {answer.error_message}")
        return text_result(text_of(answer).strip() or NO_ANSWER)

    def _register(self, api: ExtensionAPI) -> None:
        api.on(TurnStart, self._begin_turn)
        api.on(ToolCallRequest, self._ask_parent)

    async def _begin_turn(self, _event: TurnStart, ctx: ExtensionContext) -> None:
        self._requests += 1
        await self._parent.dispatcher.emit(SubagentTurn(self._call_id))
        if self._signal.aborted:
            ctx.abort()

    async def _ask_parent(self, event: ToolCallRequest, _ctx: ExtensionContext) -> Reply | None:
        """Return the reply of the parent's extensions to a call: a refusal, or else the last one."""
        replies = await self._parent.dispatcher.emit(event)
        refusals = [reply for reply in replies if isinstance(reply, BlockCall)]
        return next(iter([*refusals, *reversed(replies)]), None)

    def _follow(self, event: PublicEvent) -> None:
        match event:
            case MessageEnd(AssistantMessage(usage=usage)) if usage is not None:
                self._usage = add_usage(self._usage, usage)
                report = {"toolCallId": self._call_id, "usage": encode_usage(usage)}
                self._parent.publish(CustomEvent(SUBAGENT_USAGE, report))
            case ToolExecutionStart():
                self._tool_calls += 1
                send_update(self._on_update, text_result(f"Task: {format_count(self._tool_calls, 'tool call')}"))
            case ExtensionError():
                self._parent.publish(event)
            case _:
                pass


def usage_of_subagents(result: ToolResultMessage) -> Usage | None:
    """Return the usage of the subagent that gave this result; None if it is the result of another tool."""
    details = result.details if result.tool_name == TASK else None
    used = details.get("usage") if isinstance(details, dict) else None
    return decode_usage(used) if isinstance(used, dict) else None
