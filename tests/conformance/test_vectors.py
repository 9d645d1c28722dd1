"""Every recorded vector of the kinds that are built is answered as it was recorded, or better and said so."""

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
    """Where the answer differs, the vector bears the tag of a difference that users are told about."""
    verdict, first = judge(vector, WORLDS)

    assert verdict is not Verdict.FAIL, json.dumps(first, ensure_ascii=False, indent=1)[:SHOWN]
    if verdict is Verdict.RELAXED:
        assert DOCUMENTED & RELAXED.intersection(vector["tags"]), f"tildone.differences has none of {vector['tags']}"


def test_every_tag_that_excuses_an_answer_is_a_documented_difference() -> None:
    """A tag that names a behaviour is the id of the difference that replaces the behaviour."""
    assert RELAXED <= DOCUMENTED


def test_there_are_vectors_of_every_kind() -> None:
    """A file that got lost, or was emptied, would otherwise pass unseen."""
    kinds = {vector["kind"] for vector in RECORDED}

    assert kinds == {file.stem for file in VECTORS.glob("*.jsonl")}
    assert {kind.partition(".")[0] for kind in kinds} == {"td", "ph", "dc"}
    assert len(kinds) == 33
