"""What the runs of a worker have in common."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tildone.agents.secrets import Redactor
    from tildone.fleet.drivers.launch import Driver
    from tildone.fleet.left_runs import LeftRuns
    from tildone.fleet.worktrees import Worktree
    from tildone.log.events import Event
    from tildone.log.fleet.port import RunLeases
    from tildone.log.fleet.workers import RunView
    from tildone.log.store import Store

    PromptFor = Callable[[RunView, Iterable[Event], Worktree], str]


@value
class WorkSite:
    """What the runs of a worker have in common. `store` is open at the address `address`; `new_id` makes event ids.

    `agents` are the drivers that the worker permits, `allow` the commands, and `ask` those that it permits once a
    person has approved them. `left` are the runs that it has left to other workers. `tell` is given lines for the
    person.
    """

    leases: RunLeases
    store: Store
    address: str
    home: str
    grace: float
    agents: Mapping[str, Driver]
    allow: tuple[str, ...]
    ask: tuple[str, ...]
    environ: Mapping[str, str]
    prompt_for: PromptFor
    redactor: Redactor
    new_id: Callable[[], str]
    left: LeftRuns
    tell: Callable[[str], None]
