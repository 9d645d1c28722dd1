"""The built-in tools of the host, read, write, edit and bash, and the views of their results."""

import asyncio
import base64
import os
import re
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from signal import strsignal
from time import monotonic
from weakref import WeakValueDictionary

from tildone.base import value
from tildone.base.keys import EXPAND
from tildone.base.secrets import Redactor, command_environment
from tildone.plan.text.amounts import format_count, format_duration, format_size
from tildone.plan.text.safe import single_line
from tildone.plan.text.styles import LINE_BREAK, Role, Span, clip_text
from tildone.run.host import ExtensionContext
from tildone.run.kit.components import (
    Component,
    Field,
    Item,
    KeyHint,
    RenderOptions,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
    stacked,
)
from tildone.run.kit.defaults import PREVIEW_LINES, error_message, partial_message
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
    send_update,
    text_result,
)
from tildone.run.messages import JsonObject
from tildone.run.tools import commands, files
from tildone.run.tools.permissions import PermissionGuard

_DIFF = {"+": Role.SUCCESS, "-": Role.ERROR, "@": Role.ACCENT}


def _renderer(
    label: str, doing: str, view: Callable[[ToolResult, RenderOptions], Component]
) -> Callable[[ToolResult, RenderOptions], Component]:
    """Return the function that renders results: partial ones, those without a summary, and the `view` of the others."""

    def render(result: ToolResult, options: RenderOptions) -> Component:
        if options.is_partial:
            return partial_message(label, doing)
        if options.is_error or "summary" not in result.details:
            return error_message(result)
        return view(result, options)

    return render


def argument(args: object, name: str) -> str:
    """Return an argument as text; empty if it has not been streamed yet."""
    given = args.get(name) if isinstance(args, Mapping) else None
    return "" if given is None else str(given)


def result_view(
    summary: Text, text: str, options: RenderOptions, *, last: bool = False, figures: Sequence[Item] = ()
) -> Component:
    """Return the summary, the first lines of the text (the last with `last`) or all of it, and the figures below."""
    lines = text.rstrip("\n").split("\n")
    kept, hidden = _preview(lines, options, last=last)
    body = Text("\n".join(kept), Role.TOOL_OUTPUT)
    return _view(summary, body if text else None, hidden, options, figures)


def diff_view(summary: Text, diff: str, options: RenderOptions) -> Component:
    """Return the summary, and a coloured unified diff or the beginning of it."""
    kept, hidden = _preview(diff.rstrip("\n").split("\n"), options, last=False)
    spans = [span for line in kept for span in (LINE_BREAK, Span(line.rstrip("\r"), diff_role(line)))]
    return _view(summary, Text(tuple(spans[1:])) if diff else None, hidden, options, ())


def diff_role(line: str) -> Role:
    return _DIFF.get(line[:1], Role.DIM)


def _preview(lines: list[str], options: RenderOptions, *, last: bool) -> tuple[list[str], int]:
    hidden = 0 if options.expanded else max(len(lines) - PREVIEW_LINES, 0)
    if not hidden:
        return lines, 0
    return lines[hidden:] if last else lines[:-hidden], hidden


def _view(summary: Text, body: Text | None, hidden: int, options: RenderOptions, figures: Sequence[Item]) -> Component:
    fields = [Field("", part, show_collapsed=True) for part in (summary, body) if part is not None]
    items = list(figures)
    if hidden:
        items += [Item("", format_count(hidden, "more line")), Item("", KeyHint(EXPAND, "to expand"))]
    footer = ToolFooter(tuple(items)) if items else None
    return ToolBody(tuple(fields), expanded=options.expanded, footer=footer)


MAX_IMAGE_BYTES = 3_750_000
"""The largest image that providers accept. Their limit applies to the base64 text, which is a third larger."""

_PLURALS = {"line": "lines", "entry": "entries"}
_IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))

FileLocks = WeakValueDictionary[str, asyncio.Lock]
"""One lock per path, which exists as long as it is in use."""

READ_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to read, relative to the working directory or absolute"},
        "offset": {"type": "integer", "description": "First line to read, counted from 1"},
        "limit": {"type": "integer", "description": "How many lines to read"},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def read_tool(guard: PermissionGuard) -> ToolDefinition:
    async def execute(
        _call_id: str,
        params: JsonObject,
        signal: AbortSignal | None,
        _on_update: OnUpdate | None,
        ctx: ExtensionContext,
    ) -> ToolResult:
        first, count = params.get("offset", 1), params.get("limit", MAX_LINES)
        if first < 1 or count < 1:
            raise files.ToolFailure("offset and limit count from 1")
        real = await guard.file(params["path"], "read", ctx, signal)
        return await asyncio.to_thread(_read, real, ctx.cwd, int(first), int(count))

    return ToolDefinition(
        name="read",
        label="Read",
        description=(
            "Read a file: text as it is, PNG, JPEG, GIF and WebP as images, a directory as its entries. "
            f"Of long text the first {MAX_LINES} lines or {MAX_BYTES // 1000} KB come back; go on with offset."
        ),
        parameters=READ_PARAMETERS,
        execute=execute,
        prompt_snippet="Read files and images, list directories",
        prompt_guidelines=("Read a file before you edit it",),
        render_call=_read_call,
        render_result=_renderer(
            "Read",
            "reading",
            lambda result, options: result_view(Text(result.details["summary"]), result.text, options),
        ),
    )


def _read_call(args: object) -> Component:
    options = (f"{name}={given}" for name in ("offset", "limit") if (given := argument(args, name)))
    return ToolCallHeader("Read", main_arg=argument(args, "path"), option_args=tuple(options))


def _read(real: str, cwd: str, first: int, count: int) -> ToolResult:
    shown = files.display_path(real, cwd)
    try:
        if not files.RELATIVE and os.path.isdir(real):
            return _windowed(_entries(real), shown, first, count, noun="entry")
        with files.open_resolved(real) as opened:
            if stat.S_ISDIR(os.fstat(opened).st_mode):
                return _windowed(_entries(opened), shown, first, count, noun="entry")
            data = files.read_descriptor(opened, shown)
    except FileNotFoundError:
        raise files.ToolFailure(_missing(real, shown, os.path.realpath(cwd))) from None
    except OSError as error:
        raise files.os_failure(shown, error) from error
    is_webp = data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    mime_type = "image/webp" if is_webp else next((kind for magic, kind in _IMAGES if data.startswith(magic)), "")
    if mime_type:
        return _image(data, mime_type, shown)
    if files.is_binary(data):
        raise files.ToolFailure(
            f"{shown} is a binary file ({format_size(len(data))}); look into it with bash (file, strings, xxd)"
        )
    text, notes = _text_and_notes(data)
    # Not what only looks like a key: a file that is read is often written again.
    text = Redactor(os.environ, forms=False).text(text)
    return _windowed(text, shown, first, count, notes=notes)


def _missing(real: str, shown: str, root: str) -> str:
    similar = [files.display_path(path, root) for path in files.similar_paths(real, root)]
    return f"{shown} does not exist. Did you mean {' or '.join(similar)}?" if similar else f"{shown} does not exist"


def _entries(directory: int | str) -> str:
    with os.scandir(directory) as found:
        is_folder = {entry.name: _is_folder(entry) for entry in found}
    names, folders = set(is_folder), {name for name in is_folder if is_folder[name]}
    ordered = [f"{name}/" for name in sorted(folders)] + sorted(names - folders)
    return "".join(f"{single_line(files.decodable_name(name))}\n" for name in ordered)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads in a circle


def _image(data: bytes, mime_type: str, shown: str) -> ToolResult:
    if len(data) > MAX_IMAGE_BYTES:
        at_most = format_size(MAX_IMAGE_BYTES)
        raise files.ToolFailure(
            f"{shown} is an image of {format_size(len(data))}; at most {at_most} can be shown. Make it smaller."
        )
    summary = f"{mime_type}, {format_size(len(data))}"
    image = ImageContent(base64.b64encode(data).decode("ascii"), mime_type)
    return ToolResult((TextContent(f"[{shown}: {summary}]"), image), {"summary": summary})


def _text_and_notes(data: bytes) -> tuple[str, list[str]]:
    """Return the text of a file, and notes about its encoding."""
    encoding = files.encoding_of(data)
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
        raise files.ToolFailure(f"{shown} has only {format_count(total, 'line')}: there is no line {first}")
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


WRITE_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to write, relative to the working directory or absolute"},
        "content": {"type": "string", "description": "All that the file is to hold"},
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}

_MAX_EXCERPT_BYTES = 1000


def write_tool(guard: PermissionGuard, locks: FileLocks) -> ToolDefinition:
    async def execute(
        _call_id: str,
        params: JsonObject,
        signal: AbortSignal | None,
        _on_update: OnUpdate | None,
        ctx: ExtensionContext,
    ) -> ToolResult:
        data = utf8(params["content"], "content")
        real = await guard.file(params["path"], "write", ctx, signal)
        shown = files.display_path(real, ctx.cwd)
        async with locks.setdefault(real, asyncio.Lock()):
            change = await asyncio.to_thread(files.whole_file, real, shown, data)
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
        parameters=WRITE_PARAMETERS,
        execute=execute,
        prompt_snippet="Make files or replace them whole",
        prompt_guidelines=("Change a file with edit; write is for new files and for all of one",),
        render_call=_write_call,
        render_result=_renderer("Write", "writing", lambda result, _options: Text(result.details["summary"])),
        exclusive=True,
    )


def utf8(text: str, name: str) -> bytes:
    """Encode a text that a model wrote as UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise files.ToolFailure(
            f"{name} holds half a character (U+{ord(text[error.start]):04X}) on line {line}"
        ) from error


def _write_call(args: object) -> Component:
    kept = keep_head(argument(args, "content"), PREVIEW_LINES, _MAX_EXCERPT_BYTES)
    more = f"\n… ({format_size(kept.total_bytes - kept.output_bytes)} more)" if kept.truncated else ""
    excerpt = (Item("", kept.content.rstrip() + more),) if kept.content else ()
    return ToolCallHeader("Write", main_arg=argument(args, "path"), long_args=excerpt)


EDIT_PARAMETERS = {
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


def edit_tool(guard: PermissionGuard, locks: FileLocks) -> ToolDefinition:
    async def execute(
        _call_id: str,
        params: JsonObject,
        signal: AbortSignal | None,
        _on_update: OnUpdate | None,
        ctx: ExtensionContext,
    ) -> ToolResult:
        if not params["old_text"]:
            raise files.ToolFailure("old_text is empty; to make a file or to replace all of one, use write")
        utf8(params["new_text"], "new_text")
        real = await guard.file(params["path"], "write", ctx, signal)
        async with locks.setdefault(real, asyncio.Lock()):
            change, result = await asyncio.to_thread(_prepared, real, files.display_path(real, ctx.cwd), params)
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
        parameters=EDIT_PARAMETERS,
        execute=execute,
        prompt_snippet="Replace exact text in a file",
        prompt_guidelines=("Give edit just enough of old_text to be found once",),
        render_call=_edit_call,
        render_result=_renderer(
            "Edit",
            "editing",
            lambda result, options: diff_view(Text(result.details["summary"]), result.details["diff"], options),
        ),
        exclusive=True,
    )


def _edit_call(args: object) -> Component:
    options = ("all=true",) if argument(args, "all") == "True" else ()
    return ToolCallHeader("Edit", main_arg=argument(args, "path"), option_args=options)


def _prepared(real: str, shown: str, params: JsonObject) -> tuple[files.PreparedChange, ToolResult]:
    data = files.content(real, shown)
    if data is None:
        raise files.ToolFailure(f"{shown} does not exist; to make a file, use write")
    if files.is_binary(data):
        raise files.ToolFailure(f"{shown} is a binary file")
    encoding = files.encoding_of(data)
    try:
        text = encoding.decode(data)
    except UnicodeDecodeError as error:
        raise files.ToolFailure(f"{shown} is not the {encoding.name.upper()} that its first bytes say it is") from error
    changes = _replacements(text, shown, params)
    after = files.apply_replacements(text, changes)
    if after == text:
        raise files.ToolFailure("old_text and new_text are the same")
    found = files.hunks(text, changes)
    change = files.PreparedChange(real, shown, data, encoding.encode(after), lambda: (_showable(text), found))
    return change, _edited(text, changes, found, shown)


def _replacements(text: str, shown: str, params: JsonObject) -> list[files.Replacement]:
    """Return a replacement for every match of the old text; line ends match any, and the new text adopts them."""
    old = r"\r?\n".join(map(re.escape, _LINE_END.split(params["old_text"])))
    found = list(re.finditer(old, text))
    if not found:
        raise files.ToolFailure(f"old_text is not in {shown}. {_hint(text, params['old_text'])}")
    if len(found) > 1 and not params.get("all"):
        lines = ", ".join(str(text.count("\n", 0, place.start()) + 1) for place in found[:_MAX_LINES_NAMED])
        more = ", …" if len(found) > _MAX_LINES_NAMED else ""
        raise files.ToolFailure(
            f"old_text stands {len(found)} times in {shown}, on lines {lines}{more}. "
            "Give more of the text around the one you mean, or set all to true."
        )
    feeds = text.count("\n")
    usual = None if not feeds else "\r\n" if text.count("\r\n") * 2 > feeds else "\n"
    return [files.Replacement(*place.span(), _with_line_ends(params["new_text"], place[0], usual)) for place in found]


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


def _edited(text: str, changes: list[files.Replacement], found: list[files.Hunk], shown: str) -> ToolResult:
    added, removed = sum(len(hunk.new) for hunk in found), sum(len(hunk.old) for hunk in found)
    places = format_count(len(changes), "place")
    summary = f"{places}, +{added} -{removed}"
    details = {
        "summary": summary,
        "diff": keep_head(_showable(files.unified_diff(text, found, shown))).content,
        "firstChangedLine": found[0].at + 1,
        "added": added,
        "removed": removed,
    }
    return text_result(f"Edited {shown}: {summary} lines, from line {found[0].at + 1} on", details)


def _showable(diff: str) -> str:
    """Replace surrogate escapes, which represent undecodable bytes and cannot be sent to a model."""
    return diff.encode("utf-8", "replace").decode("utf-8")


TIMEOUT_SECONDS = 600
"""The timeout of a command whose call names none."""

BASH_PARAMETERS = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Command line for the shell"},
        "timeout": {
            "type": "number",
            "description": f"Seconds after which it is ended; {TIMEOUT_SECONDS} unless given",
        },
    },
    "required": ["command"],
    "additionalProperties": False,
}

_MAX_PROCESSES_NAMED = 5


def bash_tool(guard: PermissionGuard) -> ToolDefinition:
    async def execute(
        _call_id: str, params: JsonObject, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: ExtensionContext
    ) -> ToolResult:
        line, seconds = params["command"].strip(), params.get("timeout", TIMEOUT_SECONDS)
        if not line:
            raise files.ToolFailure("The command is empty")
        if seconds <= 0:
            raise files.ToolFailure("timeout must be more than 0 seconds")
        await guard.command(line, ctx, signal)
        if signal:
            signal.raise_if_aborted()
        environ = {**command_environment(os.environ, guard.policy.pass_env), **commands.ENVIRONMENT}
        return (await run_line(line, seconds, guard, environ, ctx, signal=signal, on_update=on_update)).result

    return ToolDefinition(
        name="bash",
        label="Bash",
        description=(
            "Run a command in the working directory. Output and errors come back together, "
            f"of long ones the last {MAX_LINES} lines or {MAX_BYTES // 1000} KB and a file with all of it. "
            "There is no input: use flags that ask no questions."
        ),
        parameters=BASH_PARAMETERS,
        execute=execute,
        prompt_snippet="Run shell commands",
        prompt_guidelines=("Use bash to search, build and test; read, edit and write for files",),
        render_call=_bash_call,
        render_result=bash_result,
        exclusive=True,
    )


def _bash_call(args: object) -> Component:
    seconds = argument(args, "timeout")
    options = (f"timeout={seconds}s",) if seconds else ()
    return ToolCallHeader("Bash", main_arg=argument(args, "command"), option_args=options)


def bash_result(result: ToolResult, options: RenderOptions) -> Component | None:
    if options.is_partial:
        message = partial_message("Bash", "running")
        if not options.expanded:
            return ToolFooter((Item("", message.content), Item("", KeyHint(EXPAND, "to show its output"))))
        lines = result.text.rstrip("\n").split("\n")[-PREVIEW_LINES:]
        return stacked(message, Text("\n".join(lines), Role.TOOL_OUTPUT))
    details = result.details
    if "ending" not in details:
        return error_message(result)
    took = None if options.is_timed else details["durationMs"]
    figures = [] if took is None else [Item("took", format_duration(took))]
    if details["fullOutputPath"]:
        figures.append(Item("all of it", details["fullOutputPath"]))
    summary = Text(details["summary"], Role.ERROR if options.is_error else None)
    return result_view(summary, result.text, options, last=True, figures=figures)


@value
class EndedCommand:
    """How a command ended. `failure` is why it failed; empty if it succeeded."""

    exit_code: int | None
    ending: commands.Ending
    excerpt: commands.OutputExcerpt
    failure: str
    still_running: str
    duration_ms: int

    @property
    def details(self) -> JsonObject:
        excerpt = self.excerpt
        return {
            "summary": self.failure or done_words(excerpt.total_lines),
            "ending": self.ending.value,
            "exitCode": self.exit_code if self.ending is commands.Ending.EXIT else None,
            "durationMs": self.duration_ms,
            "truncated": excerpt.path is not None,
            "totalLines": excerpt.total_lines,
            "totalBytes": excerpt.total_bytes,
            "fullOutputPath": excerpt.path,
        }

    @property
    def result(self) -> ToolResult:
        """What a model reads."""
        notes = [note for note in (_truncation_note(self.excerpt), self.still_running, self.failure) if note]
        parts = [self.excerpt.text or "(no output)", "\n".join(f"[{note}]" for note in notes)]
        text = "\n\n".join(part.rstrip("\n") for part in parts if part)
        return ToolResult((TextContent(text),), self.details, is_error=bool(self.failure))


async def run_line(  # noqa: PLR0913  what a command needs
    line: str,
    seconds: float | None,
    guard: PermissionGuard,
    environ: Mapping[str, str],
    ctx: ExtensionContext,
    *,
    signal: AbortSignal | None,
    on_update: OnUpdate | None,
) -> EndedCommand:
    """Run a line of the shell to its end, an abort or a timeout. `on_update` is called while output arrives."""
    started = monotonic()
    output = commands.CommandOutput(guard.create_output_file, Redactor(os.environ))
    command = commands.RunningCommand(commands.shell_arguments(line), ctx.cwd, environ, output)

    def update() -> None:
        part = output.excerpt()
        details = {"totalLines": part.total_lines, "totalBytes": part.total_bytes}
        send_update(on_update, text_result(part.text, details))

    ending = await command.wait(seconds, signal, update)
    milliseconds = round((monotonic() - started) * 1000)
    exit_code = command.exit_code
    failure = failure_of(exit_code, ending, seconds or 0)
    return EndedCommand(exit_code, ending, output.excerpt(), failure, _still_running(command), milliseconds)


def done_words(lines: int) -> str:
    return f"Done: {format_count(lines, 'line')}"


def failure_of(exit_code: int | None, ending: commands.Ending, seconds: float) -> str:
    """Return why the command failed; empty if it succeeded."""
    match ending:
        case commands.Ending.ABORT:
            return "Aborted"
        case commands.Ending.TIMEOUT:
            return f"Ended after {seconds:g} seconds: give a longer timeout if it needs more"
        case commands.Ending.EXIT:
            if exit_code is not None and exit_code < 0:
                return f"Ended by signal {-exit_code} ({strsignal(-exit_code)})"
            return f"Exit code {exit_code}" if exit_code else ""


def _truncation_note(excerpt: commands.OutputExcerpt) -> str:
    if excerpt.path is None:
        return ""
    lines = f"The last {format_count(excerpt.lines)} of {format_count(excerpt.total_lines, 'line')}"
    kept = "all of it" if excerpt.file_bytes == excerpt.total_bytes else f"its first {format_size(excerpt.file_bytes)}"
    return f"{lines}; {kept} is in {excerpt.path}"


def _still_running(command: commands.RunningCommand) -> str:
    """Return a note about processes that are still running, so that a model can end them."""
    left = command.running_processes()
    if not left:
        return ""
    named = ", ".join(f"{process.pid} {process.name}" for process in left[:_MAX_PROCESSES_NAMED])
    return f"Still running: {named}{', …' if len(left) > _MAX_PROCESSES_NAMED else ''}"


def builtin_tools(guard: PermissionGuard) -> tuple[ToolDefinition, ...]:
    locks: FileLocks = WeakValueDictionary()
    return read_tool(guard), write_tool(guard, locks), edit_tool(guard, locks), bash_tool(guard)
