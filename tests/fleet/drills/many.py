"""`python -m tests.fleet.drills many`: 100 plans on four workers, for each kind of agent, and a line about each."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fleet.drills.many_plans import AGENTS, plans_for
from tests.fleet.drills.many_results import ManyResults, results_of
from tests.fleet.drills.many_workers import ManyFleet
from tests.fleet.drills.places import Ground, Grounds, Place
from tildone.log.settings import ProviderLimit

PLACES = (Place.SQLITE, Place.DBOS)
LIMITS = (ProviderLimit("anthropic", runs=2, requests=150), ProviderLimit("openai", runs=3, requests=200))


def main(argv: Sequence[str]) -> int:
    """Run the plans in each place with each kind of agent, print what came of them, and return the exit code."""
    asked = _parser().parse_args(argv)
    places = [Place(name) for name in asked.place or [place.value for place in PLACES]]
    code = 0
    with Grounds() as grounds:
        for place in places:
            for agent in asked.agent or AGENTS:
                with tempfile.TemporaryDirectory(prefix="tildone-many-", ignore_cleanup_errors=True) as name:
                    folder = Path(name)
                    with grounds.ground(place, folder, own_server=False) as ground:
                        results = run_many(folder, ground, (agent,), asked.plans, LIMITS)
                print(f"{place.value} {agent}: {results}", flush=True)
                code = code or int(bool(results.faults))
    return code


def run_many(
    folder: Path, ground: Ground, agents: tuple[str, ...], plans: int, limits: tuple[ProviderLimit, ...]
) -> ManyResults:
    """Run so many plans, for each of the agents in turn, and return what became of them."""
    with ManyFleet(folder, ground, plans_for(agents, plans), limits) as fleet:
        fleet.work()
        return results_of(fleet)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="do.py drills many", description=__doc__)
    parser.add_argument("--plans", type=int, default=100, metavar="N", help="how many plans of five tasks")
    parser.add_argument("--place", action="append", choices=[place.value for place in Place], help="where")
    parser.add_argument("--agent", action="append", choices=AGENTS, help="who works: commands alone, or a model")
    return parser
