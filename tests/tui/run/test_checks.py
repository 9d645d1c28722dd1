"""Checks in the plan beside the conversation: set, approved and run with the same keys as in `tildone watch`."""

import sys
from pathlib import Path

import pytest

from tests.host.models.model_server import ModelServer
from tests.run.run_workspace import WRITE
from tests.tui.run.run_screen import STOPS, Screen, Talk
from tildone.app.opening import check_approvals, open_session
from tildone.plan.claims import Claimant
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Check
from tildone.plan.ops import Numbered, SetCheck

SCRIPT = "import os, sys; print('not yet'); sys.exit(not os.path.exists('ready'))"


@pytest.fixture
def script(folder: Path) -> Path:
    (folder / "check.py").write_text(SCRIPT)
    return folder


async def to_the_plan(screen: Screen) -> None:
    await screen.shows("– One", "Goes on")
    await screen.sees("escape f2", lambda: screen.app.plan.rows.has_focus)


async def test_a_check_is_set_and_has_to_pass(talk: Talk, script: Path) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go", size=(200, 50)) as screen:
        await to_the_plan(screen)
        await screen.press("c")
        await screen.enters(f"{sys.executable} check.py", "#1 is done when this passes", "$ ")
        await screen.sees("space", "#1 is not done", "failed (exit 1)", "│ not yet")
        (script / "ready").touch()
        await screen.sees("space", "✓ One", "  passed")
        await screen.until(lambda: screen.app.plan.rows.has_focus)


async def test_a_proposed_check_is_approved_and_the_keys_return_to_the_plan(talk: Talk, script: Path) -> None:
    (script / "ready").touch()
    async with talk(ModelServer(WRITE, STOPS), "Go", size=(200, 50)) as screen:
        await to_the_plan(screen)
        backend, check = screen.app.backend, Check((sys.executable, "check.py"))
        open_session(backend.settings, BY_HAND, backend.store).change([SetCheck(Numbered((1,)), check)])
        await screen.shows("  proposed")
        await screen.sees("space", "? Let this command be run as a check?", "y yes")
        await screen.until(lambda: screen.app.plan.asking.need_panel.is_armed)
        await screen.sees("y", "✓ One", "  passed")
        await screen.until(lambda: screen.app.plan.rows.has_focus)
        assert check_approvals(backend.settings).is_allowed(check)


@pytest.mark.usefixtures("script")
async def test_the_plan_is_checked_ordered_and_says_which_other_agent_works(talk: Talk) -> None:
    async with talk(ModelServer(WRITE, STOPS), "Go", size=(200, 50)) as screen:
        await to_the_plan(screen)
        backend = screen.app.backend
        await screen.press("D")
        await screen.enters(f"{sys.executable} check.py", "the plan $ ")
        await screen.sees("G v", "The plan: ", "│ not yet")
        await screen.sees("g o", "#1 comes after:", "– #1 One")
        await screen.sees("escape s", "● One")
        backend.store.records.claim(backend.settings.session, 1, Claimant("codex:2"), 600_000)
        await screen.shows("held by codex:2 for 10 min")
