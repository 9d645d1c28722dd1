"""Every event of every coding agent, and the reply to it, in real processes."""

from pathlib import Path

import pytest

from tests.hooks.agent import WITH_HOOKS, Workspace, hooks_of
from tests.hooks.golden import FILES, golden
from tildone.integrations.record import HookPoint, Integration

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_reply_has_the_format_of_the_coding_agent(path: Path, workspace: Workspace) -> None:
    """To the byte: these are other programs' interfaces."""
    each = golden(path)

    out, err, after = each.run(workspace)

    assert (out, err) == (each.case["stdout"], "")
    assert after == [tuple(task) for task in each.case.get("after", after)]


@pytest.mark.parametrize("integration", WITH_HOOKS.values(), ids=WITH_HOOKS)
def test_every_event_of_a_coding_agent_has_a_file(integration: Integration) -> None:
    events = {each.event for each in map(golden, FILES) if each.integration is integration}

    assert hooks_of(integration).points.keys() - events == set()


@pytest.mark.parametrize("integration", WITH_HOOKS.values(), ids=WITH_HOOKS)
def test_every_coding_agent_is_told_to_continue_when_it_stops_with_work_left(integration: Integration) -> None:
    stopped = [
        each
        for each in map(golden, FILES)
        if each.integration is integration and hooks_of(integration).points.get(each.event) == HookPoint.STOP
    ]

    assert any(each.case["stdout"] for each in stopped)
