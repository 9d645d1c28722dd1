"""The gate stops continuing every simulated agent that never finishes, as the documentation says."""

from pathlib import Path

import pytest

from tests.hooks.drills import DRILLS, MAX_STOPS, PAGE, page, run_all_drills, run_drill

NUDGES = {
    "idles": 20,
    "repeats": 3,
    "lies": 3,
    "toggles": 60,
    "rewords": 60,
    "plans": 80,
    "touches": 60,
    "fails": 0,
    "asks": 0,
    "delegates": 0,
    "waits": 0,
}


def test_an_agent_that_does_nothing_is_let_go(tmp_path: Path) -> None:
    drills = [drill for drill in DRILLS if NUDGES[drill.act.__name__] <= 3]

    nudges = {drill.act.__name__: run_drill(drill, tmp_path / drill.act.__name__).nudges for drill in drills}

    assert nudges == {name: count for name, count in NUDGES.items() if count <= 3}


@pytest.mark.slow
def test_no_agent_is_continued_for_ever_and_the_documentation_has_the_counts() -> None:
    """Whatever it does in between, as long as it closes no task."""
    results = run_all_drills()

    assert {name: result.nudges for name, result in results.items()} == NUDGES
    assert max(NUDGES.values()) < MAX_STOPS
    assert PAGE.read_text(encoding="utf-8") == page(results), "run `python3 do.py docs`"
