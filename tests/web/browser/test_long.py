"""Long histories, small screens and paper: all is shown, or the page says what is not; and figures."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser.plans import small_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tests.web.browser.test_history import findings, scrolls
from tests.web.sample_data import Story
from tildone.app.opening import store_at
from tildone.base import replace
from tildone.plan.events import Actor, AgentUsage, Author, Event, PlanChanged
from tildone.plan.model import Phase, Status, Task

NAME = "/home/mk/src/long"
PHONE = (390, 844)


@contextmanager
def story_in(path: Path, minutes_ago: float) -> Iterator[Story]:
    store = store_at(str(path))
    yield Story(store, NAME).at(minutes_ago)
    store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return small_store(tmp_path)


def opened(visitor: Visitor) -> Page:
    visitor.open_session("long")
    visitor.is_live()
    return visitor.page


def test_the_curve_and_the_bars_begin_with_the_first_task_of_a_long_history(
    path: Path, board: Start, visit: Visit
) -> None:
    """A page begins with the newest 200 events."""
    with story_in(path, 600) as story:
        story.write(_=["early", "late"]).mark("early", Status.IN_PROGRESS).at(560).mark("early", Status.COMPLETED)
        for index in range(260):
            story.at(550 - index).nudge()
    page = opened(visit(board(path)))

    expect(page.locator("#t1 .lane rect")).to_have_count(1)
    bar, curve = page.locator("#t1 .lane rect").bounding_box(), page.locator(".burn .stepline").bounding_box()
    mark = page.locator(".burn-chart .m").first.bounding_box()
    assert bar
    assert curve
    assert mark
    assert bar["width"] > 10
    assert abs(bar["x"] - curve["x"]) < 3
    assert mark["x"] > bar["x"] + bar["width"]
    expect(page.locator(".missing")).to_contain_text("Marks begin at")

    page.get_by_role("slider").press("Home")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuemax", "263")
    page.get_by_role("slider").press("Home")

    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", re.compile("added"))
    page.keyboard.press("Escape")
    expect(page.locator(".missing")).to_have_count(0)


def test_a_history_that_is_too_long_to_be_read_says_from_when_it_is_known_and_where_it_is_whole(
    path: Path, board: Start, visit: Visit
) -> None:
    with story_in(path, 600) as story:
        story.write(_=[f"task {number:03}" for number in range(600)])
        for number in range(80):
            story.at(500 - number).mark(f"task {number:03}", Status.COMPLETED)
    page = opened(visit(board(path)))

    expect(page.locator(".missing")).to_contain_text(re.compile(r"Curve and bars begin at .*\d\d:\d\d\. Whole history"))
    # The axis begins there, until the playhead asks for earlier events.
    expect(page.locator(".unknown")).to_have_count(0)
    page.get_by_role("slider").press("Home")
    expect(page.locator(".unknown")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(".big")).to_have_text("520 of 600 open")
    page.get_by_role("link", name="Whole history").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Statistics")
    expect(page.locator(".tiles")).to_contain_text("80 of 600")
    page.get_by_text("Show as table").click()
    expect(page.locator("details tbody tr")).to_have_count(81)
    page.go_back()
    expect(page.locator(".missing")).to_contain_text("Curve and bars begin at")


@quick
def test_on_a_phone_the_strip_of_a_long_plan_fits_and_counts_stand_apart(
    path: Path, board: Start, visit: Visit
) -> None:
    with story_in(path, 600) as story:
        signs = {f"Phase {phase}": [f"task {phase}-{number}" for number in range(30)] for phase in range(10)}
        story.write(**signs)
        tasks = [task.text for task in story.plan.tasks]
        story.edit(
            lambda phase: [
                Task(task.text, Status.COMPLETED if tasks.index(task.text) % 2 else Status.PENDING)
                for task in phase.tasks
            ],
            Actor.AGENT,
            "",
        )
        for index in range(180):
            story.at(500 - index).nudge()
    visitor = visit(board(path), size=PHONE)
    strips = ["overview", strip_is_cut(visitor.page, ".card .strip")]
    page = opened(visitor)

    assert strips == ["overview", False]
    assert not strip_is_cut(page, ".strip.tall")
    assert not scrolls(page)
    counts = [box for each in page.locator(".cluster").all() if (box := each.bounding_box())]
    assert len(counts) > 5
    assert all(left["x"] + left["width"] < right["x"] for left, right in itertools.pairwise(counts))
    shown = sum(int(text) for text in page.locator(".cluster").all_text_contents())
    assert shown <= 182


def strip_is_cut(page: Page, selector: str) -> bool:
    """Whether the cells of a strip need more room than it has."""
    expect(page.locator(selector)).to_be_visible()
    return bool(page.eval_on_selector(selector, "strip => strip.scrollWidth > strip.clientWidth"))


@quick
def test_all_tasks_are_printed_and_nothing_covers_them(path: Path, board: Start, visit: Visit) -> None:
    with story_in(path, 60) as story:
        story.write(Build=[f"task {number:03}" for number in range(400)], Ship="<b>the end</b>")
        story.mark("task 007", Status.BLOCKED, note="no key")
    page = opened(visit(board(path)))
    page.evaluate(
        "addEventListener('beforeprint', () => { window.printed = document.querySelector('.plan').innerText })"
    )
    expect(page.get_by_text("task 399")).to_have_count(0)

    page.emulate_media(media="print")
    paper = page.pdf()

    printed = page.evaluate("window.printed").split("\n")
    assert [text for text in printed if text.startswith("task ")] == [f"task {number:03}" for number in range(400)]
    assert "<b>the end</b>" in printed
    assert "Waits for: no key" in printed
    assert paper.count(b"/Type /Page\n") > 5
    for hidden in (".top", ".burn", ".lane-grid", ".s-side", ".bottom", ".s-title .push", ".adding"):
        expect(page.locator(hidden).first).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    rows = [box for each in page.locator("li.task").all()[:20] if (box := each.bounding_box())]
    assert all(above["y"] + above["height"] <= below["y"] + 1 for above, below in itertools.pairwise(rows))
    page.emulate_media(media="screen")
    expect(page.locator(".burn")).to_be_visible()


@quick
def test_statistics_have_figures_per_day_agent_and_model_in_tables(path: Path, board: Start, visit: Visit) -> None:
    with story_in(path, 30) as story:
        story.write(_=["one", "two"])
        for cost, text in ((0.5, "one"), (1.25, "two")):
            phases = [Phase("", tuple(done(task, text) for task in phase.tasks)) for phase in story.plan.phases]
            story.plan = replace(story.plan, phases=tuple(phases))
            author = Author("Mara", "claude:1", "<i>opus</i>")
            usage = AgentUsage(40_000, 2_000, cost)
            event = Event(
                f"u{text}", story.head, story.clock, Actor.AGENT, PlanChanged(story.plan), author, usage=usage
            )
            story.store.append(NAME, event)
            story.head = event.id
    visitor = visit(board(path), size=PHONE, path="/stats")
    page = visitor.page

    expect(page.locator(".tiles")).to_contain_text("$1.25")
    agents, models = (page.get_by_role("table", name=f"Per {each}") for each in ("agent", "model"))
    expect(agents.get_by_role("row", name=re.compile("^Claude Code"))).to_have_text("Claude Code2––42k$1.25")
    expect(models.get_by_role("rowheader")).to_have_text("<i>opus</i>")
    expect(page.get_by_role("table", name="Per day").get_by_role("row")).to_have_count(15)
    assert not scrolls(page)
    assert findings(page, "statistics") == []

    page.get_by_role("link", name="30 days").click()

    expect(page.get_by_role("table", name="Per day").get_by_role("row")).to_have_count(31)
    expect(page).to_have_url(re.compile(r"\?days=30$"))
    page.go_back()
    expect(page.get_by_role("table", name="Per day").get_by_role("row")).to_have_count(15)


def done(task: Task, text: str) -> Task:
    return replace(task, status=Status.COMPLETED) if task.text == text else task
