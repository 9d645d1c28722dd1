"""Moving a task with the mouse: a drag that begins at its sign."""

from functools import partial

from textual.pilot import Pilot

from tests.tui.test_copying import drag, plan_list, row_of
from tests.tui.watching import World, lines, sees, shows, until, watching
from tildone.plan.ops import Numbered, Remove
from tildone.screens.watch.tui_app import Start
from tildone.screens.widgets.plan import SIGN_COLUMN

PLAN = Start("p", opened=True)


def phases(world: World) -> list[list[int]]:
    return [[task.number for task in phase.tasks] for phase in world.plan("p").phases]


def are_arranged(world: World, numbers: list[list[int]]) -> bool:
    return phases(world) == numbers


def is_in_row(pilot: Pilot[None], task: str, row: int) -> bool:
    return row_of(pilot, task) == row


def has_cursor(pilot: Pilot[None], task: str) -> bool:
    return lines(pilot)[row_of(pilot, task) + plan_list(pilot).region.y].startswith("▎")


async def test_a_task_goes_where_it_is_dropped(written: World) -> None:
    """Down, onto a note, up, into a phase, onto a heading, to the beginning, and to the end."""
    before = phases(written)
    async with watching(written, PLAN) as pilot:
        plan = plan_list(pilot)
        for task, onto, after in (
            ("Write the tokenizer", "Wire up", [[1, 2], [4, 3, 5], [6, 7]]),
            ("Write the tokenizer", "Flags stay", [[1, 2], [4, 3, 5], [6, 7]]),
            ("Keep the old flags", "Write the tokenizer", [[1, 2], [5, 3, 4], [6, 7]]),
            ("Write the tokenizer", "Test every", [[1, 2], [4, 5], [6, 3, 7]]),
            ("Write the tokenizer", "Prove 0/2", [[1, 2], [4, 5], [3, 6, 7]]),
            ("Fuzz it", "Read the grammar", [[7, 1, 2], [3, 4, 5], [6]]),
            ("Read the grammar", "waits:", [[2], [3, 4, 5], [6, 7, 1]]),
        ):
            begin = row_of(pilot, task)
            await drag(pilot, plan, (SIGN_COLUMN, begin), (20, row_of(pilot, onto)))
            await until(pilot, partial(are_arranged, written, after))
            await shows(pilot, "Moved: #")
            await until(pilot, partial(has_cursor, pilot, task))
            assert not plan.has_selection
            await pilot.press("u")
            await until(pilot, partial(is_in_row, pilot, task, begin))
            assert phases(written) == before


async def test_below_the_last_row_it_becomes_the_last(written: World) -> None:
    async with watching(written, PLAN, (80, 40)) as pilot:
        plan = plan_list(pilot)
        await drag(pilot, plan, (SIGN_COLUMN, row_of(pilot, "Read the grammar")), (5, plan.size.height - 1))
        await until(pilot, lambda: phases(written) == [[2], [3, 4, 5], [6, 7, 1]])


async def test_an_arrow_shows_where_it_goes_and_back_on_itself_it_stays(written: World) -> None:
    """Not even the click at the end of the drag closes it."""
    async with watching(written, PLAN) as pilot:
        plan, row = plan_list(pilot), row_of(pilot, "Wire up")
        top = plan.region.y
        await pilot.mouse_down(offset=(SIGN_COLUMN, top + row))
        await pilot.hover(offset=(SIGN_COLUMN, top + row + 2))
        await shows(pilot, "↓  ✗ Keep the old flags")
        await pilot.hover(offset=(SIGN_COLUMN, top + row - 1))
        await shows(pilot, "↑  ✓ Write the tokenizer")
        await pilot.hover(offset=(SIGN_COLUMN, top + row))
        await until(pilot, lambda: not any(line.startswith(("↑", "↓")) for line in lines(pilot)))
        await pilot.mouse_up(offset=(SIGN_COLUMN, top + row))
        await pilot.press("n", "escape")
        assert written.status("p", 4) == "in_progress"
        assert phases(written) == [[1, 2], [3, 4, 5], [6, 7]]


async def test_a_folded_phase_takes_no_task(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "G z", "Prove 0/2 …")
        plan = plan_list(pilot)
        await drag(pilot, plan, (SIGN_COLUMN, row_of(pilot, "Wire up")), (5, row_of(pilot, "Prove")))
        await pilot.press("n", "escape")
        assert phases(written) == [[1, 2], [3, 4, 5], [6, 7]]


async def test_it_goes_beside_what_is_there_when_it_is_dropped(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        plan, begin, end = plan_list(pilot), row_of(pilot, "Test every"), row_of(pilot, "Write the tokenizer")
        top = plan.region.y
        await pilot.mouse_down(offset=(SIGN_COLUMN, top + begin))
        await pilot.hover(offset=(SIGN_COLUMN, top + end))
        written.session("p").change([Remove(Numbered((3,)))])
        await until(pilot, lambda: "Write the tokenizer" not in "".join(lines(pilot)))
        await pilot.mouse_up(offset=(SIGN_COLUMN, top + end))
        await until(pilot, lambda: phases(written) == [[1, 2], [6, 4, 5], [7]])


async def test_a_dragged_task_that_was_removed_meanwhile_goes_nowhere(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        plan, begin, end = plan_list(pilot), row_of(pilot, "Test every"), row_of(pilot, "Write the tokenizer")
        top = plan.region.y
        await pilot.mouse_down(offset=(SIGN_COLUMN, top + begin))
        written.session("p").change([Remove(Numbered((6,)))])
        await until(pilot, lambda: "Test every example" not in "".join(lines(pilot)))
        await pilot.hover(offset=(SIGN_COLUMN, top + end))
        await pilot.mouse_up(offset=(SIGN_COLUMN, top + end))
        await pilot.press("n", "escape")
        assert phases(written) == [[1, 2], [3, 4, 5], [7]]
