"""What happens to a task with a check, in each of its states, as `reduce` does it: a table for the documentation."""

from tildone.base import value
from tildone.plan.guard import ByModel, reopened
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Rules, Status, Task
from tildone.plan.ops import Mark, Numbered, Op, SetCheck
from tildone.plan.reduce import reduce

_CHECK, _OTHER = Check(("check",)), Check(("another", "check"))
_NUMBER = 1
_TASK = Numbered((_NUMBER,))


@value
class TaskEvent:
    """What happens to a task with a check: a change that is asked for, the result of its check, or both.

    `is_stale` means that the watched files change: the state is then the one that an agent is held to. `by_model` means
    that a model asks for the change, and a person asked for the check.
    """

    name: str
    steps: tuple[Op, ...] = ()
    result: Result | None = None
    is_stale: bool = False
    by_model: bool = False


_DONE = (Mark(_TASK, Status.COMPLETED),)
EVENTS = (
    TaskEvent("start", (Mark(_TASK, Status.IN_PROGRESS),)),
    *(TaskEvent(f"done, check {result.value}", _DONE, result) for result in Result),
    TaskEvent("done, check not run", _DONE),
    TaskEvent("block", (Mark(_TASK, Status.BLOCKED),)),
    TaskEvent("drop", (Mark(_TASK, Status.ABANDONED),)),
    TaskEvent("reopen", (Mark(_TASK, Status.PENDING),)),
    *(TaskEvent(f"verify, check {result.value}", (), result) for result in Result),
    TaskEvent("its files change", is_stale=True),
    TaskEvent("edit the check", (SetCheck(_TASK, _OTHER),)),
    TaskEvent("remove the check", (SetCheck(_TASK, None),)),
    TaskEvent("drop, by a model", (Mark(_TASK, Status.ABANDONED),), by_model=True),
    TaskEvent("edit the check, by a model", (SetCheck(_TASK, _OTHER),), by_model=True),
    TaskEvent("remove the check, by a model", (SetCheck(_TASK, None),), by_model=True),
)
"""Everything that can happen to a task with a check, in the order of the table."""


def state_after(status: Status, event: TaskEvent) -> Status:
    """Return the status of a task with a check after an event. A completed one has a proof, any other has none."""
    proof = Proof(Result.PASSED, _CHECK.command) if status is Status.COMPLETED else None
    plan = Plan((Phase("", (Task("", status, number=_NUMBER, check=_CHECK, proof=proof),)),), _NUMBER)
    if event.is_stale:
        return reopened(plan, frozenset({_NUMBER} if proof else ())).tasks[0].status
    proofs = {} if event.result is None else {_NUMBER: Proof(event.result, _CHECK.command)}
    model = ByModel() if event.by_model else None
    return reduce(plan, event.steps, Rules(), proofs, model).after.tasks[0].status


def table() -> dict[TaskEvent, dict[Status, Status]]:
    """Return the status after each event, for each status before it."""
    return {event: {status: state_after(status, event) for status in Status} for event in EVENTS}
