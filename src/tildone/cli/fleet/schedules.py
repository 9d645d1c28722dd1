"""`tildone fleet schedule`: plans that are run again and again."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from tildone.base import NotFound, UsageError, nearest, shortened
from tildone.base.ids import now, timestamp
from tildone.cli.fleet.adding import check_commands, plan_file, run_stem, work_of
from tildone.cli.fleet.opening import fleet_if_any, open_existing_fleet, open_fleet
from tildone.cli.output import put
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.log.cron import next_time, parse_cron
from tildone.plan.codec import dump, plan_to_json
from tildone.plan.lists import RunSchedule
from tildone.plan.model import numbered
from tildone.plan.names import check_name
from tildone.plan.text.safe import printable

MAX_NAME = 40
"""Names of runs are longer: they end with the time."""


def list_schedules(args: ParsedArgs) -> int:
    fleet = fleet_if_any(args)
    found = fleet.leases.schedules() if fleet else []
    if args.has("json"):
        put_data(schedules=[_schedule_data(schedule) for schedule in found])
        return 0
    if not found:
        put('There are no schedules. To add one: tildone fleet schedule "0 3 * * *" PLAN')
    for schedule in found:
        zone = f" {schedule.zone}" if schedule.zone else ""
        last = f", last run {schedule.last}" if schedule.last else ""
        put(printable(f"{schedule.name}  {schedule.cron}{zone}, next at {timestamp(schedule.next)}{last}"))
    return 0


def _schedule_data(schedule: RunSchedule) -> dict[str, object]:
    return {
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone or "UTC",
        "next": timestamp(schedule.next),
        "last": schedule.last or None,
        "agent": schedule.work.agent,
        "repo": schedule.work.repo or None,
    }


def add_schedule(args: ParsedArgs) -> int:
    """Store a schedule; one of the same name is replaced."""
    cron, path = args.positional
    zone = args.options.get("zone", "")
    following = next_time(parse_cron(cron), now(), zone_named(zone))
    if not os.path.exists(path):
        raise NotFound(f"there is no file {printable(shortened(path))!r}")
    name = args.options.get("name") or run_stem(path)
    check_name("the name of a schedule", name)
    if len(name) > MAX_NAME:
        raise UsageError(f"the name of a schedule has at most {MAX_NAME} characters, not {len(name)}")
    plan = numbered(plan_file(path).plan)
    fleet = open_fleet(args)
    work = work_of(args, fleet.settings)
    check_commands(plan, work.agent, path)
    known = {schedule.name: schedule for schedule in fleet.leases.schedules()}
    last = known[name].last if name in known else ""
    fleet.leases.set_schedule(RunSchedule(name, cron, dump(plan_to_json(plan)), following, work, zone, last))
    if args.has("json"):
        put_data(name=name, next=timestamp(following), replaced=name in known)
    else:
        put(f"{'Changed' if name in known else 'Added'} {name}: {cron}, next at {timestamp(following)}")
    return 0


def zone_named(name: str) -> tzinfo:
    """Return a time zone; UTC without a name."""
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"there is no time zone {shortened(name)!r}, such as Europe/Berlin") from error


def remove_schedules(args: ParsedArgs) -> int:
    leases = open_existing_fleet(args).leases
    known = tuple(schedule.name for schedule in leases.schedules())
    for name in args.positional:
        if name not in known:
            hint = nearest(name, known, "to list them: tildone fleet schedule")
            raise NotFound(f"there is no schedule {printable(shortened(name))!r}; {hint}")
    removed = [name for name in dict.fromkeys(args.positional) if leases.unschedule(name)]
    if args.has("json"):
        put_data(removed=removed)
    else:
        put(f"Removed {', '.join(removed)}. Runs that are queued stay.")
    return 0
