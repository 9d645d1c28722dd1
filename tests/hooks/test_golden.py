"""Every host, every event: what it says, and what it is answered, in real processes."""

from pathlib import Path

import pytest

from tests.hooks.agent import WITH_HOOKS, Desk, hooks_of
from tests.hooks.golden import FILES, golden
from tildone.integrations.record import HookPoint, Integration

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_host_is_answered_in_its_own_form(path: Path, desk: Desk) -> None:
    """To the letter: these are other programs' interfaces."""
    each = golden(path)

    out, err, after = each.answered(desk)

    assert (out, err) == (each.said["stdout"], "")
    assert after == [tuple(task) for task in each.said.get("after", after)]


@pytest.mark.parametrize("integration", WITH_HOOKS.values(), ids=WITH_HOOKS)
def test_every_event_of_a_host_has_a_file(integration: Integration) -> None:
    events = {each.event for each in map(golden, FILES) if each.integration is integration}

    assert hooks_of(integration).points.keys() - events == set()


@pytest.mark.parametrize("integration", WITH_HOOKS.values(), ids=WITH_HOOKS)
def test_an_agent_that_stops_with_work_left_is_kept_going_by_every_host(integration: Integration) -> None:
    stopped = [
        each
        for each in map(golden, FILES)
        if each.integration is integration and hooks_of(integration).points.get(each.event) == HookPoint.STOP
    ]

    assert any(each.said["stdout"] for each in stopped)
