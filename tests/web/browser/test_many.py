"""Many sessions and long plans: the document stays small, whatever is in the store."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser.running import Start, Visit
from tests.web.sample_data import Story
from tildone.app.opening import store_at
from tildone.plan.model import Phase, Plan, Status, Task

SESSIONS, TASKS = 1000, 100
MAX_NODES = 10_000
"""About 60 cards, each with a strip of 100 parts. All cards at once would have more than ten times as many."""


def nodes(page: Page) -> int:
    return int(page.evaluate("document.getElementsByTagName('*').length"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,000 sessions of 100 tasks each."""
    path = tmp_path_factory.mktemp("many") / "plans.db"
    store = store_at(str(path))
    tasks = tuple(Task(f"task {index}", [*Status][index % 5]) for index in range(TASKS))
    for index in range(SESSIONS):
        Story(store, f"/home/mk/src/session-{index:04}").at(SESSIONS - index).change(Plan((Phase("All", tasks),)))
    store.close()
    return path


def test_a_thousand_sessions_stay_usable(many: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(many))
    page = visitor.page
    visitor.is_live()
    expect(page.get_by_role("navigation", name="States").get_by_role("link", name="All")).to_contain_text(
        re.compile("100[01]")
    )
    counts = [nodes(page)]
    for _ in range(12):
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(80)
        counts.append(nodes(page))
    last = page.locator(".grid li").last
    expect(last).to_have_attribute("aria-setsize", re.compile("100[01]"))

    assert max(counts) < MAX_NODES
    assert int(last.get_attribute("aria-posinset") or 0) > 60
    page.keyboard.press("/")
    page.keyboard.type("session-0500")
    expect(page.locator(".grid h3")).to_have_text(["session-0500"])
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("li.task")).to_have_count(TASKS)
    visitor.sign("task 3").first.press("m")
    page.get_by_role("textbox", name="Note").fill("still quick")
    page.keyboard.press("Enter")
    expect(visitor.page.locator("li.task", has_text="still quick")).to_be_visible()


def test_a_change_far_down_the_list_does_not_move_what_is_shown(many: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(many), path="/?sort=title")
    visitor.is_live()
    page = visitor.page
    expect(page.locator(".grid h3").first).to_be_visible()
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 2500)
    # The next page of sessions has been read, because the end of the first one came near.
    expect(page.locator(".grid h3", has_text="session-0077")).to_be_attached()
    before = visitor.titles, page.evaluate("scrollY")
    store = store_at(str(many))
    story = Story(store, "/home/mk/src/aaa-new")
    story.change(Plan((Phase("", (Task("first"),)),)))
    store.close()

    expect(page.get_by_role("button", name="change · show")).to_be_attached()

    assert (visitor.titles, page.evaluate("scrollY")) == before


def test_a_long_phase_is_shown_in_parts(tmp_path: Path, board: Start, visit: Visit) -> None:
    path = tmp_path / "plans.db"
    store = store_at(str(path))
    Story(store, "/home/mk/src/long").change(Plan((Phase("", tuple(Task(f"task {n}") for n in range(2000))),)))
    store.close()
    visitor = visit(board(path))
    visitor.open_session("long")

    expect(visitor.page.locator("li.task")).to_have_count(150)
    visitor.page.get_by_role("button", name="Show 1850 more").click()
    expect(visitor.page.locator("li.task")).to_have_count(600)


def test_older_events_are_read_when_the_scrubber_reaches_them(tmp_path: Path, board: Start, visit: Visit) -> None:
    """A page begins with the newest 200 events."""
    path = tmp_path / "plans.db"
    store = store_at(str(path))
    story = Story(store, "/home/mk/src/long").at(300).write(_=["first"])
    for index in range(260):
        story.at(290 - index).nudge()
    store.close()
    visitor = visit(board(path))
    visitor.open_session("long")
    knob = visitor.page.get_by_role("slider")
    expect(knob).to_have_attribute("aria-valuemax", "200")

    knob.press("Home")

    expect(knob).to_have_attribute("aria-valuemax", "261")
    expect(knob).to_have_attribute("aria-valuenow", "61")
    knob.press("Home")
    expect(knob).to_have_attribute("aria-valuetext", re.compile("added"))
