"""The events of a session: immutable facts, each with its time, its actor, its author and its parent.

`PlanChanged` events are snapshots: each holds the whole plan and the tool call that changed it, but not the ops. The
codec defines the stored field names, which may differ from the names here.
"""

from __future__ import annotations

from enum import Enum

from tildone.core.plan import Plan
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.log.fleet.facts import RunFact
    from tildone.log.usage import AgentUsage


class Actor(Enum):
    """The kind of author of an event."""

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
    """The agent was told to continue: this is nudge `count` since the last change and `drift` since the last progress.

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
    """An event was labelled; an empty label removes the one it had."""

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
class Event:
    """One fact: when it happened (milliseconds since 1970), who caused it, and the event that it follows.

    `usage` is what the author's agent had used in its conversation by then, if that is known.
    """

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
