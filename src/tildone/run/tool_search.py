"""Discoverable tools: which of them the model has found, and `find_tools`, with which it finds them.

A tool that is `discoverable` takes no room in requests until the model asks for it. What was found is read from the
branch of the conversation, so it is the same after a resume and changes with the branch: a tool counts as found once
`find_tools` has named it in the details of a result, or the model has called it without a search.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

from tildone.plan.text.amounts import format_count
from tildone.plan.text.styles import clip_text
from tildone.run.kit.definition import ToolDefinition, ToolResult, text_result
from tildone.run.transcript import Transcript

FIND_TOOLS = "find_tools"

MAX_LISTED = 20
MAX_FOUND = 10
MAX_PURPOSE = 120
MAX_DESCRIPTION = 500
MIN_PREFIX = 3
"""A shorter word of a query has to be a whole word of the tool's texts."""

PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "Words that describe what the tool should do"}},
    "required": ["query"],
}


class FindToolsParams(TypedDict):
    """The arguments, as the schema describes them."""

    query: str


def found_tools(transcript: Transcript) -> set[str]:
    """Return the names of the tools that were found or called on this branch of the conversation."""
    found: set[str] = set()
    for result in transcript.tool_results():
        found.add(result.tool_name)
        if result.tool_name == FIND_TOOLS and isinstance(result.details, dict):
            named = result.details.get("found")
            found.update(name for name in (named if isinstance(named, list) else ()) if isinstance(name, str))
    return found


def find_tools(tools: Sequence[ToolDefinition]) -> ToolDefinition:

    async def execute(
        _call_id: str, params: FindToolsParams, _signal: object, _on_update: object, _ctx: object
    ) -> ToolResult:
        return _answer(params["query"], _matches(params["query"], tools), tools)

    return ToolDefinition(
        name=FIND_TOOLS,
        label="Find tools",
        description=_description(tools),
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Find further tools, which can then be called",
    )


def _description(tools: Sequence[ToolDefinition]) -> str:
    lines = [f"- {tool.name}: {_purpose(tool)}" for tool in tools[:MAX_LISTED]]
    lines += [f"- and {len(tools) - MAX_LISTED} more"] if len(tools) > MAX_LISTED else []
    return "\n".join(["Find further tools by a few words. A tool that was found can be called. There are:", *lines])


def _purpose(tool: ToolDefinition) -> str:
    return clip_text(tool.prompt_snippet or tool.description.partition("\n")[0], MAX_PURPOSE)


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
