"""Ids sort by creation time."""

import itertools
import os

from tildone.base.ids import ID_LENGTH, id_maker


def test_ids_are_short_and_sort_by_time() -> None:
    clock = itertools.count(1_700_000_000_000, 7)
    new_id = id_maker(lambda: next(clock), os.urandom)

    ids = [new_id() for _ in range(100)]

    assert ids == sorted(set(ids))
    assert {len(each) for each in ids} == {ID_LENGTH}
    assert all(each.isalnum() and each == each.lower() for each in ids)


def test_ids_ascend_when_the_clock_does_not() -> None:
    """Random bits alone could descend within a millisecond, and clocks can be set back."""
    times = iter([1000, 1000, 1000, 999, 1, 1000])
    drawn = iter([b"\xff" * 8, b"\x00" * 8, b"\x80" * 8, b"\xff" * 8, b"\x00" * 8, b"\x01" * 8])
    new_id = id_maker(lambda: next(times), lambda _: next(drawn))

    ids = [new_id() for _ in range(6)]

    assert ids == sorted(set(ids))


def test_two_makers_never_create_the_same_id() -> None:
    one, other = id_maker(lambda: 5, os.urandom), id_maker(lambda: 5, os.urandom)

    assert {one() for _ in range(50)}.isdisjoint({other() for _ in range(50)})
