"""Cumulative heights: the sums and the search agree with a plain list."""

from hypothesis import given
from hypothesis import strategies as st

from tildone.screens.transcript.document import HeightIndex

heights = st.lists(st.integers(0, 9), max_size=40)


@given(heights, st.lists(st.tuples(st.integers(0, 39), st.integers(0, 9)), max_size=20))
def test_every_top_is_the_sum_of_the_heights_before_it(first: list[int], changes: list[tuple[int, int]]) -> None:
    index, plain = HeightIndex(), list(first)
    for height in first:
        index.append(height)
    for at, height in changes:
        if at < len(plain):
            plain[at] = height
            index.set(at, height)

    assert [index.top(at) for at in range(len(plain) + 1)] == [sum(plain[:at]) for at in range(len(plain) + 1)]
    assert index.total == sum(plain)
    assert [index[at] for at in range(len(index))] == plain


@given(heights.filter(any))
def test_a_row_is_found_in_the_block_that_covers_it(given_heights: list[int]) -> None:
    index = HeightIndex()
    owners = []
    for at, height in enumerate(given_heights):
        index.append(height)
        owners += [at] * height

    assert [index.find(row) for row in range(len(owners))] == owners
    assert index.find(len(owners) + 5) == owners[-1]


def test_an_empty_index_has_no_rows() -> None:
    index = HeightIndex()
    index.append(3)
    index.clear()

    assert (index.total, len(index), index.find(4)) == (0, 0, 0)
