"""Checks on the screen: their states, setting and approving them, and running them off the screen's own thread."""

import sys
from pathlib import Path

import pytest

from tests.tui.watching import World, enters, lines, press_armed, sees, shows, text, type_text, until, watching
from tildone.app.opening import check_approvals
from tildone.plan.events import Actor
from tildone.plan.model import Check, Phase, Proof, Result, Status, Task
from tildone.plan.ops import Mark, Numbered, SetCheck
from tildone.screens.watch.app import Start

PLAN = Start("p", opened=True)
HOSTILE = "\x1b[2J[bold red]x[/] \u202eevil\n\x9b31m"


def python(*statements: str) -> tuple[str, ...]:
    return (sys.executable, "-c", "; ".join(statements))


COUNTS = python("open('runs', 'a').write('x')", "open('ready').close()")
"""Passes if there is a file `ready`, and counts its runs."""

WAITS = python(
    "import time, os",
    "open('runs', 'a').write('x')",
    "[time.sleep(0.02) for _ in iter(lambda: os.path.exists('go'), True)]",
)
"""Passes once there is a file `go`, and counts its runs."""


@pytest.fixture
def written(plans: World) -> World:
    plans.write("p", Phase("", (Task("Write it"), Task("Ship it"))))
    return plans


def checked(world: World, command: tuple[str, ...], *, approved: bool = True, watches: tuple[str, ...] = ()) -> Check:
    """Give the first task a check, as an agent would."""
    check = Check(command, watches=watches or ("src",))
    world.session("p").change([SetCheck(Numbered((1,)), check)])
    if approved:
        check_approvals(world.settings).approve(check)
    return check


def runs(world: World) -> int:
    path = world.folder / "runs"
    return len(path.read_text()) if path.exists() else 0


def source(world: World) -> Path:
    (world.folder / "src").mkdir(exist_ok=True)
    return world.folder / "src" / "a.py"


async def test_a_key_sets_a_check_which_is_approved_and_an_empty_line_removes_it(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "v", "#1 has no check.")
        await sees(pilot, "C", "#1 has no check.")
        await sees(pilot, "c", "#1 is done if this passes:")
        await type_text(pilot, "pytest -q 'tests/a b'", "enter")
        await shows(pilot, "#1 is done when this passes: pytest -q 'tests/a b'", "    $ pytest -q 'tests/a b'")
        check = written.plan("p").tasks[0].check
        assert check == Check(("pytest", "-q", "tests/a b"))
        assert check_approvals(written.settings).is_allowed(check)
        await sees(pilot, "c", "passes: pytest -q 'tests/a b'")
        await sees(pilot, "ctrl+u enter", "#1 has no check any more.")
        await until(pilot, lambda: "$ pytest" not in text(pilot))


async def test_done_runs_the_check_and_says_why_the_task_is_not_done(written: World) -> None:
    """With the end of its output. The last task says it of the plan. A check that cannot be started is inconclusive."""
    checked(written, python("print('line one')", "raise SystemExit('it is broken')"))
    plan_check = Check(python("raise SystemExit('not all of it')"))
    check_approvals(written.settings).approve(plan_check)
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "space", "#1 is not done: ", "failed (exit 1)", "    │ it is broken", "● Write it")
        assert written.status("p", 1) == "in_progress"
        check = checked(written, ("no-such-program-anywhere",))
        await shows(pilot, "$ no-such")
        await sees(pilot, "space", "! Write it", "inconclusive: it could not be started")
        assert written.plan("p").tasks[0].check == check
        written.session("p").change([SetCheck(Numbered((1,)), None), SetCheck(None, plan_check)])
        written.session("p").change([Mark(Numbered((2,)), Status.ABANDONED)])
        await shows(pilot, "✗ Ship it")
        await sees(pilot, "g space", "The plan is not done: ", "✓ Write it", "  │ not all of it")


async def test_a_done_task_is_stale_when_its_files_change_and_a_key_verifies_it_again(written: World) -> None:
    source(written).write_text("1")
    (written.folder / "ready").touch()
    checked(written, COUNTS)
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "space", "Done: #1 Write it", "✓ Write it", "  passed")
        proof = written.plan("p").tasks[0].proof
        assert (proof and proof.result, runs(written)) == (Result.PASSED, 1)
        source(written).write_text("2")
        await shows(pilot, "✓ Write it", "  stale")
        await sees(pilot, "g v", "The check of #1 has passed.", "  passed")
        (written.folder / "ready").unlink()
        await sees(pilot, "v", "#1 is open again: ", "failed (exit 1)", "● Write it")

    assert runs(written) == 3


async def test_a_second_done_does_not_run_the_check_twice_and_other_changes_do_not_wait(written: World) -> None:
    checked(written, WAITS)
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "space", "checking…")
        await sees(pilot, "space", "The check of #1 is running already")
        await sees(pilot, "j x", lambda: written.status("p", 2) == "abandoned")
        (written.folder / "go").touch()
        await shows(pilot, "✓ Write it")

    assert runs(written) == 1


async def test_leaving_ends_a_check_and_records_nothing(written: World) -> None:
    checked(written, WAITS)
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "space", lambda: runs(written) == 1)

    assert written.status("p", 1) == "pending"
    assert written.plan("p").tasks[0].proof is None


async def test_a_proposed_check_is_shown_whole_and_approved_with_a_key(written: World) -> None:
    """Done asks first, then runs it."""
    check = checked(written, COUNTS, approved=False)
    written.session("p").change([Mark(Numbered((1,)), Status.COMPLETED)])
    assert written.status("p", 1) == "blocked"
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "g", "  proposed")
        await sees(pilot, "C", "? Let this command be run as a check?", ").write(", "whenever “Write it”", "y yes")
        await press_armed(pilot, "n")
        await until(pilot, lambda: "Let this command" not in text(pilot))
        assert not check_approvals(written.settings).is_allowed(check)
        await sees(pilot, "C", "y yes")
        await press_armed(pilot, "y")
        await shows(pilot, "#1 can go on", "– Write it")
        await until(pilot, lambda: "proposed" not in text(pilot))
        assert check_approvals(written.settings).is_allowed(check)
        assert runs(written) == 0

        checked(written, (*COUNTS, "again"), approved=False)
        (written.folder / "ready").touch()
        await shows(pilot, "  proposed")
        await sees(pilot, "space", "y yes")
        assert runs(written) == 0
        await press_armed(pilot, "y")
        await shows(pilot, "✓ Write it", "  passed")

    assert runs(written) == 1


async def test_a_dangerous_check_needs_a_capital_letter_and_hostile_text_is_drawn_as_text(written: World) -> None:
    check = checked(written, ("rm", "-rf", HOSTILE), approved=False)
    async with watching(written, PLAN) as pilot:
        await shows(pilot, "$ rm -rf", "proposed", "␛[2J[bold red]x[/]")
        await sees(pilot, "C", "Let this command be run as a check?", "Careful: it deletes files.", "Y yes")
        assert not set(text(pilot)) & set("\x1b\x9b\u202e")
        await press_armed(pilot, "y", "escape")

    assert not check_approvals(written.settings).is_allowed(check)


async def test_a_key_sets_the_check_of_the_plan_runs_it_from_its_row_or_removes_it(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "D", "The plan is done if this passes:")
        await enters(pilot, "make test", "The plan is done when this passes: make test", "the plan $ make test")
        assert written.plan("p").check == Check(("make", "test"))
        assert check_approvals(written.settings).is_allowed(Check(("make", "test")))
        await sees(pilot, "G c", "passes: make test")
        await sees(pilot, "ctrl+u enter", "The plan has no check any more.")
        assert written.plan("p").check is None

        check = Check(python("open('runs', 'a').write('x')", "raise SystemExit('not all of it')"))
        written.session("p").change([SetCheck(None, check)])
        check_approvals(written.settings).approve(check)
        await shows(pilot, "the plan $ ")
        await sees(pilot, "G v", "The plan: ", "failed (exit 1)", "│ not all of it")

    proof = written.plan("p").proof
    assert (proof and proof.result, runs(written)) == (Result.FAILED, 1)


async def test_checks_that_wait_for_approval_are_listed_and_a_key_shows_the_next_of_them(written: World) -> None:
    checked(written, COUNTS, approved=False)
    plan_check = Check(("make", "test"))
    written.session("p").change([SetCheck(None, plan_check)])
    async with watching(written, PLAN, size=(80, 30)) as pilot:
        await shows(pilot, "approve  #1, the plan (proposed checks; C shows them)", "the plan $ make test  proposed")
        await sees(pilot, "j C", "y yes", "whenever “Write it”")
        await press_armed(pilot, "y")
        await shows(pilot, "approve  the plan (")
        await sees(pilot, "C", "make test", "runs when all tasks are done", "y yes")
        await press_armed(pilot, "y")
        await until(pilot, lambda: "proposed" not in text(pilot))

    assert check_approvals(written.settings).is_allowed(plan_check)


async def test_where_the_working_tree_is_elsewhere_nothing_is_run(plans: World) -> None:
    name = str(plans.folder / "gone")
    plans.write(name, Phase("", (Task("Write it"),)))
    plans.session(name).change([SetCheck(Numbered((1,)), Check(("pytest",)))], Actor.AGENT)
    async with watching(plans, Start(name, opened=True), size=(120, 30)) as pilot:
        await shows(pilot, "$ pytest")
        await sees(pilot, "space", "The check cannot be run: the working tree of this plan is not on this machine")

    assert plans.status(name, 1) == "pending"


async def test_a_narrow_screen_shows_the_whole_state(written: World) -> None:
    check = checked(written, ("pytest", "-q", "x" * 60))
    written.session("p").record_proofs({1: Proof(Result.FAILED, check.command, exit_code=1, reason="it failed")})
    async with watching(written, PLAN, size=(40, 24)) as pilot:
        await until(pilot, lambda: any("$ pytest" in row and row.endswith("failed (exit 1)") for row in lines(pilot)))
