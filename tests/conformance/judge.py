"""Read, replay and judge recorded vectors.

A vector is a recording of one of the original systems: calls and their results. `python -m tests.conformance` judges a
folder of vectors and prints a table.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.answers import Answer, Vector, World, answers
from tests.conformance.excuses import Deviation, shown_differences

Worlds = Mapping[str, Callable[[dict[str, Any]], World]]
"""For each system, a function that creates a world from a vector's setup."""

VECTORS = Path(__file__).with_name("vectors")

INFORMATIVE = re.compile("rendered|coerced|source|info_.*|upstream_.*")
RAISED = ("throws", "raises")
AFTERWARDS = ("phases_after", "todos_after")


class Verdict(Enum):
    PASS = "pass"  # noqa: S105  not a password
    ALTERNATIVE = "alt"
    RELAXED = "relaxed"
    FAIL = "FAIL"


class Judgement(NamedTuple):
    """A verdict, the first difference that counts for it, and the deliberate differences that relax it."""

    verdict: Verdict
    first_difference: dict[str, Any] | None = None
    shown: frozenset[str] = frozenset()


def vectors(folder: Path) -> Iterator[Vector]:
    """Yield every vector of every file. Only line feeds end a line, because texts may contain other line breaks."""
    for file in sorted(folder.glob("*.jsonl")):
        with file.open(encoding="utf-8", newline="\n") as lines:
            yield from map(json.loads, lines)


def judge(vector: Vector, worlds: Worlds) -> Judgement:
    """Replay a vector and compare every answer.

    An answer that deviates is excused if it shows a deliberate difference that the vector's tags admit. A crash fails
    regardless of the tags, unless the original crashed, too.
    """
    steps: Sequence[Mapping[str, Any]] = vector["steps"]
    alternatives = vector.get("alt_expects", {}).get("expects")
    first: dict[str, Any] | None = None
    unexcused: dict[str, Any] | None = None
    shown: frozenset[str] = frozenset()
    replies = answers(worlds[vector["system"]], vector, (step["call"] for step in steps))
    for index, (step, got) in enumerate(zip(steps, replies, strict=True)):
        call, want = step["call"], step["expect"]
        if not same(got, want):
            differing = differences(got, want)
            found = {"step": index, "call": call, "differs": differing or got}
            first = first or found
            setup = vector.get("setup") or {}
            deviation = Deviation(setup, vector["steps"][:index], call, got, want, tuple(differing), shown)
            now_shown = shown_differences(deviation, vector.get("tags", ()), matches) if differing else frozenset()
            shown |= now_shown
            unexcused = unexcused or (None if now_shown else found)
        if alternatives and not same(got, alternatives[index]):
            alternatives = None
        if "crashed" in got and not _raised(want):
            return Judgement(Verdict.FAIL, first)
    if first is None:
        return Judgement(Verdict.PASS)
    if alternatives:
        return Judgement(Verdict.ALTERNATIVE)
    return Judgement(Verdict.FAIL, unexcused) if unexcused else Judgement(Verdict.RELAXED, first, shown)


def same(got: Answer, want: Answer) -> bool:
    """Return whether an answer is the recorded one. For a call that raised, only the state after it is compared."""
    if _raised(want):
        return all(matches(got[key], want[key]) for key in AFTERWARDS if key in want and key in got)
    return not differences(got, want)


def differences(got: Answer, want: Answer) -> dict[str, Any]:
    """Return the expected and the actual value of each relevant key that differs."""
    return {
        key: {"want": value, "got": got.get(key, "absent")}
        for key, value in want.items()
        if not INFORMATIVE.fullmatch(key) and not (key in got and matches(got[key], value))
    }


def matches(got: Any, want: Any) -> bool:
    """Return whether values are equal. `{"$own": true}` matches any text that contains every piece in `contains`."""
    match want:
        case {"$own": True}:
            pieces = want.get("contains", [])
            is_text = isinstance(got, str) and bool(got.strip())
            return is_text and isinstance(pieces, list) and all(str(piece) in got for piece in pieces)
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
