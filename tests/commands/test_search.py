"""Search in a plan."""

import pytest

from tests.plans import COMPLETED
from tildone.app.commands import Answer, FailureReason
from tildone.app.search import Search, find
from tildone.plan.model import Phase, Plan, Task, numbered

PLAN = numbered(
    Plan(
        (
            Phase("Build", (Task("Straße", notes=("see grammar",)), Task("Parse", COMPLETED))),
            Phase("Ship", (Task("2"),)),
        )
    )
)


@pytest.mark.parametrize(
    ("search", "numbers"),
    [
        (Search(), [1, 2, 3]),
        (Search(("STRASSE",)), [1]),
        (Search(("see", "str")), [1]),
        (Search(("see", "parse")), []),
        (Search(("2",)), [2, 3]),
        (Search(("#2",)), [2]),
        (Search(only_open=True), [1, 3]),
        (Search(phase="bu"), [1, 2]),
        (Search(phase="bu", only_open=True), [1]),
        (Search(status="Completed"), [2]),
        (Search(status="done"), [2]),
        (Search(status="in-progress"), []),
    ],
)
def test_tasks_match_everything_that_is_asked_for(search: Search, numbers: list[int]) -> None:
    found = find(PLAN, search)

    assert not isinstance(found, Answer)
    assert [task.number for task in found] == numbers


@pytest.mark.parametrize(
    ("plan", "search", "reason", "complaint"),
    [
        (PLAN, Search(phase="x"), FailureReason.UNMATCHED, 'No phase has "x" in its name; phases are Build and Ship'),
        (
            Plan((Phase("A"),)),
            Search(phase="x"),
            FailureReason.UNMATCHED,
            'No phase has "x" in its name; phases are A',
        ),
        (Plan(), Search(phase="x"), FailureReason.UNMATCHED, 'No phase has "x" in its name; the plan has no phases'),
        (PLAN, Search(status="x"), FailureReason.USAGE, 'There is no status "x"; a status is pending, in_progress, '),
    ],
)
def test_an_unknown_phase_or_status_is_refused(
    plan: Plan, search: Search, reason: FailureReason, complaint: str
) -> None:
    found = find(plan, search)

    assert isinstance(found, Answer)
    assert found.failure is reason
    assert found.messages[0].text.startswith(complaint)
