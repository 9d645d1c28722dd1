"""A tag excuses only the deviation that it names."""

from itertools import count
from typing import Any

import pytest

from tests.conformance.judge import VECTORS, Vector, Verdict, World, differences, judge, same, vectors
from tests.conformance.worlds import WORLDS

RELAXED = [
    vector
    for vector in vectors(VECTORS)
    if judge(vector, WORLDS).verdict is Verdict.RELAXED and vector["kind"] != "td.validate"
]
"""Without those whose answers are only true or false."""
UNEXPECTED = {"at": 0, "type": "status", "key": "til-done", "value": "unexpected"}


class Tampered:
    """A world whose first deviating answer deviates in another way."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._steps = count()
        self._tampered = False

    def step(self, call: dict[str, Any], vector: Vector) -> dict[str, Any]:
        answer = self._world.step(call, vector)
        want = vector["steps"][next(self._steps)]["expect"]
        if self._tampered or same(answer, want):
            return answer
        self._tampered = True
        return {key: tampered(answer[key]) if key in differences(answer, want) else answer[key] for key in answer}


def tampered(value: Any) -> Any:
    """Return the value with another text, or with an effect more."""
    match value:
        case str():
            return f"{value}!"
        case [{"type": _, "at": _}, *_] | []:
            return [*value, UNEXPECTED]
        case [first, *others]:
            return [tampered(first), *others]
        case dict():
            name = next(name for name, item in value.items() if isinstance(item, str | list | dict))
            return {**value, name: tampered(value[name])}
        case _:
            return value


@pytest.mark.parametrize("vector", RELAXED, ids=[vector["id"] for vector in RELAXED])
def test_another_deviation_is_not_excused(vector: Vector) -> None:
    worlds = {name: lambda setup, world=world: Tampered(world(setup)) for name, world in WORLDS.items()}

    assert judge(vector, worlds).verdict is Verdict.FAIL
