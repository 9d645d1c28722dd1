"""Long plans on the board: the CPU time of server and page for opening a session, and for a click in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.board import Board
from bench.board_pages import ARGUMENTS, PAINTED
from bench.measure import MS, Amount
from tests.web.browser.install import HOW, find_browser
from tildone.plan.model import Phase, Plan, Task

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OPEN_AIM, CLICK_AIM = 300.0, 50.0
PHASES = 10
QUIET_MS, IDLE_SECONDS = 300, 0.02
"""Server and page have nothing more to do if both together take less than this in so long."""

OPEN, CLICK = "Board: opening {:,} tasks", "Board: a click in {:,} tasks"
UNIT = "CPU of server + page, ms"


def rows(folder: Path, rounds: int, *sizes: int) -> Iterator[Amount]:
    """Plans of these sizes in ten phases. A figure is the median of so many rounds, after one that does not count."""
    found = find_browser()
    missing = HOW if found is None else "" if Path("/proc/self/schedstat").exists() else "only Linux tells"
    if missing:
        yield from (Amount(name.format(size), UNIT, skipped=missing) for size in sizes for name in (OPEN, CLICK))
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  only where there is a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        for size in sizes:
            with Board(folder / f"plan{size}", 1, long_plan(size)) as board:
                yield from _of_board(browser, board, size, rounds)
        browser.close()


def long_plan(size: int) -> Plan:
    return Plan(
        tuple(
            Phase(f"Phase {phase}", tuple(Task(f"Task {phase}.{at} of a long plan") for at in range(size // PHASES)))
            for phase in range(PHASES)
        )
    )


def _of_board(browser: Browser, board: Board, size: int, rounds: int) -> Iterator[Amount]:
    context = browser.new_context(storage_state=board.signed_in())  # type: ignore[arg-type]  # as Playwright writes it
    opened = []
    for _ in range(rounds + 1):
        page = context.new_page()
        measured = CpuTime(board, page)
        opened.append(measured.of(lambda: _open(page, board)))  # noqa: B023  it is called at once
        page.close()
    yield _row(OPEN.format(size), opened[1:], OPEN_AIM)
    page = context.new_page()
    _open(page, board)
    measured = CpuTime(board, page)
    clicked = []
    for number in range(1, rounds + 2):
        measured.of(lambda: _click(page, number, "in_progress"))  # noqa: B023  as above
        clicked.append(measured.of(lambda: _click(page, number, "completed")))  # noqa: B023  as above
    yield _row(CLICK.format(size), clicked[1:], CLICK_AIM)
    context.close()


def _row(name: str, figures: list[tuple[float, float]], aim: float) -> Amount:
    server, page = (median(each) * MS for each in zip(*figures, strict=True))
    return Amount(name, f"{UNIT}: {server:.0f} + {page:.0f}", median(map(sum, figures)) * MS, aim)


class CpuTime:
    """The CPU time of the board's process and of a page's main thread, in seconds."""

    def __init__(self, board: Board, page: Page) -> None:
        self._board = board
        self._page = page
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def of(self, act: Callable[[], object]) -> tuple[float, float]:
        """Return what an action takes, until neither of them has anything more to do."""
        server, page = self._now()
        act()
        after = self._now()
        while True:
            self._page.wait_for_timeout(QUIET_MS)
            later = self._now()
            if sum(later) - sum(after) < IDLE_SECONDS:
                # A page of another address is another process, which begins at 0.
                return after[0] - server, after[1] - (page if after[1] >= page else 0)
            after = later

    def _now(self) -> tuple[float, float]:
        metrics = {each["name"]: each["value"] for each in self._devtools.send("Performance.getMetrics")["metrics"]}
        # What this benchmark itself asks of the page does not count.
        return self._board.cpu_seconds(), float(metrics["TaskDuration"] - metrics["DevToolsCommandDuration"])


def _open(page: Page, board: Board) -> None:
    page.goto(board.page)
    page.locator("li.task").first.wait_for()
    page.locator(".live:not(.off)").wait_for()


def _click(page: Page, number: int, status: str) -> None:
    """Click on the sign of a task, until the page has painted that it is saved. Nothing in the page polls meanwhile."""
    box = page.locator(f"#t{number} .signal").bounding_box()
    assert box
    page.evaluate(PAINTED, [f"#t{number}.{status}:not(.pending-op)"])
    page.mouse.click(box["x"] + 8, box["y"] + 8)
    assert page.evaluate("() => window.painted")
