"""Recorded vectors: how they are read, replayed in a world, and judged.

A vector is a recording of one of the systems that tildone grew out of: calls, and what came back. `python -m
tests.conformance` judges a folder of them and prints a table.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Vector = dict[str, Any]
Answer = dict[str, Any]


class World(Protocol):
    """One of the systems, freshly begun: it answers a vector's calls one after the other."""

    def step(self, call: dict[str, Any], vector: Vector, /) -> Answer: ...


Worlds = Mapping[str, Callable[[dict[str, Any]], World]]
"""By the name of the system, what makes a world from a vector's setup."""

VECTORS = Path(__file__).with_name("vectors")

RELAXED = frozenset(
    {
        "upstream-bug",
        "out-of-schema",
        "coercion",
        "framework-text",
        "malformed",
        "extra-keys",
        "lossy-round-trip",
        "lone-surrogate",
        "line-break",
        "emptied-list-stays-empty",
        "finished-before-breaker",
        "only-change-resets",
        "no-nudge-after-error",
        "one-countdown",
        "prompt-at-send",
        "countdown-ends-with-branch",
        "list-is-drawn",
        "partial-call",
        "reminder-cannot-be-closed",
    }
)
"""Tags of vectors whose recorded answer tildone may deliberately differ from."""

INFORMATIVE = re.compile("rendered|coerced|source|info_.*|upstream_.*")
RAISED = ("throws", "raises")
AFTERWARDS = ("phases_after", "todos_after")


class Verdict(Enum):
    PASS = "pass"  # noqa: S105  not a password
    ALTERNATIVE = "alt"
    RELAXED = "relaxed"
    FAIL = "FAIL"


class Judgement(NamedTuple):
    verdict: Verdict
    first_difference: dict[str, Any] | None = None


def vectors(folder: Path) -> Iterator[Vector]:
    """Every vector of every file. Lines end at line feeds only: texts hold other line breaks."""
    for file in sorted(folder.glob("*.jsonl")):
        with file.open(encoding="utf-8", newline="\n") as lines:
            yield from map(json.loads, lines)


def judge(vector: Vector, worlds: Worlds) -> Judgement:
    """Replay a vector and compare every answer.

    An answer that crashed where none was recorded to fails whatever the tags say.
    """
    world = worlds[vector["system"]](vector.get("setup") or {})
    alternatives = vector.get("alt_expects", {}).get("expects")
    first: dict[str, Any] | None = None
    for index, step in enumerate(vector["steps"]):
        call, want = step["call"], step["expect"]
        got = _answer(world, call, vector)
        if not same(got, want) and first is None:
            first = {"step": index, "call": call, "differs": differences(got, want) or got}
        if alternatives and not same(got, alternatives[index]):
            alternatives = None
        if "crashed" in got and not _raised(want):
            return Judgement(Verdict.FAIL, first)
    if first is None:
        return Judgement(Verdict.PASS)
    if alternatives:
        return Judgement(Verdict.ALTERNATIVE)
    relaxed = RELAXED.intersection(vector.get("tags", ()))
    return Judgement(Verdict.RELAXED if relaxed else Verdict.FAIL, first)


def same(got: Answer, want: Answer) -> bool:
    """Whether an answer is the recorded one. Of a call that raised, only what it left behind is compared."""
    if _raised(want):
        return all(matches(got[key], want[key]) for key in AFTERWARDS if key in want and key in got)
    return not differences(got, want)


def differences(got: Answer, want: Answer) -> dict[str, Any]:
    """What was wanted and what came, for each key that counts and differs."""
    return {
        key: {"want": value, "got": got.get(key, "absent")}
        for key, value in want.items()
        if not INFORMATIVE.fullmatch(key) and not (key in got and matches(got[key], value))
    }


def matches(got: Any, want: Any) -> bool:
    """Equal, except that `{"$own": true}` is matched by any words that hold every piece in `contains`."""
    match want:
        case {"$own": True}:
            pieces = want.get("contains", ())
            return isinstance(got, str) and bool(got.strip()) and all(piece in got for piece in pieces)
        case dict():
            return (
                isinstance(got, dict)
                and got.keys() == want.keys()
                and all(matches(got[key], value) for key, value in want.items())
            )
        case list():
            return isinstance(got, list) and len(got) == len(want) and all(map(matches, got, want))
        case bool() | str() | None:
            return type(got) is type(want) and got == want
        case number:
            return type(got) in (int, float) and got == number


def _raised(want: Answer) -> bool:
    return any(want.get(key) for key in RAISED)


def _answer(world: World, call: dict[str, Any], vector: Vector) -> Answer:
    """What the world answers, as JSON gives it back; a crash is an answer too."""
    try:
        answer: Answer = json.loads(json.dumps(world.step(call, vector)))
    except Exception as error:  # noqa: BLE001  one crash must not end the replay of all
        return {"crashed": f"{type(error).__name__}: {error}"}
    return answer
