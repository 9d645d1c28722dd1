"""The history of a session: lanes, the scrubber, what happened, and a moment restored."""

import re

from playwright.sync_api import expect

from tests.suite import waiting
from tests.web.browser.running import Visitor, quick
from tests.web.browser.test_accessibility import findings
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


def test_now_shows_the_bounds_worth_reading_each_in_one_line(parser: Visitor) -> None:
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


def test_a_command_that_an_agent_asks_for_keeps_its_letters(parser: Visitor) -> None:
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


def test_what_happened_is_told_in_sentences_and_leads_to_the_moment(parser: Visitor) -> None:
    row = parser.page.locator(".events li", has_text="completed Write the parser")
    expect(row).to_contain_text("Agent completed Write the parser")
    row.get_by_role("button").click()

    expect(parser.page.locator(".banner")).to_be_visible()
    expect(parser.sign("Write the parser")).to_have_attribute("aria-pressed", "true")


@quick
def test_the_log_is_filtered_by_who(parser: Visitor) -> None:
    parser.page.get_by_role("link", name=re.compile("events$")).click()
    expect(parser.page.get_by_role("heading", level=1)).to_have_text("History")
    expect(parser.page.locator(".log li")).not_to_have_count(0)

    parser.page.get_by_label("Who").select_option("user")

    expect(parser.page.locator(".log li").first).to_contain_text("Mara")
    expect(parser.page.locator(".log li", has_text="Agent")).to_have_count(0)
