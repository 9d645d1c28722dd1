"""The `edit` tool: replaces exact text in a file."""

from __future__ import annotations

import asyncio
import re
from difflib import get_close_matches
from itertools import islice
from typing import NotRequired, TypedDict

from tildone.plan.text.amounts import format_count
from tildone.plan.text.styles import clip_text
from tildone.run.host import ExtensionContext
from tildone.run.kit.components import Component, RenderOptions, Text, ToolCallHeader
from tildone.run.kit.defaults import error_message, partial_message
from tildone.run.kit.definition import AbortSignal, OnUpdate, ToolDefinition, ToolResult, keep_head, text_result
from tildone.run.tools.diffs import Hunk, Replacement, apply_replacements, hunks, unified_diff
from tildone.run.tools.files import FileLocks, PreparedChange, content, display_path, encoding_of, is_binary
from tildone.run.tools.permissions import PermissionGuard
from tildone.run.tools.result_view import ToolFailure, argument, diff_view
from tildone.run.tools.write import utf8

PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to change, relative to the working directory or absolute"},
        "old_text": {"type": "string", "description": "Text to replace, exactly as it stands in the file, once"},
        "new_text": {"type": "string", "description": "What is to stand there"},
        "all": {"type": "boolean", "description": "Replace it wherever it stands"},
    },
    "required": ["path", "old_text", "new_text"],
    "additionalProperties": False,
}

_LINE_END = re.compile("\r?\n")
_MAX_LINES_NAMED = 10
_MAX_LINES_SEARCHED = 5000
_MAX_LINE_CHARACTERS = 200


class EditParams(TypedDict):
    """The arguments, as the schema describes them."""

    path: str
    old_text: str
    new_text: str
    all: NotRequired[bool]


def edit_tool(guard: PermissionGuard, locks: FileLocks) -> ToolDefinition:
    """Return the tool, under a permission guard; calls for the same file run one at a time."""

    async def execute(
        _call_id: str,
        params: EditParams,
        signal: AbortSignal | None,
        _on_update: OnUpdate | None,
        ctx: ExtensionContext,
    ) -> ToolResult:
        if not params["old_text"]:
            raise ToolFailure("old_text is empty; to make a file or to replace all of one, use write")
        utf8(params["new_text"], "new_text")
        real = await guard.file(params["path"], "write", ctx, signal)
        async with locks.of(real):
            change, result = await asyncio.to_thread(_prepared, real, display_path(real, ctx.cwd), params)
            await guard.change(change, ctx, signal)
            await asyncio.to_thread(change.write)
        return result

    return ToolDefinition(
        name="edit",
        label="Edit",
        description=(
            "Replace text in a file. old_text must match exactly, white space included, and stand there only once, "
            "unless all is true. Line ends stay those of the file."
        ),
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Replace exact text in a file",
        prompt_guidelines=("Give edit just enough of old_text to be found once",),
        render_call=render_call,
        render_result=render_result,
        exclusive=True,
    )


def render_call(args: object) -> Component:
    """Return the header of a call: the path. The change itself is shown with the result."""
    options = ("all=true",) if argument(args, "all") == "True" else ()
    return ToolCallHeader("Edit", main_arg=argument(args, "path"), option_args=options)


def render_result(result: ToolResult, options: RenderOptions) -> Component | None:
    """Return the view of a result: a summary and the diff."""
    if options.is_partial:
        return partial_message("Edit", "editing")
    if options.is_error or "diff" not in result.details:
        return error_message(result)
    return diff_view(Text(result.details["summary"]), result.details["diff"], options)


def _prepared(real: str, shown: str, params: EditParams) -> tuple[PreparedChange, ToolResult]:
    """Return the change, and the result to be returned once it is written."""
    data = content(real, shown)
    if data is None:
        raise ToolFailure(f"{shown} does not exist; to make a file, use write")
    if is_binary(data):
        raise ToolFailure(f"{shown} is a binary file")
    encoding = encoding_of(data)
    try:
        text = encoding.decode(data)
    except UnicodeDecodeError as error:
        raise ToolFailure(f"{shown} is not the {encoding.name.upper()} that its first bytes say it is") from error
    changes = _replacements(text, shown, params)
    after = apply_replacements(text, changes)
    if after == text:
        raise ToolFailure("old_text and new_text are the same")
    found = hunks(text, changes)
    change = PreparedChange(real, shown, data, encoding.encode(after), lambda: (_showable(text), found))
    return change, _result(text, changes, found, shown)


def _replacements(text: str, shown: str, params: EditParams) -> list[Replacement]:
    """Return a replacement for every match of the old text; line ends match any, and the new text adopts them."""
    old = r"\r?\n".join(map(re.escape, _LINE_END.split(params["old_text"])))
    found = list(re.finditer(old, text))
    if not found:
        raise ToolFailure(f"old_text is not in {shown}. {_hint(text, params['old_text'])}")
    if len(found) > 1 and not params.get("all"):
        lines = ", ".join(str(text.count("\n", 0, place.start()) + 1) for place in found[:_MAX_LINES_NAMED])
        more = ", …" if len(found) > _MAX_LINES_NAMED else ""
        raise ToolFailure(
            f"old_text stands {len(found)} times in {shown}, on lines {lines}{more}. "
            "Give more of the text around the one you mean, or set all to true."
        )
    usual = _usual_line_end(text)
    return [Replacement(*place.span(), _with_line_ends(params["new_text"], place[0], usual)) for place in found]


def _usual_line_end(text: str) -> str | None:
    windows = text.count("\r\n")
    feeds = text.count("\n")
    return None if not feeds else "\r\n" if windows * 2 > feeds else "\n"


def _with_line_ends(new: str, old: str, usual: str | None) -> str:
    """Return the new text with the line ends of the old text or, if that has none, of the file."""
    line_break = _LINE_END.search(old)
    line_end = line_break[0] if line_break else usual
    return new if line_end is None else _LINE_END.sub(lambda _: line_end, new)


def _hint(text: str, old: str) -> str:
    """Return a hint at the lines that the old text was probably meant to match."""
    wanted = [line.strip() for line in _LINE_END.split(old.strip())]
    lines = [line.strip() for line in islice(text.split("\n"), _MAX_LINES_SEARCHED)]
    for number in range(len(lines) - len(wanted) + 1):
        if lines[number : number + len(wanted)] == wanted:
            return f"Only its white space differs from what begins on line {number + 1}."
    similar = get_close_matches(
        wanted[0][:_MAX_LINE_CHARACTERS], [line[:_MAX_LINE_CHARACTERS] for line in lines if line], 1
    )
    if not similar:
        return "Read the file, and copy the text from there."
    number = next(i for i, line in enumerate(lines) if line[:_MAX_LINE_CHARACTERS] == similar[0])
    return f"Most like it is line {number + 1}: {clip_text(text.split(chr(10))[number].rstrip(), _MAX_LINE_CHARACTERS)}"


def _result(text: str, changes: list[Replacement], found: list[Hunk], shown: str) -> ToolResult:
    added, removed = sum(len(hunk.new) for hunk in found), sum(len(hunk.old) for hunk in found)
    places = format_count(len(changes), "place")
    summary = f"{places}, +{added} -{removed}"
    details = {
        "summary": summary,
        "diff": keep_head(_showable(unified_diff(text, found, shown))).content,
        "firstChangedLine": found[0].at + 1,
        "added": added,
        "removed": removed,
    }
    return text_result(f"Edited {shown}: {summary} lines, from line {found[0].at + 1} on", details)


def _showable(diff: str) -> str:
    """Replace surrogate escapes, which represent undecodable bytes and cannot be sent to a model."""
    return diff.encode("utf-8", "replace").decode("utf-8")
