"""Live updates: a restart under an open page, many tabs, who reads for whom, and silence when nothing happens."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.web.browser.plans import Agent, Placed, small_store
from tests.web.browser.running import Start, Visit, quick
from tildone.plan.model import Status


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_store(tmp_path, "first", "second")


@quick
def test_after_a_restart_the_page_comes_back_with_the_truth_and_the_draft(
    path: Path, board: Start, visit: Visit
) -> None:
    first = board(path)
    visitor = visit(first)
    visitor.open_session("small")
    visitor.is_live()
    visitor.sign("second").press("e")
    visitor.page.keyboard.type(" as typed")

    first.stop()
    expect(visitor.page.locator(".live")).to_have_text(re.compile(r"Not live since \d\d:\d\d"))
    Placed(path).agent().mark("first", Status.COMPLETED)
    board(path, port=first.port)

    visitor.is_live()
    expect(visitor.sign("first")).to_have_attribute("aria-pressed", "true")
    expect(visitor.page.get_by_role("textbox", name="Text of the task")).to_have_value("second as typed")
    visitor.page.get_by_role("textbox", name="Text of the task").press("Enter")
    expect(visitor.page.locator(".toast")).to_contain_text("Reworded")
    assert Placed(path).texts() == ["first", "second as typed"]


def test_while_the_board_is_away_an_edit_keeps_its_draft(path: Path, board: Start, visit: Visit) -> None:
    first = board(path)
    visitor = visit(first)
    visitor.open_session("small")
    visitor.is_live()
    visitor.sign("second").press("e")
    visitor.page.keyboard.type(" as typed")
    first.stop()
    expect(visitor.page.locator(".live.off")).to_be_visible()

    visitor.page.get_by_role("textbox", name="Text of the task").press("Enter")

    expect(visitor.page.locator(".toast.bad")).to_contain_text("does not answer")
    expect(visitor.page.get_by_role("button", name="draft kept")).to_be_visible()


def test_seven_tabs_are_live_and_one_takes_over_from_the_reader(path: Path, board: Start, visit: Visit) -> None:
    """A browser has six connections to a host: with a stream for each tab, the seventh would never load."""
    visitor = visit(board(path))
    visitor.open_session("small")
    visitor.is_live()
    address = visitor.page.url.removeprefix(visitor.board.address)
    others = [visitor.open_page(address) for _ in range(6)]
    for each in others:
        expect(each.locator("li.task", has_text="first")).to_be_visible()
        expect(each.locator(".live")).to_have_text("Live")
    streams = [request for request in visitor.requests if "/api/live" in request]
    assert len(streams) <= 3

    visitor.page.close()
    Placed(path).agent().mark("first", Status.COMPLETED)

    for each in others:
        expect(each.locator("li.task", has_text="first").locator(".signal")).to_have_attribute("aria-pressed", "true")


def test_nothing_is_requested_while_nothing_happens(path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(path))
    visitor.open_session("small")
    visitor.is_live()
    expect(visitor.task("first")).to_be_visible()
    visitor.page.wait_for_load_state("load")
    visitor.page.wait_for_timeout(1500)
    visitor.requests.clear()

    # Longer than the overview's and the session's own delays; the idle page has no timer that asks.
    visitor.page.wait_for_timeout(4000)

    assert visitor.requests == []


@quick
def test_a_used_link_says_so_and_without_a_sign_in_the_page_says_how_to_get_one(
    path: Path, board: Start, visit: Visit
) -> None:
    visitor = visit(board(path))
    other = visitor.context.browser
    assert other
    stranger = other.new_context()
    page = stranger.new_page()

    page.goto(visitor.board.link)

    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("used", re.IGNORECASE))
    expect(page).to_have_url(f"{visitor.board.address}/in")
    page.goto(visitor.board.address)
    expect(page.get_by_text("tildone board").first).to_be_visible()
    expect(page.get_by_text("small")).to_have_count(0)
    stranger.close()


def test_the_token_leaves_the_address_at_once(path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(path))
    token = visitor.board.link.partition("#t=")[2]

    assert token not in visitor.page.url
    assert not any(token in request for request in visitor.requests if not request.endswith(f"#t={token}"))
    visitor.page.go_back()
    assert token not in visitor.page.url


@quick
def test_below_a_base_path_pages_edits_and_live_changes_work(path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(path, "--base-path", "/plans"))
    visitor.open_session("small")
    visitor.is_live()
    assert "/plans/s/small-" in visitor.page.url

    visitor.sign("first").press("Space")
    expect(visitor.page.locator(".toast")).to_contain_text("Done: first")
    Placed(path).agent().mark("second", Status.COMPLETED)

    expect(visitor.sign("second")).to_have_attribute("aria-pressed", "true")
    visitor.page.keyboard.press("g")
    visitor.page.keyboard.press("s")
    expect(visitor.page).to_have_url(f"{visitor.board.address}/")
    outside = [request for request in visitor.requests if "/plans/" not in request and "blob:" not in request]
    assert outside == []


def test_a_change_closes_nothing_on_the_page_of_statistics(path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(path))
    visitor.open_session("small")
    page = visitor.page
    page.goto(f"{page.url}/stats")
    visitor.is_live()
    shown = page.get_by_text("Show as table")
    shown.press("Enter")
    rows = page.locator("details tbody tr")
    expect(rows.first).to_be_visible()
    before = rows.count()

    Agent(path).mark("first", Status.COMPLETED)

    expect(rows).to_have_count(before + 1)
    expect(rows.last).to_be_visible()
    expect(shown).to_be_focused()


class LateAnswer:
    """The page is opened again; it gets the answer to its n-th request for an address when that is released."""

    def __init__(self, page: Page, address: str, nth: int) -> None:
        self._page, self._nth, self._count = page, nth, 0
        self._held: tuple[Route, APIResponse] | None = None
        here = page.url
        # A request of the page as it was before is not counted.
        page.goto("about:blank")
        page.route(re.compile(address), self._handle)
        page.goto(here)

    def _handle(self, route: Route) -> None:
        self._count += 1
        if self._count == self._nth:
            self._held = route, route.fetch()
        else:
            route.continue_()

    def wait(self) -> None:
        """Wait until the server has answered."""
        while self._held is None:
            self._page.wait_for_timeout(50)

    def release(self) -> None:
        """Let the page have the answer, and wait until it has drawn it."""
        assert self._held is not None
        route, response = self._held
        with self._page.expect_response(lambda answered: answered.request == route.request):
            route.fulfill(response=response)
        self._page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")


def test_a_late_answer_does_not_replace_a_newer_card(path: Path, board: Start, visit: Visit) -> None:
    """Here and below, the page reads again when the stream has opened, and something changes before it has that."""
    page = visit(board(path)).page
    late = LateAnswer(page, r"/api/sessions\?", 2)
    card = page.locator(".card", has_text="small")
    expect(card).to_contain_text("0 of 2")
    late.wait()

    Agent(path).mark("first", Status.COMPLETED)
    expect(card).to_contain_text("1 of 2")
    late.release()

    expect(card).to_contain_text("1 of 2")


def test_a_late_answer_does_not_replace_a_newer_plan(path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(path))
    visitor.open_session("small")
    late = LateAnswer(visitor.page, r"/api/s/[^/?]+$", 2)
    done = visitor.page.get_by_role("img", name="1 of 2 closed")
    late.wait()

    Agent(path).mark("first", Status.COMPLETED)
    expect(done).to_be_visible()
    late.release()

    expect(done).to_be_visible()


def test_a_late_answer_does_not_replace_who_is_at_work(path: Path, board: Start, visit: Visit) -> None:
    """The session needs the person before and after: only who is at work changes."""
    Agent(path).now().ask("command", "cargo fuzz", minutes=0)
    visitor = visit(board(path))
    visitor.open_session("small")
    late = LateAnswer(visitor.page, r"/api/s/[^/?]+$", 2)
    now = visitor.page.locator(".now.panel")
    expect(now).to_contain_text("nobody at work")
    late.wait()

    Agent(path).works("bash: pytest -q", minutes=1)
    expect(now).to_contain_text("bash: pytest -q")
    late.release()

    expect(now).to_contain_text("bash: pytest -q")


def test_a_late_answer_does_not_replace_newer_needs(path: Path, board: Start, visit: Visit) -> None:
    page = visit(board(path)).page
    late = LateAnswer(page, r"/api/needs$", 1)
    late.wait()

    Agent(path).now().ask("command", "cargo fuzz", minutes=0)
    expect(page.locator(".need")).to_have_count(1)
    late.release()

    expect(page.locator(".need")).to_have_count(1)
