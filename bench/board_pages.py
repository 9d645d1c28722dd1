"""Pages of the board in a real browser: an edit until a page has painted it, and the memory of an open page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from bench.measure import Memory, Row
from tests.web.browser.install import HOW, find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from bench.board import Board

PAINT_AIM, TAB_AIM = 2.0, 50.0
PAINT, TAB = "Board: an edit until painted", "Board: an open page, in the browser"
TABS = 8
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

# The second frame begins after the first one, which has the change in it, was painted.
PAINTED = """([selector]) => { window.painted = new Promise((done) => {
    const look = () => {
        if (!document.querySelector(selector)) return;
        observer.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(() => done(true)));
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { subtree: true, childList: true, attributes: true });
    look();
}); }"""


def page_rows(quiet: Board, busy: Board, changes: int, streams: int) -> Iterator[Row | Memory]:
    """An edit with one page open, and with as many streams beside it as `busy` has; memory of one tab."""
    name, base = f"{PAINT}, {streams} streams", "1 page"
    found = find_browser()
    if found is None:
        yield Row(name, base, PAINT_AIM, skipped=HOW)
        yield Row(TAB, "", TAB_AIM, skipped=HOW)
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only where there is a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        busy_took, quiet_took = _painted([PaintedPage(browser, busy), PaintedPage(browser, quiet)], changes)
        yield Row(name, base, PAINT_AIM, busy_took, quiet_took)
        yield _tab_memory(browser, quiet, min(TABS, 1 + changes))
        browser.close()


class PaintedPage:
    """A page that shows a session, and another program that changes it."""

    def __init__(self, browser: Browser, board: Board) -> None:
        self._board = board
        self.context = browser.new_context(storage_state=board.signed_in())  # type: ignore[arg-type]  # as Playwright writes it
        self._page = self.open()
        self._statuses = cycle(("abandoned", "pending"))

    def open(self) -> Page:
        """Open a tab, and wait until it shows the session."""
        page = self.context.new_page()
        page.goto(self._board.page)
        page.locator("li.task").first.wait_for()
        page.locator(".live:not(.off)").wait_for()
        return page

    def change(self) -> float:
        """Return how many seconds passed from an edit until it was painted."""
        status = next(self._statuses)
        self._page.evaluate(PAINTED, [f"#t4.{status}"])
        begun = perf_counter()
        self._board.edit(status)
        assert self._page.evaluate("() => window.painted")
        took = perf_counter() - begun
        self._board.drain()
        return took


def _painted(pages: list[PaintedPage], rounds: int) -> list[float]:
    """The median of each page; they alternate, after one round that is not measured."""
    times = [[page.change() for page in pages] for _ in range(rounds + 1)][1:]
    return [median(each) for each in zip(*times, strict=True)]


def _tab_memory(browser: Browser, board: Board, tabs: int) -> Memory | Row:
    first = PaintedPage(browser, board)
    before = _browser_megabytes()
    for _ in range(tabs - 1):
        first.open()
    after = _browser_megabytes()
    if not after:
        return Row(TAB, "", TAB_AIM, skipped="only Linux tells")
    return Memory(TAB, (after - before) / max(1, tabs - 1), TAB_AIM)


def _browser_megabytes() -> float:
    """The memory of the browser's processes: what they share counts once. 0 if it is not known."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except OSError:
            continue
    return sum(_proportional_megabytes(pid) for pid in parents if _descends(pid, parents) and pid != os.getpid())


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid and pid != os.getpid():
        pid = parents.get(pid, 0)
    return bool(pid)


def _proportional_megabytes(pid: int) -> float:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"chrom" not in command.partition(b"\0")[0]:
            return 0
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(rollup.partition("\nPss:")[2].split()[0]) / 1024
