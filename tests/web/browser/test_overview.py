"""The overview: what needs a person first, then every session, live."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.browser.plans import PARSER, Agent, Placed, answer_to, sample_store, small_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tests.web.browser.test_accessibility import findings
from tildone.plan.model import Status


@pytest.fixture
def seen(tmp_path: Path, board: Start, visit: Visit) -> Visitor:
    """The overview of the sample sessions."""
    visitor = visit(board(sample_store(tmp_path)))
    visitor.is_live()
    return visitor


@quick
def test_the_headline_counts_what_needs_a_person(seen: Visitor) -> None:
    expect(seen.page.get_by_role("heading", level=1)).to_have_text("3 sessions need you")
    expect(seen.page.locator(".need")).to_have_count(3)
    expect(seen.page.locator(".need", has_text="grammar-parser")).to_contain_text(
        "cargo fuzz run parse -- -max_total_time=600"
    )
    assert findings(seen.page, "overview") == []


@quick
def test_a_question_is_answered_in_place(seen: Visitor) -> None:
    store = seen.board.plans()
    [asked] = [need for need in store.records.needs() if need.session == PARSER]

    seen.page.locator(".need", has_text="grammar-parser").get_by_role("button", name="Allow once").click()

    expect(seen.page.get_by_role("heading", level=1)).to_have_text("2 sessions need you")
    assert answer_to(store, asked) == "once"
    store.close()


def test_a_text_answers_a_question_without_options(seen: Visitor) -> None:
    store = seen.board.plans()
    [asked] = [need for need in store.records.needs() if need.session.endswith("billing-api")]

    seen.page.locator(".need", has_text="billing-api").get_by_role("button", name="Answer").click()
    seen.page.get_by_role("textbox", name="Your answer").fill("Merge them")
    seen.page.get_by_role("button", name="Send").click()

    expect(seen.page.locator(".need", has_text="billing-api").get_by_role("button", name="Answer")).to_have_count(0)
    assert answer_to(store, asked) == "Merge them"
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


def test_sessions_are_shown_as_rows_too(seen: Visitor) -> None:
    seen.page.get_by_role("link", name="Rows").click()

    expect(seen.page).to_have_url(re.compile(r"view=rows"))
    expect(seen.page.locator(".grid.rows li")).to_have_count(12)


@quick
def test_a_card_that_another_process_changes_keeps_the_focus(tmp_path: Path, board: Start, visit: Visit) -> None:
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


@quick
def test_a_card_that_changes_while_a_button_is_held_down_is_opened_all_the_same(
    tmp_path: Path, board: Start, visit: Visit
) -> None:
    path = small_store(tmp_path, "first")
    visitor = visit(board(path))
    visitor.is_live()
    card = visitor.page.locator(".card", has_text="small")
    card.get_by_role("link").hover()
    visitor.page.mouse.down()

    Agent(path).mark("first", Status.COMPLETED)
    expect(visitor.page.get_by_text("small: Done")).to_be_visible()
    visitor.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(card).to_contain_text("0 of 1")
    visitor.page.mouse.up()

    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("small")


def test_a_new_session_shows_up_by_itself(tmp_path: Path, board: Start, visit: Visit) -> None:
    path = small_store(tmp_path)
    visitor = visit(board(path))
    visitor.is_live()
    expect(visitor.page.get_by_text("No plans here yet")).to_be_visible()

    small_store(tmp_path, "first", name="/home/mk/src/other")

    expect(visitor.page.locator(".card", has_text="other")).to_be_visible()


def test_keys_move_among_cards_and_open_one(seen: Visitor) -> None:
    page = seen.page
    expect(page.locator(".grid h3")).to_have_count(12)
    names = seen.titles
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name=names[1], exact=True).last).to_be_focused()

    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text(names[1])


def test_the_palette_goes_to_a_session(seen: Visitor) -> None:
    seen.page.keyboard.press("Control+k")
    seen.page.get_by_role("combobox", name="Session or command").fill("importer")
    expect(seen.page.locator(".palette [role=option]").first).to_contain_text("importer")

    seen.page.keyboard.press("Enter")

    expect(seen.page.get_by_role("heading", level=1)).to_have_text("importer")


def test_the_theme_is_kept_and_other_tabs_follow(seen: Visitor) -> None:
    other = seen.open_page("/")
    seen.page.get_by_role("button", name="Theme and keys").click()
    seen.page.get_by_role("menuitem", name="Light, colour-blind safe").click()

    expect(other.locator("html")).to_have_attribute("data-palette", "safe")
    seen.page.reload()
    expect(seen.page.locator("html")).to_have_attribute("data-theme", "light")


def test_one_letter_keys_can_be_switched_off(seen: Visitor) -> None:
    page = seen.page
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="One-letter keys").uncheck()
    page.get_by_role("button", name="Close").click()

    page.keyboard.press("/")

    expect(page.get_by_role("searchbox")).not_to_be_focused()


def test_a_read_only_board_offers_no_answers(tmp_path: Path, board: Start, visit: Visit) -> None:
    visitor = visit(board(sample_store(tmp_path), "--read-only"))

    expect(visitor.page.locator(".need")).to_have_count(3)
    expect(visitor.page.locator(".need button")).to_have_count(0)


@quick
def test_statistics_of_all_sessions_are_numbers_and_a_table(seen: Visitor) -> None:
    seen.page.get_by_role("navigation", name="Pages", exact=True).get_by_role("link", name="Stats").click()

    expect(seen.page.get_by_role("heading", level=1)).to_have_text("Statistics")
    expect(seen.page.locator(".tiles")).to_contain_text("12")
    seen.page.get_by_text("Show as table").first.click()
    expect(seen.page.get_by_role("table").first).to_be_visible()
    assert findings(seen.page, "statistics") == []
