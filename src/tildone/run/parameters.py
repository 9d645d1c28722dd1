"""The parameters of tools: JSON schemas, classes and functions, checked when a tool is registered.

Theory of operation. A tool is registered with a schema, a class or a function. `served` derives the schema from a class
or function, and refuses one that is not valid or that no argument could be checked against, so that a call can fail
only because of its arguments. `checked` checks the arguments of a call. A simple schema, such as those of tildone's own
tools, is checked by `tildone.base.schema`, which needs no other package; any other by `jsonschema`
(`parameter_checks`). Classes and functions take pydantic (`parameter_types`). Both are slow to import and may not be
installed, so they are imported only for a tool that needs them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tildone.base import replace
from tildone.base.distribution import install_extra
from tildone.base.schema import (
    SchemaProblem,
    coerce_arguments,
    is_simple,
    schema_problems,
    without_nulls,
)
from tildone.run.kit.definition import InvalidDefinition, ToolDefinition, validated
from tildone.run.messages import JsonObject, JsonValue
from tildone.run.parameter_values import TOO_DEEP, bounded, plain_json


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
