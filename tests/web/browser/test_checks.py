"""Checks on the page: set, approved, run and shown, whatever their text is."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.web.browser.plans import small_store
from tests.web.browser.running import Start, Visit, Visitor, quick
from tildone.app.opening import session_in, store_at
from tildone.plan.claims import Claimant
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Mark, Numbered, Order, SetCheck

NAME = "small"
MARKUP = "<img src=x onerror='window.ran=1'><script>window.ran=1</script>"


class Project:
    """The project of a board: a session in it, and files by which its checks are told what to do."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, small_store(folder, "first", "second", name=NAME)

    @property
    def tasks(self) -> tuple[Task, ...]:
        store = store_at(str(self.store))
        try:
            return session_in(store, NAME, BY_HAND).plan.tasks
        finally:
            store.close()

    def change(self, *steps: SetCheck | Order) -> None:
        """Change the plan as an agent would."""
        store = store_at(str(self.store))
        session_in(store, NAME, BY_HAND).change(steps)
        store.close()

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


def set_check(visitor: Visitor, text: str, line: str) -> None:
    visitor.sign(text).focus()
    visitor.page.keyboard.press("c")
    visitor.page.get_by_role("textbox", name="Command").fill(line)
    visitor.page.keyboard.press("Enter")


@quick
def test_a_person_sets_a_check_which_has_to_pass(project: Project, opened: Visitor) -> None:
    command = project.script("import os, sys\nprint('what is wrong')\nsys.exit(not os.path.exists('ready'))")
    set_check(opened, "first", f"{command[0]} check.py")
    check = opened.task("first").locator(".check")
    expect(check).to_contain_text("$ ")
    expect(check).to_contain_text("check.py")

    opened.sign("first").focus()
    opened.page.keyboard.press("Space")
    expect(check).to_contain_text("failed (exit 1)")
    opened.page.get_by_role("button", name="Output").click()
    expect(opened.page.locator("dialog pre")).to_have_text("what is wrong")
    opened.page.keyboard.press("Escape")
    opened.task("first").get_by_role("button", name="What it printed").click()
    expect(opened.page.locator("dialog pre")).to_have_text("what is wrong")
    opened.page.keyboard.press("Escape")
    (project.folder / "ready").touch()
    opened.sign("first").focus()
    opened.page.keyboard.press("Space")

    expect(check).to_contain_text("passed")
    expect(opened.task("first")).to_have_class("task completed")
    assert project.runs == 2


def test_while_a_check_runs_the_row_says_so_and_a_second_done_does_not_run_it_again(
    project: Project, opened: Visitor
) -> None:
    command = project.script("import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)")
    set_check(opened, "first", " ".join(command))
    expect(opened.task("first").locator(".check")).to_be_visible()
    opened.sign("first").focus()
    opened.page.keyboard.press("Space")
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
    expect(opened.page.locator("dialog pre")).to_have_text(" ".join(command))

    opened.page.get_by_role("button", name="Cancel").click()
    expect(row.locator(".check")).to_contain_text("proposed")
    row.get_by_role("button", name="Approve…").click()
    opened.page.get_by_role("button", name="Approve", exact=True).click()

    expect(row.get_by_role("button", name="Approve…")).to_have_count(0)
    assert project.runs == 0
    opened.sign("first").focus()
    opened.page.keyboard.press("v")
    expect(opened.page.locator(".toast")).to_contain_text("Passed: ")
    assert project.runs == 1


def test_the_check_of_the_plan_is_set_run_and_removed(project: Project, opened: Visitor) -> None:
    # It writes no file: that would make its own proof stale.
    (project.folder / "plan.py").write_text(
        "import os, sys\nprint('not all of it')\nsys.exit(not os.path.exists('ready'))"
    )
    section = opened.page.get_by_role("region", name="Check of the plan")
    section.get_by_role("button", name="Set a check of the plan…").click()
    opened.page.get_by_role("textbox", name="Command").fill(f"{sys.executable} plan.py")
    opened.page.keyboard.press("Enter")
    expect(section).to_contain_text("plan.py")

    section.get_by_role("button", name="Verify the plan").click()
    expect(section).to_contain_text("failed (exit 1)")
    opened.page.get_by_role("button", name="Output").click()
    expect(opened.page.locator("dialog pre")).to_have_text("not all of it")
    opened.page.keyboard.press("Escape")
    (project.folder / "ready").touch()
    section.get_by_role("button", name="Verify the plan").focus()
    opened.page.keyboard.press("Enter")
    expect(section).to_contain_text("passed")

    section.get_by_role("button", name="Change the check of the plan").click()
    opened.page.get_by_role("textbox", name="Command").fill("")
    opened.page.keyboard.press("Enter")
    expect(section.get_by_role("button", name="Set a check of the plan…")).to_be_visible()
    expect(section).not_to_contain_text("plan.py")


def test_the_proposed_check_of_the_plan_is_approved(project: Project, opened: Visitor) -> None:
    command = project.script("")
    project.change(SetCheck(None, Check(command)))
    section = opened.page.get_by_role("region", name="Check of the plan")
    expect(section).to_contain_text("proposed")
    section.get_by_role("button", name="Approve the check of the plan").click()
    expect(opened.page.locator("dialog")).to_contain_text("when all tasks are done")
    expect(opened.page.locator("dialog pre")).to_have_text(" ".join(command))
    opened.page.get_by_role("button", name="Approve", exact=True).click()

    expect(section).not_to_contain_text("proposed")
    assert project.runs == 0


def test_a_task_says_what_it_waits_for(project: Project, opened: Visitor) -> None:
    project.change(Order(Numbered((2,)), (1,)))

    expect(opened.page.locator("#t2")).to_contain_text("#2 second")
    expect(opened.page.locator("#t2")).to_contain_text("waits for #1 first")
    opened.page.locator("#t1 .signal").focus()
    opened.page.keyboard.press("Space")
    expect(opened.page.locator("#t2")).not_to_contain_text("waits for")


def test_the_order_is_set_with_a_key_and_a_cycle_is_refused(project: Project, opened: Visitor) -> None:
    opened.sign("second").focus()
    opened.page.keyboard.press("o")
    field = opened.page.get_by_role("textbox", name="Numbers of tasks")
    expect(opened.page.locator("dialog .others")).to_have_text("#1 first")
    field.fill("nine")
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator("dialog").get_by_role("alert")).to_have_text("“nine” is no number of a task.")
    field.fill("#1")
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator("#t2")).to_contain_text("waits for #1 first")
    assert project.tasks[1].after == (1,)

    opened.page.locator("#t1 .signal").focus()
    opened.page.keyboard.press("o")
    field.fill("2")
    opened.page.keyboard.press("Enter")
    expect(opened.page.locator(".toast.bad")).to_contain_text("these tasks would wait for each other")
    assert project.tasks[0].after == ()


def test_the_files_are_set_in_the_menu(project: Project, opened: Visitor) -> None:
    opened.task("first").hover()
    opened.task("first").get_by_role("button", name="Change first").click()
    opened.page.get_by_role("menuitem", name="Files…").click()
    opened.page.get_by_role("textbox", name="Globs").fill('src/** "a b/*"')
    opened.page.keyboard.press("Enter")

    expect(opened.task("first")).to_contain_text("changes src/**, a b/*")
    assert project.tasks[0].touches == ("src/**", "a b/*")
    opened.sign("first").focus()
    opened.page.keyboard.press("f")
    expect(opened.page.get_by_role("textbox", name="Globs")).to_have_value('src/** "a b/*"')


def test_a_task_says_which_agent_has_it(project: Project, opened: Visitor) -> None:
    store = store_at(str(project.store))
    store.records.claim(NAME, 1, Claimant(MARKUP), 600_000)
    session_in(store, NAME, BY_HAND).change([Mark(Numbered((1,)), Status.IN_PROGRESS)])
    expect(opened.task("first")).to_contain_text("held by <img src=x oner… for ")
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
    opened.sign("first").focus()
    opened.page.keyboard.press("Space")
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
