"""Every recorded vector gets the recorded answer, or differs in a documented way."""

import json

import pytest

from tests.conformance.judge import RELAXED, VECTORS, Vector, Verdict, judge, vectors
from tests.conformance.worlds import WORLDS
from tildone.differences import DIFFERENCES

SHOWN = 3000
RECORDED = list(vectors(VECTORS))
DOCUMENTED = {tag for difference in DIFFERENCES for tag in (difference.id, *difference.tags)}


@pytest.mark.parametrize("vector", RECORDED, ids=[vector["id"] for vector in RECORDED])
def test_a_vector_is_answered_as_recorded(vector: Vector) -> None:
    """If the answer differs, the vector has the tag of a documented difference."""
    verdict, first = judge(vector, WORLDS)

    assert verdict is not Verdict.FAIL, json.dumps(first, ensure_ascii=False, indent=1)[:SHOWN]
    if verdict is Verdict.RELAXED:
        assert DOCUMENTED & RELAXED.intersection(vector["tags"]), f"tildone.differences has none of {vector['tags']}"


def test_every_relaxed_tag_belongs_to_a_documented_difference() -> None:
    assert RELAXED <= DOCUMENTED


def test_there_are_vectors_of_every_kind() -> None:
    """Otherwise, a lost or empty file would go unnoticed."""
    kinds = {vector["kind"] for vector in RECORDED}

    assert kinds == {file.stem for file in VECTORS.glob("*.jsonl")}
    assert {kind.partition(".")[0] for kind in kinds} == {"td", "ph", "dc"}
    assert len(kinds) == 33
