"""Charts of block characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tildone.plan.text.charts import bar, column_chart


def test_columns_are_exact_to_an_eighth_of_a_cell() -> None:
    assert column_chart([0, 1, 8, 9, 16], 2) == ["   ▁█", " ▁███"]


def test_a_small_value_is_visible_and_no_value_is_empty() -> None:
    assert column_chart([1, 10_000], 1) == ["▁█"]
    assert column_chart([0, 0], 2) == ["  ", "  "]
    assert column_chart([], 2) == ["", ""]


@pytest.mark.parametrize(
    ("amount", "largest", "text"), [(0, 8, ""), (8, 8, "████"), (4, 8, "██"), (1, 32, "▏"), (1, 999, "▏"), (0, 0, "")]
)
def test_a_bar_is_as_long_as_its_share(amount: int, largest: int, text: str) -> None:
    assert bar(amount, largest, 4) == text


@given(st.lists(st.integers(0, 10**6), max_size=60), st.integers(1, 8))
def test_a_chart_has_the_size_that_was_asked_for(values: list[int], rows: int) -> None:
    chart = column_chart(values, rows)

    assert [len(line) for line in chart] == [len(values)] * rows
    assert all((line[index] == " ") == (not values[index]) for line in chart[-1:] for index in range(len(values)))
