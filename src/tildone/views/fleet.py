"""Runs of a fleet as lines of a list."""

from __future__ import annotations

from tildone.kit.text import clip_text, display_width
from tildone.kit.theme import Role, Span
from tildone.log.fleet.lease import Ask, LeaseState
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable
from tildone.views.usage import about, dollars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.workers import RunView

    Line = tuple[Span, ...]

MIN_COLUMNS_FOR_ONE_LINE = 100
UNLIMITED_COLUMNS = 1_000_000
MAX_NAME_COLUMNS = 32

QUEUED, DELAYED, RUNNING, LAPSED = "queued", "delayed", "running", "lapsed"
_ASKED = {Ask.PAUSE: "pausing", Ask.CANCEL: "cancelling", Ask.DRAIN: "draining"}
_ROLES = {
    RUNNING: Role.ACCENT,
    LAPSED: Role.ERROR,
    LeaseState.WAITING.value: Role.WARNING,
    LeaseState.DONE.value: Role.SUCCESS,
    LeaseState.FAILED.value: Role.ERROR,
}


@value
class RunRow:
    """A hand of a run in a list. `cost` is that of its plan, in dollars; None if it is not known."""

    view: RunView
    task: str = ""
    closed: int = 0
    total: int = 0
    cost: float | None = None

    @property
    def lease(self) -> Lease:
        """The lease of the hand."""
        return self.view.lease


def state_of(view: RunView, now: int) -> str:
    """Return the state of a hand in a word. A queued one that nobody may take yet, at `now`, is delayed."""
    lease = view.lease
    if lease.state is not LeaseState.OPEN:
        return str(lease.state.value)
    if not lease.is_held:
        return DELAYED if lease.not_before > now else QUEUED
    return LAPSED if not view.remaining else _ASKED.get(lease.ask, RUNNING)


def hand_name(lease: Lease) -> str:
    """Return the name of a run, with the number of the hand if it is not the first."""
    return f"{lease.run}/{lease.hand + 1}" if lease.hand else lease.run


def run_lines(rows: Sequence[RunRow], now: int, columns: int | None = None) -> list[Line]:
    """Return one line for each hand; two on a narrow terminal. The task is last, because it may be long."""
    width = columns or UNLIMITED_COLUMNS
    named = [printable(hand_name(row.lease)) for row in rows]
    longest = min(MAX_NAME_COLUMNS, max(map(display_width, named), default=0))
    lines: list[Line] = []
    for row, name in zip(rows, named, strict=True):
        state = state_of(row.view, now)
        facts = f"{row.closed}/{row.total}".rjust(7) + f"  {dollars(row.cost) if row.cost else '':>7}"
        since = about(max(0, now - row.lease.since))
        worker = printable(row.lease.worker)
        if width < MIN_COLUMNS_FOR_ONE_LINE:
            short = clip_text(name, max(1, width - len(state) - len(since) - 4))
            lines.append((Span(short, bold=True), Span(f"  {state}", _ROLES.get(state)), Span(f"  {since}", Role.DIM)))
            rest = "  ".join(part for part in (facts.strip(), printable(row.task), worker) if part)
            lines.append((Span(clip_text(f"  {rest}", width), Role.DIM),))
            continue
        left = f"{clip_text(name, longest):<{longest}}  "
        middle = f"  {facts}  {since:>6}  {clip_text(worker, 24):<24}  "
        task = clip_text(printable(row.task), max(1, width - display_width(left) - 10 - display_width(middle)))
        lines.append(
            (Span(left, bold=True), Span(f"{state:<10}", _ROLES.get(state)), Span(middle, Role.MUTED), Span(task))
        )
    return lines
