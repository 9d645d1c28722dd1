"""Values of parameters as plain JSON, and the problems that are told of them: bounded in number, depth and length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from tildone.base.schema import (
    SchemaProblem,
    child_path,
)
from tildone.run.messages import JsonValue

MAX_PROBLEMS = 12


MAX_PROBLEM_CHARS = 300


MAX_DEPTH = 64
"""How deeply objects and arrays of a schema may be nested."""


TOO_DEEP = f"nested too deeply; {MAX_DEPTH} levels are the limit"


_MORE = SchemaProblem("", "and more problems")


def plain_json(item: JsonValue, path: str = "", depth: int = 0) -> JsonValue:
    """Return a copy in which objects are dicts and arrays are lists."""
    if depth > MAX_DEPTH:
        raise ValueError(TOO_DEEP)
    match item:
        case None | bool() | int():
            return item
        case str():
            return _text(item, path)
        case float() if isfinite(item):
            return item
        case Mapping():
            return {
                _text(name, f"a name in {path or 'it'}"): plain_json(each, child_path(path, str(name)), depth + 1)
                for name, each in item.items()
            }
        case list() | tuple():
            return [plain_json(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(item)]
        case _:
            shown = str(item) if isinstance(item, float) else f"a {type(item).__name__}"
            raise ValueError(f"{path}: JSON cannot represent {shown}")


def bounded(problems: Iterable[SchemaProblem]) -> list[SchemaProblem]:
    """Return the first problems, each once and not longer than a model needs."""
    found: dict[SchemaProblem, None] = {}
    for problem in problems:
        found[SchemaProblem(_clipped(problem.path), _clipped(problem.expected))] = None
        if len(found) > MAX_PROBLEMS:
            return [*list(found)[:MAX_PROBLEMS], _MORE]
    return list(found)


def path_of(places: Iterable[str | int]) -> str:
    """Return a path as messages show it: `items[0].name`."""
    path = ""
    for place in places:
        path = f"{path}[{place}]" if isinstance(place, int) else child_path(path, place)
    return path


def _text(item: JsonValue, path: str) -> str:
    if not isinstance(item, str):
        raise ValueError(f"{path}: must be a text, not a {type(item).__name__}")  # noqa: TRY004  a value from outside
    try:
        item.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path}: UTF-8 cannot represent the text") from None
    return item


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_PROBLEM_CHARS else f"{text[:MAX_PROBLEM_CHARS]}…"
