"""Every recorded vector of the kinds that are built is answered as it was recorded, or better and said so."""

import json

import pytest

from tests.conformance.judge import RELAXED, VECTORS, Vector, Verdict, judge, vectors
from tests.conformance.worlds import WORLDS
from tildone.differences import DIFFERENCES

KINDS_NOW = frozenset(
    {
        "td.tools",
        "td.boundary",
        "td.validate",
        "td.context",
        "td.reconstruct",
        "td.text",
        "td.valid_item",
        "td.definition",
        "ph.ops",
        "ph.ops_case",
        "ph.validate",
        "ph.to_markdown",
        "ph.from_markdown",
        "ph.round_trip",
        "ph.entries",
        "ph.resume",
        "ph.roman",
        "ph.auto_clear",
        "ph.render_result",
        "ph.render_call",
        "ph.panel",
        "ph.loop",
        "ph.session",
        "ph.command",
        "dc.call",
        "dc.invalid",
        "dc.recap",
        "dc.session",
    }
)
"""The kinds that are replayed; the others wait for the room that answers them."""

SHOWN = 3000
NOW = [vector for vector in vectors(VECTORS) if vector["kind"] in KINDS_NOW]
TOLD = {tag for difference in DIFFERENCES for tag in difference.tags}


@pytest.mark.parametrize("vector", NOW, ids=[vector["id"] for vector in NOW])
def test_a_vector_is_answered_as_recorded(vector: Vector) -> None:
    """Where the answer differs, the vector bears the tag of a difference that users are told about."""
    verdict, first = judge(vector, WORLDS)

    assert verdict is not Verdict.FAIL, json.dumps(first, ensure_ascii=False, indent=1)[:SHOWN]
    if verdict is Verdict.RELAXED:
        assert TOLD & RELAXED.intersection(vector["tags"]), f"tildone.differences has none of {vector['tags']}"


def test_there_are_vectors_of_every_kind_that_is_built() -> None:
    """A file that got lost would otherwise pass unseen."""
    assert {vector["kind"] for vector in NOW} == KINDS_NOW
