"""The overview: what needs a person first, then every session, live, through restarts, many tabs and many sessions."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.web.browser.plans import PARSER, Agent, Placed, answer_to, sample_store, small_store
from tests.web.browser.running import Start, Visit, Visitor, open_placed, quick
from tests.web.browser.test_history import findings
from tests.web.sample_data import Story
from tildone.app.opening import store_at
from tildone.plan.model import Phase, Plan, Status, Task


@pytest.fixture
def seen(tmp_path: Path, board: Start, visit: Visit) -> Visitor:
    """The overview of the sample sessions."""
    visitor = visit(board(sample_store(tmp_path)))
    visitor.is_live()
    return visitor


@quick
def test_the_headline_counts_what_needs_a_person_and_a_question_is_answered_in_place(seen: Visitor) -> None:
    store = seen.board.plans()
    [asked] = [need for need in store.records.needs() if need.session == PARSER]
    expect(seen.page.get_by_role("heading", level=1)).to_have_text("3 sessions need you")
    expect(seen.page.locator(".need")).to_have_count(3)
    expect(seen.page.locator(".need", has_text="grammar-parser")).to_contain_text(
        "cargo fuzz run parse -- -max_total_time=600"
    )
    assert findings(seen.page, "overview") == []

    seen.page.locator(".need", has_text="grammar-parser").get_by_role("button", name="Allow once").click()

    expect(seen.page.get_by_role("heading", level=1)).to_have_text("2 sessions need you")
    assert answer_to(store, asked) == "once"
    store.close()


def test_what_is_blocked_is_unblocked_in_place_and_that_is_undone(seen: Visitor) -> None:
    placed = Placed(seen.board.store, "/home/mk/src/docs-site")
    row = seen.page.locator(".need", has_text="docs-site")
    expect(row).to_contain_text("all that is left is blocked")
    expect(row).to_contain_text("Waits for: “Mara has the signing key”")

    row.get_by_role("button", name="Unblock").click()

    expect(row).to_have_count(0)
    assert placed.statuses()[-1] is Status.PENDING
    seen.page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    assert placed.statuses()[-1] is Status.BLOCKED


@quick
def test_one_key_answers_a_question_and_asks_the_first_time(seen: Visitor) -> None:
    store = seen.board.plans()
    [asked] = [need for need in store.records.needs() if need.session == PARSER]
    seen.page.keyboard.press("n")
    seen.page.locator(".need", has_text="grammar-parser").focus()

    seen.page.keyboard.press("d")
    expect(seen.page.get_by_role("dialog")).to_contain_text("Answer with one key?")
    assert answer_to(store, asked) == ""
    seen.page.keyboard.press("Enter")

    expect(seen.page.get_by_role("heading", level=1)).to_have_text("2 sessions need you")
    assert answer_to(store, asked) == "no"
    store.close()


def test_the_first_answer_wins_and_the_second_person_is_told(seen: Visitor) -> None:
    """The page of the second one is held back, so that it still shows the question."""
    store = seen.board.plans()
    [asked] = [need for need in store.records.needs() if need.session == PARSER]
    row = seen.page.locator(".need", has_text="grammar-parser")
    seen.page.route(
        "**/api/needs/*", lambda route: (store.records.answer(asked.id, "no", "Mara", asked.since), route.continue_())
    )

    row.get_by_role("button", name="Allow once").click()

    expect(seen.page.get_by_role("heading", level=1)).to_have_text("2 sessions need you")
    assert answer_to(store, asked) == "no"
    store.close()


def test_a_command_on_a_card_keeps_its_letters(tmp_path: Path, board: Start, visit: Visit) -> None:
    """It is what an agent asks for, or a task of a session that was let go."""
    path = small_store(tmp_path, "npm publish")
    agent = Agent(path)
    agent.ask("command", "cargo fuzz", "once", "no", minutes=0)
    visitor = visit(board(path))

    expect(visitor.page.locator(".card .line")).to_have_text("cargo fuzz")
    [asked] = agent.store.records.needs()
    agent.store.records.withdraw(asked.id)
    expect(visitor.page.locator(".card .line")).to_have_text("Next: npm publish")


@quick
def test_filters_are_links_with_counts_and_the_address_holds_them(seen: Visitor) -> None:
    page = seen.page
    page.get_by_role("navigation", name="States").get_by_role("link", name="Stuck").click()

    expect(page).to_have_url(re.compile(r"\?state=stuck$"))
    expect(page.locator(".grid h3")).to_have_text(["mobile-sync"])
    page.reload()
    expect(page.locator(".grid h3")).to_have_text(["mobile-sync"])
    page.go_back()
    expect(page.locator(".grid h3")).not_to_have_count(1)
    page.get_by_role("link", name="Rows").click()
    expect(page).to_have_url(re.compile(r"view=rows"))
    expect(page.locator(".grid.rows li")).to_have_count(12)


@quick
def test_search_finds_tasks_too_and_an_empty_result_offers_a_way_back(seen: Visitor) -> None:
    page = seen.page
    page.keyboard.press("/")
    page.keyboard.type("csv dialects")

    expect(page.locator(".grid h3")).to_have_text(["importer"])
    expect(page).to_have_url(re.compile(r"q=csv"))
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("searchbox").fill("there is no such thing")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.get_by_role("link", name="Clear filter").click()
    expect(page.locator(".grid h3")).not_to_have_count(0)


@quick
def test_a_card_that_another_process_changes_keeps_the_focus_and_a_button_that_is_held_down_opens_it(
    tmp_path: Path, board: Start, visit: Visit
) -> None:
    path = small_store(tmp_path, "first", "second")
    visitor = visit(board(path))
    visitor.is_live()
    card = visitor.page.locator(".card", has_text="small")
    expect(card).to_contain_text("0 of 2")
    visitor.page.keyboard.press("j")
    expect(card.get_by_role("link")).to_be_focused()

    Agent(path).mark("first", Status.COMPLETED)

    expect(card).to_contain_text("1 of 2")
    expect(card.get_by_role("link")).to_be_focused()
    card.get_by_role("link").hover()
    visitor.page.mouse.down()
    Agent(path).mark("second", Status.COMPLETED)
    expect(visitor.page.get_by_text("small: Done")).to_be_visible()
    visitor.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(card).to_contain_text("1 of 2")
    visitor.page.mouse.up()

    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("small")


def test_a_new_session_shows_up_by_itself(tmp_path: Path, board: Start, visit: Visit) -> None:
    path = small_store(tmp_path)
    visitor = visit(board(path))
    visitor.is_live()
    expect(visitor.page.get_by_text("No plans here yet")).to_be_visible()

    small_store(tmp_path, "first", name="/home/mk/src/other")

    expect(visitor.page.locator(".card", has_text="other")).to_be_visible()


def test_keys_move_among_cards_and_open_one_and_the_palette_goes_to_a_session(seen: Visitor) -> None:
    page = seen.page
    expect(page.locator(".grid h3")).to_have_count(12)
    names = seen.titles
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name=names[1], exact=True).last).to_be_focused()

    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(names[1])
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Session or command").fill("importer")
    expect(page.locator(".palette [role=option]").first).to_contain_text("importer")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("importer")


def test_the_theme_is_kept_and_other_tabs_follow_and_one_letter_keys_can_be_switched_off(seen: Visitor) -> None:
    other = seen.open_page("/")
    seen.page.get_by_role("button", name="Theme and keys").click()
    seen.page.get_by_role("menuitem", name="Light, colour-blind safe").click()

    expect(other.locator("html")).to_have_attribute("data-palette", "safe")
    seen.page.reload()
    expect(seen.page.locator("html")).to_have_attribute("data-theme", "light")
    page = seen.page
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="One-letter keys").uncheck()
    page.get_by_role("button", name="Close").click()

    page.keyboard.press("/")

    expect(page.get_by_role("searchbox")).not_to_be_focused()


@quick
def test_statistics_of_all_sessions_are_numbers_and_a_table(seen: Visitor) -> None:
    seen.page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name="Stats").click()

    expect(seen.page.get_by_role("heading", level=1)).to_have_text("Statistics")
    expect(seen.page.locator(".tiles")).to_contain_text("12")
    expect(seen.page.get_by_role("table", name="Per day")).to_be_visible()
    assert findings(seen.page, "statistics") == []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_store(tmp_path, "first", "second")


@pytest.fixture
def opened(path: Path, board: Start, visit: Visit) -> Visitor:
    """The page of the session in that store."""
    return open_placed(visit(board(path)), Placed(path))


@quick
def test_after_a_restart_the_page_comes_back_with_the_truth_and_the_draft(opened: Visitor, board: Start) -> None:
    opened.sign("second").press("e")
    opened.page.keyboard.type(" as typed")

    opened.board.stop()
    expect(opened.page.locator(".live")).to_have_text(re.compile(r"Not live since \d\d:\d\d"))
    opened.plan.agent().mark("first", Status.COMPLETED)
    board(opened.board.store, port=opened.board.port)

    opened.is_live()
    expect(opened.sign("first")).to_have_attribute("aria-pressed", "true")
    expect(opened.page.get_by_role("textbox", name="Text of the task")).to_have_value("second as typed")
    opened.page.get_by_role("textbox", name="Text of the task").press("Enter")
    expect(opened.page.locator(".toast")).to_contain_text("Reworded")
    assert opened.plan.texts() == ["first", "second as typed"]


def test_a_page_of_another_version_offers_to_be_reloaded(opened: Visitor, board: Start) -> None:
    """What was typed is kept."""
    page = opened.page
    again = page.get_by_role("button", name="Reload: the board has another version than this page")
    opened.sign("second").press("e")
    page.keyboard.type(" as typed")
    expect(again).to_be_hidden()

    def of_another_version(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, headers={**answer.headers, "x-tildone-version": "another"})

    page.route("**/api/needs", of_another_version)
    opened.board.stop()
    expect(page.locator(".live.off")).to_be_visible()
    board(opened.board.store, port=opened.board.port)

    expect(again).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("Reload it.")
    assert findings(page, "another version") == []
    page.set_viewport_size({"width": 320, "height": 700})
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.unroute("**/api/needs")
    again.click()

    expect(again).to_be_hidden()
    expect(page.get_by_role("button", name="draft kept")).to_be_visible()


def test_while_the_board_is_away_an_edit_keeps_its_draft(opened: Visitor) -> None:
    opened.sign("second").press("e")
    opened.page.keyboard.type(" as typed")
    opened.board.stop()
    expect(opened.page.locator(".live.off")).to_be_visible()

    opened.page.get_by_role("textbox", name="Text of the task").press("Enter")

    expect(opened.page.locator(".toast.bad")).to_contain_text("does not answer")
    expect(opened.page.get_by_role("button", name="draft kept")).to_be_visible()


def test_seven_tabs_are_live_and_one_takes_over_from_the_reader(opened: Visitor) -> None:
    """A browser has six connections to a host: with a stream for each tab, the seventh would never load."""
    address = opened.page.url.removeprefix(opened.board.address)
    others = [opened.open_page(address) for _ in range(6)]
    for each in others:
        expect(each.locator("li.task", has_text="first")).to_be_visible()
        expect(each.locator(".live")).to_have_text("Live")
    streams = [request for request in opened.requests if "/api/live" in request]
    assert len(streams) <= 3

    opened.page.close()
    opened.plan.agent().mark("first", Status.COMPLETED)

    for each in others:
        expect(each.locator("li.task", has_text="first").locator(".signal")).to_have_attribute("aria-pressed", "true")


def test_nothing_is_requested_while_nothing_happens(opened: Visitor) -> None:
    expect(opened.task("first")).to_be_visible()
    opened.page.wait_for_load_state("load")
    opened.page.wait_for_timeout(1500)
    opened.requests.clear()

    # Longer than the overview's and the session's own delays; the idle page has no timer that asks.
    opened.page.wait_for_timeout(4000)

    assert opened.requests == []


@quick
def test_the_token_leaves_the_address_at_once_a_used_link_says_so_and_without_a_sign_in_it_says_how_to_get_one(
    path: Path, board: Start, visit: Visit
) -> None:
    visitor = visit(board(path))
    token = visitor.board.link.partition("#t=")[2]
    assert token not in visitor.page.url
    assert not any(token in request for request in visitor.requests if not request.endswith(f"#t={token}"))
    visitor.page.go_back()
    assert token not in visitor.page.url
    other = visitor.context.browser
    assert other
    stranger = other.new_context()
    page = stranger.new_page()

    page.goto(visitor.board.link)

    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("used", re.IGNORECASE))
    expect(page).to_have_url(f"{visitor.board.address}/in")
    expect(page.locator(".cmd")).to_have_text(["tildone board --new-key", "tildone board"])
    page.goto(visitor.board.address)
    expect(page.locator(".empty")).to_contain_text("Sign in")
    expect(page.locator(".cmd")).to_have_text("tildone board")
    expect(page.get_by_text("small")).to_have_count(0)
    stranger.close()


def test_a_tab_that_was_signed_out_keeps_what_it_shows_and_comes_in_with_another_one(
    path: Path, board: Start, visit: Visit
) -> None:
    visitor = visit(board(path))
    visitor.open_session("small")
    visitor.is_live()
    [login], key = visitor.context.cookies(), visitor.page.evaluate("Object.entries(localStorage)[0]")
    visitor.context.clear_cookies()
    visitor.sign("first").press("Space")
    expect(visitor.page.locator(".signed-out")).to_contain_text("What you typed is kept.")
    expect(visitor.sign("second")).to_be_visible()
    # A page that is opened now has nothing to keep.
    tab = visitor.open_page("/")
    expect(tab.get_by_role("heading")).to_have_text(["Sign in"])

    visitor.context.add_cookies([{"name": login["name"], "value": login["value"], "url": visitor.board.address}])
    tab.evaluate("([name, key]) => localStorage.setItem(name, key)", key)

    expect(visitor.page.locator(".signed-out")).to_have_count(0)
    expect(visitor.sign("second")).to_be_visible()


@quick
def test_what_is_missing_is_named_with_a_way_on(path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(path), theme="light")
    page, missing = visitor.page, "/s/small-0123456789"
    for address in (missing, f"{missing}/log", f"{missing}/stats"):
        visitor.go(address)
        expect(page.get_by_role("heading", level=1)).to_have_text("There is no such session")
        visitor.is_live()
        expect(page.locator(".bars")).to_have_count(0)
        assert findings(page, address) == []
    page.set_viewport_size({"width": 390, "height": 844})
    # However short a page is, its navigation is at the thumb.
    assert page.locator(".bottom").evaluate("(bar) => bar.getBoundingClientRect().bottom") == 844
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("link", name="Search “small”").click()
    expect(page.locator(".grid h3")).to_have_text(["small"])
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such session")

    visitor.go("/nothing/is/here")

    expect(page.get_by_role("heading", level=1)).to_have_text("There is nothing at this address.")
    assert findings(page, "nothing") == []
    page.get_by_role("link", name="All sessions").click()
    expect(page.locator(".grid h3")).to_have_text(["small"])


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


def test_a_change_closes_nothing_on_the_page_of_statistics(opened: Visitor) -> None:
    page = opened.page
    page.goto(f"{page.url}/stats")
    opened.is_live()
    shown = page.get_by_text("Show as table")
    shown.press("Enter")
    rows = page.locator("details tbody tr")
    expect(rows.first).to_be_visible()
    before = rows.count()

    opened.plan.agent().mark("first", Status.COMPLETED)

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


SESSION = r"/api/s/[^/?]+(\?since=.*)?$"


@pytest.mark.parametrize(("address", "nth"), [(r"/api/sessions\?", 2), (r"/api/needs$", 1)])
def test_a_late_answer_does_not_replace_a_newer_card_or_need(
    path: Path, board: Start, visit: Visit, address: str, nth: int
) -> None:
    """Here and below, the page reads again when the stream has opened, and something changes before it has that."""
    page = visit(board(path)).page
    late = LateAnswer(page, address, nth)
    expect(page.locator(".card", has_text="small")).to_contain_text("0 of 2")
    late.wait()

    def shows_the_change() -> None:
        expect(page.locator(".card", has_text="small")).to_contain_text("1 of 2")
        expect(page.locator(".need")).to_have_count(1)

    Agent(path).mark("first", Status.COMPLETED).ask("command", "cargo fuzz", minutes=0)
    shows_the_change()
    late.release()
    shows_the_change()


def test_a_late_answer_does_not_replace_a_newer_plan(opened: Visitor) -> None:
    late = LateAnswer(opened.page, SESSION, 2)
    done = opened.page.get_by_role("img", name="1 of 2 closed")
    late.wait()

    opened.plan.agent().mark("first", Status.COMPLETED)
    expect(done).to_be_visible()
    late.release()

    expect(done).to_be_visible()


def test_a_late_answer_does_not_replace_who_is_at_work(path: Path, board: Start, visit: Visit) -> None:
    """The session needs the person before and after: only who is at work changes."""
    Agent(path).now().ask("command", "cargo fuzz", minutes=0)
    visitor = visit(board(path))
    visitor.open_session("small")
    late = LateAnswer(visitor.page, SESSION, 2)
    now = visitor.page.locator(".now.panel")
    expect(now).to_contain_text("nobody at work")
    late.wait()

    Agent(path).works("bash: pytest -q", minutes=1)
    expect(now).to_contain_text("bash: pytest -q")
    late.release()

    expect(now).to_contain_text("bash: pytest -q")


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
