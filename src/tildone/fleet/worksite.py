"""What the runs of a worker have in common: its options, and what it works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tildone.base import value
from tildone.base.secrets import Redactor
from tildone.fleet.drivers.launch import Driver
from tildone.fleet.permissions import LeftRuns
from tildone.log.store import Store
from tildone.stores.leasing import RunLeases

MIN_FREE_MB = 1000
"""A worker with less space on its disk takes nothing, unless it was told another amount."""


@value
class WorkerOptions:
    """How many runs a worker works on at once, and what it permits.

    `allow` are the patterns of the commands that its agents may run, `ask` of those that they may run once a person has
    approved them in the store, `agents` the names of these agents. `home` is the folder for working trees, outputs and
    reports, and `grace` the seconds that an agent gets to end. With less than `min_free_mb` megabytes of space on the
    disk of `home`, the worker takes nothing.
    """

    slots: int
    labels: frozenset[str]
    allow: tuple[str, ...]
    agents: frozenset[str]
    home: str
    grace: float
    min_free_mb: int = MIN_FREE_MB
    ask: tuple[str, ...] = ()


@value
class WorkSite:
    """What the runs of a worker have in common. `store` is open at the address `address`; `new_id` makes event ids.

    `agents` are the drivers that the worker permits, `left` the runs that it has left to other workers. `tell` is given
    lines for the person.
    """

    leases: RunLeases
    store: Store
    address: str
    options: WorkerOptions
    agents: Mapping[str, Driver]
    environ: Mapping[str, str]
    redactor: Redactor
    new_id: Callable[[], str]
    left: LeftRuns
    tell: Callable[[str], None]
