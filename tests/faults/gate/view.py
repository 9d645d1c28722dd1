"""What a simulated agent sees of its plan, whichever way it works on it."""

from tests.faults.gate.actions import DIALECTS, REWRITES, ROOM, Action, Change
from tildone.core.plan import Plan
from tildone.session import Session


class PlanView:
    """The plan of an agent, and the hours that it has spent. `room` is how many tasks its dialect allows."""

    def __init__(self, dialect: str, session: Session) -> None:
        self.dialect, self.session = dialect, session
        self.room, self.rewrites = ROOM[dialect], dialect in REWRITES
        self.hours = 0.0

    @property
    def plan(self) -> Plan:
        return self.session.plan

    def make(self, change: Change) -> Action:
        return DIALECTS[self.dialect](self.plan, change)

    def wait(self, hours: float) -> None:
        self.hours += hours
