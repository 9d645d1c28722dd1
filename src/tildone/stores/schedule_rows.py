"""Schedules as the columns of a table, the same in every store."""

from __future__ import annotations

from tildone.errors import UsageError
from tildone.log.fleet.facts import work_from_json, work_to_json
from tildone.log.fleet.workers import BadRow, RunSchedule
from tildone.log.json_scanner import dump, parse
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def schedule_row(schedule: RunSchedule) -> dict[str, Any]:
    """Return the columns of a schedule."""
    names = ("name", "cron", "plan", "next", "zone", "last")
    return {name: getattr(schedule, name) for name in names} | {"work": dump(work_to_json(schedule.work))}


def schedule_in(row: Sequence[Any]) -> RunSchedule | BadRow:
    """Return the schedule of the columns of a row."""
    name, cron, plan, following, work, zone, last = row
    try:
        return RunSchedule(name, cron, plan, following, work_from_json(parse(work)), zone, last)
    except (UsageError, ValueError, TypeError) as error:
        return BadRow("schedules", name, str(error))
