"""The figures of `/metrics`, for Prometheus.

Gauges are read from the tables of the store and from the index of the board. Counters are counted from the logs, from
the first scrape on (`tildone.telemetry.counting`). So the cost of a scrape depends on what runs now and on what
has happened since the last one, not on how long the logs are.
"""

from __future__ import annotations

from contextlib import suppress

from tildone.app.opening import run_leases
from tildone.errors import UsageError
from tildone.history.figures import FleetNow, counter_families, fleet_families, session_families
from tildone.ids import now
from tildone.log.fleet.port import RunLeases
from tildone.telemetry.counting import StoreCounts
from tildone.views.exposition import exposition
from tildone.views.session_state import SessionWord
from tildone.web.board import Board

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
        """Return the figures in the format of Prometheus.

        Raises:
            StoreError: the store cannot be read.
        """
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
