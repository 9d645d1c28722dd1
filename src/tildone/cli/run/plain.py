"""A run at a terminal in plain lines: what happens is printed, and what the person types ends with Enter.

The terminal stays as the shell left it: it echoes what is typed, edits the line, and sends Ctrl-C and Ctrl-Z as
signals; no row is drawn twice. A line answers the open question. Without one it is a message or a command; the lines of
a paste, which arrive together, are one message.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from tildone.base import closest, did_you_mean
from tildone.base.editor import edit_text, editor_command
from tildone.cli import INTERRUPTED
from tildone.cli.run.headless import closing
from tildone.cli.run.lines import EventRenderer, LineOutput, RunOutcome
from tildone.cli.run.plain_ui import PlainUI
from tildone.cli.run.setup import RunSetup, command_list
from tildone.plan.text.styles import Role
from tildone.run.events import PublicEvent
from tildone.run.kit.components import Text
from tildone.run.metering import RunMeter
from tildone.run.queues import Delivery
from tildone.run.tools.commands import on_signals

PROMPT = "> "
COMMAND = re.compile(r"/(?P<name>[a-z]\w*)(?:\s.*)?", re.DOTALL)
ESCAPED = "//"
"""The beginning of a message that begins with a slash."""

CONTINUED = "\\"
"""At the end of a line, it makes a line break and does not send the line."""

QUIT = ("quit", "exit")
EXPAND = "expand"
OWN_COMMANDS = (
    ("/quit", "leave; ctrl+d does, too"),
    (f"/{EXPAND}", "show results expanded; again: collapsed"),
    ("//TEXT", "send a message that begins with a slash"),
)

_KEYS = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|O.|.)?|[\x00-\x08\x0b-\x1f\x7f]")
"""Keys that the terminal passes on but that are no text, such as arrows."""


class PlainRun:
    """One run at a terminal. Without a prompt it continues until the person leaves."""

    def __init__(self, setup: RunSetup, meter: RunMeter) -> None:
        self._setup = setup
        self._meter = meter
        self._fd = sys.stdin.fileno()
        self._output = LineOutput(sys.stdout)
        self._ui = PlainUI(self._output, self._show, self._edit_text, self._discard_typed, meter)
        self.host = setup.open(self._ui)
        self.renderer = EventRenderer(self.host, self._output)
        self._stays_open = setup.prompt is None
        self._loop = asyncio.get_running_loop()
        self._leaving: asyncio.Future[int] = self._loop.create_future()
        self._typed = asyncio.Event()
        self._unfinished = b""
        self._begun = ""
        self._in_editor = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self) -> RunOutcome:
        self.host.listen(self._handle)
        self._loop.add_reader(self._fd, self._read)
        try:
            async with closing(self.host):
                with on_signals(self._signalled):
                    await self.host.start(self._setup.start_reason)
                    if self._setup.prompt is None:
                        self._show(
                            Text(f"{self.host.model.id}: say what is to be done; /help lists commands", Role.DIM)
                        )
                    else:
                        await self.host.prompt(self._setup.prompt)
                    outcome = await self._until_over()
        finally:
            self._loop.remove_reader(self._fd)
            self._output.end_row()
        return outcome

    def _handle(self, event: PublicEvent) -> None:
        self._meter.feed(event)
        self.renderer.render(event)

    async def _until_over(self) -> RunOutcome:
        while True:
            await self._unless_leaving(self.host.over())
            if self._leaving.done():
                return self._left(self._leaving.result())
            if not self._stays_open:
                return self._setup.report.outcome(self.host)
            if not self._tasks:
                self._output.ask(PROMPT)
            await self._unless_leaving(self._typed.wait())
            self._typed.clear()

    def _left(self, code: int) -> RunOutcome:
        """Return the outcome after the person has left, or a signal has ended the program."""
        if code:
            return self._setup.report.interrupted(self.host, code)
        spoken = bool(self.host.transcript.messages())
        return RunOutcome(0, next_step=self._setup.report.next_step(self.host) if spoken else "")

    async def _unless_leaving(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, self._leaving}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        task.cancel()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 65536)
            while data.endswith(b"\n") and select.select([self._fd], [], [], 0)[0]:
                more = os.read(self._fd, 65536)
                if not more:
                    break
                data += more
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            self._leave(0)
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        if lines:
            self._output.entered()
            self._enter([_KEYS.sub("", line.decode("utf-8", "replace")) for line in lines])

    def _enter(self, lines: list[str]) -> None:
        if self._ui.is_asking:
            self._ui.answer("\n".join(lines))
            return
        if self.host.pending:
            # The person types, so nothing is continued without them.
            self._stays_open = True
            self._spawn(self.host.interrupt())
        for text in _messages(lines):
            if text.endswith(CONTINUED):
                self._begun += text.removesuffix(CONTINUED) + "\n"
            elif message := (self._begun + text).strip():
                self._begun = ""
                self._spawn(self._deliver(message))
        self._typed.set()

    async def _deliver(self, text: str) -> None:
        """Run a command; send anything else to the model, before its next request if it is working."""
        command = COMMAND.fullmatch(text)
        match command["name"] if command else "":
            case name if name in QUIT:
                self._leave(0)
            case "help":
                self._show(Text(command_list(self.host, OWN_COMMANDS), Role.MUTED))
            case name if name == EXPAND:
                self.renderer.toggle_expanded()
            case name if name and name not in self.host.commands:
                close = [f"/{known}" for known in closest(name, (*self.host.commands, *QUIT, EXPAND))]
                hint = did_you_mean(close) if close else "/help lists them"
                self._show(Text(f"There is no command /{name}; {hint}", Role.WARNING))
            case "" if text.startswith(ESCAPED):
                await self.host.steer(text[1:])
            case _:
                await self.host.prompt(text, behavior=Delivery.STEER)

    def _signalled(self, number: int) -> None:
        """Handle a signal. Ctrl-C ends the first of: a question, a turn, a countdown, the program."""
        if number != signal.SIGINT:
            self._leave(128 + number)
        elif self._in_editor:
            return
        elif self._ui.is_asking or self.host.is_running:
            self._abort()
        elif self.host.pending and self._stays_open:
            self._spawn(self.host.interrupt())
        else:
            self._leave(INTERRUPTED)

    def _abort(self) -> None:
        """Abort the turn; if that was already requested, leave."""
        self._output.end_row()
        self._ui.decline()
        running = self.host.signal
        if running is not None and running.aborted:
            self._leave(INTERRUPTED)
        self.host.request_abort()

    def _leave(self, code: int) -> None:
        if not self._leaving.done():
            self._leaving.set_result(code)

    def _discard_typed(self) -> None:
        """Discard what was typed before a question is shown, so that it does not answer it."""
        import termios  # noqa: PLC0415  not on every system; `is_interactive` has checked

        self._unfinished = b""
        termios.tcflush(self._fd, termios.TCIFLUSH)

    async def _edit_text(self, text: str) -> str | None:
        """Let the person edit the text in $VISUAL or $EDITOR; return None if there is no editor or it failed."""
        if not editor_command():
            return None
        self._in_editor = True
        self._loop.remove_reader(self._fd)
        try:
            return await asyncio.to_thread(edit_text, text)
        finally:
            self._in_editor = False
            self._loop.add_reader(self._fd, self._read)

    def _show(self, text: Text) -> None:
        self.renderer.put(text)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        def end(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            self._typed.set()

        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(end)


def _messages(lines: Sequence[str]) -> list[str]:
    """Return lines that arrived together as one message. Each command is one of its own."""
    messages: list[str] = []
    for line in lines:
        if messages and not line.startswith("/") and not messages[-1].startswith("/"):
            messages[-1] += f"\n{line}"
        else:
            messages.append(line)
    return messages
