"""Every `/todo` command of the conformance vectors is answered as recorded."""

import json
from pathlib import Path

import pytest

from tests.commands.world import CommandWorld
from tests.conformance.judge import VECTORS, Vector, Verdict, judge, vectors

RECORDED = [vector for vector in vectors(VECTORS) if vector["kind"] == "ph.command"]


@pytest.mark.parametrize("vector", RECORDED, ids=[vector["id"] for vector in RECORDED])
def test_a_command_is_answered_as_in_the_vector(vector: Vector, tmp_path: Path) -> None:
    """Only line breaks in task text may be displayed differently, because here they cannot start a line."""
    verdict, first = judge(vector, {"phases": lambda setup: CommandWorld(setup, tmp_path)})

    allowed = {Verdict.PASS, Verdict.RELAXED} if "line-break" in vector.get("tags", ()) else {Verdict.PASS}
    assert verdict in allowed, json.dumps(first, ensure_ascii=False, indent=1)[:3000]


def test_there_are_vectors() -> None:
    assert len(RECORDED) >= 95
