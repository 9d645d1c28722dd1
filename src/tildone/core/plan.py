"""What a plan is: ordered phases of ordered tasks."""

from enum import Enum

from tildone.value import value


class Status(Enum):
    """Where a task stands. Open means there is still something to do."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    ABANDONED = "abandoned"

    def __init__(self, word: str) -> None:
        self.is_open = word in {"pending", "in_progress"}

    # There is one of each, so identity will do; looking up words and signs by status is what views do most.
    __hash__ = object.__hash__


@value
class Task:
    """One thing to do."""

    text: str
    status: Status = Status.PENDING
    notes: tuple[str, ...] = ()


@value
class Phase:
    """Tasks that belong together, under a name. The name of a flat list's only phase is empty."""

    name: str
    tasks: tuple[Task, ...] = ()


@value
class Plan:
    """Everything to do, in order."""

    phases: tuple[Phase, ...] = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks in order, whatever their phase."""
        if len(self.phases) == 1:
            return self.phases[0].tasks
        return tuple(task for phase in self.phases for task in phase.tasks)


def flat(*tasks: Task) -> Plan:
    """A plan that is one list; an empty list has no phase at all."""
    return Plan((Phase("", tasks),)) if tasks else Plan()
