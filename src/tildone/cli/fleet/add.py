"""`tildone fleet add`: queue plans, in one transaction."""

from __future__ import annotations

from tildone.cli.fleet.opening import ATTEMPT_SECONDS, fleet_settings, open_fleet, patiently
from tildone.cli.fleet.plans import NamedPlan, named_plan, new_run
from tildone.cli.fleet.requested import work_of
from tildone.cli.output.amounts import counted
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import UsageError
from tildone.log.fleet.names import MAX_HANDS
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.log.fleet.lease import Lease, Work


def run(args: ParsedArgs) -> int:
    """Queue the plans, or none of them.

    Raises:
        Refused: a run of a plan has not ended.
        StoreError: the database could not be reached for too long.
    """
    hands = args.positive_int("hands", 1)
    if hands > MAX_HANDS:
        raise UsageError(f"--hands is 1 to {MAX_HANDS}, not {hands}")
    work = work_of(args, fleet_settings(args))
    plans = [named_plan(word) for word in args.positional]
    # The names of the runs stay the same, so that a run whose answer was lost is not queued twice.
    added = patiently(lambda: _added(args, plans, work, hands))
    if args.has("json"):
        put_data(runs=[_as_data(leases) for leases in added])
        return 0
    for plan, leases in zip(plans, added, strict=True):
        more = f", {counted(len(leases), 'hand')}" if len(leases) > 1 else ""
        put(f"Queued {leases[0].run}: {printable(plan.word)}{more}")
    return 0


def _added(args: ParsedArgs, plans: Sequence[NamedPlan], work: Work, hands: int) -> list[list[Lease]]:
    fleet = open_fleet(args, timeout=ATTEMPT_SECONDS)
    try:
        restart = args.has("restart")
        return fleet.leases.add_all([new_run(fleet, plan, work, hands, restart=restart) for plan in plans])
    finally:
        fleet.store.close()


def _as_data(leases: Sequence[Lease]) -> dict[str, object]:
    return {"run": leases[0].run, "session": leases[0].session, "hands": len(leases)}
