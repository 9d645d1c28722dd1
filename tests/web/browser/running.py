"""A `tildone board` process on a real store, and a person who looks at it in a browser."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize, expect

from tests.web.browser.plans import Placed
from tildone.app.opening import store_at
from tildone.log.store import Store

ARGUMENTS = [
    *("--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
HANG_SECONDS = 30
LINK = re.compile(r"http://\S+/in#t=\S+")

Test = TypeVar("Test", bound=Callable[..., None])

expect.set_options(timeout=HANG_SECONDS * 1000)


def quick(test: Test) -> Test:
    """Mark one of the tests that are not slow: one for each page and each kind of interaction."""
    test.is_quick = True  # type: ignore[attr-defined]  # a mark of ours
    return test


class RunningBoard:
    """A board that listens, and the link it printed."""

    def __init__(self, process: "subprocess.Popen[str]", store: Path, link: str) -> None:
        self.process, self.store, self.link = process, store, link
        self.address = link.partition("/in#")[0]
        self.port = int(self.address.partition("//")[2].partition("/")[0].rpartition(":")[2])

    def stop(self) -> None:
        """End the board, as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(HANG_SECONDS)
        finally:
            self.process.kill()
            if self.process.stdout:
                self.process.stdout.close()

    def plans(self) -> Store:
        """Open the store in this process, as another program that works on the same plans."""
        return store_at(str(self.store))


def start_board(store: Path, folder: Path, *options: str, port: int = 0) -> RunningBoard:
    """Start a board and wait for its link."""
    # In a hidden folder: what the board itself writes must not make a proof stale.
    own = str(folder / ".local")
    environment = {**os.environ, "XDG_RUNTIME_DIR": own, "XDG_DATA_HOME": own, "HOME": str(folder)}
    command = [sys.executable, "-m", "tildone", "board", "--no-open", "--store", str(store), "--port", str(port)]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=folder
    )
    assert process.stdout
    printed = []
    for line in process.stdout:
        printed.append(line)
        if found := LINK.search(line):
            return RunningBoard(process, store, found[0])
    process.wait(HANG_SECONDS)
    raise AssertionError("".join(printed))


class Visitor:
    """A browser context in which a board is open. `like` is another visitor, whose sign-in is used."""

    def __init__(
        self,
        browser: Browser,
        board: RunningBoard,
        *,
        path: str = "/",
        like: "Visitor | None" = None,
        theme: str = "dark",
        size: tuple[int, int] = (1440, 900),
        **options: Any,
    ) -> None:
        self.board = board
        self.placed: Placed | None = None
        options |= {"reduced_motion": "reduce", "color_scheme": theme}
        options |= {"storage_state": like.context.storage_state()} if like else {}
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        self.context: BrowserContext = browser.new_context(viewport=viewport, **options)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page = self.open_page(path if like else None)
        if not like:
            self.page.wait_for_url(f"{board.address}/")
            if path != "/":
                self.go(path)

    def open_page(self, path: str | None) -> Page:
        """Open another tab; without a path, at the link."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(f"{error.message}\n{error.stack}"))
        page.on("console", lambda message: self.note(message.text))
        page.on("request", lambda request: self.requests.append(f"{request.method} {request.url}"))
        page.goto(self.board.link if path is None else f"{self.board.address}{path}")
        return page

    def note(self, text: str) -> None:
        """A violation of the content security policy is an error of ours."""
        if "Content Security Policy" in text or "TrustedHTML" in text:
            self.errors.append(text)

    def go(self, path: str) -> None:
        self.page.goto(f"{self.board.address}{path}")

    def open_session(self, title: str) -> None:
        self.page.get_by_role("link", name=title, exact=True).last.click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(title)

    @property
    def plan(self) -> Placed:
        """The session whose page is open."""
        assert self.placed
        return self.placed

    @property
    def titles(self) -> list[str]:
        """The titles of the cards, read in one step: a card that is drawn anew meanwhile would have none."""
        return list(self.page.evaluate("[...document.querySelectorAll('.grid h3')].map((each) => each.innerText)"))

    def enter(self, field: str, text: str) -> None:
        self.page.get_by_role("textbox", name=field).fill(text)
        self.page.keyboard.press("Enter")

    def task(self, text: str) -> Locator:
        """The row of a task."""
        return self.page.locator("li.task", has_text=text)

    def sign(self, text: str) -> Locator:
        return self.task(text).locator(".signal")

    def is_live(self) -> None:
        """Wait until the page says that it is live."""
        expect(self.page.locator(".live")).to_have_text("Live")
        expect(self.page.locator(".live.off")).to_have_count(0)


def open_placed(visitor: Visitor, placed: Placed) -> Visitor:
    visitor.placed = placed
    visitor.open_session(placed.title)
    visitor.is_live()
    return visitor


Start = Callable[..., RunningBoard]
Visit = Callable[..., Visitor]
