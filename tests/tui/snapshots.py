"""The main screens of `tildone watch` as text: what is drawn, and in which style.

A snapshot has the rows of the screen, then a letter for the style of each cell, then the styles. `python -m
tests.tui.snapshots` rewrites the files after a change that was meant; with `--svg FOLDER`, it also writes pictures.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import cast

from rich.style import Style
from textual.pilot import Pilot

from tests.tui.watching import SIZES, Unreliable, World, grammar, lines, shows, until, watching, world
from tildone.app.opening import check_approvals
from tildone.base import replace
from tildone.log.needs import Need
from tildone.log.store import Store
from tildone.plan.claims import Claimant
from tildone.plan.events import Directive
from tildone.plan.gate import Turn
from tildone.plan.model import Check, Phase, Proof, Result, Status, Task
from tildone.plan.ops import Mark, Numbered, Order, SetCheck, Touch
from tildone.screens.watch.app import Start
from tildone.screens.widgets.keys import theme_for

FOLDER = Path(__file__).parent / "snapshots"
LATER_MS = 250_000
"""How long after the last change the screens are drawn: all ages are then four minutes."""

LEASE_MS = 600_000

PLAN = Start("grammar", opened=True)
COMMAND = "cargo fuzz run parse -- -max_total_time=600"


def fill(plans: World) -> None:
    """Write a session in each of several states."""
    plans.write("cli-completions", Phase("", (Task("a", Status.COMPLETED), Task("b", Status.ABANDONED))))
    plans.write("importer", Phase("", (Task("Read CSV dialects"), Task("Write the rows"))))
    plans.write("release-2.4", Phase("", (Task("Tag it", Status.COMPLETED), Task("Sign it"))))
    plans.session("release-2.4").set_directive(Directive.PAUSE)
    plans.write("billing-api", Phase("", (Task("Merge", Status.BLOCKED, ("Merge or keep both?",)),)))
    stuck = plans.write("mobile-sync", Phase("", (Task("Sync", Status.IN_PROGRESS), Task("Test it"))))
    for _ in range(3):
        stuck.turn_ended(Turn())
    plans.agent_at_work("mobile-sync", "77aa0000")
    plans.write("grammar", *grammar())
    plans.agent_at_work("grammar")


def fill_checks(plans: World) -> None:
    """Write a plan whose checks are in all states."""
    texts = ("Write the tokenizer", "Write the parser", "Wire it up", "Keep the flags", "Fuzz it", "Test the examples")
    session = plans.write("grammar", Phase("", tuple(map(Task, texts))))
    checks = [Check(("pytest", "-q", f"tests/part{number}")) for number in range(1, 6)]
    session.change([SetCheck(Numbered((number,)), check) for number, check in enumerate(checks, 1)])
    session.change([Order(Numbered((6,)), (3, 5)), Touch(Numbered((3,)), ("src/parser/**",))])
    session.change([SetCheck(None, Check(("make", "test")))])
    for check in checks[:4]:
        check_approvals(plans.settings).approve(check)
    commands = [check.command for check in checks]
    results = (
        Proof(Result.PASSED, commands[0]),
        Proof(Result.PASSED, commands[1], files="0" * 24),
        Proof(Result.FAILED, commands[2], exit_code=1),
        Proof(Result.INCONCLUSIVE, commands[3], reason="`pytest` is inconclusive: it took longer than 120 s"),
    )
    session.record_proofs(dict(enumerate(results, 1)))
    session = session.using(parts=replace(session.parts, prover=None))
    session.change([Mark(Numbered((1, 2)), Status.COMPLETED), Mark(Numbered((3,)), Status.IN_PROGRESS)])
    session.change([Mark(Numbered((4,)), Status.BLOCKED)])
    plans.store.records.claim("grammar", 3, Claimant("codex:77a1"), 1)
    plans.store.records.lapse("grammar", "codex:77a1")
    plans.store.records.claim("grammar", 3, Claimant("claude:5f0c1234-7a5e"), LEASE_MS)


@dataclass(frozen=True, slots=True)
class Shot:
    """A screen: how it begins, what is done there, and how it looks when it is ready."""

    name: str
    start: Start
    ready: str
    act: Callable[[Pilot[None], World], Awaitable[None]] | None = None
    fill: Callable[[World], None] = fill


async def _answers(pilot: Pilot[None], plans: World) -> None:
    plans.store.records.ask(
        Need("n1", "grammar", "command", COMMAND, ("once", "session", "no"), 1, detail="up to 10 minutes")
    )
    await shows(pilot, "y answers")
    await pilot.press("y")


async def _breaks(_pilot: Pilot[None], plans: World) -> None:
    cast("Unreliable", plans.store).reachable = False


def _press(key: str) -> Callable[[Pilot[None], World], Awaitable[None]]:
    async def press(pilot: Pilot[None], _plans: World) -> None:
        await pilot.press(key)

    return press


def _nothing(_plans: World) -> None:
    return None


LIST = Shot("list", Start("grammar"), "grammar")
PLAN_SHOT = Shot("plan", PLAN, "Flags stay")
CHECKS = Shot("checks", PLAN, "stale", fill=fill_checks)
QUESTION = Shot("question", Start("grammar"), "Run this command?", _answers)
NO_COLOR = "no-color"
"""In place of a theme: the environment has `NO_COLOR`."""

OTHERS = (
    Shot("keys", PLAN, "esc closes this", _press("question_mark")),
    Shot("actions", PLAN, "What is to be done?", _press("ctrl+x")),
    Shot("empty", Start(), "No plans here yet.", fill=_nothing),
    Shot("not-live", Start("grammar"), "not live since", _breaks),
)
SHOTS: dict[str, tuple[Shot, str, str]] = {
    f"{shot.name}-{size}-{theme}": (shot, size, theme)
    for shot, size, theme in (
        *product((LIST, PLAN_SHOT), ("80x24", "200x50"), ("dark", "light")),
        *product((LIST, PLAN_SHOT), ("40x24",), ("dark",)),
        *product((LIST, PLAN_SHOT, QUESTION), ("40x24", "80x24"), ("safe-dark", "terminal")),
        *product((LIST, PLAN_SHOT, CHECKS), ("80x24",), (NO_COLOR,)),
        *product((CHECKS,), ("40x24", "80x24"), ("dark",)),
        *product((QUESTION, *OTHERS), ("80x24",), ("dark",)),
    )
}
"""The snapshots by name."""


async def taken(name: str, folder: Path, svg: Path | None = None) -> str:
    """Take a snapshot, with a store in an empty folder."""
    shot, size, theme = SHOTS[name]
    made = world(folder)
    plans = replace_store(made, user="Ada")
    shot.fill(plans)
    updated = max((info.updated for info in plans.store.sessions()), default=0)
    environ = {"NO_COLOR": "1"} if theme == NO_COLOR else {}
    start = replace(shot.start, theme=theme_for(environ) if environ else theme)
    try:
        # Textual reads it when the application is created.
        os.environ.update(environ)
        async with watching(plans, start, SIZES[size], now=lambda: updated + LATER_MS) as pilot:
            if shot.act:
                await shot.act(pilot, plans)
            await until(pilot, lambda: shot.ready in "\n".join(lines(pilot)))
            await pilot.pause()
            if svg:
                (svg / f"{name}.svg").write_text(pilot.app.export_screenshot(), encoding="utf-8")
            return described(pilot)
    finally:
        for name_set in environ:
            del os.environ[name_set]
        made.store.close()


def replace_store(made: World, user: str) -> World:
    """Return the world with a named person, and a store that can be out of reach."""
    return World(made.folder, replace(made.settings, user=user), cast("Store", Unreliable(made.store)))


def described(pilot: Pilot[None]) -> str:
    """The screen as text and styles."""
    letters: dict[str, str] = {}
    styles: list[str] = []
    for strip in pilot.app.screen._compositor.render_strips():  # noqa: SLF001  the only way to the drawn cells
        row = ""
        for segment in strip:
            look = style_text(segment.style or Style())
            letter = letters.setdefault(look, (ascii_lowercase + ascii_uppercase)[len(letters)])
            row += letter * segment.cell_length
        styles.append(row)
    legend = [f"{letter}: {look}" for look, letter in letters.items()]
    return "\n".join([*lines(pilot), "", *styles, "", *legend, ""])


def style_text(style: Style) -> str:
    """A style without what has no effect on the screen."""
    effects = [name for name in ("bold", "dim", "italic", "underline", "strike", "reverse") if getattr(style, name)]
    colors = [f"{style.color.name}" if style.color else "default", f"on {style.bgcolor.name}" if style.bgcolor else ""]
    return " ".join(part for part in [*effects, *colors] if part)


def main() -> None:
    """Rewrite all snapshots."""
    svg = Path(sys.argv[2]) if sys.argv[1:2] == ["--svg"] else None
    for name in SHOTS:
        with tempfile.TemporaryDirectory() as folder:
            (FOLDER / f"{name}.txt").write_text(asyncio.run(taken(name, Path(folder), svg)), encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
