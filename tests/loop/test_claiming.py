"""What a change of an agent does to the tasks of others."""

from tildone.core.plan import Plan, Status, Task, flat
from tildone.log.claims import Claim, Claimant
from tildone.loop.claiming import settled

ACTIVE, OPEN, DONE = Status.IN_PROGRESS, Status.PENDING, Status.COMPLETED


def plan(*statuses: Status) -> Plan:
    """Three tasks, the third of which comes after the others."""
    tasks = [Task(f"task {number}", status, number=number) for number, status in enumerate(statuses[:2], 1)]
    return flat(*tasks, Task("task 3", statuses[2], number=3, after=(1, 2)))


def test_what_comes_after_a_task_that_another_agent_has_is_not_started() -> None:
    """The agent closes a task that has passed to another one, and thereby starts the next."""
    other = Claim(2, 2, 9, Claimant("another"), remaining=9)

    result = settled(plan(DONE, ACTIVE, OPEN), plan(DONE, DONE, ACTIVE), {2: other}, frozenset)

    assert [task.status for task in result.plan.tasks] == [DONE, ACTIVE, OPEN]
    assert result.refused == (2,)
