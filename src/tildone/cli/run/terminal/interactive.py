"""An interactive run: draws the screen, reads keys, and sends what is typed to the host or the open question."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.headless import closing
from tildone.cli.run.outcome import INTERRUPTED, RunOutcome
from tildone.cli.run.person_commands import command_list
from tildone.cli.run.setup import RunSetup
from tildone.cli.run.terminal.asking import Asking
from tildone.cli.run.terminal.footer import footer
from tildone.cli.run.terminal.keys import SCREEN_KEYS, Decoder, Key
from tildone.cli.run.terminal.line_editor import LineEditor
from tildone.cli.run.terminal.live_area import Footer, LiveArea
from tildone.cli.run.terminal.tty import Tty
from tildone.cli.run.terminal.ui import TerminalUI
from tildone.core.plan import Plan
from tildone.errors import StoreError, closest, did_you_mean
from tildone.host.events import AgentEnd, AgentStart, PublicEvent, ToolExecutionEnd
from tildone.host.meter import Activity, RunMeter
from tildone.host.process_signals import on_signals
from tildone.host.runtime import Delivery
from tildone.kit.components import Component, Text
from tildone.kit.keys import EXPAND
from tildone.kit.theme import Role

REDRAW_DELAY_SECONDS = 0.04
"""How long changes are collected before they are drawn."""

TICK_SECONDS = 1.0

ESCAPE_SECONDS = 0.05
"""How long an escape character waits for the rest of a sequence before it is the Escape key."""


COMMAND = re.compile(r"/(?P<name>[a-z]\w*)(?:\s.*)?", re.DOTALL)
ESCAPED = "//"
"""The beginning of a message that begins with a slash."""

QUIT = ("quit", "exit")
OWN_COMMANDS = (
    ("/quit", "leave; ctrl+d does, too"),
    ("//TEXT", "send a message that begins with a slash"),
    (SCREEN_KEYS[EXPAND], "show results expanded, and the output of a running command; again: collapsed"),
)


class InteractiveRun:
    """One run at a terminal. Without a prompt it continues until the person leaves."""

    def __init__(self, setup: RunSetup, meter: RunMeter) -> None:
        self._setup = setup
        self._tty = Tty()
        self._line = LineEditor()
        self._decoder = Decoder()
        self._meter = meter
        self._ui = TerminalUI(self._show, self._schedule_draw, self._edit_text, self._ask, meter.resume)
        self.host = setup.open(self._ui)
        self._screen = LiveArea(sys.stdout, self._footer, self._schedule_draw)
        self._renderer = EventRenderer(self.host, self._screen)
        self._asking = Asking(self._ui, self._screen, self._line, self._abort)
        self._plan = Plan()
        self._stays_open = setup.prompt is None
        self._loop = asyncio.get_running_loop()
        self._leaving: asyncio.Future[int] = self._loop.create_future()
        self._message_sent = asyncio.Event()
        self._drawing: asyncio.TimerHandle | None = None
        self._flushing: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self) -> RunOutcome:
        """Run until the end, and return the outcome."""
        self.host.listen(self._handle)
        with self._tty.cbreak():
            self._loop.add_reader(self._tty.fd, self._read)
            self._loop.add_signal_handler(signal.SIGWINCH, self._resized)
            self._loop.add_signal_handler(signal.SIGCONT, self._continued)
            ticking = asyncio.ensure_future(self._tick())
            try:
                async with closing(self.host):
                    with on_signals(self._signalled):
                        await self.host.start(self._setup.start_reason)
                        await self._begin()
                        outcome = await self._until_over()
            finally:
                ticking.cancel()
                self._loop.remove_reader(self._tty.fd)
                self._screen.close()
        return outcome

    def _handle(self, event: PublicEvent) -> None:
        self._meter.feed(event)
        if isinstance(event, ToolExecutionEnd | AgentStart | AgentEnd):
            self._read_plan()
        self._renderer.render(event)

    def _read_plan(self) -> None:
        """Read the plan, which other programs may have changed. If the store cannot be read, the last one is shown."""
        with suppress(StoreError):
            self._plan = self._setup.plan

    async def _begin(self) -> None:
        if self._setup.prompt is not None:
            await self.host.prompt(self._setup.prompt)
            return
        self._show(Text(f"{self.host.model.id}: say what is to be done; /help lists commands", Role.DIM))

    async def _until_over(self) -> RunOutcome:
        while True:
            await self._unless_leaving(self.host.over())
            if self._leaving.done():
                return self._left(self._leaving.result())
            if not self._stays_open:
                return self._setup.report.outcome(self.host)
            self._screen.draw()
            await self._unless_leaving(self._message_sent.wait())
            self._message_sent.clear()

    def _left(self, code: int) -> RunOutcome:
        """Return the outcome after the person has left, or a signal has ended the program."""
        if code:
            return self._setup.report.interrupted(self.host, code)
        spoken = bool(self.host.transcript.messages())
        return RunOutcome(0, next_step=self._setup.report.next_step(self.host) if spoken else "")

    async def _unless_leaving(self, work: Coroutine[Any, Any, Any]) -> None:
        """Wait for the work, or until the person leaves."""
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, self._leaving}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        task.cancel()

    def _read(self) -> None:
        try:
            data = os.read(self._tty.fd, 4096)
        except OSError:
            data = b""
        if not data:
            self._leave(0)
        for key in self._decoder.feed(data):
            self._press(key)
        if self._flushing is not None:
            self._flushing.cancel()
        self._flushing = self._loop.call_later(ESCAPE_SECONDS, self._flush) if self._decoder.is_waiting else None
        self._schedule_draw()

    def _flush(self) -> None:
        for key in self._decoder.flush():
            self._press(key)
        self._schedule_draw()

    def _press(self, key: Key) -> None:
        if key.name == SCREEN_KEYS[EXPAND]:
            self._renderer.toggle_expanded()
            return
        if self._asking.press(key):
            return
        if key.name == "ctrl+d" and not self._line.text:
            self._leave(0)
        elif key.name == "escape" and self.host.is_running:
            self.host.request_abort()
        elif key.name == "tab":
            self._take_over()
            self._complete()
        else:
            self._take_over()
            typed = self._line.press(key)
            if typed is not None and typed.strip():
                self._spawn(self._deliver(typed.strip()))

    def _complete(self) -> None:
        """Complete the name of a command, or show those that begin with what was typed."""
        if self._line.text.startswith("/"):
            found = self._line.complete([f"/{name}" for name in (*self.host.commands, QUIT[0])])
            if found:
                self._show(Text("  ".join(found), Role.MUTED))

    def _ask(self) -> None:
        self._meter.pause()
        self._asking.begin()

    def _resized(self) -> None:
        self._asking.fit()
        self._screen.draw()

    def _take_over(self) -> None:
        """Cancel a countdown, because the person is typing."""
        if self.host.pending:
            self._stays_open = True
            self._spawn(self.host.interrupt())

    async def _deliver(self, text: str) -> None:
        """Run a command; send anything else to the model, before its next request if it is working."""
        command = COMMAND.fullmatch(text)
        match command["name"] if command else "":
            case name if name in QUIT:
                self._leave(0)
            case "help":
                self._show(Text(command_list(self.host, OWN_COMMANDS), Role.MUTED))
            case name if name and name not in self.host.commands:
                close = [f"/{known}" for known in closest(name, (*self.host.commands, *QUIT))]
                hint = did_you_mean(close) if close else "/help lists them"
                self._show(Text(f"There is no command /{name}; {hint}", Role.WARNING))
            case "" if text.startswith(ESCAPED):
                await self.host.steer(text[1:])
            case _:
                await self.host.prompt(text, behavior=Delivery.STEER)
                self._read_plan()
        self._message_sent.set()
        self._schedule_draw()

    def _signalled(self, number: int) -> None:
        """Handle a signal. Ctrl-C ends the first of: a question, a turn, a countdown, the typed line, the program."""
        if number != signal.SIGINT:
            self._leave(128 + number)
        elif self._tty.in_editor:
            return
        elif self._ui.question is not None or self.host.is_running:
            self._abort()
        elif self.host.pending and self._stays_open:
            self._spawn(self.host.interrupt())
        elif self._line.text:
            self._line.clear()
        else:
            self._leave(INTERRUPTED)
        self._schedule_draw()

    def _abort(self) -> None:
        """Abort the turn; if that was already requested, leave."""
        if self._ui.question is not None:
            self._ui.question.set_answer(None)
        running = self.host.signal
        if running is not None and running.aborted:
            self._leave(INTERRUPTED)
        self.host.request_abort()

    def _leave(self, code: int) -> None:
        if not self._leaving.done():
            self._leaving.set_result(code)

    def _continued(self) -> None:
        """Redraw after the program was suspended."""
        self._tty.enter()
        self._screen.start_over()

    async def _edit_text(self, text: str) -> str | None:
        self._loop.remove_reader(self._tty.fd)
        self._screen.suspend()
        try:
            return await self._tty.edit(text)
        finally:
            self._loop.add_reader(self._tty.fd, self._read)
            self._screen.resume()

    def _show(self, component: Component) -> None:
        self._renderer.put(component)

    def _footer(self, columns: int, _rows: int) -> Footer:
        idle = self._stays_open and not self.host.is_running and not self.host.pending
        return footer(
            self._renderer,
            self._ui,
            self._line,
            meter=self._meter,
            plan=self._plan,
            typing=idle,
            columns=columns,
        )

    def _schedule_draw(self) -> None:
        if self._drawing is None:
            self._drawing = self._loop.call_later(REDRAW_DELAY_SECONDS, self._draw)

    def _draw(self) -> None:
        self._drawing = None
        self._screen.draw()

    async def _tick(self) -> None:
        """Redraw every second while something happens, to show that it does and for how long."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self._meter.activity is not Activity.IDLE:
                self._read_plan()
                self._schedule_draw()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
