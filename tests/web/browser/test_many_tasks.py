"""A plan of many tasks: the page has the rows near the window, and reaches all of them."""

import re
from collections.abc import Callable
from contextlib import closing

import pytest
from playwright.sync_api import Page, Response, expect

from tests.web.boards import until
from tests.web.browser.plans import COUNTER, Placed
from tests.web.browser.running import Visitor, open_placed, quick
from tildone.app.opening import session_in, store_at
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import Append, Mark, Move, Note, Numbered, Op, Remove, Write

TASKS, PHASES = 1_000, 10
ON_SCREEN = "() => [...document.querySelectorAll('li.task')].filter((li) => { const box = li.getBoundingClientRect();"
ON_SCREEN += " return box.bottom > 0 && box.top < innerHeight; }).map((li) => Number(li.dataset.number))"

CHANGED_ROWS = """() => { window.changed = new Set(); window.redrawn = 0;
    new MutationObserver((found) => found.forEach(({ type, target, addedNodes }) => {
        const row = target.closest?.("li.task");
        if (row) window.changed.add(row.id);
        else window.redrawn += [...addedNodes].filter((node) => node.matches?.("li.task, section")).length;
    })).observe(document.querySelector(".plan"), { subtree: true, childList: true, attributes: true }); }"""


@pytest.fixture
def placed(signed_in: Visitor) -> Placed:
    found = Placed(signed_in.board.store, f"/home/mk/src/many-{next(COUNTER)}")
    phases = [
        Phase(f"Phase {at}", tuple(Task(f"Task {at * 100 + n + 1} of many") for n in range(TASKS // PHASES)))
        for at in range(PHASES)
    ]
    edited(found, Write(tuple(phases)))
    return found


@pytest.fixture
def many(signed_in: Visitor, visit: Callable[..., Visitor], placed: Placed) -> Visitor:
    return open_placed(visit(signed_in.board, like=signed_in, path=f"/?q={placed.title}"), placed)


def edited(placed: Placed, *ops: Op) -> None:
    """Change the session as another program does."""
    with closing(store_at(str(placed.path))) as store:
        session_in(store, placed.name, BY_HAND).change(list(ops))


def rows(page: Page) -> int:
    return page.locator("li.task").count()


def scroll(page: Page, share: float) -> None:
    page.evaluate("(share) => scrollTo(0, share * document.documentElement.scrollHeight)", share)


@quick
def test_only_the_rows_near_the_window_are_in_the_page_and_scrolling_shows_the_others(many: Visitor) -> None:
    page = many.page
    first = page.locator("#t1")
    expect(first).to_be_visible()
    assert 20 < rows(page) < 150
    expect(first).to_have_attribute("aria-posinset", "1")
    expect(first).to_have_attribute("aria-setsize", "100")
    expect(page.locator(".phase h3")).to_have_count(PHASES)
    # The page is as high as with all rows, which have at least 32 px.
    assert page.evaluate("document.documentElement.scrollHeight") > TASKS * 30

    seen: set[int] = set()
    for step in range(11):
        scroll(page, step / 10)
        shown = until(lambda: page.evaluate(ON_SCREEN), lambda numbers: len(numbers) > 5)
        assert shown == list(range(shown[0], shown[-1] + 1))
        seen |= {number // 100 for number in shown}
        assert rows(page) < 150

    assert seen >= set(range(10))
    expect(page.locator("#t1000")).to_be_visible()
    expect(first).to_have_count(0)


@quick
def test_a_click_changes_one_row_and_little_is_sent(many: Visitor) -> None:
    page = many.page
    expect(page.locator("#t7")).to_be_visible()
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108  Playwright calls no built-in method
    page.evaluate(CHANGED_ROWS)

    page.locator("#t7 .signal").click()

    expect(page.locator("#t7.in_progress:not(.pending-op)")).to_be_visible()
    expect(page.locator(".phase-head").first).to_contain_text("0 of 100")
    page.keyboard.press("Space")
    expect(page.locator("#t7.completed:not(.pending-op)")).to_be_visible()
    expect(page.locator(".phase-head").first).to_contain_text("1 of 100")
    expect(page.locator(".big")).to_have_text("999 of 1000 open")
    # The first row was the tab stop before.
    assert set(page.evaluate("[...window.changed]")) <= {"t1", "t7"}
    assert page.evaluate("window.redrawn") == 0
    sent = [each for each in answers if "/api/s/" in each.url]
    assert sent
    assert all(len(each.body()) < 5_000 for each in sent)


@quick
def test_edits_of_others_arrive_in_view_and_out_of_it(many: Visitor) -> None:
    page = many.page
    expect(page.locator("#t2")).to_be_visible()

    edited(many.plan, Mark(Numbered((2, 950)), Status.COMPLETED), Note(Numbered((3,)), "see the log"))
    expect(page.locator("#t2.completed")).to_be_visible()
    expect(page.locator("#t3")).to_contain_text("see the log")
    edited(
        many.plan,
        Append((Task("One more"),), "Phase 0"),
        Remove(Numbered((1,))),
        Move(Numbered((5,)), phase="Phase 9"),
    )

    expect(page.locator("#t1, #t5")).to_have_count(0)
    expect(page.locator("#t2")).to_have_attribute("aria-setsize", "99")
    expect(page.locator(".phase-head").first).to_contain_text("1 of 99")
    scroll(page, 1)
    expect(page.locator("#t5")).to_be_visible()
    expect(page.locator("#t5")).to_have_attribute("aria-posinset", "101")
    page.evaluate("location.hash = '#t950'")
    expect(page.locator("#t950.completed")).to_be_in_viewport()
    expect(page.locator("[role=img].strip.tall")).to_have_attribute("aria-label", "2 of 1000 closed")


@quick
def test_the_keyboard_reaches_the_last_task_and_the_focus_stays_while_the_page_is_scrolled(many: Visitor) -> None:
    page = many.page
    page.locator("#t1 .signal").focus()
    page.keyboard.press("End")
    expect(page.locator("#t1000 .signal")).to_be_focused()
    expect(page.locator("#t1000")).to_be_in_viewport()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#t999 .signal")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator("#t999.completed:not(.pending-op)")).to_be_visible()
    assert many.plan.statuses()[998] is Status.COMPLETED

    scroll(page, 0)
    expect(page.locator("#t1")).to_be_in_viewport()
    expect(page.locator("#t999 .signal")).to_be_focused()
    assert rows(page) < 150
    page.keyboard.press("ArrowDown")
    expect(page.locator("#t1000 .signal")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator("#t1 .signal")).to_be_focused()
    # Over the end of one phase into the next.
    page.locator("#t1 .signal").press("ArrowDown")
    expect(page.locator("#t2 .signal")).to_be_focused()


def test_all_rows_can_be_walked_through_by_the_keyboard(many: Visitor) -> None:
    page = many.page
    page.locator("#t1 .signal").focus()
    for number in range(2, 131):
        page.keyboard.press("ArrowDown")
        if number % 10 == 0:
            expect(page.locator(f"#t{number} .signal")).to_be_focused()
            expect(page.locator(f"#t{number}")).to_be_in_viewport()


@quick
def test_a_link_to_a_task_scrolls_to_it_wherever_it_is(many: Visitor, visit: Callable[..., Visitor]) -> None:
    address = re.sub(r"^https?://[^/]+", "", many.page.url)
    linked = visit(many.board, like=many, path=f"{address}#t640")
    expect(linked.page.locator("#t640")).to_be_in_viewport()

    linked.page.evaluate("location.hash = '#t12'")
    expect(linked.page.locator("#t12")).to_be_in_viewport()
    # In a phase that is folded away, too.
    linked.page.get_by_role("button", name="Phase 0", exact=True).click()
    expect(linked.page.locator("#t12")).to_have_count(0)
    linked.page.evaluate("location.hash = '#t13'")
    expect(linked.page.locator("#t13")).to_be_in_viewport()


@quick
def test_printing_has_all_rows(many: Visitor) -> None:
    page = many.page
    expect(page.locator("#t1")).to_be_visible()
    page.evaluate(
        "addEventListener('beforeprint', () => { window.printed = document.querySelectorAll('li.task').length; })"
    )

    page.pdf()

    assert page.evaluate("window.printed") == TASKS
    until(lambda: rows(page), lambda count: count < 150)


@quick
def test_while_a_row_is_edited_the_others_keep_their_places_and_can_be_scrolled(many: Visitor) -> None:
    page = many.page
    page.locator("#t3 .signal").focus()
    page.keyboard.press("F2")
    field = page.get_by_role("textbox", name="Text of the task")
    expect(field).to_be_focused()
    edited(many.plan, Append((Task("One"), Task("Two")), "Phase 10"), Remove(Numbered((1,))))
    expect(page.locator(".big")).to_have_text("1001 of 1001 open")

    expect(page.locator("#t1")).to_be_in_viewport()
    scroll(page, 0.5)
    until(lambda: page.evaluate(ON_SCREEN), lambda numbers: len(numbers) > 5)
    expect(field).to_be_focused()
    expect(page.locator(".phase h3")).to_have_count(PHASES)
    page.keyboard.press("Escape")

    expect(page.locator(".phase h3")).to_have_count(PHASES + 1)
    scroll(page, 0)
    expect(page.locator("#t2")).to_be_in_viewport()
    expect(page.locator("#t1")).to_have_count(0)
    expect(page.locator("#t3 .signal")).to_be_focused()
