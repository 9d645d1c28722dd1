"""Decide whether an agent that ended its turn is told to go on.

An agent that stops while its plan has actionable tasks is nudged: it is told to go on. This module has no side
effects; `decide` is a function of the session's state, the bounds (`Patience`) and the facts about the turn.

Guaranteed: every chain of nudges ends. Since a person last spoke there are at most `Patience.total` nudges, and none
after `Patience.hours`. A chain without progress (see `changing.progress_of`) ends sooner: each nudge adds one to
`drift`, which only progress or a person resets, so at most `Patience.drift` nudges follow the last progress, and none
comes later than `Patience.minutes` after the first of them. Two tighter bounds end hopeless chains: `nudges` counts
since the plan or the files last changed, `repeats` counts stops in a row at which nothing at all changed. Budgets, of
the whole plan and of the task in progress, apply as far as it is known what was used. A coding agent that itself limits
how often it goes on drops the nudge after the last one; the agent is let go before that. The person can pause or stop
the agent at any time.

If it is in doubt whether the agent asks the person something (`tildone.plan.questions`), it is told once how to say
so, and may rest with the same message. The same message is in the same doubt each time: its digest, which the nudge
keeps, is all that has to be remembered.

The counts are part of the session's events, not of a process, so that a hook, which is a new process at each stop,
and a second process on the same session count the same nudges. A bound that is reached is recorded once, as
`Tripped`.
"""

from __future__ import annotations

from enum import Enum

from tildone.base import TYPE_CHECKING, value
from tildone.plan.events import Bound, Directive, Nudged, StopFingerprint, Tripped
from tildone.plan.model import Task, next_task, open_tasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.plan.events import State


@value
class Tick:
    """A tick at `at` milliseconds with `left` seconds left. At 0, the agent is told to go on."""

    at: int
    left: int

    @property
    def fires(self) -> bool:
        return self.left == 0


def countdown(seconds: int = 3) -> tuple[Tick, ...]:
    """Return one tick per second, for a person to watch and interrupt; without a screen, only the last one matters."""
    return tuple(Tick((seconds - left) * 1000, left) for left in range(seconds, -1, -1))


MS_PER_MINUTE = 60_000
MS_PER_HOUR = 60 * MS_PER_MINUTE


class Asks(Enum):
    """Whether the agent's last message asks the person something, so that it waits for the answer."""

    NO = ""
    DOUBT = "doubt"
    YES = "asked"


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
    """The bounds on a chain of nudges.

    `nudges` limits the nudges since the plan or the files last changed. `drift` limits the nudges since the last
    progress: it ends chains in which statuses or files keep changing without progress. `minutes` limits the duration of
    such a chain. `repeats` limits how many times in a row the agent may stop with the same message and the same files.
    `total` and `hours` limit the nudges since a person last spoke, whatever the agent does. `requests` limits the
    requests to the model in a run since then, and `idle_requests` those since the last progress. `cost`, in dollars,
    and `tokens` limit the conversations of all agents of the plan, as far as they are known. `task_cost`, `task_tokens`
    and `task_minutes` limit the task in progress, since it was started or a person last spoke. None means no limit.
    """

    nudges: int = 20
    drift: int = 60
    repeats: int = 3
    minutes: int = 240
    cost: float | None = None
    total: int = 1000
    hours: int = 168
    requests: int = 10_000
    idle_requests: int = 400
    tokens: int | None = None
    task_cost: float | None = None
    task_tokens: int | None = None
    task_minutes: int | None = None

    @property
    def has_budget(self) -> bool:
        """Whether there is a limit for the plan or for the task in progress."""
        return self.has_task_budget or self.has_plan_budget

    @property
    def has_plan_budget(self) -> bool:
        """Whether there is a limit for all agents of the plan together."""
        return (self.cost, self.tokens) != (None, None)

    @property
    def has_task_budget(self) -> bool:
        """Whether there is a limit for the task in progress."""
        return (self.task_cost, self.task_tokens, self.task_minutes) != (None, None, None)


@value
class Spent:
    """What the task in progress has taken: dollars, tokens and milliseconds, as far as they are known."""

    cost: float = 0
    tokens: int = 0
    ms: int = 0


@value
class Turn:
    """The facts about a turn that ended.

    `asked` tells whether its last message asks the person something; `busy`, that something it started is still
    running. `cost` is what the agents of the plan have cost so far, in dollars, and `tokens` are those they have used;
    `task` is what the task in progress has taken. `at` is the current time, in milliseconds. `continued` is how often
    in a row the coding agent has gone on, as it counts, and `max_continued` is how often it does, if it has a limit.
    """

    aborted: bool = False
    errored: bool = False
    asked: Asks = Asks.NO
    busy: bool = False
    fingerprint: StopFingerprint = StopFingerprint()
    cost: float = 0
    at: int = 0
    tokens: int = 0
    task: Spent = Spent()
    continued: int = 0
    max_continued: int | None = None


@value
class Rest:
    """Leave the agent alone."""

    why: RestReason


@value
class GoOn:
    """Tell the agent to go on with a task: nudge `count` since the last change, after `repeats` equal stops."""

    position: int
    task: Task
    count: int = 1
    repeats: int = 0


@value
class GiveUp:
    """Let the agent stop although tasks are open, because a bound was reached."""

    bound: Bound
    limit: float


Decision = Rest | GoOn | GiveUp
"""What is decided when an agent ends its turn: leave it alone, continue it, or let it stop at a bound."""


@value
class Verdict:
    """The decision at the end of a turn, and the prompt for the agent, if it goes on."""

    decision: Decision
    prompt: str | None = None


def judge(
    state: State,
    patience: Patience,
    turn: Turn,
    prompt: Callable[[], str],
    complete: Callable[[Turn], Turn] = lambda turn: turn,
) -> tuple[Verdict, Nudged | Tripped | None]:
    """Return the verdict at the end of a turn, and the fact that records it: the nudge, or a bound that is new.

    `complete` returns the turn with what was used and changed, on which the decision depends unless the agent rests.
    """
    if reason_to_rest(state, turn) is None:
        turn = complete(turn)
    decision = decide(state, patience, turn)
    match decision:
        case GoOn(_, _, count, repeats):
            return Verdict(decision, prompt()), Nudged(count, state.drift + 1, turn.fingerprint, repeats)
        case GiveUp(bound, limit) if not state.tripped:
            return Verdict(decision), Tripped(bound, limit)
        case _:
            return Verdict(decision), None


def decide(state: State, patience: Patience, turn: Turn = Turn()) -> Decision:  # noqa: B008  frozen
    """Decide what to do after the agent ended its turn.

    The order of the checks is part of the contract: an interrupted agent is left alone even if a bound is reached, and
    a finished plan never reports that a bound was reached.
    """
    reason, upcoming = reason_to_rest(state, turn), next_task(state.plan)
    if reason is not None or upcoming is None:
        return Rest(reason or RestReason.ALL_DONE)
    nudges, repeats = _counts(state, turn.fingerprint)
    return _bound_reached(state, patience, turn, nudges, repeats) or GoOn(*upcoming, nudges + 1, repeats)


def reason_to_rest(state: State, turn: Turn) -> RestReason | None:
    """Return why the agent is left alone, for reasons other than a bound; None if it depends on the bounds."""
    if not state.plan.tasks:
        return RestReason.NO_PLAN
    if turn.aborted:
        return RestReason.ABORTED
    if next_task(state.plan) is None:
        return RestReason.BLOCKED if open_tasks(state.plan) else RestReason.ALL_DONE
    if state.directive is not Directive.GO:
        return RestReason.PAUSED
    if turn.errored:
        return RestReason.ERRORED
    if turn.busy:
        return RestReason.BUSY
    return RestReason.ASKED if turn.asked is Asks.YES or _stays_in_doubt(state, turn) else None


def _stays_in_doubt(state: State, turn: Turn) -> bool:
    """Whether the agent was told how to say that it waits, and has ended with the same message again."""
    message = turn.fingerprint.message
    return turn.asked is Asks.DOUBT and message != "" and message == state.fingerprint.message


def _counts(state: State, fingerprint: StopFingerprint) -> tuple[int, int]:
    """The number of nudges since the plan or the files last changed, and of stops in a row with this fingerprint."""
    last = state.fingerprint
    if fingerprint.files and last.files and fingerprint.files != last.files:
        return 0, 0
    is_same = fingerprint.message != "" and fingerprint == last
    return state.nudges, state.repeats + 1 if is_same else 0


def _bound_reached(state: State, patience: Patience, turn: Turn, nudges: int, repeats: int) -> GiveUp | None:
    if nudges >= patience.nudges:
        return GiveUp(Bound.NUDGES, patience.nudges)
    if state.drift >= patience.drift:
        return GiveUp(Bound.DRIFT, patience.drift)
    if repeats >= patience.repeats:
        return GiveUp(Bound.SAME, patience.repeats)
    if state.drift and turn.at - state.since >= patience.minutes * MS_PER_MINUTE:
        return GiveUp(Bound.TIME, patience.minutes)
    if state.ledger.continued >= patience.total:
        return GiveUp(Bound.TOTAL, patience.total)
    if state.ledger.began and turn.at - state.ledger.began >= patience.hours * MS_PER_HOUR:
        return GiveUp(Bound.HOURS, patience.hours)
    if turn.max_continued is not None and turn.continued >= turn.max_continued:
        return GiveUp(Bound.HOST, turn.max_continued)
    return budget_reached(patience, turn)


def budget_reached(patience: Patience, turn: Turn) -> GiveUp | None:
    budgets = (
        (Bound.COST, patience.cost, turn.cost),
        (Bound.TOKENS, patience.tokens, turn.tokens),
        (Bound.TASK_COST, patience.task_cost, turn.task.cost),
        (Bound.TASK_TOKENS, patience.task_tokens, turn.task.tokens),
        (Bound.TASK_TIME, patience.task_minutes, turn.task.ms // MS_PER_MINUTE),
    )
    return next((GiveUp(bound, limit) for bound, limit, used in budgets if limit is not None and used >= limit), None)
