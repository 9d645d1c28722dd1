"""What is true now, read from the newest events backwards."""

from tildone.core.plan import Plan
from tildone.log.events import Labelled, Nudged, PlanChanged, Tripped
from tildone.value import but, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.events import Event


@value
class State:
    """A session at its head: the plan, and how often the agent was nudged towards it."""

    head: str | None = None
    plan: Plan = Plan()
    nudges: int = 0
    drift: int = 0
    tripped: bool = False


def advance(state: State, event: "Event") -> State:
    """The state after one more event."""
    match event.fact:
        case PlanChanged(plan, _, drift):
            return State(event.id, plan, 0, drift)
        case Nudged(count, drift):
            return State(event.id, state.plan, count, drift)
        case Tripped():
            return but(state, head=event.id, tripped=True)
        case Labelled():  # exhaustive
            return but(state, head=event.id)


def recall(newest_first: "Iterable[Event]") -> State:
    """The state that these events lead to.

    Reading stops at the newest snapshot of the plan, so it costs the same however long the history is.
    """
    since: list[Event] = []
    for event in newest_first:
        since.append(event)
        if isinstance(event.fact, PlanChanged):
            break
    state = State()
    for event in reversed(since):
        state = advance(state, event)
    return state
