"""The words for states on all surfaces, and the state of a session: a word, a sign, a colour, the reason, a strip.

The strip is a plan in one row of cells, one for each task, with a gap between phases. Statuses differ in shape and
weight, so it can be read without colours:

    ━━ ━━━●· ─!─ ──

If there is not enough room for all cells, the gaps are left out; if that is not enough, neighbouring tasks share cells.
A task in progress or a blocked one keeps a cell of its own, or shares it with neighbours of the same status.
"""

from __future__ import annotations

from enum import Enum
from itertools import groupby, pairwise

from tildone.base import TYPE_CHECKING, value
from tildone.plan.events import Bound, Directive, State
from tildone.plan.model import Result, Status, next_task, progress
from tildone.plan.text import safe
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from tildone.plan.model import Plan
    from tildone.plan.text.styles import Line


MAX_WORDS = 10

STUCK_NUDGES, STUCK_REPEATS, STUCK_DRIFT = 3, 1, 10
"""From how many nudges, stops with the same words, and nudges without progress on an agent at work is stuck."""


class SessionWord(Enum):
    """What a session is doing, in the order of lists: what needs a person first. `sign` is shown in the `role`."""

    NEEDS_YOU = safe.NEEDS_YOU, "!", Role.WARNING
    STUCK = "stuck", "∞", Role.ERROR
    LET_GO = safe.LET_GO, "○", Role.ERROR
    WORKING = "working", "●", Role.ACCENT
    PAUSED = safe.DIRECTIVE_TEXTS[Directive.PAUSE], "║", Role.DIM
    STOPPED = safe.DIRECTIVE_TEXTS[Directive.STOP], "■", Role.DIM
    IDLE = "idle", "·", Role.DIM
    DONE = "done", "✓", Role.SUCCESS
    EMPTY = "empty", " ", Role.DIM

    _value_: str
    sign: str
    role: Role

    def __new__(cls, word: str, sign: str, role: Role) -> Self:
        member = object.__new__(cls)
        member._value_ = word
        member.sign, member.role = sign, role
        return member


RUN_WORDS: dict[str, str] = {
    "running": SessionWord.WORKING.value,
    "asking": SessionWord.NEEDS_YOU.value,
    "waiting": SessionWord.NEEDS_YOU.value,
    "lapsed": "worker lost",
}
"""What a person reads of the state of a run of a fleet, if that is another word than in data."""


def counted(count: int, word: str) -> str:
    """Return how many are in a state: `2 working`, `1 needs you`, `3 need you`."""
    return f"{count:,} {'need you' if count > 1 and word == safe.NEEDS_YOU else word}"


def run_word(state: str) -> str:
    return RUN_WORDS.get(state, state)


STATUS_WORDS = {
    Status.PENDING: "open",
    Status.IN_PROGRESS: "in progress",
    Status.COMPLETED: "done",
    Status.ABANDONED: "dropped",
    Status.BLOCKED: "blocked",
}
"""What a person reads of a task's status."""


@value
class SessionFacts:
    """What the state of a session is derived from.

    `at_work` means that the process of an agent of this session runs. `steered_by` is the person who paused or stopped
    it, if known. `nudge_limit` is how many nudges without a change are allowed. `held_up` says which task with a
    check an agent has set aside, if any.
    """

    state: State
    at_work: bool = False
    steered_by: str = ""
    nudge_limit: int = 0
    held_up: str = ""


@value
class SessionState:
    """What a session is doing, and why; the reason may be empty, and is printable."""

    word: SessionWord
    why: str = ""


def session_state(facts: SessionFacts) -> SessionState:
    """Return the state of a session. The order of the checks is part of the contract: the first that holds decides."""
    state = facts.state
    if (waiting := facts.held_up or _waiting_for(state)) is not None:
        return SessionState(SessionWord.NEEDS_YOU, ten_words(waiting))
    by = f"by {printable(facts.steered_by)}" if facts.steered_by else ""
    if state.directive is Directive.STOP:
        return SessionState(SessionWord.STOPPED, ten_words(f"stopped {by}" if by else ""))
    if state.directive is Directive.PAUSE:
        return SessionState(SessionWord.PAUSED, ten_words(f"paused {by}" if by else ""))
    if state.tripped:
        return SessionState(SessionWord.LET_GO, _REACHED[state.tripped.bound].format(state.tripped.limit))
    upcoming = next_task(state.plan)
    if facts.at_work and upcoming is not None:
        stuck = _stuck(facts)
        if stuck:
            return SessionState(SessionWord.STUCK, stuck)
        return SessionState(SessionWord.WORKING, ten_words(upcoming[1].text))
    if upcoming is not None:
        return SessionState(SessionWord.IDLE, ten_words(f"next: {upcoming[1].text}"))
    return SessionState(SessionWord.DONE if progress(state.plan).finished else SessionWord.EMPTY)


def ten_words(text: str) -> str:
    words = printable(text).split()
    return " ".join(words if len(words) <= MAX_WORDS else [*words[: MAX_WORDS - 1], "…"])


def _waiting_for(state: State) -> str | None:
    """Return what the session waits for if every open task is blocked; None otherwise."""
    blocked = [task for task in state.plan.tasks if task.status is Status.BLOCKED]
    if not blocked or next_task(state.plan) is not None:
        return None
    first = blocked[0]
    if first.check is not None and first.proof is not None and first.proof.result is Result.REFUSED:
        return f"approve its check: {check_text(first.check)}"
    return f"waits: {first.notes[-1] if first.notes else first.text}"


def _stuck(facts: SessionFacts) -> str:
    state = facts.state
    if state.repeats >= STUCK_REPEATS:
        return f"same words {state.repeats + 1} times"
    if state.nudges >= STUCK_NUDGES:
        return (
            f"told {state.nudges} of {facts.nudge_limit} times" if facts.nudge_limit else f"told {state.nudges} times"
        )
    return f"told {state.drift} times without progress" if state.drift >= STUCK_DRIFT else ""


_REACHED = {
    Bound.NUDGES: "told {} times, and nothing changed",
    Bound.DRIFT: "told {} times, and no task closed",
    Bound.SAME: "same words {} more times",
    Bound.TIME: "no task closed in {} minutes",
    Bound.COST: "has cost ${:,.2f}",
    Bound.TOTAL: "told {} times since you last spoke",
    Bound.HOURS: "{} hours since you last spoke",
    Bound.IDLE_REQUESTS: "{} requests, and no task closed",
    Bound.REQUESTS: "{} requests since you last spoke",
    Bound.TOKENS: "has used {:,} tokens",
    Bound.TASK_COST: "the task has cost ${:,.2f}",
    Bound.TASK_TOKENS: "the task has used {:,} tokens",
    Bound.TASK_TIME: "the task has taken {} minutes",
    Bound.HOST: "told {} times, its agent's limit",
}


GAP = " "
_CELLS = {
    Status.PENDING: ("─", Role.DIM),
    Status.IN_PROGRESS: ("●", Role.ACCENT),
    Status.COMPLETED: ("━", Role.SUCCESS),
    Status.ABANDONED: ("·", Role.DIM),
    Status.BLOCKED: ("!", Role.WARNING),
}
_SIGNS = {
    Status.PENDING: ".",
    Status.IN_PROGRESS: "a",
    Status.COMPLETED: "d",
    Status.ABANDONED: "x",
    Status.BLOCKED: "b",
}
_STATUSES = {sign: status for status, sign in _SIGNS.items()}
_PROMINENT = frozenset({Status.IN_PROGRESS, Status.BLOCKED})
"""The statuses that do not disappear among others."""


def strip_signs(plan: Plan) -> str:
    """Return a plan as one letter for each task, with a space between phases: `dd dddax .b. ..`."""
    return " ".join("".join(_SIGNS[task.status] for task in phase.tasks) for phase in plan.phases if phase.tasks)


def strip_spans(plan: Plan, columns: int) -> Line:
    return signs_spans(strip_signs(plan), columns)


def signs_spans(signs: str, columns: int) -> Line:
    """Return the strip of what `strip_signs` returned, in at most this many columns."""
    runs = [(status, len(list(run))) for status, run in groupby(_cells(signs, columns))]
    return tuple(
        Span(GAP * count) if status is None else Span(_CELLS[status][0] * count, _CELLS[status][1])
        for status, count in runs
    )


def count_text(plan: Plan) -> str:
    done = progress(plan)
    return f"{done.closed}/{done.total}" if done.total else ""


def _cells(signs: str, columns: int) -> list[Status | None]:
    phases = [[_STATUSES[sign] for sign in phase] for phase in signs.split()]
    statuses = [status for phase in phases for status in phase]
    if len(statuses) + len(phases) - 1 <= columns:
        with_gaps = [cell for phase in phases for cell in (None, *phase)]
        return with_gaps[1:]
    return [*(statuses if len(statuses) <= columns else _shared(statuses, max(columns, 0)))]


def _shared(statuses: Sequence[Status], columns: int) -> list[Status]:
    """Return fewer cells than tasks. Each run of a prominent status has at least one cell, as far as there is room."""
    groups = [list(run) for _, run in groupby(statuses, lambda status: status if status in _PROMINENT else None)]
    prominent = [group[0] for group in groups if group[0] in _PROMINENT]
    if len(prominent) >= columns:
        return [status for status, _ in groupby(prominent)][:columns]
    # What each group may have beyond the cell that it has in any case.
    more = [len(group) - (group[0] in _PROMINENT) for group in groups]
    shares = _allotted(more, columns - len(prominent))
    return [
        cell
        for group, share in zip(groups, shares, strict=True)
        for cell in _buckets(group, share + (group[0] in _PROMINENT))
    ]


def _allotted(sizes: Sequence[int], cells: int) -> list[int]:
    """Divide cells among groups in proportion to their sizes, which are more in all than there are cells."""
    total = sum(sizes)
    shares = [size * cells // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda index: -(sizes[index] * cells % total))
    for index in by_remainder[: cells - sum(shares)]:
        shares[index] += 1
    return shares


def _buckets(group: Sequence[Status], cells: int) -> list[Status]:
    ends = [len(group) * cell // cells for cell in range(cells + 1)] if cells else []
    buckets = [group[start:end] for start, end in pairwise(ends)]
    return [max(dict.fromkeys(bucket), key=bucket.count) for bucket in buckets]
