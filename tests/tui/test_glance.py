"""A task at a glance in `watch`: what is shown, in how much room, and the keys."""

from collections.abc import Sequence

import pytest

from tests.plans import IN_PROGRESS
from tests.tui.watching import World, lines, sees, text, watching
from tildone.app.glance import CheckGlance, CostGlance, HistoryLine, TaskGlance
from tildone.plan.events import Directive
from tildone.plan.model import Check, Proof, Result
from tildone.plan.ops import Mark, Note, Numbered, SetCheck
from tildone.plan.text.styles import plain
from tildone.screens.watch.app import Start
from tildone.screens.watch.glance_screen import glance_lines
from tildone.screens.widgets.keys import width_of

WHOLE = TaskGlance(
    4,
    "Wire up the command line\nwith \x1b[31mall flags",
    "in_progress",
    "in progress",
    "Build",
    ("Flags stay.", "--json is new."),
    "claude 5f0c",
    "claude:5f0c",
    is_held=True,
    check=CheckGlance("pytest -q", "failed", "failed (exit 1)", 1, 1_700_000_000_000, ("E   assert 1 == 2",)),
    history=(HistoryLine(1_700_000_000_000, "Ada", "added"), HistoryLine(1_700_000_060_000, "claude 5f0c", "started")),
    earlier=7,
    begins=1_600_000_000_000,
    cost=CostGlance(2000, 1.0, 60_000, 0, "1 min · 2.0k · $1.00"),
    last_lines=("I look.", "Bash: pytest -q"),
)


def shown(glance: TaskGlance, columns: int = 80) -> str:
    return "\n".join(plain(line).rstrip() for line in glance_lines(glance, columns))


def in_order(words: Sequence[str], whole: str) -> bool:
    places = [whole.find(word) for word in words]
    return -1 not in places and places == sorted(places)


def test_all_that_is_known_of_a_task_is_shown_in_order() -> None:
    words = (
        *("#4 Wire up the command line", "with ␛[31mall flags", "● in progress"),
        *("Build · claude 5f0c works on it · 1 min · 2.0k · $1.00", "Notes", "Flags stay.", "--json is new."),
        *("Check", "$ pytest -q", "failed (exit 1) · 2023-11-1", "│ E   assert 1 == 2"),
        *("History", "What happened before 2020-09-1", "is not read.", "7 earlier"),
        *("Ada  added", "claude 5f0c  started", "Last lines of claude 5f0c", "I look.", "Bash: pytest -q"),
    )

    assert in_order(words, shown(WHOLE))


def test_what_is_not_known_has_no_heading() -> None:
    glance = TaskGlance(1, "Read", "pending", "open", holder="codex 1", agent="codex:1")

    assert shown(glance).split("\n") == ["#1 Read", "– open", "codex 1 had it last"]
    assert shown(TaskGlance(1, "Read", "pending", "open")).split("\n") == ["#1 Read", "– open"]


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_screen(columns: int) -> None:
    assert all(width_of(line) <= columns for line in glance_lines(WHOLE, columns))
    assert "Last lines of" in shown(WHOLE, columns)


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (200, 50)])
async def test_a_key_shows_the_task_at_a_glance_and_escape_closes_it(written: World, size: tuple[int, int]) -> None:
    session = written.session("p")
    session.change([SetCheck(Numbered((4,)), Check(("make", "test")))])
    session.record_proofs({4: Proof(Result.FAILED, ("make", "test"), exit_code=2)})
    for number in range(40):
        session.change([Note(Numbered((4,)), f"note {number}")])

    async with watching(written, Start("p", opened=True), size) as pilot:
        await sees(pilot, "i", "#4 Wire up the command line", "● in progress", "Notes", "Flags stay")
        assert "Last lines" not in text(pilot)
        before = lines(pilot)
        await sees(pilot, "pagedown", lambda: lines(pilot) != before)
        await sees(pilot, "escape", lambda: "esc closes this" not in text(pilot))
        await sees(pilot, "i", "esc closes this")
        await sees(pilot, "i", lambda: "esc closes this" not in text(pilot))


async def test_a_task_that_is_gone_by_then_is_said_to_be(written: World) -> None:
    async with watching(written, Start("p", opened=True)) as pilot:
        pane = pilot.app.plan_pane  # type: ignore[attr-defined]  # of this application
        await pane._show_glance("p", 99)  # noqa: SLF001  as if the task had been removed between key and look
        await sees(pilot, "j", "There is no task #99 any more.")


async def test_where_there_is_no_task_the_key_does_nothing(plans: World) -> None:
    plans.session("empty").set_directive(Directive.PAUSE)

    async with watching(plans, Start("empty", opened=True)) as pilot:
        await sees(pilot, "i", "No tasks yet")
        assert "esc closes this" not in text(pilot)


async def test_the_glance_shows_what_was_done_meanwhile(written: World) -> None:
    async with watching(written, Start("p", opened=True)) as pilot:
        written.session("p").change([Mark(Numbered((4,)), IN_PROGRESS), Note(Numbered((4,)), "from elsewhere")])
        await sees(pilot, "i", "noted: from elsewhere")
