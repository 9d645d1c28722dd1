"""`tildone fleet schedule remove`: do not run plans again."""

from __future__ import annotations

from tildone.cli.fleet.opening import open_existing_fleet
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import NotFound, nearest, shortened
from tildone.views.sanitize import printable


def run(args: ParsedArgs) -> int:
    """Remove schedules.

    Raises:
        NotFound: there is no schedule of a name; none is removed then.
    """
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
