"""Facts that a session remembers, each in an event that knows what came before it."""

from __future__ import annotations

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
    SAME = "same"
    TIME = "time"
    COST = "cost"


class Directive(Enum):
    """What a person wants of the agent: that it is kept going, left alone when it stops, or stopped where it is."""

    GO = "go"
    PAUSE = "pause"
    STOP = "stop"


@value
class Call:
    """A tool call as it was made: the tool's name and its arguments as JSON text."""

    tool: str
    arguments: str


@value
class PlanChanged:
    """The plan is this now, whole.

    `drift` is how many nudges had been given, at that moment, since a task was last closed or added: a change
    that closes or adds one starts again from 0. `since` is when the first of these was given. `course` is the one
    the person had set. Both are repeated here so that nothing older than the newest plan has to be read.
    """

    plan: Plan
    call: Call | None = None
    drift: int = 0
    since: int = 0
    directive: Directive = Directive.GO


@value
class StopFingerprint:
    """What an agent that stopped was seen to have left: marks of its files and of its last words, empty if unknown."""

    files: str = ""
    words: str = ""


@value
class Nudged:
    """The agent was told to go on: the `count`-th time since a change, the `drift`-th since progress.

    `same` is how many times in a row it had stopped with nothing new to be seen.
    """

    count: int
    drift: int
    fingerprint: StopFingerprint = StopFingerprint()
    repeats: int = 0


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


@value
class DirectiveSet:
    """A person has set a course. Going on begins every count anew."""

    directive: Directive


Fact = PlanChanged | Nudged | Tripped | Labelled | DirectiveSet


@value
class Event:
    """One fact, when it came about (milliseconds since 1970), through whom, and after which other event."""

    id: str
    parent: str | None
    at: int
    actor: Actor
    fact: Fact
