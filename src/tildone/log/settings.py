"""What all workers of a fleet agree on: how long leases last, and how much of each provider may be used."""

from tildone.base import UsageError, shortened, value
from tildone.plan.names import MAX_PRIORITY, check_number, check_text

MINUTE_MS = 60_000
BURST_PART = 10
"""A provider may get this part of the requests of a minute at once."""


MAX_LEASE_MS = 86_400_000
"""No lease lasts longer than a day: its run would pass to another worker after that only."""

ENGINES = ("table", "dbos")
"""What can bring queued runs to workers: the table of leases itself, or DBOS, in the same database."""


@value
class FleetSettings:
    """Times in milliseconds. They are kept in the store, so that all workers use the same ones.

    A lease is renewed at each `heartbeat`, which may take `renewal`. An agent is stopped `margin` before the lease of
    its worker ends. Workers look for lapsed leases at intervals of `reaper`.
    `engine` is one of `ENGINES`; it is empty until somebody has chosen one.
    """

    lease: int = 60_000
    heartbeat: int = 20_000
    margin: int = 5_000
    reaper: int = 2_000
    renewal: int = 5_000
    engine: str = ""

    @property
    def grace(self) -> int:
        """How long a server has to run, and a reaper to see it, before a lease lapses because its time has passed."""
        return self.lease // 2

    def deadline_after(self, before: float) -> float:
        """Return until when an agent may run, in seconds, if its lease was renewed after the time `before`."""
        return before + (self.lease - self.margin) / 1000


@value
class ProviderLimit:
    """How many runs may use a provider at once, and how many requests a minute; 0 is no limit."""

    provider: str
    runs: int = 0
    requests: int = 0


def checked_settings(settings: FleetSettings) -> FleetSettings:
    """Return the settings, if a worker that misses one renewal keeps its leases."""
    for name in ("lease", "heartbeat", "margin", "reaper", "renewal"):
        check_number(f"`{name}` of a fleet, in milliseconds,", getattr(settings, name), MAX_LEASE_MS)
    if min(settings.lease, settings.heartbeat, settings.reaper, settings.renewal) <= 0 or settings.margin < 0:
        raise UsageError("the times of a fleet must be positive")
    if settings.engine not in ("", *ENGINES):
        raise UsageError(f"the engine of a fleet is {' or '.join(ENGINES)}, not {shortened(settings.engine)!r}")
    if 2 * settings.heartbeat + settings.renewal >= settings.lease - settings.margin:
        raise UsageError(
            f"a lease of {_seconds(settings.lease)} is too short: it must be longer than two heartbeats "
            f"({_seconds(settings.heartbeat)} each), a renewal ({_seconds(settings.renewal)}) and the margin "
            f"({_seconds(settings.margin)})"
        )
    return settings


def checked_limit(limit: ProviderLimit) -> ProviderLimit:
    """Return the limits of a provider."""
    check_text(limit.provider)
    check_number("the runs of a provider", limit.runs, MAX_PRIORITY)
    check_number("the requests of a provider", limit.requests, MAX_PRIORITY)
    return limit


def request_at(earliest: int, now: int, per_minute: int) -> tuple[int, int]:
    """Take one of the requests of a minute: return the new `earliest`, and how many milliseconds to wait first.

    If that is not 0, nothing was taken. `earliest` is when the next request would come if all came at equal intervals.
    No minute has more than `per_minute` requests: some at once, the rest at equal intervals.
    """
    burst = max(1, per_minute // BURST_PART)
    interval = -(-MINUTE_MS // (per_minute - burst + 1))
    allowed = earliest - (burst - 1) * interval
    if now < allowed:
        return earliest, allowed - now
    return max(now, earliest) + interval, 0


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g} s"
