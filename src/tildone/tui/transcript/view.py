"""A viewport on a conversation that goes on: blocks are added, texts are streamed, calls run.

What arrives is drawn by a timer, thirty times a second at most; each timer rests while it has nothing to do.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable

from textual.geometry import Region

from tildone.kit.keys import ALL_BINDINGS, KeyBindings
from tildone.tui.palette import Palette
from tildone.tui.transcript.blocks import Block
from tildone.tui.transcript.viewport import Viewport

FRAMES_PER_SECOND, SPINS_PER_SECOND = 30, 4
SLOW_SECONDS = 0.1
"""The pause between two frames over a slow connection."""

SLOW_FRAME_SECONDS = 0.03
IDLE_SECONDS = 0.005
"""How long blocks are drawn in idle time before keys are handled again."""


class TranscriptView(Viewport):
    """A conversation that goes on."""

    def __init__(
        self,
        palette: Palette,
        *,
        now: Callable[[], float] = time.monotonic,
        keys: KeyBindings = ALL_BINDINGS,
        id: str | None = None,  # noqa: A002  Textual's
    ) -> None:
        super().__init__(palette, now, keys, id)
        self._running_calls: set[int] = set()
        self._is_remote = bool(os.environ.get("SSH_CONNECTION"))
        self._next_frame = 0.0
        self._is_coloring = False

    def on_mount(self) -> None:
        """Create the timers. Each finds out by itself whether it has something to do."""
        self._clocks = {
            "flush": self.set_interval(1 / FRAMES_PER_SECOND, self._flush),
            "idle": self.set_interval(1 / FRAMES_PER_SECOND, self._draw_idle),
            "spin": self.set_interval(1 / SPINS_PER_SECOND, self._spin),
        }
        self._settle()

    def add(self, block: Block) -> int:
        """Append a block, and return its id."""
        number = self.document.add(block)
        self._track(number)
        self._settle()
        return number

    def replace(self, number: int, block: Block) -> None:
        """Exchange a block. It is drawn with the next frame."""
        self.document.replace(number, block)
        self._track(number)
        self._wake("flush")

    def append_text(self, number: int, piece: str) -> None:
        """Add to a text that is streamed. It is drawn with the next frame."""
        self.document.append(number, piece)
        self._wake("flush")

    def finish_text(self, number: int) -> None:
        """End a text that was streamed."""
        self.document.finish(number)
        self._settle()

    def load(self, blocks: Iterable[Block]) -> None:
        """Show a finished conversation, from its end."""
        self.clear()
        for block in blocks:
            self._track(self.document.add(block))
        self._settle()

    def clear(self) -> None:
        """Remove all blocks."""
        self.document.clear()
        self._running_calls.clear()
        self.follows = True
        self._strips.clear()
        self._settle()

    def _track(self, number: int) -> None:
        """Let the sign of a call turn while it runs."""
        if self.document.is_running(self.document.index(number)):
            self._running_calls.add(number)
            self._wake("spin")
        else:
            self._running_calls.discard(number)

    def _flush(self) -> None:
        begun = time.monotonic()
        if begun < self._next_frame:
            return
        changed = self.document.flush()
        if not self.document.is_dirty:
            self._clocks["flush"].pause()
        self._settle(changed)
        self.call_after_refresh(self._frame_shown, begun)

    def _frame_shown(self, begun: float) -> None:
        """Send fewer frames where one takes long."""
        ended = time.monotonic()
        is_slow = self._is_remote or ended - begun > SLOW_FRAME_SECONDS
        self._next_frame = ended + SLOW_SECONDS if is_slow else 0.0

    def _draw_idle(self) -> None:
        end = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < end and self.document.draw_waiting():
            pass
        if self.document.is_drawn:
            self._clocks["idle"].pause()
        self._settle(self.document.total)

    def _settle(self, changed: int = 0) -> None:
        super()._settle(changed)
        if self.document.uncolored and self.is_attached and not self._is_coloring:
            self._is_coloring = True
            self.run_worker(self._color(), group="colors")

    async def _color(self) -> None:
        """Colour code in a thread. The lines of a text that has been drawn anew since then are not touched."""
        document = self.document
        while document.uncolored:
            stream, block = document.uncolored.pop()
            await asyncio.to_thread(document.colors.lines, block.language, block.code)
            stream.color(block)
            self.refresh()
        self._is_coloring = False

    def _spin(self) -> None:
        """Turn the signs of the running calls that are visible."""
        if not self._running_calls:
            self._clocks["spin"].pause()
        top = self.scroll_offset.y
        for number in self._running_calls:
            row = self.document.top(self.document.index(number))
            if row < top + self.size.height and row + self.document.heights[self.document.index(number)] > top:
                self.document.invalidate(number)
                self.refresh(Region(0, row - top, self.size.width, 2))
