"""A task at a glance beside its plan: what it says, its address, and what leads to it."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser.plans import sample_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tests.web.browser.test_history import findings, scrolls
from tests.web.browser.test_long import PHONE
from tests.web.browser.test_session import NAME, Project
from tildone.plan.model import Check, Status
from tildone.plan.ops import Numbered, SetCheck

THUMB = 44


def panel(page: Page, title: str) -> None:
    """Wait for a task at a glance."""
    expect(page.locator(".glance h2")).to_have_text(title)
    expect(page.locator(".glance-history")).to_be_visible()


@quick
def test_a_task_at_a_glance_has_an_address_and_goes_with_back_and_forward(parser: Visitor) -> None:
    page, glance = parser.page, parser.page.locator(".glance")
    parser.task("Wire up").locator(".words").click()
    panel(page, "Wire up the command line")
    expect(page.locator(".glance h2")).to_be_focused()
    expect(page).to_have_url(re.compile(r"#t6$"))
    expect(glance).to_contain_text("In progress#6Build")
    expect(glance.locator(".glance-notes")).to_have_text("Flags stay as they were; --json is new.")
    expect(glance.locator(".glance-history li").last).to_contain_text("added")
    address = page.url

    page.keyboard.press("Escape")
    expect(glance).to_be_hidden()
    expect(page).to_have_url(address.partition("#")[0])
    expect(parser.task("Wire up").locator(".words")).to_be_focused()
    page.go_back()
    panel(page, "Wire up the command line")
    page.go_forward()
    expect(glance).to_be_hidden()
    page.goto("about:blank")
    page.goto(address)

    panel(page, "Wire up the command line")
    assert findings(page, "glance") == []
    page.get_by_role("link", name="In the history of the session").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("History")
    expect(page.locator(".log li").first).to_contain_text("Wire up the command line")
    page.go_back()
    panel(page, "Wire up the command line")


def test_it_is_opened_by_a_key_and_the_menu_and_follows_the_plan(parser: Visitor) -> None:
    page, glance = parser.page, parser.page.locator(".glance")
    parser.sign("Measure it").press("i")
    panel(page, "Measure it against the old one")
    parser.plan.agent().mark("Measure it", Status.IN_PROGRESS, note="the old one is slow")
    expect(glance.locator(".glance-notes")).to_have_text("the old one is slow")
    expect(glance.locator(".glance-state b")).to_have_text("In progress")

    page.get_by_role("button", name="Change Write the parser").click()
    page.get_by_role("menuitem", name="At a glance").click()
    panel(page, "Write the parser")
    page.go_back()
    panel(page, "Measure it against the old one")
    page.get_by_role("button", name="Close the task").click()
    expect(glance).to_be_hidden()


def test_a_task_that_is_not_in_the_plan_is_said_and_one_that_is_removed(parser: Visitor) -> None:
    page = parser.page
    page.evaluate("location.hash = '#t99'")
    expect(page.locator(".glance h2")).to_have_text("There is no such task in the plan.")
    page.evaluate("location.hash = '#t3'")
    panel(page, "Write the tokenizer")
    parser.plan.agent().remove("Write the tokenizer")
    expect(page.locator(".glance h2")).to_have_text("There is no such task in the plan.")
    page.keyboard.press("Escape")
    expect(page.locator(".glance")).to_be_hidden()


def test_in_the_past_it_stays_open(parser: Visitor) -> None:
    page = parser.page
    parser.task("Wire up").locator(".words").click()
    panel(page, "Wire up the command line")
    page.get_by_role("slider").press("Home")
    expect(page.locator(".banner")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?at=[^#]+#t6$"))
    page.keyboard.press("Escape")
    expect(page.locator(".banner")).to_be_hidden()
    expect(page.locator(".glance")).to_be_visible()


@quick
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_proposed_check_is_approved_on_a_phone_with_a_thumb(
    tmp_path: Path, board: Start, visit: Visit, theme: str
) -> None:
    project = Project(tmp_path)
    project.change(SetCheck(Numbered((2,)), Check(project.script("print('<b>bold</b>')\nraise SystemExit(3)"))))
    visitor = visit(board(project.store), theme=theme, size=PHONE, has_touch=True)
    visitor.open_session(NAME)
    visitor.is_live()
    page = visitor.page
    page.get_by_role("link", name="#2").tap()
    panel(page, "second")
    expect(page.locator(".glance .state")).to_have_text("proposed")
    assert findings(page, "glance on a phone") == []
    assert not scrolls(page)
    assert small_targets(page, ".glance button, .glance a") == []
    # Nothing else can be reached.
    for behind in (".top", ".bottom", ".s-body"):
        expect(page.locator(behind)).to_have_attribute("inert", "")

    page.locator(".glance").get_by_role("button", name="Approve…").tap()
    page.get_by_role("dialog").get_by_role("button", name="Approve").tap()

    expect(page.locator(".glance .state")).not_to_have_text("proposed")
    page.locator(".glance").get_by_role("button", name="Verify").tap()
    expect(page.get_by_role("region", name="The end of its output")).to_have_text("<b>bold</b>")
    assert findings(page, "output on a phone") == []


def small_targets(page: Page, selector: str) -> list[str]:
    """What is smaller than a thumb needs."""
    found = page.locator(selector).all()
    return [
        each.inner_text() for each in found if (box := each.bounding_box()) and min(box["height"], box["width"]) < 44
    ]


def test_what_needs_a_person_leads_to_the_task_that_it_is_about(tmp_path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(sample_store(tmp_path)))
    page = visitor.page
    page.locator(".need", has_text="docs-site").get_by_role("link", name="docs-site").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("docs-site")
    expect(page.locator(".glance-state b")).to_have_text("Blocked")
    expect(page.locator(".glance-notes")).to_contain_text("Mara has the signing key")
    expect(page).to_have_url(re.compile(r"#t\d+$"))
    page.go_back()
    expect(page.locator(".need")).to_have_count(3)


def test_a_row_that_is_edited_by_two_clicks_keeps_its_field(parser: Visitor) -> None:
    parser.task("Measure it").locator(".words").dblclick()
    field = parser.page.get_by_role("textbox", name="Text of the task")
    panel(parser.page, "Measure it against the old one")
    expect(field).to_be_focused()
