"""The state at the head of a session, computed from its newest events.

Every `PlanChanged` event is a snapshot: it holds the whole plan, and the counts and the directive that a change does
not reset. The state therefore follows from the events since the newest snapshot, and the time to read it does not
depend on the length of the history.

Every task of a state has a number. Snapshots of older versions and of other programs have none: when they are read,
tasks are numbered in their order, and the next change records these numbers.
"""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.core.plan import Plan
from tildone.log.events import Directive, DirectiveSet, Ledger, Nudged, PlanChanged, StopFingerprint, Tripped
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.events import Event


@value
class State:
    """The plan, the nudges counted so far, and the person's directive.

    `nudges` counts since the last change, `drift` since the last progress; `since` is the time of the first of the
    `drift` nudges. `fingerprint` belongs to the newest stop, and `repeats` is how many stops in a row had it. `tripped`
    is the bound that was reached, if any. `ledger` is what has counted since a person last spoke.
    """

    head: str | None = None
    plan: Plan = Plan()
    nudges: int = 0
    drift: int = 0
    tripped: Tripped | None = None
    since: int = 0
    fingerprint: StopFingerprint = StopFingerprint()
    repeats: int = 0
    directive: Directive = Directive.GO
    ledger: Ledger = Ledger()

    @property
    def has_counts(self) -> bool:
        """Whether there is something to reset when a person speaks."""
        return self.tripped is not None or self.drift > 0 or self.ledger.continued > 0


def apply_event(state: State, event: Event) -> State:
    """Return the state after one more event. If it is a snapshot, every task in it has a number."""
    match event.fact:
        case PlanChanged(plan, _, drift, since, directive, ledger):
            return State(event.id, plan, 0, drift, since=since, directive=directive, ledger=ledger)
        case Nudged(count, drift, fingerprint, repeats, of_subagent):
            known = state.ledger
            ledger = replace(known, continued=known.continued + 1, began=known.began or event.at)
            if of_subagent:
                return replace(state, head=event.id, ledger=ledger)
            since = state.since if drift > 1 else event.at
            return State(
                event.id,
                state.plan,
                count,
                drift,
                since=since,
                fingerprint=fingerprint,
                repeats=repeats,
                directive=state.directive,
                ledger=ledger,
            )
        case DirectiveSet(directive, drift, since, ledger):
            return State(event.id, state.plan, 0, drift, since=since, directive=directive, ledger=ledger)
        case Tripped() as fact:
            return replace(state, head=event.id, tripped=fact)
        case _:
            # A label, or a fact about a run.
            return replace(state, head=event.id)


def latest_state(newest_first: Iterable[Event]) -> State:
    """Return the state that these events lead to. Reading stops at the newest snapshot."""
    recent: list[Event] = []
    state = State()
    for event in newest_first:
        if isinstance(event.fact, PlanChanged):
            state = apply_event(state, event)
            state = replace(state, plan=numbered(state.plan))
            break
        recent.append(event)
    for event in reversed(recent):
        state = apply_event(state, event)
    return state
