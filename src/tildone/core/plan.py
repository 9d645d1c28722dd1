"""What a plan is: ordered phases of ordered tasks."""

from __future__ import annotations

from enum import Enum

from tildone.value import value


class Status(Enum):
    """Where a task stands. Open means there is still something to do; blocked, that it waits for somebody else."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    ABANDONED = "abandoned"
    BLOCKED = "blocked"

    def __init__(self, word: str) -> None:
        self.is_open = word in {"pending", "in_progress", "blocked"}

    # There is one of each, so identity will do; looking up words and signs by status is what views do most.
    __hash__ = object.__hash__


@value
class Task:
    """One thing to do. Where tasks are numbered, the number stays with the task wherever it goes; 0 is none.

    What a blocked task waits for is its newest note.
    """

    text: str
    status: Status = Status.PENDING
    notes: tuple[str, ...] = ()
    number: int = 0


@value
class Phase:
    """Tasks that belong together, under a name. The name of a flat list's only phase is empty."""

    name: str
    tasks: tuple[Task, ...] = ()


@value
class Plan:
    """Everything to do, in order; and the highest number that a task of it ever had."""

    phases: tuple[Phase, ...] = ()
    counted: int = 0

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks in order, whatever their phase."""
        if len(self.phases) == 1:
            return self.phases[0].tasks
        return tuple(task for phase in self.phases for task in phase.tasks)


def flat(*tasks: Task) -> Plan:
    """A plan that is one list; an empty list has no phase at all."""
    return Plan((Phase("", tasks),)) if tasks else Plan()
