"""The figures of `/metrics`, for Prometheus.

Theory of operation. Gauges are read from the tables of the store and from the index of the board; counters are counted
from the logs. The store numbers its changes, and tells which sessions changed after a number. Each time, only the
events that follow the head that was counted last are read, so the cost depends on what has happened since, not on how
long the logs are. The counts begin at 0 with the process, as those of Prometheus do. The first time, only the heads of
the sessions are read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from threading import Lock

from tildone.app.opening import run_leases
from tildone.base import NotFound, StoreDamaged, UsageError
from tildone.base.ids import now
from tildone.log.store import Store
from tildone.plan.events import AgentUsage, Event, latest_state
from tildone.plan.history.stats import (
    BoundedNames,
    FleetNow,
    Key,
    PlanTally,
    counter_families,
    fleet_families,
    session_families,
)
from tildone.plan.text.charts import exposition
from tildone.plan.text.state import SessionWord
from tildone.screens.board.board import Board
from tildone.stores.leasing import RunLeases

MAX_EVENTS = 2000
"""How many events of a session are read at once. If the counted head is not among them, the branch was left."""

MAX_SEARCHED = 200
"""Among how many events before the first counted one the usage of agents is looked for."""

MAX_TALLIES = 1000
"""Of how many sessions the state is kept in memory. That of another one is read again."""

MAX_AGENTS, MAX_MODELS = 20, 100
"""How many names of agents and models are labels. More, in logs that anybody may write, become `other`."""


class StoreCounts:
    """What has happened in a store since the first call of `read`. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._revision: int | None = None
        self._heads: dict[str, str | None] = {}
        self._tallies: OrderedDict[str, PlanTally] = OrderedDict()
        self._counts: dict[Key, float] = {}
        self._agents, self._models = BoundedNames(MAX_AGENTS), BoundedNames(MAX_MODELS)

    def read(self) -> Mapping[Key, float]:
        """Count what is new, and return the counts.

        Raises StoreError if the store cannot be read. The next call counts what this one could not.
        """
        with self._lock:
            revision = self._store.records.revision()
            for change in self._store.records.changed(self._revision or 0):
                if self._revision is not None and change.head is not None:
                    self._count(change.session, change.head)
                self._heads[change.session] = change.head
                if not change.exists:
                    del self._heads[change.session]
                    self._tallies.pop(change.session, None)
            self._revision = revision
            return dict(self._counts)

    def _count(self, session: str, head: str) -> None:
        """Count the events of a session up to a head."""
        counted = self._heads.get(session)
        try:
            newest_first = self._since(session, head, counted)
            tally = self._tallies.pop(session, None)
            if newest_first and tally is None:
                tally = self._tally(session, counted)
        except (StoreDamaged, NotFound):
            # It is reported where it is shown; the others are counted.
            return
        if tally is None:
            return
        for event in reversed(newest_first):
            tally.add(event)
        self._tallies[session] = tally
        if len(self._tallies) > MAX_TALLIES:
            self._tallies.popitem(last=False)

    def _since(self, session: str, head: str, counted: str | None) -> list[Event]:
        """Return the events after the counted one, the newest first; none if the head was moved to another branch."""
        found: list[Event] = []
        for event in islice(self._store.history(session, head), MAX_EVENTS):
            if event.id == counted:
                return found
            found.append(event)
        return found if counted is None else []

    def _tally(self, session: str, head: str | None) -> PlanTally:
        """Return what counts the events of a session after a head."""
        used: dict[str, AgentUsage] = {}
        before = list(islice(self._store.history(session, head), MAX_SEARCHED)) if head else []
        for event in before:
            if event.usage is not None:
                used.setdefault(event.author.agent, event.usage)
        return PlanTally(self._counts, latest_state(before).plan, used, (self._agents, self._models))


SILENT_LEASES = 2
"""A worker is silent if its newest sign of life is older than so many leases."""


class Metrics:
    """The figures of a board."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._counts = StoreCounts(board.store)
        self._leases: RunLeases | None = None
        # Other stores have no fleet.
        with suppress(UsageError):
            self._leases = run_leases(board.store)

    def text(self) -> str:
        """Return the figures in the format of Prometheus. Raises StoreError if the store cannot be read."""
        self._board.refresh()
        index, leases = self._board.index, self._leases
        found = index.counts()
        states = {str(word.value): found.get(word, 0) for word in SessionWord}
        questions = len(index.needs())
        families = session_families(states, None if leases else questions)
        if leases:
            silent_after = SILENT_LEASES * leases.settings().lease
            fleet = FleetNow(leases.active(), leases.workers(), now(), silent_after, leases.size())
            families += fleet_families(fleet, questions)
        return exposition([*families, *counter_families(self._counts.read())])
