"""Checks of a tool definition before it is registered: every problem at once, instead of one at the first call.

The host checks more when a tool is registered: that the schema is valid, and that its references can be resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from inspect import signature

from tildone.kit.definition import Execute, ToolDefinition
from tildone.kit.functions import signature_problems
from tildone.kit.simple_schema import KEYWORDS

MAX_NAME_LENGTH = 64

_SNAKE_CASE = re.compile("[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_ANY_CASE = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_OBJECT_SCHEMA = 'the schema of an object: {"type": "object", "properties": {…}}'
_ARGUMENTS = ("tool_call_id", "params", "signal", "on_update", "ctx")


class InvalidDefinition(ValueError):
    """The definition of a tool is not valid."""


def validated(definition: ToolDefinition) -> ToolDefinition:
    """Return the same definition, if it is valid.

    Raises:
        InvalidDefinition: it is not; the message lists every problem.
    """
    problems = list(_problems(definition))
    if problems:
        raise InvalidDefinition(f"tool {definition.name!r}: {'; '.join(problems)}")
    return definition


def _problems(definition: ToolDefinition) -> Iterator[str]:
    yield from _name_problems(definition)
    if not definition.label.strip():
        yield "the label is empty"
    if not definition.description.strip():
        yield "the description is empty"
    yield from _parameter_problems(definition.parameters)
    if _is_text(definition.prompt_guidelines):
        yield "prompt_guidelines is one text; it must be a tuple of texts"
    if not _takes_all_arguments(definition.execute):
        yield f"execute must be called with {', '.join(_ARGUMENTS)}"


def _name_problems(definition: ToolDefinition) -> Iterator[str]:
    if len(definition.name) > MAX_NAME_LENGTH:
        yield f"the name is longer than {MAX_NAME_LENGTH} characters"
    if definition.any_case_name and not _ANY_CASE.fullmatch(definition.name):
        yield "the name must be letters, digits, _ and -, a letter first"
    if not definition.any_case_name and not _SNAKE_CASE.fullmatch(definition.name):
        yield "the name must be in snake_case, like web_search (any_case_name=True allows others)"


def _parameter_problems(parameters: object) -> Iterator[str]:
    if isinstance(parameters, Mapping):
        yield from _schema_problems(parameters)
    elif not callable(parameters):
        yield f"parameters must be {_OBJECT_SCHEMA}, a class or a function"
    elif not isinstance(parameters, type):
        yield from signature_problems(parameters)


def _schema_problems(schema: Mapping[str, object]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield f"parameters must be {_OBJECT_SCHEMA}"
        return
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping):
        yield "the properties of parameters must be an object"
        return
    # Other keywords can describe properties, too.
    if schema.keys() <= KEYWORDS and isinstance(required, list | tuple):
        unknown = [str(name) for name in required if name not in properties]
        if unknown:
            yield f"parameters requires properties that it does not describe: {', '.join(unknown)}"


def _is_text(given: object) -> bool:
    """A string also counts as a sequence of strings, so types do not rule it out."""
    return isinstance(given, str)


def _takes_all_arguments(execute: Execute) -> bool:
    try:
        signature(execute).bind(*_ARGUMENTS)
    except (TypeError, ValueError):
        return False
    return True
