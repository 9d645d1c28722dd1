"""Eight agents share a plan, while some are killed and others stopped: see `tests.stores.many_hands`."""

import tempfile
from dataclasses import replace
from pathlib import Path

from tests.faults.tally import Plan, Tally
from tests.stores.many_hands.audit import BREACHES
from tests.stores.many_hands.drill import LONG, SHORT, drill
from tests.stores.postgres import running_server
from tests.stores.postgres_keeper import why_not


def shared_plan(plan: Plan, tally: Tally) -> None:
    """Run the drill on SQLite and, in the long form, on PostgreSQL if a server can be started."""
    with tempfile.TemporaryDirectory() as name:
        count(tally, drill(str(Path(name, "plans.db")), Path(name), LONG if plan.is_long else SHORT))
    if plan.is_long and not why_not():
        on_postgres = Tally("on PostgreSQL")
        with running_server() as server, server.database() as url, tempfile.TemporaryDirectory() as name:
            count(on_postgres, drill(url, Path(name), LONG))
        print(f"{replace(tally, part='on SQLite').line()}\n{on_postgres.line()}", flush=True)
        tally.add(**on_postgres.counts)


def count(tally: Tally, counts: dict[str, int]) -> None:
    """Add the counts of a drill; what must not happen is one of them, by its name only if it has happened."""
    shown = {what.replace(" ", "_"): count for what, count in counts.items() if count or what not in BREACHES}
    tally.add(inputs=counts["tasks"], breaches=sum(counts[what] for what in BREACHES), **shown)
