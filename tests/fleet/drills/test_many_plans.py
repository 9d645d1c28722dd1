"""Four workers and many plans: every task is done once, every limit is held, and approvals are waited for.

This is the short form, with both kinds of agents in one fleet. `python3 do.py drills many` runs 100 plans of each kind.
"""

from pathlib import Path

import pytest

from tests.fleet.drills.many import run_many
from tests.fleet.drills.many_plans import MODEL, SHELL
from tests.fleet.drills.many_results import over_rate
from tests.fleet.drills.places import Grounds, Place
from tests.stores.postgres import needs_server
from tildone.log.fleet.settings import ProviderLimit

PLANS, AGENTS = 12, (SHELL, SHELL, MODEL)
LIMITS = (ProviderLimit("anthropic", runs=2, requests=80), ProviderLimit("openai-chat", runs=3, requests=120))


@pytest.mark.slow
@pytest.mark.parametrize("place", [Place.SQLITE, pytest.param(Place.DBOS, marks=needs_server)])
def test_many_plans_keep_every_limit(place: Place, tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai")
    with Grounds() as grounds, grounds.ground(place, tmp_path, own_server=False) as ground:
        results = run_many(tmp_path, ground, AGENTS, PLANS, LIMITS)

    print(results)
    assert results.faults == []
    assert (results.lost, results.twice) == (0, 0)


def test_a_rate_permits_a_part_at_once_and_the_rest_at_intervals() -> None:
    limit = ProviderLimit("p", requests=60)

    assert over_rate([(0, at) for at in range(6)], limit) is None
    assert over_rate([(0, at) for at in range(7)], limit) == (7, 6)
    assert over_rate([(0, 1000 * at) for at in range(60)], limit) is None
    assert over_rate([(0, 1000 * at) for at in range(61)], limit) == (61, 60_000)
