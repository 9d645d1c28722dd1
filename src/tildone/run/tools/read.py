"""The `read` tool: text page by page, images as images, directories as their entries."""

from __future__ import annotations

import asyncio
import base64
import os
import shlex
import stat
from collections.abc import Sequence
from typing import NotRequired, TypedDict

from tildone.base.secrets import Redactor
from tildone.plan.text.amounts import format_count, format_size
from tildone.plan.text.safe import single_line
from tildone.run.host import ExtensionContext
from tildone.run.kit.components import Component, RenderOptions, Text, ToolCallHeader
from tildone.run.kit.defaults import error_message, partial_message
from tildone.run.kit.definition import (
    MAX_BYTES,
    MAX_LINES,
    AbortSignal,
    ImageContent,
    OnUpdate,
    TextContent,
    ToolDefinition,
    ToolResult,
    keep_head,
    text_result,
)
from tildone.run.tools.files import (
    RELATIVE,
    decodable_name,
    display_path,
    encoding_of,
    is_binary,
    open_resolved,
    read_descriptor,
    similar_paths,
)
from tildone.run.tools.permissions import PermissionGuard
from tildone.run.tools.result_view import ToolFailure, argument, os_failure, result_view

MAX_IMAGE_BYTES = 3_750_000
"""The largest image that providers accept. Their limit applies to the base64 text, which is a third larger."""

_PLURALS = {"line": "lines", "entry": "entries"}
_IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))

PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to read, relative to the working directory or absolute"},
        "offset": {"type": "integer", "description": "First line to read, counted from 1"},
        "limit": {"type": "integer", "description": "How many lines to read"},
    },
    "required": ["path"],
    "additionalProperties": False,
}


class ReadParams(TypedDict):
    """The arguments, as the schema describes them."""

    path: str
    offset: NotRequired[int]
    limit: NotRequired[int]


def read_tool(guard: PermissionGuard) -> ToolDefinition:
    async def execute(
        _call_id: str,
        params: ReadParams,
        signal: AbortSignal | None,
        _on_update: OnUpdate | None,
        ctx: ExtensionContext,
    ) -> ToolResult:
        first, count = params.get("offset", 1), params.get("limit", MAX_LINES)
        if first < 1 or count < 1:
            raise ToolFailure("offset and limit count from 1")
        real = await guard.file(params["path"], "read", ctx, signal)
        return await asyncio.to_thread(_read, real, ctx.cwd, int(first), int(count))

    return ToolDefinition(
        name="read",
        label="Read",
        description=(
            "Read a file: text as it is, PNG, JPEG, GIF and WebP as images, a directory as its entries. "
            f"Of long text the first {MAX_LINES} lines or {MAX_BYTES // 1000} KB come back; go on with offset."
        ),
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Read files and images, list directories",
        prompt_guidelines=("Read a file before you edit it",),
        render_call=render_call,
        render_result=render_result,
    )


def render_call(args: object) -> Component:
    """Return the header of a call: the path and the range of lines."""
    options = (f"{name}={given}" for name in ("offset", "limit") if (given := argument(args, name)))
    return ToolCallHeader("Read", main_arg=argument(args, "path"), option_args=tuple(options))


def render_result(result: ToolResult, options: RenderOptions) -> Component | None:
    """Return the view of a result: a summary, and a preview of the text or all of it."""
    if options.is_partial:
        return partial_message("Read", "reading")
    if options.is_error or "summary" not in result.details:
        return error_message(result)
    return result_view(Text(result.details["summary"]), result.text, options)


def _read(real: str, cwd: str, first: int, count: int) -> ToolResult:
    shown = display_path(real, cwd)
    try:
        if not RELATIVE and os.path.isdir(real):
            return _windowed(_entries(real), shown, first, count, noun="entry")
        with open_resolved(real) as opened:
            if stat.S_ISDIR(os.fstat(opened).st_mode):
                return _windowed(_entries(opened), shown, first, count, noun="entry")
            data = read_descriptor(opened, shown)
    except FileNotFoundError:
        raise ToolFailure(_missing(real, shown, os.path.realpath(cwd))) from None
    except OSError as error:
        raise os_failure(shown, error) from error
    mime_type = _image_type(data)
    if mime_type:
        return _image(data, mime_type, shown)
    if is_binary(data):
        raise ToolFailure(
            f"{shown} is a binary file ({format_size(len(data))}); look into it with bash (file, strings, xxd)"
        )
    text, notes = _text(data)
    # Not what only looks like a key: a file that is read is often written again.
    text = Redactor(os.environ, forms=False).text(text)
    return _windowed(text, shown, first, count, notes=notes)


def _missing(real: str, shown: str, root: str) -> str:
    similar = [display_path(path, root) for path in similar_paths(real, root)]
    return f"{shown} does not exist. Did you mean {' or '.join(similar)}?" if similar else f"{shown} does not exist"


def _entries(directory: int | str) -> str:
    with os.scandir(directory) as found:
        is_folder = {entry.name: _is_folder(entry) for entry in found}
    names, folders = set(is_folder), {name for name in is_folder if is_folder[name]}
    ordered = [f"{name}/" for name in sorted(folders)] + sorted(names - folders)
    return "".join(f"{single_line(decodable_name(name))}\n" for name in ordered)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads in a circle


def _image_type(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for magic, mime_type in _IMAGES if data.startswith(magic)), "")


def _image(data: bytes, mime_type: str, shown: str) -> ToolResult:
    if len(data) > MAX_IMAGE_BYTES:
        at_most = format_size(MAX_IMAGE_BYTES)
        raise ToolFailure(
            f"{shown} is an image of {format_size(len(data))}; at most {at_most} can be shown. Make it smaller."
        )
    summary = f"{mime_type}, {format_size(len(data))}"
    image = ImageContent(base64.b64encode(data).decode("ascii"), mime_type)
    return ToolResult((TextContent(f"[{shown}: {summary}]"), image), {"summary": summary})


def _text(data: bytes) -> tuple[str, list[str]]:
    """Return the text of a file, and notes about its encoding."""
    encoding = encoding_of(data)
    rest = data[len(encoding.bom) :]
    notes = [] if encoding.name == "utf-8" else [f"The file is in {encoding.name.upper()}"]
    try:
        return rest.decode(encoding.name), notes
    except UnicodeDecodeError:
        note = f"Not all of it is {encoding.name.upper()}: what is not is shown as \ufffd"
        return rest.decode(encoding.name, "replace"), [*notes, note]


def _windowed(
    text: str, shown: str, first: int, count: int, *, notes: Sequence[str] = (), noun: str = "line"
) -> ToolResult:
    """Return the requested lines, as many as fit, with notes below them."""
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    if first > max(total, 1):
        raise ToolFailure(f"{shown} has only {format_count(total, 'line')}: there is no line {first}")
    stop = first - 1 + count
    kept = keep_head("\n".join(lines[first - 1 : stop]) + ("\n" if stop < len(lines) else ""))
    last = first - 1 + kept.output_lines
    all_notes = list(notes)
    if kept.truncated and kept.output_lines == 1 and not kept.content.endswith("\n"):
        rest = f"sed -n {first}p {shlex.quote(shown)} | tail -c +{kept.output_bytes + 1}"
        all_notes.append(
            f"Line {first} is longer than {format_size(kept.output_bytes)}: see its rest with bash, {rest}"
        )
    if last < total:
        all_notes.append(f"Lines {first} to {last} of {total}: go on with offset={last + 1}")
    part = f" of {format_count(total)}" if kept.output_lines < total else ""
    details = {
        "summary": f"{format_count(kept.output_lines)}{part} {noun if total == 1 else _PLURALS[noun]}",
        "truncated": last < total,
        "totalLines": total,
        "outputLines": kept.output_lines,
        "outputBytes": kept.output_bytes,
    }
    if not all_notes:
        return text_result(kept.content or "(empty)", details)
    # In brackets, so that notes cannot be mistaken for content of the file.
    below = "\n".join(f"[{note}]" for note in all_notes)
    return text_result(f"{kept.content.removesuffix(chr(10))}\n\n{below}", details)
