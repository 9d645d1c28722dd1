"""Runs of a fleet as lines of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tildone.base import shortened, value
from tildone.plan.lists import BadRow, RunView, WorkerInfo
from tildone.plan.runs import Lease, LeaseRequest, LeaseState
from tildone.plan.text.amounts import about, dollars
from tildone.plan.text.safe import clipped, printable
from tildone.plan.text.state import counted, run_word
from tildone.plan.text.styles import Line, Role, Span, clip_text, display_width

MIN_COLUMNS_FOR_ONE_LINE = 110
UNLIMITED_COLUMNS = 1_000_000
MAX_REASON = 300
MAX_NAME_COLUMNS, STATE_COLUMNS, MAX_WORKER_COLUMNS = 32, 11, 24

QUEUED, DELAYED, RUNNING, LAPSED, ASKING = "queued", "delayed", "running", "lapsed", "asking"
_ASKED = {
    LeaseRequest.DRAIN: "draining",
    **dict.fromkeys((LeaseRequest.PAUSE, LeaseRequest.PAUSE_NOW), "pausing"),
    **dict.fromkeys((LeaseRequest.CANCEL, LeaseRequest.CANCEL_NOW), "cancelling"),
}
_ROLES = {
    ASKING: Role.WARNING,
    RUNNING: Role.ACCENT,
    LAPSED: Role.ERROR,
    LeaseState.WAITING.value: Role.WARNING,
    LeaseState.DONE.value: Role.SUCCESS,
    LeaseState.FAILED.value: Role.ERROR,
}
ORDER = (
    ASKING,
    LeaseState.WAITING.value,
    LeaseState.FAILED.value,
    LAPSED,
    RUNNING,
    *dict.fromkeys(_ASKED.values()),
    DELAYED,
    QUEUED,
    LeaseState.PAUSED.value,
    LeaseState.DONE.value,
    LeaseState.CANCELLED.value,
)
"""The states in the order of lists: what waits for a person is first, what has ended well is last."""


@value
class RunRow:
    """A hand of a run in a list: `asks` is its first open question to a person, `cost` that of its plan in dollars."""

    view: RunView
    asks: str = ""
    task: str = ""
    closed: int = 0
    total: int = 0
    cost: float | None = None

    @property
    def lease(self) -> Lease:
        return self.view.lease


def state_of(view: RunView, now: int) -> str:
    """Return the state of a hand in a word. A queued one that nobody may take yet, at `now`, is delayed."""
    lease = view.lease
    if lease.state is not LeaseState.OPEN:
        return str(lease.state.value)
    if not lease.is_held:
        return DELAYED if lease.not_before > now else QUEUED
    return LAPSED if not view.remaining else _ASKED.get(lease.request, RUNNING)


def row_state(row: RunRow, now: int) -> str:
    """Return the state of a row in a word. A run that goes on, but waits for a person, is asking."""
    state = state_of(row.view, now)
    return ASKING if row.asks and state == RUNNING else state


def listed_first(row: RunRow, now: int) -> tuple[int, int]:
    """Return what rows are sorted by: what waits for a person is first; of runs that have ended, the newest."""
    since = row.lease.since
    return ORDER.index(row_state(row, now)), since if row.lease.state.is_active else -since


def state_counts(rows: Sequence[RunRow], now: int) -> str:
    """Return how many rows have each state: `2 waiting, 5 working`."""
    words = Counter(run_word(row_state(row, now)) for row in rows)
    return ", ".join(counted(words[word], word) for word in dict.fromkeys(map(run_word, ORDER)) if words[word])


def hand_name(lease: Lease) -> str:
    return f"{lease.run}/{lease.hand + 1}" if lease.hand else lease.run


def short_reason(why: str) -> str:
    """Return a reason as one line: its first line, and the last one, which an agent that has failed has said last."""
    first, *rest = [line for line in why.splitlines() if line.strip()] or [""]
    return ": ".join(clipped(line, MAX_REASON) for line in (first, *rest[-1:]) if line)


def bad_row_text(row: BadRow) -> str:
    """Return what is wrong with a row that somebody else has put into a table of a fleet."""
    return f"a row of the fleet's table {row.table}, {printable(shortened(row.name))!r}, is wrong: {printable(row.why)}"


def why_queued(lease: Lease, views: Sequence[RunView], workers: Sequence[WorkerInfo], runs_at_once: int) -> str:
    """Return why nobody has taken a queued hand, given all leases and the limit of its provider (0 for none)."""
    if not lease.is_queued:
        return ""
    able = [worker for worker in workers if lease.work.fits(worker.labels)]
    if not able:
        labels = ", ".join(map(printable, lease.work.labels))
        return f"no worker has its labels: {labels}" if workers else "there are no workers"
    held = [view.lease for view in views if view.lease.is_held]
    same = next((each for each in held if lease.work.repo and each.work.repo == lease.work.repo), None)
    if same is not None:
        return f"{hand_name(same)} works on the same repository"
    used = sum(each.work.provider == lease.work.provider for each in held)
    if runs_at_once and used >= runs_at_once:
        return f"{used} runs use {printable(lease.work.provider)}, which is its limit"
    busy = all(sum(each.worker == worker.id for each in held) >= worker.slots for worker in able)
    return "all slots are in use" if busy else ""


def run_lines(rows: Sequence[RunRow], now: int, columns: int | None = None) -> list[Line]:
    """Return one line for each hand; two on a narrow terminal. The task is last, because it may be long."""
    width = columns or UNLIMITED_COLUMNS
    named = [printable(hand_name(row.lease)) for row in rows]
    longest = min(MAX_NAME_COLUMNS, max(map(display_width, named), default=0))
    lines: list[Line] = []
    for row, name in zip(rows, named, strict=True):
        lines += _two_lines(row, name, now, width) if width < MIN_COLUMNS_FOR_ONE_LINE else ()
        lines += [_one_line(row, name, now, longest, width)] if width >= MIN_COLUMNS_FOR_ONE_LINE else ()
    return lines


def _one_line(row: RunRow, name: str, now: int, longest: int, width: int) -> Line:
    state, worker = row_state(row, now), clip_text(printable(row.lease.worker), MAX_WORKER_COLUMNS)
    left = f"{clip_text(name, longest):<{longest}}  "
    cost = f"{dollars(row.cost) if row.cost else '':>7}"
    middle = f"  {f'{row.closed}/{row.total}':>7}  {cost}  {_since(row, now):>6}  {worker:<{MAX_WORKER_COLUMNS}}  "
    doing = clip_text(_doing(row), max(1, width - display_width(left) - STATE_COLUMNS - display_width(middle)))
    colored = Span(f"{run_word(state):<{STATE_COLUMNS}}", _ROLES.get(state))
    return (Span(left, bold=True), colored, Span(middle if doing else middle.rstrip(), Role.MUTED), Span(doing))


def _two_lines(row: RunRow, name: str, now: int, width: int) -> tuple[Line, Line]:
    state, since = row_state(row, now), _since(row, now)
    word = run_word(state)
    short = clip_text(name, max(1, width - len(word) - len(since) - 4))
    cost = dollars(row.cost) if row.cost else ""
    rest = "  ".join(
        part for part in (f"{row.closed}/{row.total}", cost, _doing(row), printable(row.lease.worker)) if part
    )
    return (
        (Span(short, bold=True), Span(f"  {word}", _ROLES.get(state)), Span(f"  {since}", Role.DIM)),
        (Span(clip_text(f"  {rest}", width), Role.DIM),),
    )


def _since(row: RunRow, now: int) -> str:
    return about(max(0, now - row.lease.since))


def _doing(row: RunRow) -> str:
    """Return what a person has to know of the run: what it asks, else its task."""
    return printable(f"asks: {row.asks}" if row.asks else row.task)
