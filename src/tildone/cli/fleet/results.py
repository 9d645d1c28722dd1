"""`tildone fleet results`: what has become of the runs, for the morning after."""

import re
import time

from tildone.app.result_texts import counts_text, result_lines, results_data, results_markdown
from tildone.app.run_results import GROUPS, RunResult, RunResults, current_results
from tildone.base import UsageError, shortened
from tildone.base.ids import local_time, now, timestamp
from tildone.cli.fleet.lists import EMPTY
from tildone.cli.fleet.opening import fleet_if_any, fleet_settings
from tildone.cli.output import max_columns, put, put_spans
from tildone.cli.output.prompts import exit_code_for, put_data
from tildone.cli.table import ParsedArgs
from tildone.plan.text.amounts import DAY, HOUR, MINUTE
from tildone.plan.text.safe import printable

DEFAULT_SINCE = "24h"
MAX_AGE_DIGITS = 4
_UNITS = {"m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_FORMS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")


def since_when(given: str, at: int) -> int:
    """Return the time that a text means, in milliseconds since 1970: an age, the last time of a clock, or a date."""
    number, unit = given[:-1], given[-1:].lower()
    if unit in _UNITS and number.isascii() and number.isdecimal() and len(number) <= MAX_AGE_DIGITS:
        return at - int(number) * _UNITS[unit]
    if clock := _CLOCK.fullmatch(given):
        today = time.localtime(at / 1000)
        found = [
            int(time.mktime((*today[:2], today[2] - back, int(clock[1]), int(clock[2]), 0, 0, 0, -1)) * 1000)
            for back in (0, 1)
        ]
        return found[0] if found[0] <= at else found[1]
    for form in _FORMS:
        try:
            return int(time.mktime(time.strptime(given, form)) * 1000)
        except (ValueError, OverflowError):
            continue
    raise UsageError(f"--since requires a time such as 18:00, 2026-01-31 or 12h, not {shortened(given)!r}")


def results(args: ParsedArgs) -> int:
    if args.has("json") and args.has("markdown"):
        raise UsageError("--json and --markdown exclude each other")
    since, left_out = since_when(args.options.get("since", DEFAULT_SINCE), now()), list[str]()
    fleet = fleet_if_any(args)
    groups: dict[str, list[RunResult]] = {group: [] for group in GROUPS}
    if fleet:
        reader = RunResults(fleet.store, now)
        groups = current_results(reader, fleet.leases, fleet.store, since)
        left_out += [f"session {session!r}: {why}" for session, why in reader.left_out.items()]
    from_when = f"Since {local_time(since)}"
    if args.has("json"):
        put_data(since=timestamp(since), **results_data(groups), left_out=left_out)
    elif args.has("markdown"):
        put(results_markdown(groups, from_when).rstrip("\n"))
    elif not any(groups.values()):
        where = printable(fleet_settings(args).store.redacted)
        is_empty = fleet is None or not fleet.leases.look()
        put(f"{where} {EMPTY}" if is_empty else f"{from_when}: no runs. Earlier ones: --since 30d")
    else:
        put(f"{from_when}: {counts_text(groups)}\n")
        put_spans(result_lines(groups, max_columns()))
    return exit_code_for(left_out)
