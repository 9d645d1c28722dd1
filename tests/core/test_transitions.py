"""The table of states that the documentation shows."""

from tests.plans import ABANDONED, BLOCKED, COMPLETED, IN_PROGRESS, PENDING
from tildone.plan.model import Result, Status
from tildone.plan.reduce import EVENTS, table


def test_only_a_passing_check_or_none_at_all_leaves_a_task_completed() -> None:
    """What is completed already stays so unless its check says otherwise."""
    completing = {
        (event.name, before) for event, row in table().items() for before, now in row.items() if now is COMPLETED
    }

    assert {name for name, before in completing if before is not COMPLETED} == {"done, check passed"}
    assert {name for name, before in completing if before is COMPLETED} == {
        "done, check passed",
        "done, check not run",
        "verify, check passed",
        "remove the check",
        "edit the check, by a model",
        "remove the check, by a model",
    }


def test_the_table_has_the_states_that_were_decided() -> None:
    rows = {event.name: [*row.values()] for event, row in table().items()}

    assert rows["done, check failed"] == [IN_PROGRESS] * 5
    assert rows["done, check inconclusive"] == rows["done, check refused"] == [BLOCKED] * 5
    assert rows["edit the check"] == [PENDING, IN_PROGRESS, PENDING, ABANDONED, BLOCKED]
    assert rows["its files change"] == [PENDING, IN_PROGRESS, IN_PROGRESS, ABANDONED, BLOCKED]
    assert [event.result for event in EVENTS if event.name.startswith("verify")] == list(Result)


def test_a_model_drops_only_what_is_proved_and_leaves_the_check_as_it_is() -> None:
    rows = {event.name: [*row.values()] for event, row in table().items()}

    assert rows["drop, by a model"] == [PENDING, IN_PROGRESS, ABANDONED, ABANDONED, BLOCKED]
    assert rows["edit the check, by a model"] == rows["remove the check, by a model"] == list(Status)
