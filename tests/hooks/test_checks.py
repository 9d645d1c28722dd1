"""Checks in hooks: which stops are held for them, what the person is told, and native lists of tasks with checks."""

from pathlib import Path

import pytest

from tests.checks.repositories import make_repository, python
from tests.hooks.agent import HookedAgent, Workspace
from tests.hooks.stories import replay, stories
from tildone.agents.hooks import context
from tildone.app.opening import check_approvals
from tildone.plan.model import Status
from tildone.plan.ops import Numbered, SetCheck

STORIES = stories("checks.md")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    project, home = make_repository(tmp_path / "project"), tmp_path / "home"
    home.mkdir()
    return Workspace(project, home)


@pytest.mark.parametrize("title", STORIES)
def test_a_story_of_checks_goes_as_it_is_told(agent: HookedAgent, title: str) -> None:
    replay(agent, STORIES[title])


def test_a_check_that_takes_longer_than_a_hook_may_is_left_to_a_command(
    agent: HookedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "CHECK_SECONDS", 0.5)
    workspace = agent.workspace
    slow = python("import time; time.sleep(60)", seconds=60)
    agent.writes(("Parse", "in_progress"))
    workspace.session.change([SetCheck(Numbered((1,)), slow)])
    check_approvals(workspace.settings).approve(slow)

    reply = agent.writes(("Parse", "completed"))

    assert "Run: tildone verify 1" in reply
    task = workspace.session.plan.tasks[0]
    assert (task.status, task.proof) == (Status.IN_PROGRESS, None)
