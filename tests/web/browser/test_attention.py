"""What needs a person is counted by the tab, told by the browser and answered with a thumb; ways between pages."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.suite import waiting
from tests.web.browser.plans import PARSER, Agent, Placed, answer_to, sample_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tests.web.browser.test_glance import panel, small_targets
from tests.web.browser.test_history import findings, scrolls
from tests.web.browser.test_long import PHONE
from tildone.plan.model import Status

RECORD = """
window.shown = []; window.asked = 0;
const Real = Notification;
window.Notification = class extends Real {
    constructor(...given) { super(...given); window.shown.push(this); }
    static requestPermission() { window.asked += 1; return Real.requestPermission(); }
};
"""
"""Notes what a page asks of the browser, which does it."""


@pytest.fixture
def seen(tmp_path: Path, board: Start, visit: Visit) -> Visitor:
    visitor = visit(board(sample_store(tmp_path)))
    visitor.is_live()
    return visitor


def icon(page: Page) -> str:
    return str(page.locator("link[rel=icon]").get_attribute("href")).rpartition("/")[2]


@quick
def test_the_title_and_the_icon_of_the_tab_count_what_needs_a_person(seen: Visitor) -> None:
    page = seen.page
    expect(page).to_have_title("(3) tildone")
    assert icon(page) == "icon-3.svg"
    [image, plain] = [
        page.evaluate(
            "async (name) => (await fetch(document.querySelector('link[rel=icon]').href.replace("
            "/icon[^/]*$/, name))).text()",
            name,
        )
        for name in ("icon-3.svg", "icon.svg")
    ]
    assert ">3</text></svg>" in image
    assert image.startswith(plain.removesuffix("</svg>\n").removesuffix("</svg>"))
    seen.open_session("grammar-parser")
    expect(page).to_have_title("(3) grammar-parser · tildone")

    page.get_by_role("button", name="Allow once").click()

    expect(page).to_have_title("(2) grammar-parser · tildone")
    assert icon(page) == "icon-2.svg"
    Placed(seen.board.store, "/home/mk/src/docs-site").agent().mark("", Status.COMPLETED)
    seen.board.plans().records.answer(next(need.id for need in seen.board.plans().records.needs()), "keep", "Mara", 1)
    expect(page).to_have_title("grammar-parser · tildone")
    assert icon(page) == "icon.svg"


def test_the_browser_is_asked_by_a_click_alone_and_notifies_of_what_is_new_with_a_link_to_its_task(
    tmp_path: Path, board: Start, visit: Visit
) -> None:
    visitor = visit(board(sample_store(tmp_path)))
    visitor.context.add_init_script(RECORD)
    page = visitor.page
    page.reload()
    visitor.is_live()
    bell = page.get_by_role("button", name="Notify me")
    expect(bell).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("[asked, shown.length]") == [0, 0]
    visitor.context.grant_permissions(["notifications"])
    bell.click()
    expect(page.locator(".toast")).to_contain_text("You are notified")
    expect(bell).to_have_attribute("aria-pressed", "true")
    # Who looks at the page needs no notification.
    agent = Agent(visitor.board.store, PARSER)
    agent.ask("confirm", "First?", "yes", "no", minutes=0)
    expect(page.locator(".need", has_text="First?")).to_be_visible()
    assert page.evaluate("shown.length") == 0
    leave(visitor)

    Placed(visitor.board.store, "/home/mk/ops/terraform").agent().mark("Plan the", Status.COMPLETED).mark(
        "Part", Status.BLOCKED, note="no key"
    )

    waiting.until(lambda: page.evaluate("shown.length"))
    told = page.evaluate("shown.map((each) => [each.title, each.body])")
    assert told == [["terraform needs you", "waits: no key"]]
    page.evaluate("shown[0].dispatchEvent(new Event('click'))")
    expect(page.get_by_role("heading", level=1)).to_have_text("terraform")
    panel(page, str(page.locator(".glance h2").inner_text()))
    expect(page.locator(".glance-state b")).to_have_text("Blocked")

    bell.click()
    expect(bell).to_have_attribute("aria-pressed", "false")
    agent.ask("confirm", "Second?", "yes", "no", minutes=0)
    expect(page).to_have_title(re.compile(r"^\(6\)"))
    assert page.evaluate("shown.length") == 1


def leave(visitor: Visitor) -> None:
    """Look at another tab."""
    visitor.context.new_cdp_session(visitor.page).send("Emulation.setFocusEmulationEnabled", {"enabled": False})
    visitor.context.new_page().bring_to_front()
    held = "navigator.locks.query().then(({held}) => held.filter(({name}) => /looked/.test(name)).length)"
    waiting.until(lambda: visitor.page.evaluate(f"!document.hasFocus() && {held}.then((count) => !count)"))


def test_a_browser_that_does_not_allow_it_is_said(seen: Visitor) -> None:
    seen.page.get_by_role("button", name="Notify me").click()
    expect(seen.page.locator(".toast")).to_contain_text("The browser does not allow notifications of this page")
    expect(seen.page.get_by_role("button", name="Notify me")).to_have_attribute("aria-pressed", "false")


@quick
def test_on_a_phone_the_field_for_an_answer_is_below_its_question_and_keeps_what_is_typed(
    tmp_path: Path, board: Start, visit: Visit
) -> None:
    visitor = visit(board(sample_store(tmp_path)), size=PHONE, has_touch=True)
    page = visitor.page
    visitor.is_live()
    [asked] = [need for need in visitor.board.plans().records.needs() if need.kind == "input"]
    row = page.locator(".need", has_text="Two migrations")
    assert small_targets(page, ".need a, .need button, .chips a, .bottom a, .top button") == []
    row.get_by_role("button", name="Answer").tap()
    field = page.get_by_role("textbox", name="Your answer")
    expect(field).to_be_focused()
    question, place = row.locator(".text").bounding_box(), field.bounding_box()
    assert question
    assert place
    assert 0 <= place["y"] - question["y"] - question["height"] < 20
    assert place["width"] > 250
    assert small_targets(page, ".need button") == []
    assert not scrolls(page)
    assert findings(page, "answer") == []
    field.fill("Keep")

    # Others come and go meanwhile, and the agent goes on.
    Agent(visitor.board.store, PARSER).ask("confirm", "Another?", "yes", "no", minutes=0)
    expect(page.locator(".need")).to_have_count(4)
    expect(field).to_be_focused()
    page.keyboard.type(" both")
    page.keyboard.press("Enter")

    expect(row).to_have_count(0)
    assert answer_to(visitor.board.plans(), asked) == "Keep both"


def test_a_field_for_an_answer_is_left_by_escape(seen: Visitor) -> None:
    row = seen.page.locator(".need", has_text="Two migrations")
    row.get_by_role("button", name="Answer").click()
    row.get_by_role("button", name="Send").click()
    expect(row.get_by_role("textbox")).to_be_focused()
    seen.page.keyboard.press("Escape")
    expect(row.get_by_role("button", name="Answer")).to_be_focused()
    expect(row.get_by_role("textbox")).to_have_count(0)


@quick
def test_the_pages_of_a_session_lead_to_each_other_with_back_and_forward(parser: Visitor) -> None:
    page, heading = parser.page, parser.page.get_by_role("heading", level=1)
    views = page.get_by_role("navigation", name="Pages of the session")
    title = parser.plan.title
    expect(views.get_by_role("link", name="Plan")).to_have_attribute("aria-current", "page")

    views.get_by_role("link", name="Statistics").click()
    expect(heading).to_have_text("Statistics")
    expect(page).to_have_title(re.compile(f"Statistics: {title}"))
    views.get_by_role("link", name="History").click()
    expect(heading).to_have_text("History")
    views.get_by_role("link", name="Plan").click()
    expect(heading).to_have_text(title)

    for there in ("History", "Statistics", title):
        page.go_back()
        expect(heading).to_have_text(there)
    page.go_forward()
    expect(heading).to_have_text("Statistics")
