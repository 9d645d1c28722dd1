"""Changing a plan with keys, while others change it too."""

from functools import partial

import pytest

from tests.tui.watching import World, enters, lines, sees, shows, text, type_text, until, watching
from tildone.plan.model import Phase, Task
from tildone.plan.ops import Numbered, Remove, Rename
from tildone.screens.watch.tui_app import Start

PLAN = Start("p", opened=True)


def has_status(world: World, number: int, status: str) -> bool:
    return world.status("p", number) == status


def numbers(world: World) -> list[int]:
    return [task.number for task in world.plan("p").tasks]


async def test_a_key_marks_the_task_with_the_cursor_which_begins_on_the_one_in_progress(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await until(pilot, lambda: any(line.startswith("▎  ● Wire up") for line in lines(pilot)))
        for keys, number, status in (
            (["space"], 4, "completed"),
            (["u"], 4, "in_progress"),
            (["x"], 4, "abandoned"),
            (["j", "j", "s"], 6, "in_progress"),
            (["g", "space"], 1, "pending"),
            (["u"], 1, "completed"),
            (["g", "x"], 1, "pending"),
            (["G", "b"], 7, "pending"),
        ):
            await pilot.press(*keys)
            await until(pilot, partial(has_status, written, number, status))


async def test_a_message_says_what_was_done_and_undo_takes_it_back(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "space", "Done: #4 Wire up the command line", "✓ Wire up the command line")
        await sees(pilot, "u", "Undid: completed #4 “Wire up the command line”", "● Wire up the command line")
        await sees(pilot, "U", "Redid: completed #4", "✓ Wire up the command line")
        await sees(pilot, "u u u", "Nothing to undo")


async def test_blocking_asks_what_the_task_waits_for(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "b", "#4 waits for:")
        await enters(pilot, "the key", "│ waits: the key", "Blocked: #4")

    assert written.status("p", 4) == "blocked"


async def test_a_note_is_added_and_all_notes_are_shown_on_request(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await pilot.press("g", "n")
        await enters(pilot, "see page 3", "Noted on: #1")
        assert "│ see page 3" not in text(pilot)
        await sees(pilot, "p", "│ see page 3")


async def test_a_task_is_added_after_the_cursor_and_a_phase_with_its_first_task(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await pilot.press("a")
        await enters(pilot, "Name the flags", "Added to Build: #8 Name the flags")
        await pilot.press("A")
        await enters(pilot, "Ship", "First task of Ship:")
        await enters(pilot, "Sign it", "Added to the new phase Ship: #9 Sign it")

    build = [task.text for task in written.plan("p").phases[1].tasks]
    assert build == ["Write the tokenizer", "Wire up the command line", "Name the flags", "Keep the old flags"]
    assert written.plan("p").phases[-1].name == "Ship"


async def test_an_empty_text_is_refused_and_escape_adds_nothing(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "a enter", "A task needs a text")
        await pilot.press("a", "x", "escape")
        await sees(pilot, "space", "Done: #4")

    assert len(written.texts("p")) == 7


async def test_tasks_are_moved_by_one_row_also_into_the_next_phase(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "K", lambda: numbers(written) == [1, 2, 4, 3, 5, 6, 7])
        await sees(pilot, "K", lambda: [len(phase.tasks) for phase in written.plan("p").phases] == [3, 2, 2])
        assert numbers(written) == [1, 2, 4, 3, 5, 6, 7]
        await sees(pilot, "J", lambda: [len(phase.tasks) for phase in written.plan("p").phases] == [2, 3, 2])
        await sees(pilot, "J J J", lambda: numbers(written) == [1, 2, 3, 5, 4, 6, 7])
        assert [len(phase.tasks) for phase in written.plan("p").phases] == [2, 2, 3]
        await sees(pilot, "g K", "Nothing changed: #1 is the first task.")


async def test_delete_removes_the_task_and_the_cursor_goes_to_the_next(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "delete", "Removed: #4", "▎  ✗ Keep the old flags")

    assert "Wire up the command line" not in written.texts("p")


async def test_the_text_of_a_task_is_edited(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "e", "#4: Wire up the command line")
        await enters(pilot, " now", "Renamed: #4 Wire up the command line now")

    assert "Wire up the command line now" in written.texts("p")


async def test_editing_a_task_that_another_process_removed_says_so(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await pilot.press("e")
        await type_text(pilot, " now")
        written.tildone("todo", "rm", "4", "--session", "p")
        await sees(pilot, "enter", "There is no task #4: it was removed")


@pytest.mark.parametrize(("key", "expected"), [("1", "Wire it now"), ("2", "Wire all"), ("e", "Wire it now!")])
async def test_a_text_that_somebody_else_changed_meanwhile_is_shown_beside_ones_own(
    plans: World, key: str, expected: str
) -> None:
    session = plans.write("p", Phase("", (Task("Wire it"),)))
    async with watching(plans, PLAN, size=(120, 24)) as pilot:
        await pilot.press("e")
        await type_text(pilot, " now")
        session.change([Rename(Numbered((1,)), "Wire all")])
        await pilot.press("enter")
        await shows(pilot, "Somebody has changed this text", "1 yours   Wire it now", "2 theirs  Wire all", "e edit")
        await sees(pilot, "enter", "Somebody has changed this text")
        await pilot.press(key)
        if key == "e":
            await type_text(pilot, "!", "enter")
        await until(pilot, lambda: plans.texts("p") == [expected])


async def test_what_another_process_does_meanwhile_is_kept(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        written.session("p").change([Remove(Numbered((1,)))])
        await sees(pilot, "space", lambda: written.status("p", 4) == "completed")

    assert numbers(written) == [2, 3, 4, 5, 6, 7]


async def test_a_phase_is_folded_and_unfolded(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "z", "Build 2/3 …")
        assert "Write the tokenizer" not in text(pilot)
        await sees(pilot, "space z", "Write the tokenizer")
        assert written.status("p", 4) == "in_progress"


async def test_the_first_task_of_an_empty_plan_is_added(plans: World) -> None:
    plans.write("p", Phase("", (Task("x"),))).change([Remove(Numbered((1,)))])
    async with watching(plans, PLAN) as pilot:
        await shows(pilot, "No tasks yet.")
        await pilot.press("space", "e", "a")
        await enters(pilot, "First", "– First")


async def test_a_task_is_added_at_the_end_of_its_phase_after_its_last_one(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await pilot.press("j", "a")
        await enters(pilot, "Name them", "Added to Build: #8 Name them")

    assert [task.text for task in written.plan("p").phases[1].tasks][-1] == "Name them"


async def test_a_task_is_added_to_the_folded_phase_with_the_cursor(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await pilot.press("z", "a")
        await enters(pilot, "Name them", "Added to Build: #8 Name them")


async def test_a_click_on_the_sign_of_a_task_closes_it_and_elsewhere_only_moves_the_cursor(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        row = next(y for y, line in enumerate(lines(pilot)) if "Keep the old flags" in line)
        plan = pilot.app.query_one("#plan")
        place = row - plan.region.y
        await pilot.click("#plan", offset=(8, place))
        await shows(pilot, "▎  ✗ Keep the old flags")
        assert written.status("p", 5) == "abandoned"
        await pilot.click("#plan", offset=(3, place))
        await shows(pilot, "– Keep the old flags")
        await pilot.click("#plan", offset=(3, place - 1))
        assert written.status("p", 4) == "in_progress"
