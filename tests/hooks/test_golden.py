"""Every host, every event: what it says, and what it is answered, in real processes."""

from pathlib import Path

import pytest

from tests.hooks.agent import Desk
from tests.hooks.golden import FILES, golden
from tildone.hooks.hosts import HOSTS, STOP, Host

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_host_is_answered_in_its_own_form(path: Path, desk: Desk) -> None:
    """To the letter: these are other programs' interfaces."""
    each = golden(path)

    out, err, after = each.answered(desk)

    assert (out, err) == (each.said["stdout"], "")
    assert after == [tuple(task) for task in each.said.get("after", after)]


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_every_event_of_a_host_has_a_file(host: Host) -> None:
    events = {each.event for each in map(golden, FILES) if each.host is host}

    assert host.moments.keys() - events == set()


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_an_agent_that_stops_with_work_left_is_kept_going_by_every_host(host: Host) -> None:
    stopped = [each for each in map(golden, FILES) if each.host is host and host.moments.get(each.event) == STOP]

    assert any(each.said["stdout"] for each in stopped)
