"""Each status carries its own facts, and what is shown or stored is derived from them."""

from tildone.core.plan import Status


def test_signs_and_words_tell_statuses_apart() -> None:
    """A list, a checklist and a stored event each name one status."""
    for facts in ([status.value for status in Status], [s.icon for s in Status], [s.checkbox for s in Status]):
        assert len(set(facts)) == len(Status)
    verbs = [status.verb for status in Status if status.verb]
    assert len(set(verbs)) == len(verbs)


def test_a_status_is_found_by_its_stored_word() -> None:
    assert [Status(status.value) for status in Status] == list(Status)


def test_only_open_tasks_are_actionable() -> None:
    assert all(status.is_open for status in Status if status.is_actionable)
    assert not Status.BLOCKED.is_actionable


def test_programs_that_know_four_statuses_get_the_nearest_of_them() -> None:
    """A blocked task is still to do."""
    assert {status.basic.value for status in Status} == {"pending", "in_progress", "completed", "abandoned"}
    assert Status.BLOCKED.basic is Status.PENDING
