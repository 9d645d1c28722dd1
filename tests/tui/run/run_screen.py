"""The full-screen run on real parts: a host, a store and a model on loopback, driven by keys."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol

from textual.pilot import Pilot

from tests.host.models.model_server import ModelServer, Turn
from tests.tui.watching import enters, lines, sees, text, type_text, until
from tildone.cli.parsing import ROOT, parse
from tildone.cli.run.setup import RunSetup
from tildone.run.metering import RunMeter
from tildone.screens.run.app import RunApp

Connect = Callable[[ModelServer], ModelServer]


class Talk(Protocol):
    """Starts a run with a model on loopback, with the arguments of `tildone run` besides the name of the model."""

    def __call__(
        self, server: ModelServer, *argv: str, size: tuple[int, int] = (80, 24), theme: str = "dark"
    ) -> AbstractAsyncContextManager["Screen"]: ...


DONE: Turn = {"text": "Done.", "repeat": True}
STOPS: Turn = {"text": "I stop here.", "repeat": True}
ASKED = "? Run this command?"
ARMED = "y once"


class Screen:
    """A run in full screen, and the keys of a person at it."""

    server: ModelServer
    """The model, if `talk` has started the run."""

    def __init__(self, app: RunApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot, self.talk = app, pilot, app.conversation

    @property
    def text(self) -> str:
        """The screen as text."""
        return text(self.pilot)

    @property
    def lines(self) -> list[str]:
        """The rows of the screen."""
        return lines(self.pilot)

    @property
    def draft(self) -> str:
        """What is in the editor."""
        return self.app.composer.text

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, words: str, *then: str) -> None:
        """Type a text, key by key; then press other keys."""
        await type_text(self.pilot, words, *then)

    async def sees(self, keys: str, *proofs: str | Callable[[], bool]) -> None:
        """Press keys, and wait until the screen shows all of these words, and all of this holds."""
        await sees(self.pilot, keys, *proofs)

    async def enters(self, words: str, *proofs: str | Callable[[], bool]) -> None:
        """Type a text and Enter, and wait until the screen shows all of these words, and all of this holds."""
        await enters(self.pilot, words, *proofs)

    async def send(self, message: str, *words: str) -> None:
        """Type a message and send it, and wait until the screen shows all of these words."""
        self.app.composer.fill(message)
        await self.sees("enter", *words)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, without a key."""
        await until(self.pilot, holds)

    async def shows(self, *words: str) -> None:
        """Wait until the screen shows all of these words."""
        await self.until(lambda: all(word in self.text for word in words))

    async def hides(self, *words: str) -> None:
        """Wait until the screen shows none of these words."""
        await self.until(lambda: not any(word in self.text for word in words))

    async def asked(self, words: str = ASKED) -> None:
        """Wait until a question has the keys and they count."""
        await self.shows(words)
        await self.until(lambda: self.app.panel.has_keys and self.app.panel.body.is_armed())


class LateSetup(RunSetup):
    """A setup whose model takes until `loaded` is set, if that is given."""

    loaded: threading.Event | None = None

    def prepare(self) -> None:
        if self.loaded is not None:
            self.loaded.wait(60)
        super().prepare()


@asynccontextmanager
async def running(
    *argv: str, size: tuple[int, int] = (80, 24), theme: str = "dark", loaded: threading.Event | None = None
) -> AsyncIterator[Screen]:
    """Start a run with the arguments of `tildone run` in the working folder.

    With `loaded`, the model is loaded once that is set, and the run is not waited for.
    """
    setup = LateSetup(parse(ROOT, ["run", *argv]))
    setup.loaded = loaded
    notices: list[str] = []
    setup.notify = notices.append
    app = RunApp(setup, RunMeter(), theme=theme, patience=setup.patience, notices=notices)
    async with app.run_test(size=size) as pilot:
        screen = Screen(app, pilot)
        talk = app.conversation
        await screen.until(lambda: loaded is not None or talk.ready is not None or talk.failure is not None)
        try:
            yield screen
        finally:
            if app.conversation.host is not None:
                app.conversation.host.request_abort("the test is over")
                with suppress(TimeoutError):
                    await asyncio.wait_for(app.conversation.host.close(), 5)
                await app.conversation.host.model.close()
    setup.store.close()


def set_keys(folder: Path, text: str) -> None:
    """Write the settings of the person whose project this is."""
    file = folder.parent / "home" / ".config" / "tildone" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
