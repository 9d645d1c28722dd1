"""The groups of a list of runs."""

import pytest

from tildone.log.fleet.lease import Lease, LeaseState
from tildone.log.fleet.workers import RunGroup, group_of


@pytest.mark.parametrize(
    ("state", "owner", "group"),
    [
        (LeaseState.OPEN, "", RunGroup.QUEUED),
        (LeaseState.OPEN, "here/1/a/0", RunGroup.RUNNING),
        (LeaseState.WAITING, "", RunGroup.WAITING),
        (LeaseState.PAUSED, "", RunGroup.PAUSED),
        (LeaseState.DONE, "", RunGroup.DONE),
        (LeaseState.FAILED, "", RunGroup.FAILED),
        (LeaseState.CANCELLED, "", RunGroup.CANCELLED),
    ],
)
def test_a_lease_belongs_to_the_group_of_its_state(state: LeaseState, owner: str, group: RunGroup) -> None:
    assert group_of(Lease("r", 0, "plan", state=state, owner=owner)) is group
    assert group.state is state
    assert group.is_held is (bool(owner) if state is LeaseState.OPEN else None)
