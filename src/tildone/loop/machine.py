"""Whether an agent that has ended its turn is to go on."""

from enum import Enum

from tildone.core.plan import Task
from tildone.core.query import next_task
from tildone.log.events import Bound
from tildone.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tildone.core.plan import Plan
    from tildone.log.state import State


class Why(Enum):
    """Why an agent is left alone."""

    NO_PLAN = "there is no plan"
    ABORTED = "the turn was interrupted"
    ALL_DONE = "nothing is left to do"
    ERRORED = "the turn ended with an error"


class Manner(Enum):
    """Whose ways the loop has.

    The recorded original goes on after an error, asks about the limit before it asks whether anything is left, takes
    a write that changes nothing for progress, says what it decided three seconds ago, and may say it twice. Its
    recordings are replayed in its manner; everybody else is served in ours.
    """

    OURS = "ours"
    RECORDED = "recorded"


@value
class Patience:
    """How long a chain of nudges may get.

    `nudges` counts since the plan last changed. `drift` counts since a task was last closed or added: it ends
    chains in which statuses change for ever and nothing gets done.
    """

    nudges: int = 20
    drift: int = 60
    manner: Manner = Manner.OURS


@value
class Rest:
    """Leave the agent alone."""

    why: Why


@value
class GoOn:
    """Tell the agent to go on with this task."""

    position: int
    task: Task


@value
class GiveUp:
    """Let the agent go although tasks are open: a bound is reached."""

    bound: Bound
    limit: int


Decision = Rest | GoOn | GiveUp


def decide(state: "State", patience: Patience, *, aborted: bool, errored: bool) -> Decision:
    """What to do now that the agent has ended its turn.

    The order of the questions is part of the contract: an interrupted agent is left alone even when its
    breaker is about to trip, and a finished plan never reports that a bound was reached.
    """
    if not state.plan.tasks:
        return Rest(Why.NO_PLAN)
    if aborted:
        return Rest(Why.ABORTED)
    if patience.manner is Manner.RECORDED and state.nudges >= patience.nudges:
        return GiveUp(Bound.NUDGES, patience.nudges)
    upcoming = next_task(state.plan)
    if upcoming is None:
        return Rest(Why.ALL_DONE)
    if errored and patience.manner is Manner.OURS:
        return Rest(Why.ERRORED)
    if state.nudges >= patience.nudges:
        return GiveUp(Bound.NUDGES, patience.nudges)
    if state.drift >= patience.drift:
        return GiveUp(Bound.DRIFT, patience.drift)
    return GoOn(*upcoming)


def progressed(before: "Plan", after: "Plan") -> bool:
    """Whether more tasks are closed than before, or there are texts that were not there."""
    if {task.text for task in after.tasks} - {task.text for task in before.tasks}:
        return True
    return _closed(after) > _closed(before)


def _closed(plan: "Plan") -> int:
    return len([task for task in plan.tasks if not task.status.is_open])
