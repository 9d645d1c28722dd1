"""Write transactions of a process that works for a run of a fleet."""

from __future__ import annotations

from tildone.errors import RunFenced
from tildone.stores.sqlite import fleet_queries
from tildone.stores.sqlite.schema import Transaction
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

    from tildone.log.fleet.lease import RunFence


class FencedTransaction(Transaction):
    """A write transaction that begins only while the lease of the run is held.

    Raises:
        RunFenced: the run has passed to another worker, or has ended.
    """

    def __init__(self, connection: apsw.Connection, fence: RunFence) -> None:
        super().__init__(connection)
        self._fence = fence

    def __enter__(self) -> None:
        super().__enter__()
        fence = self._fence
        if not self._connection.execute(fleet_queries.HOLDS, (fence.run, fence.hand, fence.epoch)).get:
            self._connection.execute("ROLLBACK")
            raise RunFenced(fence.run)
