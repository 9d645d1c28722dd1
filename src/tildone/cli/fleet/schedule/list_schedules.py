"""`tildone fleet schedule list`: the plans that are run again and again."""

from __future__ import annotations

from tildone.cli.fleet.opening import fleet_if_any
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.ids import timestamp
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.log.fleet.workers import RunSchedule


def run(args: ParsedArgs) -> int:
    """List the schedules, by name."""
    fleet = fleet_if_any(args)
    found = fleet.leases.schedules() if fleet else []
    if args.has("json"):
        put_data(schedules=[_as_data(schedule) for schedule in found])
        return 0
    if not found:
        put('There are no schedules. To add one: tildone fleet schedule "0 3 * * *" PLAN')
    for schedule in found:
        zone = f" {schedule.zone}" if schedule.zone else ""
        last = f", last run {schedule.last}" if schedule.last else ""
        put(printable(f"{schedule.name}  {schedule.cron}{zone}, next at {timestamp(schedule.next)}{last}"))
    return 0


def _as_data(schedule: RunSchedule) -> dict[str, object]:
    return {
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone or "UTC",
        "next": timestamp(schedule.next),
        "last": schedule.last or None,
        "agent": schedule.work.agent,
        "repo": schedule.work.repo or None,
    }
