"""The gate ends every simulated agent that would run for ever, as the documentation says."""

import pytest

from tests.hooks.drills import FOR_EVER, PAGE, all_counted, page

TOLD = {
    "idles": 20,
    "repeats": 3,
    "lies": 3,
    "toggles": 60,
    "rewords": 60,
    "plans": 117,
    "touches": 60,
    "fails": 0,
    "asks": 0,
    "delegates": 0,
    "waits": 0,
}


@pytest.mark.slow
def test_no_agent_is_told_to_go_on_for_ever_and_the_documentation_has_it_counted() -> None:
    """Whatever it does in between, as long as it gets nothing done."""
    found = all_counted()

    assert {name: each.told for name, each in found.items()} == TOLD
    assert max(TOLD.values()) < FOR_EVER
    assert PAGE.read_text(encoding="utf-8") == page(found), "run `python3 do.py docs`"
