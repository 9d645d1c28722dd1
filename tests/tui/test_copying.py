"""Selecting and copying in the panes of `tildone watch`: with the mouse, and with keys."""

import os
from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widget import Widget

from tests.tui.watching import SIZES, World, lines, sees, shows, text, until, watching
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import Mark, Numbered, Remove
from tildone.screens.watch.app import Start
from tildone.screens.widgets.keys import PALETTES
from tildone.screens.widgets.rows import RowList

PLAN = Start("p", opened=True)


@pytest.fixture(autouse=True)
def no_platform_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests do not write to the clipboard of whoever runs them."""
    monkeypatch.setenv("SSH_CONNECTION", "here")


async def drag(pilot: Pilot[None], rows: Widget, start: tuple[int, int], *ways: tuple[int, int]) -> None:
    """Press the mouse, move it, and release it where it is then. The cells are those of the widget."""
    first, *others = [rows.region.offset + Offset(*cell) for cell in (start, *ways)]
    await pilot.mouse_down(offset=first)
    for cell in others:
        await pilot.hover(offset=cell)
    await pilot.mouse_up(offset=others[-1])


def plan_list(pilot: Pilot[None]) -> RowList:
    return pilot.app.query_one("#plan", RowList)


def row_of(pilot: Pilot[None], words: str) -> int:
    """The row of the plan that shows these words."""
    top = plan_list(pilot).region.y
    return next(y for y, line in enumerate(lines(pilot)) if words in line and y >= top) - top


async def test_y_copies_the_text_of_the_task_and_capital_y_the_plan_as_markdown(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "y", "Copied, if the terminal allows it")
        assert pilot.app.clipboard == "Wire up the command line"
        await sees(pilot, "Y", lambda: pilot.app.clipboard.startswith("# Read\n- [x] Read the grammar\n"))
        assert "- [/] Wire up the command line\n" in pilot.app.clipboard
        await sees(pilot, "z y", lambda: pilot.app.clipboard == "Build")


async def test_a_drag_over_tasks_or_clicks_select_their_texts_y_copies_them_and_escape_ends_it(written: World) -> None:
    """Without signs, times and the wrapping; and not before the key."""
    async with watching(written, PLAN) as pilot:
        plan, first = plan_list(pilot), row_of(pilot, "Write the tokenizer")
        await drag(pilot, plan, (11, first), (20, first), (12, first + 2))
        await shows(pilot, "Selected: y copies it, esc ends the selection.")
        assert pilot.app.clipboard == ""
        await sees(pilot, "y", lambda: pilot.app.clipboard != "")
        assert pilot.app.clipboard == "the tokenizer\nWire up the command line\nFlags"
        assert not plan.has_selection
        assert written.status("p", 3) == "completed"
        row = row_of(pilot, "Test every example")
        for times, selected in ((2, "every"), (3, "Test every example")):
            await pilot.click("#plan", offset=(11, row), times=times)
            await until(pilot, lambda selected=selected: plan.selected == selected)  # type: ignore[misc]  # bound
        await pilot.press("escape")
        assert not plan.has_selection
        assert "esc ends the selection" in text(pilot)
        await sees(pilot, "escape", "in all")


async def test_an_empty_plan_leaves_the_clipboard_as_it_is(plans: World) -> None:
    plans.write("p", Phase("", ()))
    plans.write("q", Phase("", (Task("x"),)))
    async with watching(plans, Start("p"), SIZES["200x50"]) as pilot:
        await pilot.press("tab", "y", "Y")
        await pilot.pause()
        assert pilot.app.clipboard == ""


@pytest.mark.skipif(os.name == "nt", reason="the tool is a script")
async def test_the_tool_of_the_platform_copies_too(
    written: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "bin" / "pbcopy"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat > {tmp_path}/copied\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.delenv("SSH_CONNECTION")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    async with watching(written, PLAN) as pilot:
        await sees(pilot, "y", "Copied 1 line")

    assert (tmp_path / "copied").read_text(encoding="utf-8") == "Wire up the command line"


async def test_a_wrapped_text_is_copied_as_one_line(plans: World) -> None:
    long = " ".join(f"word{n}" for n in range(30)) + " " + "x" * 90
    plans.write("p", Phase("", (Task(long, Status.IN_PROGRESS, (f"see {long}",)),)))
    async with watching(plans, PLAN, SIZES["40x24"]) as pilot:
        plan = plan_list(pilot)
        await drag(pilot, plan, (30, 4), (4, 0))
        copied = plan.selected
        assert "\n" not in copied
        assert long.startswith(copied)
        await drag(pilot, plan, (7, row_of(pilot, "see word0")), (39, row_of(pilot, "see word0") + 1))
        assert f"see {long}".startswith(plan.selected)
        assert len(plan.selected) > 40


@pytest.mark.parametrize("theme", ["dark", "terminal"])
async def test_what_is_selected_is_marked_also_in_the_row_with_the_cursor(written: World, theme: str) -> None:
    async with watching(written, Start("p", opened=True, theme=theme)) as pilot:
        plan, row = plan_list(pilot), row_of(pilot, "Wire up")
        await drag(pilot, plan, (5, row), (9, row))
        style = PALETTES[theme].style(None, PALETTES[theme].selected)
        looks = [
            (part.text, part.style.bgcolor, bool(part.style.reverse)) for part in plan.render_line(row) if part.style
        ]
        assert [look for look in looks if look[1:] == (style.bgcolor, bool(style.reverse))] == [
            ("Wire", style.bgcolor, bool(style.reverse))
        ]


async def test_ctrl_c_copies_what_is_selected_in_the_list_and_leaves_without_a_selection(written: World) -> None:
    async with watching(written, Start("p")) as pilot:
        await drag(pilot, pilot.app.query_one("#sessions", RowList), (4, 0), (5, 0))
        await sees(pilot, "ctrl+c", lambda: pilot.app.clipboard == "p")
        assert pilot.app.is_running
        await sees(pilot, "ctrl+c", lambda: not pilot.app.is_running)


async def test_a_selection_stays_while_its_rows_do(written: World) -> None:
    async with watching(written, PLAN) as pilot:
        plan, row = plan_list(pilot), row_of(pilot, "Test every example")
        await drag(pilot, plan, (5, row), (9, row))
        written.session("p").change([Mark(Numbered((5,)), Status.PENDING)])
        await shows(pilot, "– Keep the old flags")
        assert plan.selected == "Test"
        written.session("p").change([Remove(Numbered((1,)))])
        await until(pilot, lambda: not plan.has_selection)


async def test_a_drag_beyond_the_edge_scrolls(plans: World) -> None:
    plans.write("p", Phase("", tuple(Task(f"Task {n}") for n in range(60))))
    async with watching(plans, PLAN) as pilot:
        plan = plan_list(pilot)
        top, below = plan.region.y, plan.region.bottom
        await pilot.mouse_down(offset=(5, top + 1))
        await pilot.hover(offset=(9, below))
        await until(pilot, lambda: plan.selected.endswith("Task 58\nTask"))
        await pilot.hover(offset=(9, top - 1))
        await until(pilot, lambda: plan.selected == "0\n")
        await pilot.mouse_up(offset=(9, top - 1))
