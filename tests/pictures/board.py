"""Pictures of the board: real pages of a real server in a browser, with the sample sessions."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from tests.web.browser.install import HOW, find_browser
from tests.web.browser.plans import sample_store
from tests.web.browser.running import ARGUMENTS, RunningBoard, Visitor, start_board
from tests.web.fleets import fill_fleet, fill_night

FONTS = {"Inter": "fonts-inter", "JetBrains Mono": "fonts-jetbrains-mono"}
"""The fonts that the board's style sheet names first, and their packages in Debian: all pictures are drawn in them."""

THEMES = ("light", "dark")
DESKTOP, PHONE = (1280, 800), (390, 844)
VARYING = re.compile(r"[\d.]+(ms| (s|min|h|minutes?))\b( ago)?|~?\d+:\d\d(:\d\d)?|just now|now")

DRAWN_TEXT = """() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const lines = [];
    while (walker.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        const box = range.getBoundingClientRect();
        const inside = box.bottom > 0 && box.bottom < innerHeight * 0.9 && box.left >= 0 && box.right <= innerWidth;
        if (inside && box.width > 1) lines.push(walker.currentNode.textContent);
    }
    return lines.join("\\n");
}"""
"""Returns the texts within the window, one per line, without its last rows: what they are depends on the fonts."""


@dataclass(frozen=True, slots=True)
class BoardPicture:
    """A page at a size. `text` is the file with what the page said."""

    name: str
    size: tuple[int, int]
    arrange: Callable[[Visitor], object]
    fill: Callable[[Path], Path] = sample_store

    def drawing(self, theme: str) -> str:
        """The name of the picture's file."""
        return f"{self.name}-{theme}.png"

    @property
    def text(self) -> Path:
        return Path(__file__).with_name(f"{self.name}.txt")


def _open_overview(visitor: Visitor) -> None:
    visitor.is_live()
    expect(visitor.page.locator(".need")).to_have_count(3)
    expect(visitor.page.locator(".chips a", has_text="Needs you")).to_contain_text("3")
    expect(visitor.page.locator(".grid h3").first).to_have_text("grammar-parser")


def _open_fleet(visitor: Visitor) -> None:
    visitor.go("/fleet")
    visitor.is_live()
    expect(visitor.page.locator(".runs .fleet-row")).to_have_count(11)
    expect(visitor.page.locator(".waits .need")).to_have_count(3)
    expect(visitor.page.locator(".tiles")).to_contain_text("$18.30")


def _open_results(visitor: Visitor) -> None:
    visitor.go("/results")
    visitor.is_live()
    expect(visitor.page.locator(".waits .need")).to_have_count(2)
    expect(visitor.page.locator(".result")).to_have_count(4)


def _fleet_store(folder: Path) -> Path:
    path = folder / "plans.db"
    fill_fleet(str(path))
    return path


def _night_store(folder: Path) -> Path:
    path = folder / "plans.db"
    fill_night(str(path))
    return path


def _open_session(visitor: Visitor) -> None:
    visitor.open_session("grammar-parser")
    visitor.is_live()
    visitor.page.get_by_text("What happened").wait_for()


def _open_task(visitor: Visitor) -> None:
    _open_session(visitor)
    visitor.task("Wire up").locator(".words").click()
    expect(visitor.page.locator(".glance-history")).to_be_visible()


BOARD_PICTURES = {
    picture.name: picture
    for picture in (
        BoardPicture("board-sessions", DESKTOP, _open_overview),
        BoardPicture("board-session", DESKTOP, _open_session),
        BoardPicture("board-task", DESKTOP, _open_task),
        BoardPicture("board-phone", PHONE, _open_overview),
        BoardPicture("board-fleet", DESKTOP, _open_fleet, _fleet_store),
        BoardPicture("board-results", DESKTOP, _open_results, _night_store),
    )
}


def photograph(browser: Browser, board: RunningBoard, picture: BoardPicture, theme: str) -> tuple[bytes, str]:
    """Return a picture of a page, and what the page says, without what differs from run to run."""
    visitor = Visitor(browser, board, theme=theme, size=picture.size)
    try:
        picture.arrange(visitor)
        said = _text_at_rest(visitor)
        return visitor.page.screenshot(), said
    finally:
        visitor.context.close()


def _text_at_rest(visitor: Visitor) -> str:
    """The texts of the page once no more are drawn."""
    before = ""
    while before != (said := _texts(visitor)):
        before = said
        visitor.page.wait_for_timeout(1000)
    return said


def _texts(visitor: Visitor) -> str:
    """The texts of the page, without what differs from run to run."""
    said = str(visitor.page.evaluate(DRAWN_TEXT))
    lines = (VARYING.sub("TIME", line).strip() for line in said.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def missing_fonts() -> str:
    """Return what to install before pictures are made; empty if nothing is missing."""
    fc_match = shutil.which("fc-match")
    there = fc_match and "".join(
        subprocess.run([fc_match, name], capture_output=True, text=True, check=True).stdout for name in FONTS
    )
    missing = [package for name, package in FONTS.items() if name not in (there or "")]
    return f"the pictures are drawn in {' and '.join(FONTS)}: apt-get install {' '.join(missing)}" if missing else ""


def photographs(picture: BoardPicture) -> Iterator[tuple[str, bytes, str]]:
    """Yield each theme with a picture of the page, and what the page says.

    Raises:
        LookupError: there is no browser. The message says how to get one.
    """
    found = find_browser()
    if found is None:
        raise LookupError(HOW)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        for theme in THEMES:
            # The link of a board works once.
            home = Path(scratch, theme)
            home.mkdir()
            board = start_board(picture.fill(home), home)
            try:
                yield theme, *photograph(browser, board, picture, theme)
            finally:
                board.stop()
        browser.close()
