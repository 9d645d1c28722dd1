"""A transcript on a screen of its own, driven by keys and the mouse."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from textual import on
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown, MouseScrollUp
from textual.message import Message
from textual.pilot import Pilot

from tests.tui.watching import lines, until
from tildone.screens.transcript.blocks import Block
from tildone.screens.transcript.widget import TranscriptPane
from tildone.screens.widgets.keys import PALETTES


class TranscriptApp(App[None]):
    """A transcript and nothing else. It keeps the messages of the widget, and what it was asked to copy."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, blocks: Iterable[Block]) -> None:
        super().__init__()
        self.transcript = TranscriptPane(PALETTES["dark"], now=lambda: 38.0)
        self.transcript.load(blocks)
        self.sent: list[Message] = []
        self.keys: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_mount(self) -> None:
        self.transcript.focus()

    @on(TranscriptPane.Copied)
    @on(TranscriptPane.OfferChosen)
    @on(TranscriptPane.BlockChosen)
    @on(TranscriptPane.PagerWanted)
    @on(TranscriptPane.FileWanted)
    def keep(self, message: Message) -> None:
        self.sent.append(message)

    def on_key(self, event: Any) -> None:
        self.keys.append(event.key)


class Shown:
    """The screen."""

    def __init__(self, app: TranscriptApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot, self.transcript = app, pilot, app.transcript

    @property
    def rows(self) -> list[str]:
        """The rows of the screen, without the scroll bar."""
        return [row[: self.transcript.size.width - 1].rstrip() for row in lines(self.pilot)]

    async def press(self, *keys: str) -> list[str]:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        return self.rows

    async def add(self, block: Block) -> int:
        """Add a block, and wait for the frame that shows it."""
        number = self.transcript.add(block)
        await self.pilot.pause()
        return number

    async def click(self, cell: tuple[int, int]) -> None:
        """Click on a cell of the widget."""
        await self.pilot.click(self.transcript, offset=cell)
        await self.pilot.pause()

    async def until(self, holds: Callable[[], bool]) -> None:
        await until(self.pilot, holds)

    async def drawn(self, width: int = 0, height: int = 10) -> None:
        """Give the terminal another width, if there is one, and wait until everything is drawn."""
        if width:
            await self.pilot.resize_terminal(width, height)
            await self.until(lambda: self.transcript.document.columns == width - 4)
        await self.until(lambda: self.transcript.document.is_drawn)
        await self.pilot.pause()

    async def wheel(self, kind: type[MouseScrollUp | MouseScrollDown]) -> None:
        """Turn the wheel once, over the widget."""
        self.transcript.post_message(kind(self.transcript, 5, 5, 0, 0, 0, shift=False, meta=False, ctrl=False))
        await self.pilot.pause()

    async def stream(self, number: int, *pieces: str) -> None:
        """Add pieces of text, and wait for the frame that shows them."""
        for piece in pieces:
            self.transcript.append_text(number, piece)
        await self.until(lambda: not self.transcript.document.dirty)
        await self.pilot.pause()

    async def copied(self, *keys: str) -> str:
        """Press keys, and wait for what is copied."""
        before = len(self.app.sent)
        await self.pilot.press(*keys)
        await self.until(lambda: len(self.app.sent) > before)
        message = self.app.sent[-1]
        assert isinstance(message, TranscriptPane.Copied)
        assert self.app.clipboard == message.text
        return message.text


@asynccontextmanager
async def showing(*blocks: Block, size: tuple[int, int] = (40, 10)) -> AsyncIterator[Shown]:
    app = TranscriptApp(blocks)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.transcript.document.is_drawn)
        await pilot.pause()
        yield Shown(app, pilot)
