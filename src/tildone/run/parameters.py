"""The parameters of tools: JSON schemas, classes and functions, checked when a tool is registered.

Theory of operation. A tool is registered with a schema, a class or a function. `served` derives the schema from a class
or function, and refuses one that is not valid or that no argument could be checked against, so that a call can fail
only because of its arguments. `checked` checks the arguments of a call. A simple schema, such as those of tildone's own
tools, is checked by `tildone.base.schema`, which needs no other package; any other by `jsonschema`
(`parameter_checks`). Classes and functions take pydantic (`parameter_types`). Both are slow to import and may not be
installed, so they are imported only for a tool that needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

from tildone.base import replace
from tildone.base.distribution import install_extra
from tildone.base.schema import (
    SchemaProblem,
    child_path,
    coerce_arguments,
    is_simple,
    schema_problems,
    without_nulls,
)
from tildone.run.kit.definition import InvalidDefinition, ToolDefinition, validated
from tildone.run.messages import JsonObject, JsonValue

MAX_PROBLEMS = 12
MAX_PROBLEM_CHARS = 300

MAX_DEPTH = 64
"""How deeply objects and arrays of a schema may be nested."""

TOO_DEEP = f"nested too deeply; {MAX_DEPTH} levels are the limit"

_MORE = SchemaProblem("", "and more problems")


def served(tool: ToolDefinition) -> ToolDefinition:
    """Return the tool with a schema as its parameters, and an `execute` that gets what its author declared.

    Raises:
        InvalidDefinition: the definition is not valid, or its schema cannot be used; the message lists the problems.
    """
    tool = validated(tool)
    try:
        tool = _with_schema(tool)
        problems = [f"parameters: {each}" for each in _schema_problems(tool.schema)]
    except ImportError:
        problems = [f"its parameters take more packages: {install_extra('run')}"]
    except RecursionError:
        problems = [f"parameters: {TOO_DEEP}"]
    except ValueError as error:
        problems = [f"parameters: {error}"]
    if problems:
        raise InvalidDefinition(f"tool {tool.name!r}: {'; '.join(problems)}")
    return validated(tool)


def checked(
    schema: Mapping[str, JsonValue], arguments: JsonValue, *, strict: bool = False
) -> tuple[JsonValue, Sequence[SchemaProblem]]:
    """Return the arguments of a call in the form that the schema asks for, and the problems with them.

    An optional field that is null is left out where the schema does not permit null. Unless `strict`, numbers and texts
    are converted into each other as `coerce_arguments` does.
    """
    if not is_simple(schema):
        # Late: the library is slow to import, and only tools that need it load it.
        from tildone.run.parameter_checks import checked_by_library  # noqa: PLC0415  see above

        return checked_by_library(schema, arguments, strict=strict)
    arguments = without_nulls(schema, arguments)
    if not strict:
        arguments = coerce_arguments(schema, arguments)
    return arguments, bounded(schema_problems(schema, arguments))


def plain_json(item: JsonValue, path: str = "", depth: int = 0) -> JsonValue:
    """Return a copy in which objects are dicts and arrays are lists.

    Raises:
        ValueError: JSON cannot represent it; the message names the place.
    """
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


def _with_schema(tool: ToolDefinition) -> ToolDefinition:
    if isinstance(tool.parameters, Mapping):
        return replace(tool, parameters=plain_json(tool.parameters))
    # Late: pydantic is slow to import, and only tools that need it load it.
    from tildone.run.parameter_types import tool_with_schema  # noqa: PLC0415  see above

    return tool_with_schema(tool)


def _schema_problems(schema: Mapping[str, JsonValue]) -> Sequence[str | SchemaProblem]:
    if is_simple(schema):
        return ()
    # Late: see `checked`.
    from tildone.run.parameter_checks import document_problems  # noqa: PLC0415  see above

    document: JsonObject = dict(schema)
    return list(document_problems(document))


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
