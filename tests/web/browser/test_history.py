"""The history of a session; axe-core finds nothing, and everything works from the keyboard."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.suite import waiting
from tests.web.browser.plans import Placed, sample_store, small_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tildone.plan.model import Status


@quick
def test_lanes_burn_down_and_bounds_are_shown(parser: Visitor) -> None:
    page = parser.page
    expect(page.locator("#t3 .lane rect")).to_have_count(2)
    expect(page.locator("#t6 .lane rect.now")).to_have_count(1)
    expect(page.locator("#t9 .lane rect.blocked")).to_have_count(1)
    expect(page.locator(".burn .stepline")).to_have_count(1)
    expect(page.locator(".burn .big")).to_contain_text("6 of 12 open")
    expect(page.locator(".m.nudge").first).to_be_attached()
    expect(page.locator(".now.panel")).to_contain_text("bash: pytest -q tests/cli")
    expect(page.locator(".now.panel")).to_contain_text("184k · $1.92")
    assert findings(page, "session") == []


def test_now_shows_the_bounds_worth_reading_each_in_one_line_and_what_is_asked_for(parser: Visitor) -> None:
    facts = parser.page.locator(".now dl > div")
    expect(facts.locator("dt")).to_have_text(["Agent", "Model", "Nudges left", "Without progress", "Tokens, cost"])
    heights = facts.evaluate_all("all => all.map((each) => each.getBoundingClientRect().height)")
    heights += [parser.page.locator(".now .two").evaluate("each => each.getBoundingClientRect().height")]
    assert max(heights) < 1.5 * min(heights)
    assert parser.page.locator(".s-side").evaluate("each => each.getBoundingClientRect().width") == 332

    agent = parser.plan.agent()
    agent.drift = 30
    agent.nudge()

    expect(facts.filter(has_text="Nudges, no progress")).to_contain_text("31 of 60")
    parser.plan.agent().mark("Wire up", Status.COMPLETED)
    expect(parser.page.locator(".now .doing")).to_have_text("May I run cargo fuzz run parse -- -max_total_time=600")


@quick
def test_the_scrubber_shows_the_plan_at_any_moment(parser: Visitor) -> None:
    page = parser.page
    knob = page.get_by_role("slider", name="Moment of the plan")
    knob.focus()
    page.keyboard.press("Home")

    expect(page.locator(".banner")).to_contain_text("tasks have changed since")
    expect(parser.task("Read the grammar")).to_contain_text("since done")
    expect(parser.task("Hand over to Mara")).to_contain_text("added since")
    expect(page).to_have_url(re.compile(r"\?at="))
    expect(page.get_by_role("textbox", name="Add a task")).to_have_count(0)
    address = page.url
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(address)
    page.goto(address)
    expect(page.locator(".banner")).to_contain_text("changed since")

    page.keyboard.press("Escape")

    expect(page.locator(".banner")).to_be_hidden()
    expect(page).not_to_have_url(re.compile(r"\?at="))


def test_a_drag_of_the_scrubber_is_not_moved_by_live_changes(parser: Visitor) -> None:
    page = parser.page
    chart = page.locator(".burn-chart").bounding_box()
    knob = page.get_by_role("slider", name="Moment of the plan")
    assert chart
    page.mouse.move(chart["x"] + chart["width"] * 0.3, chart["y"] + 40)
    page.mouse.down()
    expect(page.locator(".banner")).to_be_visible()
    before, told = knob.bounding_box(), page.locator(".banner b").inner_text()

    parser.plan.agent().mark("Wire up", Status.COMPLETED)

    expect(page.locator(".strip.tall")).to_have_attribute("aria-label", re.compile("7 of 12"))
    assert knob.bounding_box() == before
    assert page.locator(".banner b").inner_text() == told
    page.mouse.up()
    assert knob.bounding_box() == before


@quick
def test_a_moment_is_compared_and_restored_and_that_is_undone(parser: Visitor) -> None:
    page = parser.page
    page.get_by_role("slider", name="Moment of the plan").focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("dialog").get_by_role("table")).to_contain_text("Write the parser")
    page.get_by_role("button", name="Close").click()

    page.get_by_role("button", name="Restore this").click()
    expect(page.get_by_role("dialog")).to_contain_text("back to open")
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()

    waiting.until(lambda: set(parser.plan.statuses()) == {Status.PENDING})
    expect(page.locator(".burn .big")).to_contain_text("12 of 12 open")
    page.keyboard.press("z")
    expect(page.locator(".burn .big")).to_contain_text("6 of 12 open")


def test_of_two_first_answers_the_second_leaves_the_keys_where_they_are(parser: Visitor) -> None:
    """A page asks at its start, and again when its stream is open."""
    page, asked = parser.page, list[tuple[Route, APIResponse]]()
    page.route(re.compile(r"/api/s/[^/?]+$"), lambda route: asked.append((route, route.fetch())))
    page.reload()
    while len(asked) < 2:
        page.wait_for_timeout(50)
    (early, answer), (late, same) = asked

    early.fulfill(response=answer)
    knob = page.get_by_role("slider", name="Moment of the plan")
    knob.focus()
    late.fulfill(response=same)
    page.wait_for_timeout(500)

    expect(knob).to_be_focused()


def test_a_restored_plan_is_taken_back_before_its_answer_has_come(parser: Visitor) -> None:
    """The others of the plan may be told of it first."""
    page, held = parser.page, list[tuple[Route, APIResponse]]()
    page.route("**/restore", lambda route: route.continue_() if held else held.append((route, route.fetch())))
    page.get_by_role("slider", name="Moment of the plan").focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Restore this").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(page.locator(".s-main.past")).to_have_count(0)
    expect(page.locator(".burn .big")).to_contain_text("12 of 12 open")

    page.keyboard.press("z")
    expect(page.locator(".burn .big")).to_contain_text("6 of 12 open")
    [(route, response)] = held
    route.fulfill(response=response)
    expect(page.get_by_text("Restored", exact=True)).to_be_visible()
    expect(page.locator(".burn .big")).to_contain_text("6 of 12 open")


def test_the_address_of_a_comparison_names_both_moments(parser: Visitor) -> None:
    page, dialog = parser.page, parser.page.get_by_role("dialog")
    page.get_by_role("slider", name="Moment of the plan").focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Compare").click()
    expect(dialog).to_contain_text("and now")
    expect(page).to_have_url(re.compile(r"\?at=[^&]+&vs=[^&]+$"))
    address = page.url
    page.keyboard.press("Escape")
    expect(page).to_have_url(address.partition("&")[0])

    parser.plan.agent().mark("Wire up", Status.COMPLETED)
    expect(page.locator(".events li", has_text="completed Wire up")).to_be_visible()
    page.goto(address)

    expect(dialog.get_by_role("row", name=re.compile("^Wire up"))).to_contain_text("in progress")
    expect(dialog.get_by_role("row", name=re.compile("^Write the parser"))).to_contain_text("done")
    expect(dialog).not_to_contain_text("and now")


def test_what_happened_is_told_in_sentences_and_leads_to_the_moment_and_phases_fold(parser: Visitor) -> None:
    row = parser.page.locator(".events li", has_text="completed Write the parser")
    expect(row).to_contain_text("Agent completed Write the parser")
    row.get_by_role("button").click()

    expect(parser.page.locator(".banner")).to_be_visible()
    expect(parser.sign("Write the parser")).to_have_attribute("aria-pressed", "true")
    parser.page.get_by_role("button", name="Read", exact=True).click()
    expect(parser.task("Read the grammar")).to_have_count(0)
    expect(parser.task("Write the parser")).to_be_visible()


@quick
def test_the_log_is_filtered_by_who(parser: Visitor) -> None:
    parser.page.get_by_role("link", name=re.compile("events$")).click()
    expect(parser.page.get_by_role("heading", level=1)).to_have_text("History")
    expect(parser.page.locator(".log li")).not_to_have_count(0)

    parser.page.get_by_label("Who").select_option("user")

    expect(parser.page.locator(".log li").first).to_contain_text("Mara")
    expect(parser.page.locator(".log li", has_text="Agent")).to_have_count(0)


def findings(page: Page, where: str) -> list[str]:
    """What axe-core finds, as sentences. It is not bound by the policy of the page: the browser puts it there."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{where}: {each['id']}: {node['target']} {node['failureSummary']}"
        for each in found
        for node in each["nodes"][:3]
    ]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_on_the_main_pages(tmp_path: Path, board: Start, visit: Visit, theme: str) -> None:
    visitor = visit(board(sample_store(tmp_path)), theme=theme)
    page = visitor.page
    visitor.is_live()
    expect(page.locator(".card")).to_have_count(12)
    found = findings(page, "overview")
    visitor.open_session("grammar-parser")
    expect(page.locator("li.task")).to_have_count(12)
    found += findings(page, "session")
    visitor.sign("Wire up").press("b")
    found += findings(page, "dialog")
    page.keyboard.press("Escape")
    page.get_by_role("slider").focus()
    page.keyboard.press("Home")
    expect(page.locator(".banner")).to_be_visible()
    found += findings(page, "past")
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    found += findings(page, "session on a phone")
    visitor.go("/")
    expect(page.locator(".card").first).to_be_visible()
    found += findings(page, "overview on a phone")

    assert found == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_on_the_other_pages(tmp_path: Path, board: Start, visit: Visit, theme: str) -> None:
    visitor = visit(board(sample_store(tmp_path)), theme=theme)
    page = visitor.page
    found = []
    missing = (("/s/small-0123456789", ".empty"), ("/nothing", ".empty"))
    for path, shown in (
        *(("/?view=rows", ".card"), ("/?q=nothing-is-called-so", ".empty"), ("/stats?days=90", ".tiles")),
        *missing,
    ):
        visitor.go(path)
        expect(page.locator(shown).first).to_be_visible()
        found += findings(page, path)
    visitor.go("/")
    visitor.open_session("grammar-parser")
    address = page.url.removeprefix(visitor.board.address)
    page.get_by_role("button", name="Change Wire up the command line").click()
    found += findings(page, "menu")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    found += findings(page, "palette")
    page.keyboard.press("Escape")
    glance, log, stats = f"{address}#t6", f"{address}/log", f"{address}/stats"
    for path, shown in ((glance, ".glance-history"), (log, ".log li"), (stats, ".tiles"), ("/in", "form")):
        visitor.go(path)
        expect(page.locator(shown).first).to_be_visible()
        found += findings(page, path)

    assert found == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_colour_blind_safe_palette_and_an_empty_board_pass_too(
    tmp_path: Path, board: Start, visit: Visit, theme: str
) -> None:
    visitor = visit(board(small_store(tmp_path)), theme=theme)
    visitor.page.evaluate(f"localStorage.setItem('tildone-theme', '{theme} safe')")
    visitor.page.reload()
    expect(visitor.page.get_by_text("No plans here yet")).to_be_visible()
    found = findings(visitor.page, "empty")
    small_store(tmp_path, "first", "second")
    visitor.open_session("small")
    expect(visitor.page.locator("li.task")).to_have_count(2)

    assert found + findings(visitor.page, "session") == []


def test_without_a_connection_it_passes_too(tmp_path: Path, board: Start, visit: Visit) -> None:
    running = board(small_store(tmp_path, "first"))
    visitor = visit(running, theme="light")
    visitor.is_live()
    running.stop()
    expect(visitor.page.locator(".live.off")).to_be_visible()

    assert findings(visitor.page, "not live") == []


@quick
def test_a_walk_with_the_keyboard_alone(tmp_path: Path, board: Start, visit: Visit) -> None:
    """From the overview into a plan, through it, back in time, and out again; no pointer."""
    path = small_store(tmp_path, "first", "second", "third")
    visitor = visit(board(path))
    page = visitor.page
    expect(page.locator(".card")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".card a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("li.task")).to_have_count(3)
    page.keyboard.press("j")
    expect(visitor.sign("first")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(visitor.sign("second")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator(".toast")).to_contain_text("Done: second")
    expect(visitor.sign("second")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Change second")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Change second")).to_be_focused()
    visitor.sign("third").focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("li.task .words")).to_have_text(["first", "third", "second"])
    page.keyboard.press("Tab")
    # The list of tasks is one stop.
    expect(page.get_by_role("textbox", name="Add a task")).to_be_focused()
    page.keyboard.type("fourth")
    page.keyboard.press("Enter")
    expect(page.locator("li.task")).to_have_count(4)
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.locator(".s-head .pill")).to_have_text("Paused")
    page.get_by_role("slider").focus()
    page.keyboard.press("Home")
    expect(page.locator(".banner")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".banner")).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.locator(".card")).to_have_count(1)

    assert Placed(path).statuses()[2] is Status.COMPLETED
    assert Placed(path).texts() == ["first", "third", "second", "fourth"]


def test_signs_and_strip_have_names_and_without_colours_signs_and_words_remain(
    tmp_path: Path, board: Start, visit: Visit
) -> None:
    visitor = visit(board(sample_store(tmp_path)), forced_colors="active")
    visitor.open_session("grammar-parser")

    expect(visitor.page.locator("#t9 .sign.blocked")).to_be_visible()
    expect(visitor.page.locator(".s-head .pill")).to_have_text("Needs you")
    assert visitor.page.evaluate("matchMedia('(forced-colors: active)').matches")
    expect(visitor.sign("Wire up")).to_have_attribute(
        "aria-label", re.compile(r"^Wire up the command line: in progress, .* minutes, 1 note$")
    )
    expect(visitor.page.locator(".strip.tall")).to_have_attribute(
        "aria-label", "6 of 12 closed, 1 in progress, 1 blocked"
    )


@pytest.mark.parametrize(("width", "height"), [(320, 640), (720, 450), (1024, 768), (1280, 800)])
def test_no_page_scrolls_sideways(tmp_path: Path, board: Start, visit: Visit, width: int, height: int) -> None:
    """320 pixels, and 200 % zoom at 1440."""
    visitor = visit(board(sample_store(tmp_path)), size=(width, height))
    expect(visitor.page.locator(".card").first).to_be_visible()
    wide = [name for name in ["/"] if scrolls(visitor.page)]
    visitor.open_session("grammar-parser")
    expect(visitor.page.locator("li.task").first).to_be_visible()
    address = visitor.page.url.removeprefix(visitor.board.address)
    wide += [name for name in ["session"] if scrolls(visitor.page) or side_is_cut(visitor.page)]
    for name in (f"{address}/log", f"{address}/stats", "/stats", "/?view=rows"):
        visitor.go(name)
        expect(visitor.page.locator(".panel, .card").first).to_be_visible()
        wide += [name] if scrolls(visitor.page) else []

    assert wide == []


def side_is_cut(page: Page) -> bool:
    """Whether the panel beside a plan, which scrolls by itself, is wider than its place."""
    return bool(page.eval_on_selector(".s-side", "side => side.scrollWidth > side.clientWidth"))


def scrolls(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def test_touch_targets_are_large_on_a_phone(tmp_path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(sample_store(tmp_path)), size=(390, 844), has_touch=True)
    page = visitor.page
    expect(page.locator(".need").first).to_be_visible()
    answers = page.locator(".need .btn").all()
    small = [box for each in answers if (box := each.bounding_box()) and box["height"] < 44]
    visitor.open_session("grammar-parser")
    expect(page.locator("li.task")).to_have_count(12)
    small += [
        box for each in page.locator(".signal, .more").all() if (box := each.bounding_box()) and box["height"] < 44
    ]

    assert small == []
    expect(page.get_by_role("navigation", name="Pages, at the thumb")).to_be_visible()
    expect(page.locator(".lane").first).to_be_hidden()
    page.get_by_role("button", name="Show or hide the history").tap()
    expect(page.locator(".burn-chart")).to_be_hidden()
