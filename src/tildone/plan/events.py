"""The events of a session: immutable facts, each with its time, its actor, its author and its parent.

`PlanChanged` events are snapshots: each holds the whole plan and the tool call that changed it, but not the ops, and
the counts and the directive that a change does not reset. The state at the head of a session therefore follows from the
events since the newest snapshot, and the time to read it does not depend on the length of the history. Every task of a
state has a number. Snapshots of older versions and of other programs have none: when they are read, tasks are numbered
in their order, and the next change records these numbers.

Each event names its parent, so a session is a tree. The head is the event that the next one follows; moving it to an
earlier event and appending there begins a branch. A branch is the path from an event to the root. Events are never
changed or removed: undo moves the head, and the redo stack records where redo moves it.

The codec defines the stored field names, which may differ from the names here.
"""

from __future__ import annotations

from enum import Enum

from tildone.base import TYPE_CHECKING, Refused, replace, value
from tildone.base.json import dump, parse
from tildone.plan.model import Plan, numbered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    from tildone.plan.runs import RunFact

    N = TypeVar("N", int, float)


class Actor(Enum):
    """Who caused an event."""

    AGENT = "agent"
    USER = "user"
    TIMER = "timer"
    IMPORT = "import"


@value
class Author:
    """Who caused an event: the person's name and, if an agent did it for that person, the agent and its model.

    `agent` is the text of an agent id, such as `claude:5f0c`. An event of a timer has the agent on whose behalf the
    timer acted. A field is empty if it is unknown, as in events of earlier versions. The values are labels, not proof:
    anyone who can write to a store can write any name.
    """

    name: str = ""
    agent: str = ""
    model: str = ""


class Bound(Enum):
    """The bounds that can end a chain of nudges, or a run."""

    NUDGES = "nudges"
    DRIFT = "drift"
    SAME = "same"
    TIME = "time"
    COST = "cost"
    TOTAL = "total"
    HOURS = "hours"
    IDLE_REQUESTS = "idle_requests"
    REQUESTS = "requests"
    TOKENS = "tokens"
    TASK_COST = "task_cost"
    TASK_TOKENS = "task_tokens"
    TASK_TIME = "task_time"
    HOST = "host"


class Directive(Enum):
    """What a person wants of an agent: GO continues it when it stops, PAUSE leaves it alone, STOP ends its work now."""

    GO = "go"
    PAUSE = "pause"
    STOP = "stop"


@value
class Call:
    """A tool call: the tool's name, and its arguments as JSON text."""

    tool: str
    arguments: str


@value
class Ledger:
    """What has counted since a person last spoke.

    `continued` is the number of nudges, and `began` the time of the first of them. `added` is the number of changes
    since the last completed task that counted as progress because they added tasks, and `dropped` is the number of
    those that dropped tasks, in all. `reopened` are the numbers of open tasks that were closed before, and `gone` the
    checksums of texts that were removed from the plan: neither counts a second time.
    """

    continued: int = 0
    began: int = 0
    added: int = 0
    reopened: tuple[int, ...] = ()
    gone: tuple[str, ...] = ()
    dropped: int = 0


@value
class PlanChanged:
    """The whole plan after a change.

    `drift` is the number of nudges since the last progress; a change that is progress has 0. `since` is the time of the
    first of them, `directive` is the one in force, and `ledger` is what has counted so far. Each snapshot repeats all
    four, so that no older event has to be read.
    """

    plan: Plan
    call: Call | None = None
    drift: int = 0
    since: int = 0
    directive: Directive = Directive.GO
    ledger: Ledger = Ledger()


@value
class StopFingerprint:
    """Digests of the project's files and of the agent's last message at a stop; empty if unknown."""

    files: str = ""
    message: str = ""


@value
class Nudged:
    """The agent was told to go on: this is nudge `count` since the last change and `drift` since the last progress.

    `repeats` is the number of stops in a row with the same fingerprint. If it was a nudge `of_subagent`, which only
    counts among those since a person last spoke, the other counts are those of the nudge before.
    """

    count: int
    drift: int
    fingerprint: StopFingerprint = StopFingerprint()
    repeats: int = 0
    of_subagent: bool = False


@value
class Tripped:
    """The agent was allowed to stop with open tasks, because a bound was reached. A `limit` in dollars has cents."""

    bound: Bound
    limit: float


@value
class Labelled:
    target: str
    label: str


@value
class DirectiveSet:
    """A directive was set. If a person did it, every count is 0 from then on; otherwise the counts are kept."""

    directive: Directive
    drift: int = 0
    since: int = 0
    ledger: Ledger = Ledger()


PlanFact = PlanChanged | Nudged | Tripped | Labelled | DirectiveSet
"""What happens to a plan, whoever works on it."""

if TYPE_CHECKING:
    Fact = PlanFact | RunFact
else:
    # The facts about runs are in a module of their own, which few processes import.
    Fact = PlanFact


@value
class AgentUsage:
    """Tokens that the model read and wrote, and their cost in US dollars; None is unknown."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens; None if none are known."""
        return _sum(self.tokens_in, self.tokens_out)

    @property
    def is_known(self) -> bool:
        return self.tokens is not None or self.cost is not None


UNKNOWN = AgentUsage()
_INFINITY = float("inf")
_NAMES = {"tokens_in": "in", "tokens_out": "out", "cost": "cost"}


@value
class Event:
    """One fact: when (in ms since 1970), by whom, and after which event; `usage` is what its agent had used by then."""

    id: str
    parent: str | None
    at: int
    actor: Actor
    fact: Fact
    author: Author = Author()
    usage: AgentUsage | None = None

    @property
    def by_person(self) -> bool:
        """Whether a person did it. What is typed in the shell of an agent is the agent's doing."""
        return self.actor in (Actor.USER, Actor.IMPORT) and not self.author.agent


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


@value
class SessionHead:
    """The head of a session and its redo stack: the heads to which redo moves, the next one first."""

    head: str | None = None
    redo: tuple[str, ...] = ()


@value
class SessionInfo:
    """A session in a list. Times are in ms since 1970; `title` is the name or the first prompt of its conversation."""

    name: str
    events: int
    created: int
    updated: int
    title: str = ""


@value
class SessionChange:
    """The newest change of a session, and its head. If the session was deleted, it does not exist and has no head."""

    session: str
    head: str | None
    revision: int
    exists: bool = True


def by_id(events: Iterable[Event]) -> dict[str, Event]:
    return {event.id: event for event in events}


def ancestors(events: Mapping[str, Event], head: str | None) -> Iterator[Event]:
    """Yield an event and its ancestors, newest first."""
    while head is not None:
        yield events[head]
        head = events[head].parent


def branch(events: Mapping[str, Event], head: str | None) -> list[Event]:
    return list(ancestors(events, head))[::-1]


def leaves(events: Iterable[Event]) -> list[str]:
    known = list(events)
    parents = {event.parent for event in known}
    return [event.id for event in known if event.id not in parents]


def labels(events: Iterable[Event]) -> dict[str, str]:
    names: dict[str, str] = {}
    for event in events:
        if isinstance(event.fact, Labelled):
            names.pop(event.fact.target, None)
            if event.fact.label:
                names[event.fact.target] = event.fact.label
    return names


def head_after_undo(current: SessionHead, newest_first: Iterable[Event], changes: int) -> SessionHead:
    """Return the head before the newest `changes` changes, which can be redone; `Refused` if there are fewer."""
    former_head: str | None = None
    redo, undone = current.redo, 0
    for event in newest_first:
        former_head = event.id if former_head is None else former_head
        if isinstance(event.fact, PlanChanged):
            redo = (former_head, *redo)
            former_head = None
            undone += 1
            if undone == changes:
                return SessionHead(event.parent, redo)
    raise Refused(f"there {_only(undone)} to undo" if undone else "nothing to undo")


def head_after_redo(current: SessionHead, changes: int) -> SessionHead:
    """Return the head after redoing `changes` changes, and what can still be redone; `Refused` if there are fewer."""
    redo = current.redo
    if len(redo) < changes:
        raise Refused(f"there {_only(len(redo))} to redo" if redo else "nothing to redo")
    return SessionHead(redo[changes - 1], redo[changes:])


def _only(changes: int) -> str:
    return "is only 1 change" if changes == 1 else f"are only {changes} changes"


def added(one: AgentUsage, other: AgentUsage) -> AgentUsage:
    """Return the sum; an amount that only one of them has is that one's."""
    return AgentUsage(*(_sum(getattr(one, name), getattr(other, name)) for name in _NAMES))


def since(before: AgentUsage, now: AgentUsage) -> AgentUsage:
    """Return what was used between two cumulative amounts of one agent; one that became smaller began at 0 again."""
    return AgentUsage(*(_difference(getattr(before, name), getattr(now, name)) for name in _NAMES))


def usage_out(usage: AgentUsage | None) -> str:
    """Return the field `used` of an event, followed by a comma; empty if nothing is known."""
    return "" if usage is None or not usage.is_known else f'"used":{usage_text(usage)},'


def usage_text(usage: AgentUsage) -> str:
    amounts = {short: getattr(usage, name) for name, short in _NAMES.items()}
    return dump({short: amount for short, amount in amounts.items() if amount is not None})


def usage_of_text(text: str) -> AgentUsage | None:
    """Return the usage of a JSON text; None if there is none in it."""
    try:
        return usage_in(parse(text))
    except ValueError:
        return None


def usage_in(data: object) -> AgentUsage | None:
    """Return the usage in JSON data. Amounts of another type count as unknown: they are not worth losing an event."""
    if not isinstance(data, dict):
        return None
    usage = AgentUsage(_count(data.get("in")), _count(data.get("out")), _amount(data.get("cost")))
    return usage if usage.is_known else None


def _sum(one: N | None, other: N | None) -> N | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _difference(before: N | None, now: N | None) -> N | None:
    if now is None or before is None or now < before:
        return now
    return now - before


def _count(data: Any) -> int | None:
    return data if isinstance(data, int) and not isinstance(data, bool) and data >= 0 else None


def _amount(data: Any) -> float | None:
    is_number = isinstance(data, int | float) and not isinstance(data, bool)
    return data if is_number and 0 <= data < _INFINITY else None
