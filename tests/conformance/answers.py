"""Ask a world for its answers: a crash is an answer, too."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

Vector = dict[str, Any]
Answer = dict[str, Any]


class World(Protocol):
    """One of the original systems, as tildone implements it, in its initial state."""

    def step(self, call: dict[str, Any], vector: Vector, /) -> Answer: ...


def answers(
    make: Callable[[dict[str, Any]], World], vector: Vector, calls: Iterable[dict[str, Any]]
) -> Iterator[Answer]:
    """Yield the answers of a new world, each converted to JSON and back."""
    world: World | None = None
    for call in calls:
        try:
            world = world or make(vector.get("setup") or {})
            answer: Answer = json.loads(json.dumps(world.step(call, vector)))
        except Exception as error:  # noqa: BLE001  one crash must not end the replay of all
            answer = {"crashed": f"{type(error).__name__}: {error}"}
        yield answer
