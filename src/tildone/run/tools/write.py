"""The `write` tool: creates a file or replaces all of it."""

from __future__ import annotations

import asyncio
from typing import TypedDict

from tildone.plan.text.amounts import format_count, format_size
from tildone.run.host import ExtensionContext
from tildone.run.kit.components import Component, Item, RenderOptions, Text, ToolCallHeader
from tildone.run.kit.defaults import PREVIEW_LINES, error_message, partial_message
from tildone.run.kit.definition import AbortSignal, OnUpdate, ToolDefinition, ToolResult, keep_head, text_result
from tildone.run.tools.files import FileLocks, display_path, whole_file
from tildone.run.tools.permissions import PermissionGuard
from tildone.run.tools.result_view import ToolFailure, argument

PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to write, relative to the working directory or absolute"},
        "content": {"type": "string", "description": "All that the file is to hold"},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}

_MAX_EXCERPT_BYTES = 1000


class WriteParams(TypedDict):
    """The arguments, as the schema describes them."""

    path: str
    content: str


def write_tool(guard: PermissionGuard, locks: FileLocks) -> ToolDefinition:
    """Return the tool, under a permission guard; calls for the same file run one at a time."""

    async def execute(
        _call_id: str,
        params: WriteParams,
        signal: AbortSignal | None,
        _on_update: OnUpdate | None,
        ctx: ExtensionContext,
    ) -> ToolResult:
        data = utf8(params["content"], "content")
        real = await guard.file(params["path"], "write", ctx, signal)
        shown = display_path(real, ctx.cwd)
        async with locks.of(real):
            change = await asyncio.to_thread(whole_file, real, shown, data)
            await guard.change(change, ctx, signal)
            await asyncio.to_thread(change.write)
        lines = keep_head(params["content"]).total_lines
        summary = f"{format_count(lines, 'line')}, {format_size(len(data))}"
        done = "Created" if change.is_new else "Replaced"
        details = {"summary": f"{done}: {summary}", "lines": lines, "bytes": len(data)}
        return text_result(f"{done} {shown}: {summary}", details)

    return ToolDefinition(
        name="write",
        label="Write",
        description="Write a file, new or in place of the old one. Missing directories are made.",
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Make files or replace them whole",
        prompt_guidelines=("Change a file with edit; write is for new files and for all of one",),
        render_call=render_call,
        render_result=render_result,
        exclusive=True,
    )


def utf8(text: str, name: str) -> bytes:
    """Encode a text that a model wrote as UTF-8.

    Raises:
        ToolFailure: the text contains a lone surrogate, which models sometimes write.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise ToolFailure(f"{name} holds half a character (U+{ord(text[error.start]):04X}) on line {line}") from error


def render_call(args: object) -> Component:
    """Return the header of a call: the path and the beginning of the content."""
    kept = keep_head(argument(args, "content"), PREVIEW_LINES, _MAX_EXCERPT_BYTES)
    more = f"\n… ({format_size(kept.total_bytes - kept.output_bytes)} more)" if kept.truncated else ""
    excerpt = (Item("", kept.content.rstrip() + more),) if kept.content else ()
    return ToolCallHeader("Write", main_arg=argument(args, "path"), long_args=excerpt)


def render_result(result: ToolResult, options: RenderOptions) -> Component | None:
    """Return the view of a result: whether the file was created or replaced, and its size."""
    if options.is_partial:
        return partial_message("Write", "writing")
    if options.is_error or "summary" not in result.details:
        return error_message(result)
    return Text(result.details["summary"])
