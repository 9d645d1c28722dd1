"""Every recorded vector gets the recorded answer, or differs in a documented way."""

import json

import pytest

from tests.conformance.excuses import SHOWS
from tests.conformance.judge import VECTORS, Vector, Verdict, judge, vectors
from tests.conformance.worlds import WORLDS
from tildone.differences import DIFFERENCES

SHOWN = 3000
RECORDED = list(vectors(VECTORS))


@pytest.mark.parametrize("vector", RECORDED, ids=[vector["id"] for vector in RECORDED])
def test_a_vector_is_answered_as_recorded(vector: Vector) -> None:
    """If the answer differs, it shows a documented difference that the vector's tags name."""
    verdict, first = judge(vector, WORLDS)

    assert verdict is not Verdict.FAIL, json.dumps(first, ensure_ascii=False, indent=1)[:SHOWN]


def test_every_difference_that_recordings_may_show_is_documented() -> None:
    assert SHOWS.keys() <= {difference.id for difference in DIFFERENCES}


def test_there_are_vectors_of_every_kind() -> None:
    """Otherwise, a lost or empty file would go unnoticed."""
    kinds = {vector["kind"] for vector in RECORDED}

    assert kinds == {file.stem for file in VECTORS.glob("*.jsonl")}
    assert {kind.partition(".")[0] for kind in kinds} == {"td", "ph", "dc"}
    assert len(kinds) == 33
