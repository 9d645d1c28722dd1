"""The `bash` tool: runs commands."""

from __future__ import annotations

import os
from signal import strsignal
from time import monotonic
from typing import NotRequired, TypedDict

from tildone.base.keys import EXPAND
from tildone.base.secrets import Redactor, command_environment
from tildone.plan.text.amounts import format_count, format_duration, format_size
from tildone.plan.text.styles import Role
from tildone.run.host import ExtensionContext
from tildone.run.kit.components import (
    Component,
    Item,
    KeyHint,
    RenderOptions,
    Text,
    ToolCallHeader,
    ToolFooter,
    stacked,
)
from tildone.run.kit.defaults import PREVIEW_LINES, error_message, partial_message
from tildone.run.kit.definition import (
    MAX_BYTES,
    MAX_LINES,
    AbortSignal,
    OnUpdate,
    TextContent,
    ToolDefinition,
    ToolResult,
    send_update,
    text_result,
)
from tildone.run.tools.commands import (
    ENVIRONMENT,
    CommandOutput,
    Ending,
    OutputExcerpt,
    RunningCommand,
    shell_arguments,
)
from tildone.run.tools.permissions import PermissionGuard
from tildone.run.tools.result_view import ToolFailure, argument, result_view

TIMEOUT_SECONDS = 600
"""The timeout of a command whose call names none."""

_TIMEOUT_HELP = f"Seconds after which it is ended; {TIMEOUT_SECONDS} unless given"

PARAMETERS = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "Command line for the shell"},
        "timeout": {"type": "number", "description": _TIMEOUT_HELP},
    },
    "required": ["command"],
    "additionalProperties": False,
}

_MAX_PROCESSES_NAMED = 5


class BashParams(TypedDict):
    """The arguments, as the schema describes them."""

    command: str
    timeout: NotRequired[float]


def bash_tool(guard: PermissionGuard) -> ToolDefinition:
    async def execute(
        _call_id: str, params: BashParams, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: ExtensionContext
    ) -> ToolResult:
        line, seconds = params["command"].strip(), params.get("timeout", TIMEOUT_SECONDS)
        if not line:
            raise ToolFailure("The command is empty")
        if seconds <= 0:
            raise ToolFailure("timeout must be more than 0 seconds")
        await guard.command(line, ctx, signal)
        if signal:
            signal.raise_if_aborted()
        started = monotonic()
        output = CommandOutput(guard.create_output_file, Redactor(os.environ))
        environ = command_environment(os.environ, guard.policy.pass_env)
        command = RunningCommand(shell_arguments(line), ctx.cwd, {**environ, **ENVIRONMENT}, output)
        ending = await command.wait(seconds, signal, lambda: send_update(on_update, _partial_result(output)))
        return _result(command, ending, output.excerpt(), seconds, round((monotonic() - started) * 1000))

    return ToolDefinition(
        name="bash",
        label="Bash",
        description=(
            "Run a command in the working directory. Output and errors come back together, "
            f"of long ones the last {MAX_LINES} lines or {MAX_BYTES // 1000} KB and a file with all of it. "
            "There is no input: use flags that ask no questions."
        ),
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Run shell commands",
        prompt_guidelines=("Use bash to search, build and test; read, edit and write for files",),
        render_call=render_call,
        render_result=render_result,
        exclusive=True,
    )


def render_call(args: object) -> Component:
    """Return the header of a call: the command line and its timeout."""
    seconds = argument(args, "timeout")
    options = (f"timeout={seconds}s",) if seconds else ()
    return ToolCallHeader("Bash", main_arg=argument(args, "command"), option_args=options)


def render_result(result: ToolResult, options: RenderOptions) -> Component | None:
    """Return the view of a result: how the command ended, and the tail of its output."""
    if options.is_partial:
        return _running(result, options)
    details = result.details
    if "ending" not in details:
        return error_message(result)
    figures = [Item("took", format_duration(details["durationMs"]))]
    if details["fullOutputPath"]:
        figures.append(Item("all of it", details["fullOutputPath"]))
    summary = Text(details["summary"], Role.ERROR if options.is_error else None)
    return result_view(summary, result.text, options, last=True, figures=figures)


def _running(result: ToolResult, options: RenderOptions) -> Component:
    message = partial_message("Bash", "running")
    if not options.expanded:
        return ToolFooter((Item("", message.content), Item("", KeyHint(EXPAND, "to show its output"))))
    lines = result.text.rstrip("\n").split("\n")[-PREVIEW_LINES:]
    return stacked(message, Text("\n".join(lines), Role.TOOL_OUTPUT))


def _partial_result(output: CommandOutput) -> ToolResult:
    excerpt = output.excerpt()
    return text_result(excerpt.text, {"totalLines": excerpt.total_lines, "totalBytes": excerpt.total_bytes})


def _result(
    command: RunningCommand, ending: Ending, excerpt: OutputExcerpt, seconds: float, duration_ms: int
) -> ToolResult:
    failed = _failure(command.exit_code, ending, seconds)
    notes = [note for note in (_truncation_note(excerpt), _still_running(command), failed) if note]
    parts = [excerpt.text or "(no output)", "\n".join(f"[{note}]" for note in notes)]
    details = {
        "summary": failed or f"Done: {format_count(excerpt.total_lines, 'line')}",
        "ending": ending.value,
        "exitCode": command.exit_code if ending is Ending.EXIT else None,
        "durationMs": duration_ms,
        "truncated": excerpt.path is not None,
        "totalLines": excerpt.total_lines,
        "totalBytes": excerpt.total_bytes,
        "fullOutputPath": excerpt.path,
    }
    text = "\n\n".join(part.rstrip("\n") for part in parts if part)
    return ToolResult((TextContent(text),), details, is_error=bool(failed))


def _failure(exit_code: int | None, ending: Ending, seconds: float) -> str:
    """Return why the command failed; empty if it succeeded."""
    match ending:
        case Ending.ABORT:
            return "Aborted"
        case Ending.TIMEOUT:
            return f"Ended after {seconds:g} seconds: give a longer timeout if it needs more"
        case Ending.EXIT:
            if exit_code is not None and exit_code < 0:
                return f"Ended by signal {-exit_code} ({strsignal(-exit_code)})"
            return f"Exit code {exit_code}" if exit_code else ""


def _truncation_note(excerpt: OutputExcerpt) -> str:
    if excerpt.path is None:
        return ""
    lines = f"The last {format_count(excerpt.lines)} of {format_count(excerpt.total_lines, 'line')}"
    kept = "all of it" if excerpt.file_bytes == excerpt.total_bytes else f"its first {format_size(excerpt.file_bytes)}"
    return f"{lines}; {kept} is in {excerpt.path}"


def _still_running(command: RunningCommand) -> str:
    """Return a note about processes that are still running, so that a model can end them."""
    left = command.running_processes()
    if not left:
        return ""
    named = ", ".join(f"{process.pid} {process.name}" for process in left[:_MAX_PROCESSES_NAMED])
    return f"Still running: {named}{', …' if len(left) > _MAX_PROCESSES_NAMED else ''}"
