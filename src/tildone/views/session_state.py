"""The state of a session in a list: a word, a sign, a colour, and the reason in ten words or fewer."""

from __future__ import annotations

from enum import Enum

from tildone.core.check import Result
from tildone.core.plan import Status
from tildone.core.query import next_task, progress
from tildone.kit.theme import Role
from tildone.log.events import Bound, Directive
from tildone.log.state import State
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.proofs import check_text
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from typing import Self

MAX_WORDS = 10

STUCK_NUDGES, STUCK_REPEATS, STUCK_DRIFT = 3, 1, 10
"""From how many nudges, stops with the same words, and nudges without progress on an agent at work is stuck."""


class SessionWord(Enum):
    """What a session is doing. The order of the members is the order of lists: what needs a person comes first.

    `value` is the word that is shown; `sign` is shown beside it, in the colour of `role`.
    """

    NEEDS_YOU = "needs you", "!", Role.WARNING
    STUCK = "stuck", "∞", Role.ERROR
    LET_GO = "let go", "○", Role.ERROR
    WORKING = "working", "●", Role.ACCENT
    PAUSED = "paused", "║", Role.DIM
    STOPPED = "stopped", "■", Role.DIM
    IDLE = "idle", "·", Role.DIM
    DONE = "done", "✓", Role.SUCCESS
    EMPTY = "empty", " ", Role.DIM

    _value_: str
    sign: str
    role: Role

    def __new__(cls, word: str, sign: str, role: Role) -> Self:
        """Create a member whose value is `word`."""
        member = object.__new__(cls)
        member._value_ = word
        member.sign, member.role = sign, role
        return member


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
    """Return the first words of a text, on one printable line."""
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
    """Return why an agent at work is stuck; empty if it is not."""
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
}
