"""An extension as a package: a tool that waits for a line in a file, a stricter `read`, and a command."""
# ruff: noqa: INP001 -- a module of its own package; docs/ is not one

import asyncio
from pathlib import Path
from typing import NotRequired, TypedDict

from tildone.plan.text.amounts import format_count
from tildone.run.host import ExtensionAPI, ExtensionContext
from tildone.run.kit.components import Component, Field, RenderOptions, ToolBody, ToolCallHeader
from tildone.run.kit.defaults import error_message, partial_message
from tildone.run.kit.definition import (
    AbortSignal,
    Delegate,
    Invocation,
    OnUpdate,
    ToolDefinition,
    ToolResult,
    send_update,
    text_result,
    wrap_tool,
)

POLL_SECONDS = 0.05

PARAMETERS = {
    "type": "object",
    "required": ["path", "text"],
    "properties": {
        "path": {"type": "string", "description": "The file to follow, such as a log"},
        "text": {"type": "string", "description": "The text to wait for"},
        "seconds": {"type": "number", "description": "How long to wait at most", "default": 60},
    },
}


class FollowParams(TypedDict):
    """The arguments that `PARAMETERS` describes, for the type checker."""

    path: str
    text: str
    seconds: NotRequired[float]


def extension(api: ExtensionAPI) -> None:
    """Register the tool, the wrapped tool and the command."""
    seen: list[str] = []

    async def follow(
        _tool_call_id: str,
        params: FollowParams,
        signal: AbortSignal | None,
        on_update: OnUpdate | None,
        ctx: ExtensionContext,
    ) -> ToolResult:
        file, seconds = Path(ctx.cwd, params["path"]), params.get("seconds", 60)
        loop = asyncio.get_running_loop()
        end, reported = loop.time() + seconds, -1
        while loop.time() < end:
            lines = await asyncio.to_thread(read_lines, file)
            for number, line in enumerate(lines, 1):
                if params["text"] in line:
                    seen.append(line)
                    return text_result(f"Line {number}: {line}", {"line": line, "number": number})
            if signal is not None and signal.aborted:
                raise RuntimeError(f'Stopped following "{params["path"]}" ({signal.reason})')
            if len(lines) != reported:
                reported = len(lines)
                send_update(on_update, text_result(f"{format_count(reported, 'line')} so far"))
            await asyncio.sleep(POLL_SECONDS)
        raise TimeoutError(f'"{params["text"]}" did not appear in "{params["path"]}" within {seconds:g} s')

    async def show_seen(_arguments: str, ctx: ExtensionContext) -> None:
        ctx.ui.notify("\n".join(seen) or "Nothing was followed yet")

    api.register_tool(
        ToolDefinition(
            name="follow",
            label="Follow",
            description="Wait until a text appears in a file, and return the line.",
            parameters=PARAMETERS,
            execute=follow,
            prompt_snippet="Wait for a line in a log",
            prompt_guidelines=("Use follow instead of reading a log again and again",),
            render_call=render_call,
            render_result=render_result,
        )
    )
    read = api.tool("read")
    if read is not None:  # with --no-builtin-tools there is none
        api.register_tool(wrap_tool(read, without_keys))
    api.register_command("followed", "Show the lines that were found.", show_seen)


def read_lines(file: Path) -> list[str]:
    """Return the lines of the file; none before it exists."""
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


async def without_keys(call: Invocation, delegate: Delegate) -> ToolResult:
    """Read a file, unless it holds a key."""
    if call.params["path"].endswith(".key"):
        raise PermissionError(f'"{call.params["path"]}" holds a key. Ask the person for what you need from it.')
    return await delegate(call)


def render_call(args: FollowParams) -> Component:
    return ToolCallHeader("Follow", main_arg=f'"{args.get("path", "")}"', option_args=(f"text={args.get('text', '')}",))


def render_result(result: ToolResult, options: RenderOptions) -> Component:
    if options.is_partial:
        return partial_message("Follow", "waiting")
    if "line" not in result.details:
        return error_message(result, "Could not follow the file")
    fields = (
        Field("Found", f"line {result.details['number']}", show_collapsed=True),
        Field("", result.details["line"]),
    )
    return ToolBody(fields, expanded=options.expanded)
