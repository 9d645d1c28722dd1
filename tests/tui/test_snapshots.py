"""What the main screens look like, at three sizes and in several themes; see `tests/tui/snapshots.py`."""

from pathlib import Path

import pytest

from tests.tui.snapshots import FOLDER, SHOTS, taken
from tests.tui.watching import World, lines, shows, watching
from tildone.plan.events import Directive
from tildone.plan.gate import Turn
from tildone.plan.model import Phase, Status, Task
from tildone.plan.text.state import SessionWord
from tildone.screens.watch.app import Start

QUICK = (
    *("list-80x24-dark", "list-40x24-dark", "list-80x24-terminal", "list-80x24-no-color"),
    *("plan-80x24-dark", "plan-40x24-dark", "plan-200x50-light", "plan-80x24-safe-dark", "list-200x50-dark"),
    *("question-40x24-terminal", "checks-80x24-dark"),
    *("keys-80x24-dark", "actions-80x24-dark", "empty-80x24-dark", "not-live-80x24-dark"),
)
"""Each screen, each size and each theme once."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in SHOTS]
)
async def test_a_screen_looks_as_it_did(name: str, tmp_path: Path) -> None:
    """If the change is meant: python -m tests.tui.snapshots."""
    assert await taken(name, tmp_path) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_every_snapshot_is_of_a_screen() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(SHOTS)


def test_without_colours_a_screen_has_none() -> None:
    for path in FOLDER.glob("*-no-color.txt"):
        looks = path.read_text(encoding="utf-8").rpartition("\n\n")[2].splitlines()
        assert {"dim", "reverse"} <= {look.split()[1] for look in looks}
        assert not [look for look in looks if not look.endswith(" default on default")]


def a_session_in_each_state(plans: World) -> None:
    def write(word: SessionWord, status: Status = Status.PENDING) -> str:
        plans.write(f"is {word.value}", Phase("", (Task("x", status),)))
        return f"is {word.value}"

    write(SessionWord.NEEDS_YOU, Status.BLOCKED)
    write(SessionWord.DONE, Status.COMPLETED)
    write(SessionWord.IDLE)
    plans.session(write(SessionWord.PAUSED)).set_directive(Directive.PAUSE)
    plans.session(write(SessionWord.STOPPED)).set_directive(Directive.STOP)
    plans.agent_at_work(write(SessionWord.WORKING), "1")
    plans.agent_at_work(write(SessionWord.STUCK), "2")
    for _ in range(3):
        plans.session("is stuck").turn_ended(Turn())
    let_go = plans.session(write(SessionWord.LET_GO))
    for _ in range(let_go.patience.nudges + 1):
        let_go.turn_ended(Turn())
    plans.session("is empty").set_directive(Directive.PAUSE)
    plans.session("is empty").set_directive(Directive.GO)


@pytest.mark.parametrize("size", [(100, 30), (40, 30)], ids=["wide", "narrow"])
async def test_without_any_colour_each_state_is_told_apart(plans: World, size: tuple[int, int]) -> None:
    """By its sign where there is little room, else by sign and word."""
    a_session_in_each_state(plans)
    async with watching(plans, Start("is idle"), size) as pilot:
        await shows(pilot, "is done", "is stuck")
        rows = {word: next(line for line in lines(pilot) if f" is {word.value}"[:9] in line) for word in SessionWord}

    signs = {word: row.partition("is ")[0].strip("▎ ") for word, row in rows.items()}
    assert signs == {word: word.sign.strip() for word in SessionWord}
    assert len(set(signs.values())) == len(SessionWord)
    if size[0] > 60:
        assert all(row.count(word.value) >= 2 for word, row in rows.items())


async def test_without_any_colour_each_status_is_told_apart(plans: World) -> None:
    plans.write("p", Phase("", tuple(Task(f"is {status.value}", status) for status in Status)))
    async with watching(plans, Start("p", opened=True)) as pilot:
        await shows(pilot, "is pending", "is blocked")
        rows = [next(line for line in lines(pilot) if f"is {status.value}" in line) for status in Status]

    assert len({row.strip("▎ ")[0] for row in rows}) == len(Status)
