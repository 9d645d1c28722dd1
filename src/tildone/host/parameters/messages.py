"""Errors of `jsonschema` as problems that a model can read: `path: expected …, got …`.

A value that matches none of several alternatives has errors for each of them. If one alternative was meant, because
the value has its type and its fixed fields, its errors are reported; otherwise the alternatives are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tildone.host.wire import JsonValue
from tildone.kit.schema import SchemaProblem, child_path, type_phrase, value_phrase

MAX_PROBLEMS = 12
MAX_PROBLEM_CHARS = 300

LibraryError = JsonValue
"""A `jsonschema.ValidationError`; the library has no type annotations for it."""

UNIONS = ("anyOf", "oneOf")

_IDENTIFYING = ("type", "const", "enum", None)
_MORE = SchemaProblem("", "and more problems")
_PHRASES = {
    "minimum": "expected at least {limit}, got {given}",
    "maximum": "expected at most {limit}, got {given}",
    "exclusiveMinimum": "expected more than {limit}, got {given}",
    "exclusiveMaximum": "expected less than {limit}, got {given}",
    "multipleOf": "expected a multiple of {limit}, got {given}",
    "pattern": "expected text that matches {limit}, got {given}",
    "minLength": "expected at least {limit} characters, got {size}",
    "maxLength": "expected at most {limit} characters, got {size}",
    "minItems": "expected at least {limit} items, got {size}",
    "maxItems": "expected at most {limit} items, got {size}",
    "minProperties": "expected at least {limit} fields, got {size}",
    "maxProperties": "expected at most {limit} fields, got {size}",
    "uniqueItems": "expected items that are all different",
    "format": "expected a valid {limit}, got {given}",
    None: "not allowed: {given}",
}


def problems_of(errors: Iterable[LibraryError]) -> list[SchemaProblem]:
    """Return the problems that the errors describe, without repetition."""
    return bounded(problem for error in errors for leaf in leaves(error) for problem in _problems(leaf))


def bounded(problems: Iterable[SchemaProblem]) -> list[SchemaProblem]:
    """Return the first problems, each once and not longer than a model needs."""
    found: dict[SchemaProblem, None] = {}
    for problem in problems:
        found[SchemaProblem(_clipped(problem.path), _clipped(problem.expected))] = None
        if len(found) > MAX_PROBLEMS:
            return [*list(found)[:MAX_PROBLEMS], _MORE]
    return list(found)


def leaves(error: LibraryError) -> Iterator[LibraryError]:
    """Yield the errors that explain an error: those of the alternative that was meant, or the error itself."""
    meant = [group for group in _alternatives(error) if not any(_tells_apart(error, each) for each in group)]
    if error.validator not in UNIONS or len(meant) != 1:
        yield error
        return
    for each in meant[0]:
        yield from leaves(each)


def path_of(places: Iterable[str | int]) -> str:
    """Return a path as messages show it: `items[0].name`."""
    path = ""
    for place in places:
        path = f"{path}[{place}]" if isinstance(place, int) else child_path(path, place)
    return path


def _alternatives(error: LibraryError) -> list[list[LibraryError]]:
    # The error of a schema that is False has no path.
    return [list(group) for _, group in groupby(error.context or (), key=lambda each: [*each.schema_path][:1])]


def _tells_apart(union: LibraryError, error: LibraryError) -> bool:
    """Whether the error shows that another alternative was meant: the type, or a fixed field, is wrong."""
    return error.validator in _IDENTIFYING and _depth(union, error) <= (error.validator not in ("type", None))


def _depth(union: LibraryError, error: LibraryError) -> int:
    return len(error.absolute_path) - len(union.absolute_path)


def _problems(error: LibraryError) -> Iterator[SchemaProblem]:
    path, limit, given = path_of(error.absolute_path), error.validator_value, error.instance
    match error.validator:
        case "type" | "enum" | "const":
            yield SchemaProblem(path, f"expected {_limit_phrase(error)}, got {value_phrase(given)}")
        case "anyOf" | "oneOf":
            yield _union_problem(error)
        case "required":
            for name in limit:
                if name not in given:
                    expected = _expected((error.schema.get("properties") or {}).get(name))
                    yield SchemaProblem(child_path(path, name), f"required, {expected}" if expected else "required")
        case "additionalProperties":
            known = error.schema.get("properties", {})
            for name in _unknown(error.schema, given):
                phrase = f"unknown field; known are {', '.join(known)}" if known else "unknown field"
                yield SchemaProblem(child_path(path, name), phrase)
        case keyword if keyword in _PHRASES:
            shown = limit if keyword in ("pattern", "format") else value_phrase(limit)
            size = len(given) if isinstance(given, str | list | dict) else 0
            yield SchemaProblem(path, _PHRASES[keyword].format(limit=shown, given=value_phrase(given), size=size))
        case _:
            yield SchemaProblem(path, error.message)


def _union_problem(union: LibraryError) -> SchemaProblem:
    """Name the values that were possible where the alternatives differ: the value itself, or a fixed field of it."""
    alternatives = _alternatives(union)
    if not alternatives:
        return SchemaProblem(path_of(union.absolute_path), "expected a value that matches only one of the alternatives")
    wrong = [each for group in alternatives for each in group if _tells_apart(union, each) and each.validator]
    wrong = [each for each in wrong if _depth(union, each)] or wrong
    places = {path_of(each.absolute_path) for each in wrong}
    if len(places) == 1:
        expected = _either(dict.fromkeys(map(_limit_phrase, wrong)))
        return SchemaProblem(places.pop(), f"expected {expected}, got {value_phrase(wrong[0].instance)}")
    one_of = f"one of {len(union.validator_value)} alternatives"
    got = value_phrase(union.instance)
    return SchemaProblem(path_of(union.absolute_path), f"expected a value that matches {one_of}, got {got}")


def _limit_phrase(error: LibraryError) -> str:
    return _expected({error.validator: error.validator_value})


def _expected(schema: JsonValue) -> str:
    """What a schema asks for, in a few words; empty if that takes more."""
    match schema:
        case {"const": limit}:
            return value_phrase(limit)
        case {"enum": limits}:
            return f"one of {', '.join(_enum_phrases(limits))}"
        case {"type": str(kind)}:
            return type_phrase(kind)
        case {"type": list(kinds)}:
            return _either(map(type_phrase, kinds))
        case _:
            return ""


def _enum_phrases(limits: Sequence[JsonValue]) -> list[str]:
    return [limit if isinstance(limit, str) else value_phrase(limit) for limit in limits]


def _unknown(schema: JsonValue, given: JsonValue) -> list[str]:
    patterns = schema.get("patternProperties", {})
    named = [name for name in given if name not in schema.get("properties", {})]
    return [name for name in named if not any(re.search(pattern, name) for pattern in patterns)]


def _either(phrases: Iterable[str]) -> str:
    *front, last = phrases
    return f"{', '.join(front)} or {last}" if front else last


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_PROBLEM_CHARS else f"{text[:MAX_PROBLEM_CHARS]}…"
