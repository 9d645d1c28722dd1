"""The generated part of `docs/reference/fleet-states.md`: the states of a run, and what each event makes of them.

The table is computed: each of its cells is the result of a rule of `tildone.log.lease_rules`.
"""

import re
from collections.abc import Callable
from typing import Protocol

from tests.project.source import ROOT
from tildone.base import Refused, replace
from tildone.log import lease_rules as rules
from tildone.log.lease_rules import MAX_FAILS, MAX_LOSSES, Moment
from tildone.plan.lists import RunView
from tildone.plan.runs import Ask, Asked, Lease, LeaseState, WorkOutcome
from tildone.plan.text.runs import state_of


class Changed(Protocol):
    """A change of a lease, as the rules return it."""

    @property
    def lease(self) -> Lease:
        """The lease after the change."""


PAGE = ROOT / "docs" / "reference" / "fleet-states.md"
GENERATED = re.compile(r"(?<=<!-- generated from tildone.log.lease_rules -->\n).*(?=<!-- end -->)", re.DOTALL)
NOW = 1_000_000
OWNER = "host/1/nonce/1"
QUESTION = "q"

_LEASE = Lease("run", 0, "plan", epoch=1)
LEASES = (
    _LEASE,
    replace(_LEASE, owner=OWNER, until=NOW + 1),
    replace(_LEASE, state=LeaseState.WAITING, questions=(QUESTION,)),
    *(replace(_LEASE, state=state) for state in (LeaseState.PAUSED, *(s for s in LeaseState if not s.is_active))),
)
"""A lease in each state that lasts."""


def _asking(lease: Lease) -> Lease:
    return rules.asked(lease, Asked("run", 0, QUESTION, "question", "?")).lease if lease.is_held else lease


def _closed(lease: Lease, outcome: WorkOutcome) -> Changed | None:
    return rules.closed(lease, lease.fence, outcome, "", NOW)


def _lost(lease: Lease) -> Changed | None:
    return rules.lost(lease, "", 1, NOW) if lease.is_held else None


def _obeyed(lease: Lease, ask: Ask, outcome: WorkOutcome) -> Changed | None:
    return _closed(rules.stop_requested(lease, ask, "", NOW).lease, outcome) if lease.is_held else None


EVENTS: dict[str, Callable[[Lease], Changed | None]] = {
    "a worker takes it": lambda lease: rules.taken(lease, OWNER, "", Moment(NOW, NOW), 1),
    "its worker gives it back": lambda lease: rules.released(lease, lease.fence, "", NOW),
    "its worker is lost": _lost,
    f"its worker is lost, {MAX_LOSSES} times in the same task": lambda lease: _lost(
        replace(lease, losses=MAX_LOSSES - 1, task=1)
    ),
    "its agent ends, and the plan is done": lambda lease: _closed(lease, WorkOutcome.DONE),
    "its agent ends, and tasks are open": lambda lease: _closed(lease, WorkOutcome.FAILED),
    "its agent has asked, and ends": lambda lease: _closed(_asking(lease), WorkOutcome.WAITING),
    "its agent fails": lambda lease: _closed(lease, WorkOutcome.RETRY),
    f"its agent fails, {MAX_FAILS} times": lambda lease: _closed(
        replace(lease, fails=MAX_FAILS - 1), WorkOutcome.RETRY
    ),
    "`answer`, `approve`": lambda lease: rules.answered(lease, QUESTION, "", "", NOW),
    "`pause`": lambda lease: rules.stop_requested(lease, Ask.PAUSE, "", NOW),
    "`pause`, and the next task is done": lambda lease: _obeyed(lease, Ask.PAUSE, WorkOutcome.PAUSED),
    "`cancel`": lambda lease: rules.stop_requested(lease, Ask.CANCEL, "", NOW),
    "`cancel`, and its worker obeys": lambda lease: _obeyed(lease, Ask.CANCEL, WorkOutcome.CANCELLED),
    "`resume`, `retry`": lambda lease: rules.resumed(lease, NOW),
}
"""What can happen to a run, in the order of the table."""


def page() -> str:
    """Return the page as it should be now."""
    return GENERATED.sub(lambda _: f"\n{transitions()}\n\n", PAGE.read_text(encoding="utf-8"))


def transitions() -> str:
    """Return the table: a row for each event, a column for each state before it."""
    rows = [f"| {name} | {' | '.join(_cell(lease, event) for lease in LEASES)} |" for name, event in EVENTS.items()]
    return "\n".join([f"| event | {' | '.join(map(_state, LEASES))} |", f"|---{'|---' * len(LEASES)}|", *rows])


def _cell(before: Lease, event: Callable[[Lease], Changed | None]) -> str:
    try:
        step = event(before)
    except Refused:
        return "refused"
    if step is None or _state(step.lease) == _state(before):
        return "–"
    return _state(step.lease)


def _state(lease: Lease) -> str:
    return state_of(RunView(lease, remaining=1), NOW)
