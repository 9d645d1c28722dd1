"""The generated tables of the reference: who may do what, and the states of a task with a check and of a run.

The cells are computed: those of a run are the results of the rules of `tildone.log.lease_rules`.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from tests.core.transitions import table
from tests.project.source import ROOT
from tildone.app.who import FORM, IN_SHELLS_OF_AGENTS, QUESTION, WAYS, PersonAct, Surface
from tildone.base import Refused, replace
from tildone.base.keys import ALL_BINDINGS
from tildone.log import lease_rules as rules
from tildone.log.lease_rules import MAX_LOSSES, Moment
from tildone.plan.lists import RunView
from tildone.plan.model import Status
from tildone.plan.runs import Asked, Lease, LeaseRequest, LeaseState, WorkOutcome
from tildone.plan.text.runs import state_of
from tildone.screens.widgets.prompt import first_key

REFERENCE = ROOT / "docs" / "reference"
UNCHANGED = "–"


class TablePage(NamedTuple):
    """A page of the reference with a table between marks, which name the module that the table is made from."""

    path: Path
    module: str
    table: Callable[[], str]

    def page(self) -> str:
        """Return the page as it should be now."""
        mark = f"<!-- generated from {self.module} -->\n"
        before, _, rest = self.path.read_text(encoding="utf-8").partition(mark)
        return f"{before}{mark}\n{self.table()}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def _table(first: str, columns: Iterable[str], rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    heading = [first, *columns]
    lines = [f"| {' | '.join([name, *cells])} |" for name, cells in rows]
    return "\n".join([f"| {' | '.join(heading)} |", f"|{'---|' * len(heading)}", *lines])


IN_WORDS = {FORM: "a form of the client", QUESTION: "the question of the run, also over RPC"}


def acts() -> str:
    def cell(act: PersonAct, surface: Surface) -> str:
        return ", ".join(_way(surface, way) for way in WAYS[act].get(surface, ())) or UNCHANGED

    names = {act: f"{act.value}{' ¹' if act in IN_SHELLS_OF_AGENTS else ''}" for act in WAYS}
    rows = ((name, [cell(act, surface) for surface in Surface]) for act, name in names.items())
    return _table("only a person can", (surface.value for surface in Surface), rows)


def _way(surface: Surface, way: str) -> str:
    """Return what a person types, presses or sends."""
    if way in IN_WORDS:
        return IN_WORDS[way]
    match surface:
        case Surface.COMMAND_LINE:
            return f"`tildone {way}`"
        case Surface.FLEET:
            return f"`tildone fleet {way}`"
        case Surface.BOARD:
            return f"`POST {way}`"
        case _ if way.startswith("/"):
            return f"`{way}`"
        case _:
            return f"key `{first_key(ALL_BINDINGS, way)}`"


NAMES = {Status.COMPLETED: "done", Status.ABANDONED: "dropped"}


def transitions_of_tasks() -> str:
    rows = {
        event.name: [UNCHANGED if was is now else _name(now) for was, now in row.items()]
        for event, row in table().items()
    }
    return _table("event", map(_name, Status), rows.items())


def _name(status: Status) -> str:
    return NAMES.get(status) or str(status.value).replace("_", " ")


class Changed(Protocol):
    """A change of a lease, as the rules return it."""

    @property
    def lease(self) -> Lease:
        """The lease after the change."""


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


def _obeyed(lease: Lease, ask: LeaseRequest, outcome: WorkOutcome) -> Changed | None:
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
    "`answer`, `approve`": lambda lease: rules.answered(lease, QUESTION, "", "", NOW),
    "`pause`": lambda lease: rules.stop_requested(lease, LeaseRequest.PAUSE, "", NOW),
    "`pause`, and the next task is done": lambda lease: _obeyed(lease, LeaseRequest.PAUSE, WorkOutcome.PAUSED),
    "`cancel`": lambda lease: rules.stop_requested(lease, LeaseRequest.CANCEL, "", NOW),
    "`cancel`, and its worker obeys": lambda lease: _obeyed(lease, LeaseRequest.CANCEL, WorkOutcome.CANCELLED),
    "`resume`, `retry`": lambda lease: rules.resumed(lease, NOW),
}
"""What can happen to a run, in the order of the table."""


def transitions_of_runs() -> str:
    rows = ((name, (_state_cell(lease, event) for lease in LEASES)) for name, event in EVENTS.items())
    return _table("event", map(_state, LEASES), rows)


def _state_cell(before: Lease, event: Callable[[Lease], Changed | None]) -> str:
    try:
        step = event(before)
    except Refused:
        return "refused"
    if step is None or _state(step.lease) == _state(before):
        return UNCHANGED
    return _state(step.lease)


def _state(lease: Lease) -> str:
    return state_of(RunView(lease, remaining=1), NOW)


ACTS = TablePage(REFERENCE / "what-an-agent-can-do.md", "tildone.app.who", acts)
CHECKS = TablePage(REFERENCE / "checks.md", "tildone.plan.reduce", transitions_of_tasks)
FLEET = TablePage(REFERENCE / "fleet-states.md", "tildone.log.lease_rules", transitions_of_runs)
