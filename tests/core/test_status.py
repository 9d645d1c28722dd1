"""The attributes of each status, from which views, formats and stored events are derived."""

from tildone.plan.model import Status


def test_names_icons_and_checkboxes_are_unique() -> None:
    for facts in ([status.value for status in Status], [s.icon for s in Status], [s.checkbox for s in Status]):
        assert len(set(facts)) == len(Status)
    verbs = [status.verb for status in Status if status.verb]
    assert len(set(verbs)) == len(verbs)


def test_a_status_is_found_by_its_stored_name() -> None:
    assert [Status(status.value) for status in Status] == list(Status)


def test_only_open_tasks_are_actionable() -> None:
    assert all(status.is_open for status in Status if status.is_actionable)
    assert not Status.BLOCKED.is_actionable


def test_every_status_maps_to_one_of_the_four_basic_statuses() -> None:
    """A blocked task is still open."""
    assert {status.basic.value for status in Status} == {"pending", "in_progress", "completed", "abandoned"}
    assert Status.BLOCKED.basic is Status.PENDING
