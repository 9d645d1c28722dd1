"""`tildone fleet doctor`: what is stuck, and why."""

from __future__ import annotations

from itertools import chain

from tildone.cli.fleet.findings import (
    checkpoint_findings,
    process_findings,
    put_findings,
    row_findings,
    run_findings,
    store_findings,
    worker_findings,
)
from tildone.cli.fleet.gc import home_of
from tildone.cli.fleet.opening import open_existing_fleet
from tildone.cli.parsing.table import ParsedArgs
from tildone.ids import now


def run(args: ParsedArgs) -> int:
    """Check the fleet. Nothing is changed.

    Raises:
        NotFound: there is no store.
    """
    fleet, at = open_existing_fleet(args, read_only=True), now()
    of_runs = chain(run_findings(fleet, at), process_findings(fleet), checkpoint_findings(fleet, home_of(fleet)))
    return put_findings(args, chain(store_findings(fleet), worker_findings(fleet, at), of_runs, row_findings(fleet)))
