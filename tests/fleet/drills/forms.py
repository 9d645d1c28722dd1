"""How large the drills are: a short form for every run of the tests, and the long one of `do.py drills`."""

from dataclasses import dataclass

from tildone.log.settings import FleetSettings


@dataclass(frozen=True, slots=True)
class Form:
    """The times of a fleet, how many runs and tasks there are, and how long a task takes, in seconds."""

    settings: FleetSettings
    runs: int
    tasks: int
    quick: float

    @property
    def lease(self) -> float:
        return self.settings.lease / 1000

    @property
    def slow(self) -> float:
        """The length of a task in which its worker is stopped: its lease ends in the middle."""
        return self.lease + 1


SHORT = Form(FleetSettings(lease=3000, heartbeat=500, margin=1300, reaper=300, renewal=600), 2, 2, 1.0)
LONG = Form(FleetSettings(lease=10_000, heartbeat=3300, margin=1500, reaper=1000, renewal=1500), 6, 4, 1.0)
