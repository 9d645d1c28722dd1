"""Facts that a session remembers, each in an event that knows what came before it."""

from enum import Enum

from tildone.core.plan import Plan
from tildone.value import value


class Actor(Enum):
    """Who did it."""

    AGENT = "agent"
    USER = "user"
    TIMER = "timer"
    IMPORT = "import"


class Bound(Enum):
    """Which bound ended a chain of nudges."""

    NUDGES = "nudges"
    DRIFT = "drift"


@value
class Call:
    """A tool call as it was made: the tool's name and its arguments as JSON text."""

    tool: str
    arguments: str


@value
class PlanChanged:
    """The plan is this now, whole.

    `drift` is how many nudges had been given, at that moment, since a task was last closed or added: a change
    that closes or adds one starts again from 0.
    """

    plan: Plan
    call: Call | None = None
    drift: int = 0


@value
class Nudged:
    """The agent was told to go on: the `count`-th time since a change, the `drift`-th since progress."""

    count: int
    drift: int


@value
class Tripped:
    """The agent was let go with tasks open, because a bound was reached."""

    bound: Bound
    limit: int


@value
class Labelled:
    """An event was given a name; an empty one takes the name away."""

    target: str
    label: str


Fact = PlanChanged | Nudged | Tripped | Labelled


@value
class Event:
    """One fact, when it came about (milliseconds since 1970), through whom, and after which other event."""

    id: str
    parent: str | None
    at: int
    actor: Actor
    fact: Fact
