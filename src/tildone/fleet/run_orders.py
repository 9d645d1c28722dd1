"""What an execution of a run is told, and what becomes of the run then."""

from __future__ import annotations

from enum import IntEnum

from tildone.fleet.endings import RunEnding
from tildone.log.fleet.lease import Ask, WorkOutcome


class RunOrder(IntEnum):
    """What an execution is told. The ones before STOP are obeyed when the next task is done, the others at once."""

    GO = 0
    DRAIN = 1
    PAUSE = 2
    CANCEL = 3
    STOP = 4
    PAUSE_NOW = 5
    CANCEL_NOW = 6
    LOST = 7


ORDERS = {
    Ask.NOTHING: RunOrder.GO,
    Ask.DRAIN: RunOrder.DRAIN,
    Ask.PAUSE: RunOrder.PAUSE,
    Ask.PAUSE_NOW: RunOrder.PAUSE_NOW,
    Ask.CANCEL: RunOrder.CANCEL,
    Ask.CANCEL_NOW: RunOrder.CANCEL_NOW,
}
"""The orders that follow from what a person asks of the holder of a lease."""

CANCELLED = (RunOrder.CANCEL, RunOrder.CANCEL_NOW)
ENDINGS = {
    RunOrder.DRAIN: RunEnding(None, "drained"),
    RunOrder.STOP: RunEnding(None, "its worker was stopped"),
    RunOrder.PAUSE: RunEnding(WorkOutcome.PAUSED, "paused"),
    RunOrder.PAUSE_NOW: RunEnding(WorkOutcome.PAUSED, "paused"),
    **dict.fromkeys(CANCELLED, RunEnding(WorkOutcome.CANCELLED, "cancelled")),
}
"""How a run ends whose agent was ended by an order."""
