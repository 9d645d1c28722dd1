"""A session's page: every edit, steering, export."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.web.browser.plans import Placed, small_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tildone.plan.events import Directive
from tildone.plan.model import Status


@quick
def test_a_click_on_the_sign_starts_and_a_second_completes(small: Visitor) -> None:
    small.sign("first").click()
    expect(small.sign("first")).to_have_attribute("aria-pressed", "mixed")
    expect(small.page.locator(".toast")).to_contain_text("Started: first")
    small.sign("first").click()
    expect(small.page.locator(".toast")).to_contain_text("Done: first")

    assert small.plan.statuses()[0] is Status.COMPLETED


@quick
def test_undo_and_redo_from_the_toast_and_by_key(small: Visitor) -> None:
    small.sign("first").press("Space")
    expect(small.page.locator(".toast")).to_contain_text("Done: first")
    small.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(small.page.locator(".toast")).to_contain_text("Took back")
    assert small.plan.statuses()[0] is Status.PENDING

    small.page.keyboard.press("Shift+Z")

    expect(small.sign("first")).to_have_attribute("aria-pressed", "true")
    assert small.plan.statuses()[0] is Status.COMPLETED


@quick
def test_keys_start_block_drop_and_note(small: Visitor) -> None:
    small.sign("first").press("s")
    expect(small.sign("first")).to_have_attribute("aria-pressed", "mixed")
    small.sign("second").press("b")
    small.page.get_by_role("textbox", name="It waits for").fill("the signing key")
    small.page.keyboard.press("Enter")
    expect(small.task("second")).to_contain_text("Waits for: the signing key")
    small.sign("third").press("x")
    expect(small.task("third")).to_have_class(re.compile("abandoned"))
    small.sign("first").press("m")
    small.page.get_by_role("textbox", name="Note").fill("flags stay")
    small.page.keyboard.press("Enter")
    expect(small.task("first")).to_contain_text("flags stay")

    assert small.plan.statuses() == [Status.IN_PROGRESS, Status.BLOCKED, Status.ABANDONED]
    assert [task.notes for task in small.plan.tasks()] == [("flags stay",), ("the signing key",), ()]


def test_a_task_is_reworded_in_place(small: Visitor) -> None:
    small.task("second").locator(".words").dblclick()
    small.page.keyboard.type(", rightly")
    small.page.keyboard.press("Enter")

    expect(small.page.locator(".toast")).to_contain_text("Reworded")
    assert small.plan.texts() == ["first", "second, rightly", "third"]
    assert small.plan.tasks()[1].number == 2


def test_esc_asks_before_it_gives_up_what_was_typed(small: Visitor) -> None:
    small.sign("second").press("e")
    small.page.keyboard.type(" and more")
    small.page.keyboard.press("Escape")
    expect(small.page.get_by_role("dialog")).to_contain_text("Give up this text?")
    small.page.keyboard.press("Escape")
    expect(small.page.get_by_role("textbox", name="Text of the task")).to_have_value("second and more")
    small.page.get_by_role("textbox", name="Text of the task").press("Escape")
    small.page.get_by_role("button", name="Give it up").click()

    expect(small.page.get_by_role("textbox", name="Text of the task")).to_have_count(0)
    assert small.plan.texts()[1] == "second"


def test_a_draft_survives_live_changes_and_a_reload(small: Visitor) -> None:
    small.sign("second").press("e")
    small.page.keyboard.type(" as I see it")

    small.plan.agent().add("", "fourth")
    small.plan.agent().mark("first", Status.COMPLETED)

    expect(small.sign("first")).to_have_attribute("aria-pressed", "true")
    field = small.page.get_by_role("textbox", name="Text of the task")
    expect(field).to_have_value("second as I see it")
    expect(field).to_be_focused()
    small.page.reload()
    small.page.get_by_role("button", name="draft kept").click()
    expect(small.page.get_by_role("textbox", name="Text of the task")).to_have_value("second as I see it")
    small.page.keyboard.press("Enter")
    expect(small.task("second as I see it")).to_be_visible()
    expect(small.page.locator(".toast")).to_contain_text("Reworded")
    assert small.plan.texts() == ["first", "second as I see it", "third", "fourth"]


def test_an_inline_edit_is_not_moved_by_live_changes(small: Visitor) -> None:
    small.sign("second").press("e")
    field = small.page.get_by_role("textbox", name="Text of the task")
    before = field.bounding_box()

    agent = small.plan.agent()
    agent.remove("first")
    agent.mark("third", Status.COMPLETED)

    expect(small.sign("third")).to_have_attribute("aria-pressed", "true")
    assert field.bounding_box() == before
    small.page.keyboard.press("Escape")
    expect(small.page.locator("li.task")).to_have_count(2)


def test_tasks_move_by_keys_and_screen_readers_hear_where(small: Visitor) -> None:
    small.sign("third").press("Alt+ArrowUp")

    expect(small.page.get_by_role("status")).to_contain_text("Moved to 2 of 3")
    expect(small.page.locator("li.task .words")).to_have_text(["first", "third", "second"])
    expect(small.sign("third")).to_be_focused()
    assert small.plan.texts() == ["first", "third", "second"]


@quick
def test_tasks_move_by_dragging(small: Visitor) -> None:
    small.task("first").hover()
    grip = small.task("first").locator(".grip").bounding_box()
    target = small.task("third").bounding_box()
    assert grip
    assert target
    small.page.mouse.move(grip["x"] + 5, grip["y"] + 5)
    small.page.mouse.down()
    small.page.mouse.move(grip["x"] + 5, target["y"] + target["height"] - 3, steps=5)
    expect(small.page.locator(".dropline")).to_be_visible()

    small.plan.agent().mark("second", Status.COMPLETED)
    expect(small.sign("second")).to_have_attribute("aria-pressed", "true")
    expect(small.page.locator(".dropline")).to_be_visible()
    small.page.mouse.up()

    expect(small.page.locator("li.task .words")).to_have_text(["second", "third", "first"])
    assert small.plan.texts() == ["second", "third", "first"]


@quick
def test_tasks_are_added_and_removed(small: Visitor) -> None:
    small.page.keyboard.press("a")
    small.page.keyboard.type("fourth")
    small.page.keyboard.press("Enter")
    expect(small.task("fourth")).to_be_visible()
    expect(small.page.get_by_role("textbox", name="Add a task")).to_have_value("")
    small.task("first").hover()
    small.task("first").get_by_role("button", name="Change first").click()
    small.page.get_by_role("menuitem", name="Remove…").click()
    small.page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    expect(small.page.locator("li.task")).to_have_count(3)
    assert small.plan.texts() == ["second", "third", "fourth"]
    expect(small.page.locator(".toast")).to_contain_text("Removed: first")
    small.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(small.page.locator("li.task")).to_have_count(4)


@quick
def test_a_change_of_the_agent_shows_without_a_reload(small: Visitor) -> None:
    agent = small.plan.agent()
    agent.mark("first", Status.COMPLETED)
    agent.add("", "from the agent")

    expect(small.sign("first")).to_have_attribute("aria-pressed", "true")
    expect(small.task("from the agent")).to_be_visible()
    expect(small.page.locator(".events")).to_contain_text("completed first")


@quick
def test_the_agent_is_paused_resumed_and_stopped(small: Visitor) -> None:
    small.page.get_by_role("button", name="Pause").click()
    expect(small.page.locator(".s-head .pill")).to_have_text("Paused")
    assert small.plan.state().directive is Directive.PAUSE
    small.page.get_by_role("button", name="Resume").click()
    expect(small.page.get_by_role("button", name="Pause")).to_be_visible()
    small.page.get_by_role("button", name="Stop").click()
    small.page.get_by_role("dialog").get_by_role("button", name="Stop").click()

    expect(small.page.locator(".s-head .pill")).to_have_text("Stopped")
    assert small.plan.state().directive is Directive.STOP


def test_the_plan_is_exported_as_markdown(small: Visitor) -> None:
    with small.page.expect_download() as download:
        small.page.get_by_role("link", name="Markdown").click()

    assert "- [ ] first" in Path(download.value.path()).read_text(encoding="utf-8")


def test_phases_fold(parser: Visitor) -> None:
    parser.page.get_by_role("button", name="Read", exact=True).click()

    expect(parser.task("Read the grammar")).to_have_count(0)
    expect(parser.task("Write the parser")).to_be_visible()


def test_a_session_without_tasks_has_the_field_to_add_one(tmp_path: Path, board: Start, visit: Visit) -> None:
    path = small_store(tmp_path, "only")
    Placed(path).agent().remove("only")
    visitor = visit(board(path))
    visitor.open_session("small")

    expect(visitor.page.get_by_text("No tasks yet. Add one, or wait for the agent to.")).to_be_visible()
    visitor.page.get_by_role("textbox", name="Add a task").fill("a beginning")
    visitor.page.keyboard.press("Enter")
    expect(visitor.task("a beginning")).to_be_visible()


def test_a_session_that_is_gone_says_so_with_a_way_back(small: Visitor) -> None:
    store = small.board.plans()
    name = small.plan.name
    store.delete(name, expected=store.session_head(name).head)
    store.close()

    expect(small.page.get_by_text("This session is no longer in the store.")).to_be_visible()
    small.page.get_by_role("link", name="All sessions", exact=True).click()
    expect(small.page.get_by_role("navigation", name="States")).to_be_visible()


@quick
def test_a_read_only_board_has_no_controls(tmp_path: Path, board: Start, visit: Visit) -> None:
    path = small_store(tmp_path, "first")
    visitor = visit(board(path, "--read-only"))
    visitor.open_session("small")
    expect(visitor.task("first")).to_be_visible()

    visitor.sign("first").click(force=True)
    visitor.sign("first").press("x")

    for name in ("Undo", "Pause", "Stop", "Change first"):
        expect(visitor.page.get_by_role("button", name=name)).to_have_count(0)
    expect(visitor.page.get_by_role("textbox", name="Add a task")).to_have_count(0)
    assert Placed(path).statuses()[0] is Status.PENDING
