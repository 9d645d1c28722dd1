"""A session's page: every edit, steering, export, checks, and two who change the same plan."""

import re
import shlex
import sys
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.web.browser.plans import Agent, Placed, place_tasks, small_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tildone.app.opening import session_in, store_at
from tildone.plan.claims import Claimant
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Directive
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Mark, Numbered, SetCheck


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
    small.enter("It waits for", "the signing key")
    expect(small.task("second")).to_contain_text("Waits for: the signing key")
    small.sign("third").press("x")
    expect(small.task("third")).to_have_class(re.compile("abandoned"))
    small.sign("first").press("m")
    small.enter("Note", "flags stay")
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


def test_a_session_without_tasks_has_the_field_to_add_one(tmp_path: Path, board: Start, visit: Visit) -> None:
    path = small_store(tmp_path, "only")
    Placed(path).agent().remove("only")
    visitor = visit(board(path))
    visitor.open_session("small")

    expect(visitor.page.get_by_text("No tasks yet. Add one, or wait for the agent to.")).to_be_visible()
    visitor.enter("Add a task", "a beginning")
    expect(visitor.task("a beginning")).to_be_visible()


def test_the_plan_is_exported_as_markdown_and_a_session_that_is_gone_says_so_with_a_way_back(small: Visitor) -> None:
    with small.page.expect_download() as download:
        small.page.get_by_role("link", name="Markdown").click()
    assert "- [ ] first" in Path(download.value.path()).read_text(encoding="utf-8")

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
    Agent(path).ask("command", "cargo fuzz", "once", "no", minutes=0)
    visitor = visit(board(path, "--read-only"))
    expect(visitor.page.locator(".need")).to_have_count(1)
    expect(visitor.page.locator(".need button")).to_have_count(0)
    visitor.open_session("small")
    expect(visitor.task("first")).to_be_visible()

    visitor.sign("first").click(force=True)
    visitor.sign("first").press("x")

    for name in ("Undo", "Pause", "Stop", "Change first"):
        expect(visitor.page.get_by_role("button", name=name)).to_have_count(0)
    expect(visitor.page.get_by_role("textbox", name="Add a task")).to_have_count(0)
    assert Placed(path).statuses()[0] is Status.PENDING


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


def test_esc_keeps_the_draft_in_the_row_and_edit_both_makes_one_text_of_them(both: tuple[Visitor, Visitor]) -> None:
    one, two = both
    clash(one, two)

    two.page.keyboard.press("Escape")

    expect(two.page.get_by_role("button", name="draft kept")).to_be_visible()
    assert two.plan.texts()[0] == "Wire up the command line with --json for every verb"
    two.page.get_by_role("button", name="draft kept").click()
    two.page.get_by_role("textbox", name="Text of the task").press("Enter")
    two.page.get_by_role("button", name="Edit both").click()
    field = two.page.get_by_role("textbox", name="One text of both")
    expect(field).to_have_value(
        "Wire up the command line, and keep the old flags working\nWire up the command line with --json for every verb"
    )
    field.fill("Wire up the command line with --json, and keep the old flags")
    two.page.keyboard.press("Enter")

    expect(one.task("with --json, and keep the old flags")).to_be_visible()
    assert two.plan.texts()[0] == "Wire up the command line with --json, and keep the old flags"


def while_the_agent_completes(text: str, visitor: Visitor) -> None:
    """Send the next change of the page after one of the agent."""

    def send(route: Route) -> None:
        visitor.plan.agent().mark(text, Status.COMPLETED)
        route.continue_()

    visitor.page.route("**/ops", send, times=1)


def test_changes_that_fit_each_other_are_both_made(both: tuple[Visitor, Visitor]) -> None:
    """The second one is sent with an older head: the page is held back while it is on its way."""
    _, two = both
    while_the_agent_completes("Write", two)
    two.sign("Wire up").press("s")

    expect(two.page.locator(".toast")).to_contain_text("your change still fitted")
    assert two.plan.statuses() == [Status.IN_PROGRESS, Status.COMPLETED]


def test_a_removal_of_what_the_agent_finished_asks_again(both: tuple[Visitor, Visitor]) -> None:
    _, two = both
    while_the_agent_completes("Write", two)
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


NAME = "small"
MARKUP = "<img src=x onerror='window.ran=1'><script>window.ran=1</script>"


class Project:
    """The project of a board: a session in it, and files by which its checks are told what to do."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, small_store(folder, "first", "second", name=NAME)

    @property
    def tasks(self) -> tuple[Task, ...]:
        with closing(store_at(str(self.store))) as store:
            return session_in(store, NAME, BY_HAND).plan.tasks

    def change(self, *steps: SetCheck) -> None:
        """Change the plan as an agent would."""
        with closing(store_at(str(self.store))) as store:
            session_in(store, NAME, BY_HAND).change(steps)

    def script(self, text: str) -> tuple[str, ...]:
        # A hidden file is not watched: another would make the proof stale.
        (self.folder / "check.py").write_text(f"open('.runs', 'a').write('x')\n{text}\n")
        return (sys.executable, "check.py")

    @property
    def runs(self) -> int:
        path = self.folder / ".runs"
        return len(path.read_text()) if path.exists() else 0


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def opened(project: Project, board: Start, visit: Visit) -> Visitor:
    visitor = visit(board(project.store))
    visitor.open_session(NAME)
    visitor.is_live()
    return visitor


@quick
def test_a_person_sets_a_check_which_has_to_pass(project: Project, opened: Visitor) -> None:
    command = project.script("import os, sys\nprint('what is wrong')\nsys.exit(not os.path.exists('ready'))")
    opened.sign("first").press("c")
    opened.enter("Command", shlex.join(command))
    check = opened.task("first").locator(".check")
    expect(check).to_contain_text("$ ")
    expect(check).to_contain_text("check.py")

    opened.sign("first").press("Space")
    expect(check).to_contain_text("failed (exit 1)")
    opened.page.get_by_role("button", name="Output").click()
    expect(opened.page.locator("dialog pre")).to_have_text("what is wrong")
    opened.page.keyboard.press("Escape")
    opened.task("first").get_by_role("link", name="failed (exit 1)").click()
    expect(opened.page.get_by_role("region", name="The end of its output")).to_have_text("what is wrong")
    opened.page.go_back()
    expect(opened.page.locator(".glance")).to_be_hidden()
    (project.folder / "ready").touch()
    opened.sign("first").press("Space")

    expect(check).to_contain_text("passed")
    expect(opened.task("first")).to_have_class("task completed")
    assert project.runs == 2


def test_while_a_check_runs_the_row_says_so_and_a_second_done_does_not_run_it_again(
    project: Project, opened: Visitor
) -> None:
    command = project.script("import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)")
    opened.sign("first").press("c")
    opened.enter("Command", " ".join(command))
    expect(opened.task("first").locator(".check")).to_be_visible()
    opened.sign("first").press("Space")
    expect(opened.task("first").locator(".check")).to_contain_text("checking…")

    opened.page.keyboard.press("Space")
    expect(opened.page.locator(".toast")).to_contain_text("Its check is running already.")
    opened.sign("second").click()
    expect(opened.task("second")).to_have_class("task in_progress")
    (project.folder / "go").touch()

    expect(opened.task("first")).to_have_class("task completed")
    assert project.runs == 1


@quick
def test_a_proposed_check_is_shown_whole_and_approved_with_a_button(project: Project, opened: Visitor) -> None:
    command = (*project.script(""), "--" + "long" * 2000 + "end")
    project.change(SetCheck(Numbered((1,)), Check(command)))
    row = opened.task("first")
    expect(row.locator(".check")).to_contain_text("proposed")
    row.get_by_role("button", name="Approve…").click()
    expect(opened.page.locator("dialog pre")).to_have_text(shlex.join(command))

    opened.page.get_by_role("button", name="Cancel").click()
    expect(row.locator(".check")).to_contain_text("proposed")
    row.get_by_role("button", name="Approve…").click()
    opened.page.get_by_role("button", name="Approve", exact=True).click()

    expect(row.get_by_role("button", name="Approve…")).to_have_count(0)
    assert project.runs == 0
    opened.sign("first").press("v")
    expect(opened.page.locator(".toast")).to_contain_text("Passed: ")
    assert project.runs == 1


def test_the_check_of_the_plan_is_set_run_and_removed(project: Project, opened: Visitor) -> None:
    # It writes no file: that would make its own proof stale.
    (project.folder / "plan.py").write_text(
        "import os, sys\nprint('not all of it')\nsys.exit(not os.path.exists('ready'))"
    )
    section = opened.page.get_by_role("region", name="Check of the plan")
    section.get_by_role("button", name="Set a check of the plan…").click()
    opened.enter("Command", f"{shlex.quote(sys.executable)} plan.py")
    expect(section).to_contain_text("plan.py")

    section.get_by_role("button", name="Verify the plan").click()
    expect(section).to_contain_text("failed (exit 1)")
    opened.page.get_by_role("button", name="Output").click()
    expect(opened.page.locator("dialog pre")).to_have_text("not all of it")
    opened.page.keyboard.press("Escape")
    (project.folder / "ready").touch()
    section.get_by_role("button", name="Verify the plan").press("Enter")
    expect(section).to_contain_text("passed")

    section.get_by_role("button", name="Change the check of the plan").click()
    opened.enter("Command", "")
    expect(section.get_by_role("button", name="Set a check of the plan…")).to_be_visible()
    expect(section).not_to_contain_text("plan.py")


def test_the_proposed_check_of_the_plan_is_approved(project: Project, opened: Visitor) -> None:
    command = project.script("")
    project.change(SetCheck(None, Check(command)))
    section = opened.page.get_by_role("region", name="Check of the plan")
    expect(section).to_contain_text("proposed")
    section.get_by_role("button", name="Approve the check of the plan").click()
    expect(opened.page.locator("dialog")).to_contain_text("when all tasks are done")
    expect(opened.page.locator("dialog pre")).to_have_text(shlex.join(command))
    opened.page.get_by_role("button", name="Approve", exact=True).click()

    expect(section).not_to_contain_text("proposed")
    assert project.runs == 0


def test_the_order_is_set_with_a_key_and_a_cycle_is_refused(project: Project, opened: Visitor) -> None:
    opened.sign("second").press("o")
    field = opened.page.get_by_role("textbox", name="Numbers of tasks")
    expect(opened.page.locator("dialog .others")).to_have_text("#1 first")
    field.fill("nine")
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator("dialog").get_by_role("alert")).to_have_text("“nine” is no number of a task.")
    field.fill("#1")
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator("#t2")).to_contain_text("#2 second")
    expect(opened.page.locator("#t2")).to_contain_text("waits for #1 first")
    assert project.tasks[1].after == (1,)

    opened.page.locator("#t1 .signal").press("o")
    opened.enter("Numbers of tasks", "2")
    expect(opened.page.locator(".toast.bad")).to_contain_text("These tasks would wait for each other")
    assert project.tasks[0].after == ()
    opened.page.locator("#t1 .signal").press("Space")
    expect(opened.page.locator("#t2")).not_to_contain_text("waits for")


def test_the_files_are_set_in_the_menu(project: Project, opened: Visitor) -> None:
    opened.task("first").hover()
    opened.task("first").get_by_role("button", name="Change first").click()
    opened.page.get_by_role("menuitem", name="Files…").click()
    opened.enter("Globs", 'src/** "a b/*"')

    expect(opened.task("first")).to_contain_text("changes src/**, a b/*")
    assert project.tasks[0].touches == ("src/**", "a b/*")
    opened.sign("first").press("f")
    expect(opened.page.get_by_role("textbox", name="Globs")).to_have_value('src/** "a b/*"')


def test_a_task_says_which_agent_has_it(project: Project, opened: Visitor) -> None:
    store = store_at(str(project.store))
    store.records.claim(NAME, 1, Claimant(MARKUP), 600_000)
    session_in(store, NAME, BY_HAND).change([Mark(Numbered((1,)), Status.IN_PROGRESS)])
    expect(opened.task("first")).to_contain_text("held by <img src=x onerror=… for ")
    store.records.lapse(NAME, MARKUP)
    store.close()

    expect(opened.task("first").locator(".note.warn")).to_contain_text("others can take it over", timeout=20_000)
    assert opened.page.evaluate("window.ran") is None


def test_a_done_task_whose_files_have_changed_says_stale_and_is_verified(project: Project, opened: Visitor) -> None:
    command = project.script("import sys")
    (project.folder / "watched.txt").write_text("1")
    project.change(SetCheck(Numbered((1,)), Check(command, watches=("watched.txt",))))
    opened.task("first").get_by_role("button", name="Approve…").click()
    opened.page.get_by_role("button", name="Approve", exact=True).click()
    expect(opened.task("first").get_by_role("button", name="Approve…")).to_have_count(0)
    opened.sign("first").press("Space")
    expect(opened.task("first")).to_have_class("task completed")

    (project.folder / "watched.txt").write_text("2")

    expect(opened.task("first").locator(".check .stale")).to_have_text("stale", timeout=20_000)
    expect(opened.task("first")).to_have_class("task completed")
    opened.task("first").get_by_role("button", name="Verify").click()
    expect(opened.task("first").locator(".check")).to_contain_text("passed")


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_hostile_text_in_a_check_is_text(project: Project, opened: Visitor, size: tuple[int, int]) -> None:
    opened.page.set_viewport_size({"width": size[0], "height": size[1]})
    hostile = (MARKUP, "\x1b[31mred \u202eot tfel", "x" * 400)
    project.change(SetCheck(Numbered((1,)), Check(hostile, folder=MARKUP)), SetCheck(None, Check(hostile)))
    row = opened.task("first")
    expect(row.locator(".check")).to_contain_text("<script>window.ran=1</script>")
    row.get_by_role("button", name="Approve…").click()

    expect(opened.page.locator("dialog pre")).to_contain_text("<script>window.ran=1</script>")
    assert opened.page.evaluate("window.ran") is None
    assert opened.page.locator("img").count() == 0
    assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not {"\u202e", "\x1b"} & set(opened.page.evaluate("document.body.innerText"))
