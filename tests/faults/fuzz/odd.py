"""Odd inputs: texts, JSON values and bytes that parsers rarely see. Everything follows from a `Random`."""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.formats.hostile_plans import FAMILIES

SAMPLES = tomllib.loads(Path(__file__).with_name("samples.toml").read_text(encoding="utf-8"))
PIECES = tuple(FAMILIES.values())
NUMBERS = (0, 1, -1, 2, 7, 10**18, -(10**18), 10**400, 1e308, -0.0, 0.5, 2**63, 2**31)
WORDS = ("", "a", "None", "true", "0", "1e999", "9" * 5000, "../..", "~", "--", "-", "%s", "{}", "\\", "'", '"', "$(x)")


def text(luck: Random, words: Sequence[str] = ()) -> str:
    """Return a text of up to a dozen pieces, some of them from `words`."""
    pieces = luck.choice(PIECES)
    drawn = [luck.choice(luck.choice((pieces, WORDS, words or pieces))) for _ in range(luck.randrange(7))]
    return luck.choice(("", " ", "\n")).join(drawn)


def word(luck: Random, words: Sequence[str]) -> str:
    """Return one of the words, mostly; sometimes an odd text."""
    return luck.choice(words) if luck.random() < 0.9 else text(luck)


def value(luck: Random, names: Sequence[str] = (), depth: int = 3) -> Any:
    """Return a JSON value whose objects have these names, mostly."""
    kind = luck.randrange(9 if depth else 6)
    if kind < 3:
        return text(luck)[:200]
    if kind == 3:
        return luck.choice(NUMBERS)
    if kind == 4:
        return luck.choice((None, True, False))
    if kind == 5:
        return luck.randrange(-3, 12)
    if kind == 6:
        return [value(luck, names, depth - 1) for _ in range(luck.randrange(4))]
    return record(luck, names, depth - 1)


def record(luck: Random, names: Sequence[str] = (), depth: int = 2) -> dict[str, Any]:
    """Return a JSON object with some of these names."""
    count = luck.randrange(5)
    return {word(luck, names) if names else text(luck)[:20]: value(luck, names, depth) for _ in range(count)}


def varied(luck: Random, sample: Any, names: Sequence[str] = ()) -> Any:
    """Return a JSON value like the sample, in which a few parts are others."""
    if luck.random() < 0.12:
        return value(luck, names, 2)
    if isinstance(sample, dict):
        kept = {name: varied(luck, part, names) for name, part in sample.items() if luck.random() > 0.06}
        return kept | (record(luck, names, 1) if luck.random() < 0.1 else {})
    if isinstance(sample, list):
        return [varied(luck, part, names) for part in sample for _ in range(luck.choice((0, 1, 1, 1, 1, 2)))]
    return sample


def of_schema(luck: Random, schema: Any, names: Sequence[str] = ()) -> Any:
    """Return a value that a JSON schema allows, mostly."""
    if luck.random() < 0.08 or not isinstance(schema, dict):
        return value(luck, names, 2)
    if "enum" in schema:
        return word(luck, schema["enum"])
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: of_schema(luck, part, names) for name, part in properties.items() if luck.random() < 0.7}
        case "array":
            return [of_schema(luck, schema.get("items"), names) for _ in range(luck.randrange(4))]
        case "integer":
            return luck.randrange(-1, 6)
        case "string":
            return word(luck, names) if names and luck.random() < 0.6 else text(luck)
        case _:
            return value(luck, names, 2)


def encoded(luck: Random, data: object) -> bytes:
    """Return JSON text, sometimes not quite."""
    written = json.dumps(data, ensure_ascii=luck.random() < 0.5).encode("utf-8", "surrogatepass")
    return mutated(luck, written) if luck.random() < 0.5 else written


def mutated(luck: Random, given: bytes) -> bytes:
    """Return the bytes with a few of them changed, removed, repeated or inserted."""
    changed = bytearray(given)
    for _ in range(luck.choice((1, 1, 2, 5))):
        at, kind = luck.randrange(len(changed) + 1), luck.randrange(5)
        end = at + luck.randrange(1, 9)
        if kind == 0:
            changed[at : at + 1] = bytes([luck.randrange(256)])
        elif kind == 1:
            del changed[at:end]
        elif kind == 2:
            changed[at:at] = changed[at:end] * luck.choice((1, 2, 40))
        elif kind == 3:
            changed[at:at] = text(luck).encode("utf-8", "surrogatepass")[:80]
        else:
            del changed[at:]
    return bytes(changed)


@dataclass(frozen=True, slots=True)
class Target:
    """A parser. `draw` makes an input, and `feed` has it read.

    An exception that is not among the `answers` is a crash. `weight` is how many inputs it gets for each one of a
    target with weight 1: little, for one that takes long.
    """

    name: str
    draw: Callable[[Random], Any]
    feed: Callable[[Any], object]
    answers: tuple[type[BaseException], ...] = ()
    weight: int = 10
