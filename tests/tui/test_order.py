"""Order, files and claims on the screen: what a task waits for, which files it changes, and who works on it."""

import pytest

from tests.tui.watching import World, enters, lines, sees, shows, text, until, watching
from tildone.base.ids import now
from tildone.plan.claims import Claimant
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import Numbered, Order, Touch
from tildone.screens.watch.tui_app import Start

PLAN = Start("p", opened=True)
MINUTE = 60_000
HOSTILE = "\x1b[2J\u202eevil"


@pytest.fixture
def written(plans: World) -> World:
    plans.write("p", Phase("", (Task("Write it"), Task("Test it"), Task("Ship it"))))
    return plans


def after(world: World, number: int) -> tuple[int, ...]:
    return next(task.after for task in world.plan("p").tasks if task.number == number)


async def test_a_task_that_waits_for_others_says_so_until_they_are_closed(written: World) -> None:
    written.session("p").change([Order(Numbered((2,)), (1,)), Order(Numbered((3,)), (1, 2))])
    async with watching(written, PLAN) as pilot:
        await until(pilot, lambda: "     waits for #1 Write it" in lines(pilot))
        await shows(pilot, "– #2 Test it", "waits for #1, #2")
        await sees(pilot, "g x", lambda: "waits for #1" not in text(pilot))
        await shows(pilot, "waits for #2 Test it")


async def test_a_key_sets_the_order_and_shows_the_numbers_meanwhile(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        assert "#1" not in text(pilot)
        await sees(pilot, "G o", "#3 comes after:", "– #1 Write it", "– #2 Test it")
        await enters(pilot, "1, #2", "#3 Ship it comes after #1, #2", "waits for #1, #2")
        assert after(written, 3) == (1, 2)
        await sees(pilot, "o", "#3 comes after: #1 #2")
        await sees(pilot, "ctrl+u enter", "Waits for no other task: #3 Ship it")
        await until(pilot, lambda: "#1" not in text(pilot))

    assert after(written, 3) == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [("3", "These tasks would wait for each other: "), ("9", "There is no task #9"), ("zzz", "No task has")],
)
async def test_an_order_that_cannot_be_is_refused_with_the_reason(written: World, line: str, said: str) -> None:
    written.session("p").change([Order(Numbered((3,)), (1,))])
    async with watching(written, PLAN) as pilot:
        await pilot.press("g", "o")
        await enters(pilot, line, said)

    assert after(written, 1) == ()


async def test_a_key_sets_the_files_that_a_task_changes(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "f", "#1 changes:")
        await enters(pilot, "src/** 'a b/*'", "    changes src/**, a b/*")
        assert written.plan("p").tasks[0].touches == ("src/**", "a b/*")
        await sees(pilot, "f", "#1 changes: 'src/**' 'a b/*'")
        await sees(pilot, "ctrl+u enter", "Names no files: #1 Write it")
        await pilot.press("f")
        await enters(pilot, "'x", "The files cannot be split into words")

    assert written.plan("p").tasks[0].touches == ()


async def test_a_task_whose_files_another_one_changes_waits_for_it(written: World) -> None:
    written.session("p").change([Touch(Numbered((1, 2)), ("src/**",))])
    async with watching(written, PLAN) as pilot:
        await shows(pilot, "    changes src/**")
        await sees(pilot, "g s", "    waits for #1, which may change the same files")


async def test_a_task_says_which_agent_has_it_and_from_whom_it_was_taken_over(written: World) -> None:
    store, first, second = written.store, Claimant("claude:1"), Claimant(f"codex:{HOSTILE}")
    written.write("p", Phase("", (Task("Write it", Status.IN_PROGRESS), Task("Test it"))))
    store.records.claim("p", 1, first, 5 * MINUTE)
    async with watching(written, PLAN) as pilot:
        await shows(pilot, "    held by claude:1 for 5 min")

    store.records.lapse("p", first.agent)
    async with watching(written, PLAN) as pilot:
        await shows(pilot, "    left by claude:1: others can take it over")

    store.records.claim("p", 1, second, 5 * MINUTE)
    async with watching(written, PLAN, now=lambda: now() + 2 * MINUTE) as pilot:
        await shows(pilot, "held by codex:␛[2J", " for 3 min, taken over from claude:1")
        assert not set(text(pilot)) & set("\x1b\u202e")


async def test_order_files_and_claims_fit_into_a_narrow_screen(written: World) -> None:
    written.write("p", Phase("", (Task("Write it", Status.IN_PROGRESS), Task("Test " * 12))))
    written.store.records.claim("p", 1, Claimant("claude:5f0c1234-7a5e-4a35-9d1b-0d3a5f0c1234"), 5 * MINUTE)
    number = written.plan("p").tasks[1].number
    written.session("p").change([Order(Numbered((number,)), (1,)), Touch(Numbered((number,)), ("x" * 80,))])
    async with watching(written, PLAN, size=(40, 24)) as pilot:
        await shows(pilot, "held by claude:5f0c1234… for 5 min", "waits for #1 Write it", "changes xxx")
        assert all(len(row) <= 40 for row in lines(pilot))
