"""Whether an agent that has ended its turn is to go on."""

from __future__ import annotations

from enum import Enum

from tildone.core.plan import Task
from tildone.core.query import next_task, open_tasks
from tildone.log.events import Bound, Directive, StopFingerprint
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.core.plan import Plan
    from tildone.log.state import State


MINUTE = 60_000


class RestReason(Enum):
    """Why an agent is left alone."""

    NO_PLAN = "there is no plan"
    ABORTED = "the turn was interrupted"
    ALL_DONE = "nothing is left to do"
    ERRORED = "the turn ended with an error"
    BLOCKED = "what is left waits for somebody else"
    PAUSED = "the person wants it left alone"
    ASKED = "it asked the person something"
    BUSY = "something it started is still running"


@value
class Patience:
    """How long a chain of nudges may get.

    `nudges` counts since the plan or the files last changed. `drift` counts since a task was last closed or added:
    it ends chains in which statuses or files change for ever and nothing gets done; `minutes` is how long such a chain
    may go on. `same` is how many times in a row the agent may stop with the same words over the same files. `cost`, in
    dollars, bounds the whole session where its cost is known; nothing does unless it is set.
    """

    nudges: int = 20
    drift: int = 60
    repeats: int = 3
    minutes: int = 240
    cost: float | None = None


@value
class Turn:
    """What is known of a turn that ended.

    `asked` means that its last words were a question to the person, `busy` that something it started still runs.
    `cost` is what the session has come to, in dollars; `at` is now, in milliseconds.
    """

    aborted: bool = False
    errored: bool = False
    asked: bool = False
    busy: bool = False
    fingerprint: StopFingerprint = StopFingerprint()
    cost: float = 0
    at: int = 0


@value
class Rest:
    """Leave the agent alone."""

    why: RestReason


@value
class GoOn:
    """Tell the agent to go on with this task: the `count`-th time, after so many stops that looked the `same`."""

    position: int
    task: Task
    count: int = 1
    repeats: int = 0


@value
class GiveUp:
    """Let the agent go although tasks are open: a bound is reached."""

    bound: Bound
    limit: int


Decision = Rest | GoOn | GiveUp


def decide(state: State, patience: Patience, turn: Turn = Turn()) -> Decision:  # noqa: B008  frozen
    """What to do now that the agent has ended its turn.

    The order of the questions is part of the contract: an interrupted agent is left alone even when its
    breaker is about to trip, and a finished plan never reports that a bound was reached.
    """
    if not state.plan.tasks:
        return Rest(RestReason.NO_PLAN)
    if turn.aborted:
        return Rest(RestReason.ABORTED)
    upcoming = next_task(state.plan)
    if upcoming is None:
        return Rest(RestReason.BLOCKED if open_tasks(state.plan) else RestReason.ALL_DONE)
    why = _hindrance(state, turn)
    if why:
        return Rest(why)
    count, same = _since_last_sight(state, turn.fingerprint)
    bound = _passed(state, patience, turn, count, same)
    return bound or GoOn(*upcoming, count + 1, same)


def _hindrance(state: State, turn: Turn) -> RestReason | None:
    """Why an agent with work left is not told to go on, if there is a reason other than a bound."""
    if state.directive is not Directive.GO:
        return RestReason.PAUSED
    if turn.errored:
        return RestReason.ERRORED
    if turn.busy:
        return RestReason.BUSY
    return RestReason.ASKED if turn.asked else None


def _since_last_sight(state: State, sight: StopFingerprint) -> tuple[int, int]:
    """How often the agent was nudged since plan or files last changed, and how often in a row it looked the same."""
    last = state.fingerprint
    if sight.files and last.files and sight.files != last.files:
        return 0, 0
    alike = sight.words != "" and sight == last
    return state.nudges, state.repeats + 1 if alike else 0


def _passed(state: State, patience: Patience, turn: Turn, count: int, same: int) -> GiveUp | None:
    """The bound that is reached, if one is."""
    if count >= patience.nudges:
        return GiveUp(Bound.NUDGES, patience.nudges)
    if state.drift >= patience.drift:
        return GiveUp(Bound.DRIFT, patience.drift)
    if same >= patience.repeats:
        return GiveUp(Bound.SAME, patience.repeats)
    if state.drift and turn.at - state.since >= patience.minutes * MINUTE:
        return GiveUp(Bound.TIME, patience.minutes)
    if patience.cost is not None and turn.cost >= patience.cost:
        return GiveUp(Bound.COST, round(patience.cost))
    return None


def progressed(before: Plan, after: Plan) -> bool:
    """Whether more tasks are closed than before, or tasks were added to those that were there.

    A list that is put in other words is no progress: an agent that gets nowhere can do that for ever.
    """
    if {task.text for task in after.tasks} > {task.text for task in before.tasks}:
        return True
    return _closed(after) > _closed(before)


def _closed(plan: Plan) -> int:
    return len([task for task in plan.tasks if not task.status.is_open])
