"""What is true now, read from the newest events backwards."""

from __future__ import annotations

from tildone.core.plan import Plan
from tildone.log.events import Directive, DirectiveSet, Labelled, Nudged, PlanChanged, StopFingerprint, Tripped
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.events import Event


@value
class State:
    """A session at its head: the plan, how often the agent was nudged towards it, and what the person wants of it.

    `since` is when the first of the `drift` nudges was given; `sight` what was seen at the newest, `same` how many
    times in a row.
    """

    head: str | None = None
    plan: Plan = Plan()
    nudges: int = 0
    drift: int = 0
    tripped: bool = False
    since: int = 0
    fingerprint: StopFingerprint = StopFingerprint()
    repeats: int = 0
    directive: Directive = Directive.GO


def apply_event(state: State, event: Event) -> State:
    """The state after one more event."""
    match event.fact:
        case PlanChanged(plan, _, drift, since, course):
            return State(event.id, plan, 0, drift, since=since, directive=course)
        case Nudged(count, drift, sight, same):
            since = state.since if drift > 1 else event.at
            return State(
                event.id,
                state.plan,
                count,
                drift,
                since=since,
                fingerprint=sight,
                repeats=same,
                directive=state.directive,
            )
        case DirectiveSet(course):
            return State(event.id, state.plan, directive=course)
        case Tripped():
            return replace(state, head=event.id, tripped=True)
        case Labelled():  # exhaustive
            return replace(state, head=event.id)


def latest_state(newest_first: Iterable[Event]) -> State:
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
        state = apply_event(state, event)
    return state
