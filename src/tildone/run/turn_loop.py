"""Parts of the host's loop: the compaction of a conversation, sound results of tools, and what a run waits for."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from math import isfinite

from tildone.base import replace
from tildone.run.codec import encode_usage
from tildone.run.events import AnswerDone, CompactionEntry, CustomEvent, EntryAppended, PublicEvent
from tildone.run.kit.definition import AbortSignal, ImageContent, TextContent, ToolResult, error_result
from tildone.run.messages import (
    AssistantMessage,
    JsonObject,
    JsonValue,
    TextBlock,
    Usage,
    UserMessage,
    model_messages,
    text_of,
)
from tildone.run.model import ChatRequest, Model, ModelFailure
from tildone.run.transcript import Transcript

COMPACTION_START, COMPACTION_END = "compaction_start", "compaction_end"
"""The types of the events around a compaction, as pi names them. The second has the `usage` of the request."""

SYSTEM = "You summarise conversations between a person and a coding agent, for the agent that continues the work."
INSTRUCTION = """\
Summarise the conversation so far. The summary replaces it: keep everything that is needed to continue the work, and \
nothing else. State what the person wants and has decided, what was done and found out, which files and commands \
matter (with exact names), which errors occurred and what solved them, and what is to be done next. Leave out the list \
of tasks: it is kept elsewhere. Answer with the summary alone."""


async def compact(
    model: Model,
    transcript: Transcript,
    now: Callable[[], int],
    publish: Callable[[PublicEvent], None],
    signal: AbortSignal,
    plan_text: str,
) -> None:
    """Let the model summarise the conversation; the summary and the text of the plan replace it in later requests.

    Raises:
        ModelFailure: there is no summary; the conversation is unchanged.
        Aborted: the signal was set; the conversation is unchanged.
    """
    publish(CustomEvent(COMPACTION_START, {}))
    fields: JsonObject = {}
    try:
        answer = await _summary(model, transcript, now(), signal)
        usage = answer.usage or Usage()
        fields = {"usage": encode_usage(usage)}
        text = text_of(answer).strip()
        if answer.failed or not text:
            raise ModelFailure("the model wrote no summary", transient=False)
        summary = f"{text}\n\n{plan_text}" if plan_text else text
        before = sum(count or 0 for count in (usage.input, usage.cache_read, usage.cache_write))
        entry = transcript.append(CompactionEntry(summary, None, before))
        publish(EntryAppended(entry))
    finally:
        publish(CustomEvent(COMPACTION_END, fields))


async def _summary(model: Model, transcript: Transcript, at: int, signal: AbortSignal) -> AssistantMessage:
    request = ChatRequest(
        SYSTEM,
        [
            *model_messages(transcript.messages()),
            UserMessage((TextBlock(INSTRUCTION),), at),
        ],
    )
    answer: AssistantMessage | None = None
    async with contextlib.aclosing(model.stream(request, signal)) as stream:
        async for event in stream:
            if isinstance(event, AnswerDone):
                answer = event.message
    if answer is None:
        raise ModelFailure("the model's answer ended before it was complete", transient=True)
    return answer


MAX_DETAILS_DEPTH = 64


def result_problem(result: object) -> str:
    """Return why something is not the result of a tool; empty if it is one."""
    if not isinstance(result, ToolResult):
        return f"a tool must return a ToolResult, not a {type(result).__name__}"
    content: object = result.content
    if isinstance(content, str) or not isinstance(content, Iterable) or not all(map(_is_block, content)):
        return "the content of a result must be a tuple of TextContent and ImageContent"
    return ""


def sound_result(result: object) -> ToolResult:
    """Return the result, or a failed one if it is not a result.

    Details that JSON cannot represent are converted: the work of the tool is done, so the call has not failed.
    """
    problem = result_problem(result)
    if problem or not isinstance(result, ToolResult):
        return error_result(f"Error: {problem}")
    return result if _is_json(result.details) else replace(result, details=_as_json(result.details))


def _is_block(block: object) -> bool:
    match block:
        case TextContent() | ImageContent():
            return all(isinstance(getattr(block, name), str) for name in block.__match_args__)
        case _:
            return False


def _is_json(details: JsonValue) -> bool:
    try:
        json.dumps(details, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _as_json(item: JsonValue, depth: int = 0) -> JsonValue:
    if depth > MAX_DETAILS_DEPTH:
        return "…"
    match item:
        case None | bool() | int() | str():
            return item
        case float():
            return item if isfinite(item) else None
        case Mapping():
            return {str(name): _as_json(each, depth + 1) for name, each in item.items()}
        case list() | tuple() | AbstractSet():
            return [_as_json(each, depth + 1) for each in item]
        case _:
            return str(item)


class PendingWork:
    """The set of pending work; true while it is not empty."""

    def __init__(self) -> None:
        self._holds: set[object] = set()
        self._none = asyncio.Event()
        self._none.set()

    def __bool__(self) -> bool:
        return bool(self._holds)

    def hold(self) -> Callable[[], None]:
        """Add pending work; call the returned function to remove it. Calling it again has no effect."""
        ticket = object()
        self._holds.add(ticket)
        self._none.clear()

        def release() -> None:
            self._holds.discard(ticket)
            if not self._holds:
                self._none.set()

        return release

    async def released(self) -> None:
        """Wait until nothing is pending."""
        await self._none.wait()


def event_loop_timer(delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
    """Call back after a delay, on the running event loop; call the returned function to cancel."""
    return asyncio.get_running_loop().call_later(delay_ms / 1000, callback).cancel
