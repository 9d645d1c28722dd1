"""The line after every change."""

from tildone.base import replace
from tildone.cli.output.prompts import plan_summary
from tildone.plan.model import Check, Plan, Status, Task, assign_numbers, flat


def test_the_summary_tells_what_is_next() -> None:
    for statuses, line in (
        ([], "The plan is now empty."),
        ([Status.COMPLETED, Status.PENDING], "1 of 2 closed. Next: #2 b"),
        ([Status.IN_PROGRESS], "0 of 1 closed. In progress: #1 a"),
        ([Status.COMPLETED, Status.ABANDONED], "2 of 2 closed: nothing is left to do."),
        ([Status.COMPLETED, Status.BLOCKED], "1 of 2 closed: what is left is blocked."),
    ):
        plan = flat(*(Task(text, status) for text, status in zip("abc", statuses, strict=False)))

        assert plan_summary(assign_numbers(Plan(), plan)) == line, statuses


def test_a_plan_whose_own_check_has_not_passed_is_not_at_its_end() -> None:
    plan = replace(flat(Task("a", Status.COMPLETED)), check=Check(("make",)))

    assert plan_summary(plan) == "1 of 1 closed: the check of the plan has not passed."
