"""The reference page of the integrations agrees with their records and with the results of tests in real clients."""

from typing import Literal

import pytest

from tests.clients.inside import CLIENTS
from tests.clients.integrations_page import COLUMNS, NO, NONE, NOTES, PAGE, YES, OutcomeRecorder, cells_of, page

Outcome = Literal["passed", "failed", "skipped"]


def test_the_page_agrees_with_the_records_and_the_versions_that_are_tested() -> None:
    """Only the cells of its first table come from running the clients."""
    text = PAGE.read_text(encoding="utf-8")

    assert text == page(), "run `python -m tests.clients.integrations_page`"


def test_every_client_supports_every_feature_that_applies_to_it() -> None:
    """A dash means that the feature does not apply to the client."""
    cells = cells_of(PAGE.read_text(encoding="utf-8"))

    without = {key for key, cell in cells.items() if cell == NONE}
    assert set(cells.values()) <= {YES, NONE}
    assert without == {
        ("pi", "follows its own list"),
        ("codex", "status line"),
        ("gemini", "status line"),
        ("opencode", "status line"),
    }
    assert NOTES.keys() <= cells.keys()


@pytest.mark.parametrize(
    ("outcomes", "cell"), [((), NONE), (("skipped",), NONE), (("passed",), YES), (("passed", "failed"), NO)]
)
def test_a_cell_says_yes_if_every_test_passed(outcomes: tuple[Outcome, ...], cell: str) -> None:
    recorder = OutcomeRecorder()
    for outcome in outcomes:
        test = (
            "tests/clients/test_inside_gate.py::test_an_agent_that_stops_early_is_continued_until_its_plan_is_done[pi]"
        )
        recorder.pytest_runtest_logreport(pytest.TestReport(test, ("", 0, ""), {}, outcome, None, "call"))

    assert recorder.cells["pi", "tools"] == cell
    assert {recorder.cells[client, "tools"] for client in CLIENTS if client != "pi"} == {NONE}
    assert len(recorder.cells) == len(CLIENTS) * len(COLUMNS)
