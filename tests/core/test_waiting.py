"""Which tasks wait for which others."""

from tests.plans import ABANDONED, BLOCKED, COMPLETED
from tildone.plan.model import Task, flat, waiting_tasks


def test_open_tasks_wait_for_the_open_ones_among_those_they_come_after() -> None:
    waits, blocked = Task("c", number=3, after=(1, 2, 9)), Task("d", BLOCKED, number=4, after=(2,))
    plan = flat(
        Task("a", COMPLETED, number=1),
        Task("b", number=2),
        waits,
        blocked,
        Task("e", number=5, after=(1,)),
        Task("f", ABANDONED, number=6, after=(2,)),
    )

    assert waiting_tasks(plan) == [(waits, (2,)), (blocked, (2,))]
