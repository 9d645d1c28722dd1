"""Two people, or a person and an agent, change the same plan."""

import pytest
from playwright.sync_api import Route, expect

from tests.web.browser.plans import place_tasks
from tests.web.browser.running import Visit, Visitor, quick
from tildone.plan.model import Status


@pytest.fixture
def both(signed_in: Visitor, visit: Visit) -> tuple[Visitor, Visitor]:
    """Two browsers that show the same plan."""
    placed = place_tasks(signed_in.board.store, "Wire up the command line", "Write the notes")
    one = visit(signed_in.board, like=signed_in, path=f"/?q={placed.title}")
    one.open_session(placed.title)
    two = visit(one.board, like=one, path=one.page.url.removeprefix(one.board.address))
    for each in (one, two):
        each.placed = placed
        each.is_live()
        expect(each.task("Wire up")).to_be_visible()
    return one, two


def clash(one: Visitor, two: Visitor) -> None:
    """Both reword the first task; the second one is told."""
    two.sign("Wire up").press("e")
    two.page.keyboard.type(", and keep the old flags working")
    one.sign("Wire up").press("e")
    one.page.keyboard.type(" with --json for every verb")
    one.page.keyboard.press("Enter")
    expect(one.page.locator(".toast")).to_contain_text("Reworded")
    two.page.get_by_role("textbox", name="Text of the task").press("Enter")
    expect(two.page.get_by_role("dialog")).to_contain_text("changed this task, too")


@quick
def test_the_dialog_shows_both_texts_and_keep_mine_replaces_theirs(both: tuple[Visitor, Visitor]) -> None:
    one, two = both
    clash(one, two)
    dialog = two.page.get_by_role("dialog")
    expect(dialog.locator(".began")).to_contain_text("Wire up the command line")
    expect(dialog.get_by_role("radio", name="Yours").locator("ins")).to_contain_text("and keep the old flags working")
    expect(dialog.get_by_role("radio").nth(1).locator("ins")).to_contain_text("with --json for every verb")
    expect(dialog.get_by_role("radio", name="Yours")).to_be_focused()

    two.page.keyboard.press("Enter")

    expect(one.task("Wire up the command line, and keep the old flags working")).to_be_visible()
    assert two.plan.texts()[0] == "Wire up the command line, and keep the old flags working"


def test_keep_theirs_changes_nothing(both: tuple[Visitor, Visitor]) -> None:
    one, two = both
    clash(one, two)

    two.page.keyboard.press("ArrowRight")
    two.page.get_by_role("button", name="Keep theirs").click()

    expect(two.task("Wire up the command line with --json for every verb")).to_be_visible()
    expect(two.page.get_by_role("button", name="draft kept")).to_have_count(0)
    assert two.plan.texts()[0] == "Wire up the command line with --json for every verb"


def test_edit_both_makes_one_text_of_them(both: tuple[Visitor, Visitor]) -> None:
    one, two = both
    clash(one, two)

    two.page.get_by_role("button", name="Edit both").click()
    field = two.page.get_by_role("textbox", name="One text of both")
    expect(field).to_have_value(
        "Wire up the command line, and keep the old flags working\nWire up the command line with --json for every verb"
    )
    field.fill("Wire up the command line with --json, and keep the old flags")
    two.page.keyboard.press("Enter")

    expect(one.task("with --json, and keep the old flags")).to_be_visible()
    assert two.plan.texts()[0] == "Wire up the command line with --json, and keep the old flags"


def test_esc_keeps_the_draft_in_the_row(both: tuple[Visitor, Visitor]) -> None:
    one, two = both
    clash(one, two)

    two.page.keyboard.press("Escape")

    expect(two.page.get_by_role("button", name="draft kept")).to_be_visible()
    assert two.plan.texts()[0] == "Wire up the command line with --json for every verb"


def test_changes_that_fit_each_other_are_both_made(both: tuple[Visitor, Visitor]) -> None:
    """The second one is sent with an older head: the page is held back while it is on its way."""
    _, two = both

    def meanwhile(route: Route) -> None:
        two.plan.agent().mark("Write", Status.COMPLETED)
        route.continue_()

    two.page.route("**/ops", meanwhile, times=1)
    two.sign("Wire up").press("s")

    expect(two.page.locator(".toast")).to_contain_text("your change still fitted")
    assert two.plan.statuses() == [Status.IN_PROGRESS, Status.COMPLETED]


def test_a_removal_of_what_the_agent_finished_asks_again(both: tuple[Visitor, Visitor]) -> None:
    _, two = both

    def meanwhile(route: Route) -> None:
        two.plan.agent().mark("Write", Status.COMPLETED)
        route.continue_()

    two.page.route("**/ops", meanwhile, times=1)
    two.sign("Write").press("Delete")
    two.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    two.page.get_by_role("button", name="Remove it all the same").click()

    expect(two.task("Write the notes")).to_have_count(0)
    assert two.plan.texts() == ["Wire up the command line"]


@quick
def test_a_refused_change_is_set_back_with_a_message(both: tuple[Visitor, Visitor]) -> None:
    one, two = both
    one.page.route("**/ops", lambda route: route.abort())
    one.sign("Wire up").press("Space")

    expect(one.page.locator(".toast.bad")).to_contain_text("The board does not answer")
    expect(one.sign("Wire up")).to_have_attribute("aria-pressed", "false")
    assert two.plan.statuses()[0] is Status.PENDING


def test_a_row_is_shown_as_pending_until_the_answer(both: tuple[Visitor, Visitor]) -> None:
    one, _ = both
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    one.page.route("**/ops", hold)
    one.sign("Wire up").press("Space")

    expect(one.task("Wire up").locator(".sign.waits")).to_be_visible()
    expect(one.task("Wire up")).to_contain_text("saving")
    held[0].continue_()
    expect(one.task("Wire up").locator(".sign.waits")).to_have_count(0)
    expect(one.sign("Wire up")).to_have_attribute("aria-pressed", "true")
