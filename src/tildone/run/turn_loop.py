"""Parts of the host's loop: queues, compaction, sound results, pending work, and the tools of the loop itself."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from math import isfinite

from tildone.base import replace
from tildone.base.schema import SchemaProblem
from tildone.plan.text.amounts import format_count
from tildone.plan.text.styles import clip_text
from tildone.run.codec import encode_usage
from tildone.run.events import CompactionEntry, CustomEvent, EntryAppended, PublicEvent
from tildone.run.kit.definition import (
    AbortSignal,
    ImageContent,
    TextContent,
    ToolDefinition,
    ToolResult,
    error_result,
    text_result,
)
from tildone.run.messages import (
    CustomMessage,
    DeveloperMessage,
    JsonObject,
    JsonValue,
    TextBlock,
    Usage,
    UserMessage,
    model_messages,
    text_of,
)
from tildone.run.model import ChatRequest, Model, ModelFailure, whole_answer
from tildone.run.transcript import Transcript

QueuedMessage = UserMessage | CustomMessage | DeveloperMessage


class Delivery(Enum):
    """When a message is delivered that arrives while a turn is running."""

    STEER = "steer"
    """Before the next request to the model."""

    FOLLOW_UP = "follow_up"
    """When the model has stopped."""

    NEXT_TURN = "next_turn"
    """With the next prompt of the person."""


class MessageQueues:
    def __init__(self) -> None:
        self.of: dict[Delivery, deque[QueuedMessage]] = {each: deque() for each in Delivery}

    def next(self, *, stopped: bool) -> QueuedMessage | None:
        """Remove and return the next message: a steering message or, once the model has stopped, a follow-up."""
        queue = self.of[Delivery.STEER] or (self.of[Delivery.FOLLOW_UP] if stopped else None)
        return queue.popleft() if queue else None

    def texts(self) -> tuple[list[str], list[str]]:
        """Return the texts of steering messages and of follow-ups."""
        return list(map(text_of, self.of[Delivery.STEER])), list(map(text_of, self.of[Delivery.FOLLOW_UP]))


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
    """Let the model summarise the conversation; the summary and the text of the plan replace it in later requests."""
    publish(CustomEvent(COMPACTION_START, {}))
    fields: JsonObject = {}
    try:
        instruction = UserMessage((TextBlock(INSTRUCTION),), now())
        request = ChatRequest(SYSTEM, [*model_messages(transcript.messages()), instruction])
        answer = await whole_answer(model, request, signal)
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


MAX_DETAILS_DEPTH = 64


def result_problem(result: object) -> str:
    """Return why something is not the result of a tool; empty if it is one."""
    if not isinstance(result, ToolResult):
        return f"a tool must return a ToolResult, not a {type(result).__name__}"
    content: object = result.content
    if isinstance(content, str) or not isinstance(content, Iterable) or not all(map(_is_block, content)):
        return "the content of a result must be a tuple of TextContent and ImageContent"
    told: object = result.told
    if not isinstance(told, tuple) or not all(isinstance(line, str) for line in told):
        return "what a result tells must be a tuple of lines"
    return ""


def sound_result(result: object) -> ToolResult:
    """Return the result, or a failed one if it is not a result.

    Details that JSON cannot represent are converted: the work of the tool is done, so the call has not failed.
    """
    problem = result_problem(result)
    if problem or not isinstance(result, ToolResult):
        return error_result(f"Error: {problem}")
    return result if is_json(result.details) else replace(result, details=_as_json(result.details))


def _is_block(block: object) -> bool:
    match block:
        case TextContent() | ImageContent():
            return all(isinstance(getattr(block, name), str) for name in block.__match_args__)
        case _:
            return False


def is_json(details: JsonValue) -> bool:
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
        await self._none.wait()


def event_loop_timer(delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
    """Call back after a delay, on the running event loop; call the returned function to cancel."""
    return asyncio.get_running_loop().call_later(delay_ms / 1000, callback).cancel


FIND_TOOLS = "find_tools"

MAX_LISTED = 20
MAX_FOUND = 10
MAX_PURPOSE = 120
MAX_DESCRIPTION = 500
MIN_PREFIX = 3
"""A shorter word of a query has to be a whole word of the tool's texts."""

FIND_PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "Words that describe what the tool should do"}},
    "required": ["query"],
}


def found_tools(transcript: Transcript) -> set[str]:
    """Return the names of the discoverable tools that take room in requests, read from the branch of the conversation.

    A tool was found once `find_tools` has named it in the details of a result, or the model has called it unsearched.
    """
    found: set[str] = set()
    for result in transcript.tool_results():
        found.add(result.tool_name)
        if result.tool_name == FIND_TOOLS and isinstance(result.details, dict):
            named = result.details.get("found")
            found.update(name for name in (named if isinstance(named, list) else ()) if isinstance(name, str))
    return found


def find_tools(tools: Sequence[ToolDefinition]) -> ToolDefinition:

    async def execute(
        _call_id: str, params: JsonObject, _signal: object, _on_update: object, _ctx: object
    ) -> ToolResult:
        return _answer(params["query"], _matches(params["query"], tools), tools)

    return ToolDefinition(
        name=FIND_TOOLS,
        label="Find tools",
        description=_description(tools),
        parameters=FIND_PARAMETERS,
        execute=execute,
        prompt_snippet="Find further tools, which can then be called",
    )


def _description(tools: Sequence[ToolDefinition]) -> str:
    purposes = ((tool.name, tool.prompt_snippet or tool.description.partition("\n")[0]) for tool in tools[:MAX_LISTED])
    lines = [f"- {name}: {clip_text(purpose, MAX_PURPOSE)}" for name, purpose in purposes]
    lines += [f"- and {len(tools) - MAX_LISTED} more"] if len(tools) > MAX_LISTED else []
    return "\n".join(["Find further tools by a few words. A tool that was found can be called. There are:", *lines])


def _matches(query: str, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """Return the tools that match a word of the query, those that match the most words first."""
    wanted = set(_words(query))
    counted = [(sum(_has_word(tool, word) for word in wanted), tool) for tool in tools]
    return [tool for count, tool in sorted(counted, key=lambda pair: -pair[0]) if count]


def _has_word(tool: ToolDefinition, word: str) -> bool:
    words = _words(f"{tool.name} {tool.label} {tool.description} {tool.prompt_snippet}")
    if len(word) < MIN_PREFIX:
        return word in words
    return any(each.startswith(word) for each in words)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _answer(query: str, matches: Sequence[ToolDefinition], tools: Sequence[ToolDefinition]) -> ToolResult:
    if not matches:
        names = ", ".join(tool.name for tool in tools[:MAX_LISTED])
        return text_result(f"No tool matches {query!r}. Tools that can be found: {names}", {"found": []})
    found, rest = matches[:MAX_FOUND], len(matches) - MAX_FOUND
    lines = [f"- {tool.name}: {clip_text(tool.description, MAX_DESCRIPTION)}" for tool in found]
    lines += [f"{rest} more match; search with other words for them."] if rest > 0 else []
    text = "\n".join([f"Found {format_count(len(found), 'tool')}, which can be called from now on:", *lines])
    return text_result(text, {"found": [tool.name for tool in found]})


YIELD = "yield"

YIELD_PARAMETERS = {
    "type": "object",
    "properties": {
        "result": {"type": "string", "description": "Your report: what was asked for, complete and by itself"},
        "error": {"type": "string", "description": "Instead of a result: why the task cannot be done"},
    },
    "additionalProperties": False,
}


def yield_tool(end: Callable[[ToolResult], None]) -> ToolDefinition:
    """Return the tool; `end` is called with the result, and ends the run."""

    async def execute(
        _call_id: str, params: JsonObject, _signal: object, _on_update: object, _ctx: object
    ) -> ToolResult:
        why = params.get("error", "").strip()
        end(error_result(why) if why else text_result(params.get("result", "")))
        return text_result("Done.")

    return ToolDefinition(
        name=YIELD,
        label="Yield",
        description="Report the result of your task, and end. Call it once, when the task is done or cannot be done.",
        parameters=YIELD_PARAMETERS,
        execute=execute,
        prompt_snippet="Report your result, and end",
        prompt_guidelines=("Call yield when your task is done: only its result is read.",),
        exclusive=True,
        demands=_demands,
    )


def _demands(params: JsonObject) -> Sequence[SchemaProblem]:
    given = params.get("result", "") + params.get("error", "")
    return () if given.strip() else [SchemaProblem("result", "a result or an error is required")]
