"""The events of a session: immutable facts, each with its time, its actor and its parent.

`PlanChanged` events are snapshots: each holds the whole plan and the call that made the change, never the ops that it
was reduced from. The stored field names are the codec's; they may differ from the names here.
"""

from __future__ import annotations

from enum import Enum

from tildone.core.plan import Plan
from tildone.value import value


class Actor(Enum):
    """Who caused an event."""

    AGENT = "agent"
    USER = "user"
    TIMER = "timer"
    IMPORT = "import"


class Bound(Enum):
    """Which bound ended a chain of nudges."""

    NUDGES = "nudges"
    DRIFT = "drift"
    SAME = "same"
    TIME = "time"
    COST = "cost"


class Directive(Enum):
    """What a person wants of the agent: to be told to continue, to be left alone when it stops, or to stop now."""

    GO = "go"
    PAUSE = "pause"
    STOP = "stop"


@value
class Call:
    """A tool call: the tool's name, and its arguments as JSON text."""

    tool: str
    arguments: str


@value
class PlanChanged:
    """The whole plan after a change.

    `drift` is the number of nudges since a task was last closed or added; a change that closes or adds one has 0.
    `since` is the time of the first of them, and `directive` the one in force. All three are repeated in each snapshot
    so that no older event has to be read.
    """

    plan: Plan
    call: Call | None = None
    drift: int = 0
    since: int = 0
    directive: Directive = Directive.GO


@value
class StopFingerprint:
    """Digests of the files and of the last message of an agent that stopped; empty if unknown."""

    files: str = ""
    message: str = ""


@value
class Nudged:
    """The agent was told to continue: nudge `count` since the last change, `drift` since the last progress.

    `repeats` is the number of stops in a row with the same fingerprint.
    """

    count: int
    drift: int
    fingerprint: StopFingerprint = StopFingerprint()
    repeats: int = 0


@value
class Tripped:
    """The agent was let stop with tasks open, because a bound was reached."""

    bound: Bound
    limit: int


@value
class Labelled:
    """An event was given a name; an empty one removes it."""

    target: str
    label: str


@value
class DirectiveSet:
    """A person set a directive. `Directive.GO` resets every count."""

    directive: Directive


Fact = PlanChanged | Nudged | Tripped | Labelled | DirectiveSet


@value
class Event:
    """One fact: when it happened (milliseconds since 1970), who caused it, and the event that it follows."""

    id: str
    parent: str | None
    at: int
    actor: Actor
    fact: Fact
