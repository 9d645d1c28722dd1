"""Commands that the person types as `!COMMAND`: run without being asked for, and shown like calls of the shell tool.

The model reads the command and its output before its next step. With `!!`, it does not.
"""

import asyncio
import os

from tildone.plan.text.styles import Role, Span
from tildone.run import events
from tildone.run.host import ExtensionContext, Host
from tildone.run.kit.components import Component, KeyHint, RenderOptions, Text
from tildone.run.kit.definition import (
    AbortController,
    AbortSignal,
    OnUpdate,
    TextContent,
    ToolDefinition,
    ToolResult,
    error_result,
)
from tildone.run.messages import BashExecutionMessage, JsonObject
from tildone.run.tools import builtin, files
from tildone.run.tools.commands import ENVIRONMENT, Ending
from tildone.run.tools.permissions import PermissionGuard

SIGN = "!"
"""What the person types before a command."""

TYPED = "typed_command"
"""The name of the tool, which no model can call."""

ESCAPED = "\\!"
"""The beginning of a message that begins with `!`."""

HELP = (
    ("!COMMAND", "run a command; the model reads it and its output"),
    ("!!COMMAND", "run a command that the model does not read"),
    ("//TEXT \\!TEXT", "send a message that begins with a slash, or with !"),
)
"""What the person can type besides messages and the names of commands."""

NO_COMMAND = "Type a command after the !; a message that begins with ! begins with \\!"
"""What to do about a command that is empty."""


def typed_tool(guard: PermissionGuard) -> ToolDefinition:
    """Return the tool for `TypedCommands`. It gets the environment of the person, secrets included."""

    async def execute(
        _call_id: str, params: JsonObject, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: ExtensionContext
    ) -> ToolResult:
        environ = {**os.environ, **ENVIRONMENT}
        line = params["command"]
        ended = await builtin.run_line(line, None, guard, environ, ctx, signal=signal, on_update=on_update)
        output = "\n".join(part for part in (ended.excerpt.text.rstrip("\n"), ended.still_running) if part)
        return ToolResult((TextContent(output),), ended.details, is_error=bool(ended.failure))

    return ToolDefinition(
        name=TYPED,
        label=SIGN,
        description="Run a command of the person",
        parameters=builtin.BASH_PARAMETERS,
        execute=execute,
        render_call=_call,
        render_result=_result,
        inherit=False,
    )


def _call(args: object) -> Component:
    sign = SIGN * 2 if builtin.argument(args, "hidden") else SIGN
    return Text((Span(f"{sign} ", Role.ACCENT, bold=True), Span(builtin.argument(args, "command"), lines=True)))


def _result(result: ToolResult, options: RenderOptions) -> Component | None:
    return KeyHint("app.interrupt", "stops it") if options.is_partial else builtin.bash_result(result, options)


def arguments_of_message(message: BashExecutionMessage) -> JsonObject:
    return {"command": message.command, "hidden": message.exclude_from_context or None}


def result_of_message(message: BashExecutionMessage) -> ToolResult:
    """Return the result of a command that was typed in an earlier run."""
    ending = Ending.ABORT if message.cancelled else Ending.EXIT
    failure = builtin.failure_of(message.exit_code, ending, 0)
    lines = message.output.count("\n") + bool(message.output)
    details = {
        "summary": failure or builtin.done_words(lines),
        "ending": ending.value,
        "durationMs": None,
        "fullOutputPath": message.full_output_path,
    }
    return ToolResult((TextContent(message.output),), details, is_error=bool(failure))


class TypedCommands:
    """The commands that the person types, one at a time."""

    def __init__(self) -> None:
        self._running: AbortController | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._count = 0

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def stop(self) -> None:
        """Stop the running command, with all that it has started."""
        if self._running is not None:
            self._running.abort()

    async def over(self) -> None:
        """Wait until no command is running."""
        await self._idle.wait()

    async def run(self, host: Host, typed: str) -> str:
        """Run what was typed, `!` included, and add it to the conversation; return why it was not run, if so."""
        is_hidden = typed.startswith(SIGN * 2)
        line = typed.removeprefix(SIGN).removeprefix(SIGN).strip()
        if not line:
            return NO_COMMAND
        if self._running is not None:
            return "A command is still running: wait for its end, or stop it"
        transcript, tool = host.transcript, host.tools[TYPED]
        controller = self._running = AbortController()
        self._idle.clear()
        self._count += 1
        call_id, args = f"typed {self._count}", {"command": line, "hidden": is_hidden or None}
        host.publish(events.ToolExecutionStart(call_id, TYPED, args))

        def update(partial: ToolResult) -> None:
            host.publish(events.ToolExecutionUpdate(call_id, TYPED, args, partial))

        try:
            result = await tool.execute(call_id, args, controller.signal, update, host.ctx)
        except files.ToolFailure as error:
            result = error_result(str(error))
        finally:
            self._running = None
            self._idle.set()
        transcript.append(events.MessageEntry(_message(line, result, is_hidden=is_hidden, at=host.now())))
        host.publish(events.ToolExecutionEnd(call_id, TYPED, result, result.is_error))
        return ""


def _message(line: str, result: ToolResult, *, is_hidden: bool, at: int) -> BashExecutionMessage:
    details = result.details
    return BashExecutionMessage(
        line,
        result.text,
        details.get("exitCode"),
        cancelled=details.get("ending") == Ending.ABORT.value,
        truncated=bool(details.get("truncated")),
        full_output_path=details.get("fullOutputPath"),
        exclude_from_context=is_hidden or None,
        timestamp=at,
    )
