"""Every recorded vector gets the recorded answer, or differs in a documented way."""

import json

from tests.conformance.excuses import SHOWS, TEXT_RULES
from tests.conformance.judge import VECTORS, Verdict, judge, vectors
from tests.conformance.worlds import WORLDS
from tests.project.differences import DIFFERENCES

SHOWN = 3000


def test_a_vector_is_answered_as_recorded() -> None:
    """If the answer differs, it shows a documented difference that the vector's tags name."""
    judged = [(vector["id"], judge(vector, WORLDS)) for vector in vectors(VECTORS)]
    failed = [(name, given.first_difference) for name, given in judged if given.verdict is Verdict.FAIL]

    assert [f"{name}: {json.dumps(first, ensure_ascii=False)[:SHOWN]}" for name, first in failed] == []


def test_every_difference_that_recordings_may_show_is_documented() -> None:
    assert SHOWS.keys() | TEXT_RULES.keys() <= {difference.id for difference in DIFFERENCES}


def test_there_are_vectors_of_every_kind() -> None:
    """Otherwise, a lost or empty file would go unnoticed."""
    kinds = {vector["kind"] for vector in vectors(VECTORS)}

    assert kinds == {file.stem for file in VECTORS.glob("*.jsonl")}
    assert {kind.partition(".")[0] for kind in kinds} == {"td", "ph", "dc"}
    assert len(kinds) == 33
