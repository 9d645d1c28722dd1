"""Classes and functions as the parameters of tools, by pydantic: their schemas, and the values for `execute`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter
from operator import getitem
from typing import Annotated, NotRequired, Required, get_args, get_type_hints

from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python
from typing_extensions import TypedDict

from tildone.base import replace
from tildone.base.schema import SchemaProblem
from tildone.run.kit.definition import (
    AbortSignal,
    Execute,
    OnUpdate,
    ToolDefinition,
    ToolResult,
    argument_parameters,
)
from tildone.run.messages import JsonObject, JsonValue
from tildone.run.parameter_values import bounded, path_of, plain_json

Adapter = TypeAdapter[JsonValue]


class _Quiet(GenerateJsonSchema):
    """Leaves out a default that JSON cannot represent, without a warning."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  as in the base class


def tool_with_schema(tool: ToolDefinition) -> ToolDefinition:
    """Return the tool with the schema of its class or function, and an `execute` that converts the arguments."""
    declared: JsonValue = tool.parameters
    is_class = isinstance(declared, type)
    try:
        adapter: Adapter = TypeAdapter(declared if is_class else _arguments_type(declared))
        schema = adapter.json_schema(schema_generator=_Quiet)
    except (PydanticUserError, NameError, TypeError) as error:
        raise ValueError(f"there is no schema for the types: {str(error).partition(chr(10))[0]}") from error
    if not is_class:
        _add_defaults(schema, declared)
    return replace(
        tool,
        parameters=plain_json(tidy(schema)),
        execute=_converting(tool.execute, adapter),
        demands=lambda arguments: _python_types_problems(adapter, arguments) or tool.demands(arguments),
    )


def _arguments_type(function: Callable[..., object]) -> JsonValue:
    """Return a TypedDict of the arguments of a function: their names are free, unlike those of a model's fields."""
    hints = get_type_hints(function, include_extras=True)
    fields = {
        name: getitem(Required if parameter.default is Parameter.empty else NotRequired, _described(hints[name]))
        for name, parameter in argument_parameters(function).items()
    }
    typed_dict: JsonValue = TypedDict
    arguments: JsonValue = typed_dict("Arguments", fields)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    return arguments


def _described(hint: JsonValue) -> JsonValue:
    """Return a type with the texts in its `Annotated` as descriptions."""
    if not hasattr(hint, "__metadata__"):
        return hint
    kind, *notes = get_args(hint)
    return getitem(Annotated, (kind, *(Field(description=note) if isinstance(note, str) else note for note in notes)))


def _add_defaults(schema: JsonObject, function: Callable[..., object]) -> None:
    for name, parameter in argument_parameters(function).items():
        if parameter.default is not Parameter.empty:
            try:
                schema["properties"][name]["default"] = to_jsonable_python(parameter.default)
            except PydanticSerializationError:
                continue


def _converting(execute: Execute, adapter: Adapter) -> Execute:
    async def converting(
        tool_call_id: str, params: JsonValue, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: JsonValue
    ) -> ToolResult:
        problems = _python_types_problems(adapter, params)
        if problems:
            raise ValueError("; ".join(map(str, problems)))
        return await execute(tool_call_id, _value(adapter, params), signal, on_update, ctx)

    return converting


def _value(adapter: Adapter, arguments: JsonValue) -> JsonValue:
    """Return the declared type's value for arguments. They may contain such values already."""
    return adapter.validate_json(to_json(arguments))


def _python_types_problems(adapter: Adapter, arguments: JsonValue) -> Sequence[SchemaProblem]:
    try:
        _value(adapter, arguments)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        return bounded(SchemaProblem(path_of(each["loc"]), _phrase(each["msg"])) for each in found)
    except PydanticSerializationError as error:
        return bounded([SchemaProblem("", str(error))])
    return ()


def _phrase(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"expected {text.removeprefix('Input should be ')}" if text.startswith("Input should be ") else text


MAX_REPEATED_CHARS = 100
"""A definition that is not longer stands everywhere it is used."""

_PREFIX = "#/$defs/"
_NULL = {"type": "null"}
_FIRST = ("type", "description")
_NOISE = ("title", "discriminator")
_BESIDE_REFERENCE = {"description", "default", "examples", "deprecated"}

_NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "propertyNames", "contains", "not")


def tidy(schema: JsonObject) -> JsonObject:
    """Return the schema of an object without what a model does not need."""
    root = _without_noise(schema)
    root.pop("description", None)
    definitions: dict[str, JsonObject] = root.pop("$defs", {})
    name = _definition(root)
    if name in definitions:
        root = {**definitions[name], **root}
        del root["$ref"]
    uses = Counter(each for part in (root, *definitions.values()) for each in _references(part))
    inlined = {name for name in definitions if uses[name] == 1 or len(str(definitions[name])) <= MAX_REPEATED_CHARS}
    inlined -= {name for name in definitions if _contains_itself(name, definitions)}
    root = _inline(root, definitions, inlined)
    kept = {name: _inline(each, definitions, inlined) for name, each in definitions.items() if name not in inlined}
    used = {each for part in (root, *kept.values()) for each in _references(part)}
    kept = {name: each for name, each in kept.items() if name in used}
    return {**root, "$defs": kept} if kept else root


def _without_noise(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    kept = _each({name: item for name, item in schema.items() if name not in _NOISE}, _without_noise)
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    if kept.get("default", ...) is None and _NULL in kept.get("anyOf", ()):
        del kept["default"]
        others = [each for each in kept.pop("anyOf") if each != _NULL]
        kept |= others[0] | kept if len(others) == 1 else {"anyOf": others}
    first = {name: kept[name] for name in _FIRST if name in kept}
    return first | kept


def _inline(schema: JsonValue, definitions: dict[str, JsonObject], inlined: set[str]) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    name = _definition(schema)
    if name in inlined and schema.keys() - {"$ref"} <= _BESIDE_REFERENCE:
        beside = {keyword: item for keyword, item in schema.items() if keyword != "$ref"}
        return _inline({**definitions[name], **beside}, definitions, inlined)
    return _each(schema, lambda each: _inline(each, definitions, inlined))


def _contains_itself(name: str, definitions: dict[str, JsonObject]) -> bool:
    reached: set[str] = set()
    pending = list(_references(definitions[name]))
    while pending:
        each = pending.pop()
        if each in definitions and each not in reached:
            reached.add(each)
            pending += _references(definitions[each])
    return name in reached


def _references(schema: JsonValue) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to, each as often as it does."""
    if isinstance(schema, dict):
        name = _definition(schema)
        if name:
            yield name
        for each in _parts(schema):
            yield from _references(each)


def _definition(schema: JsonObject) -> str:
    reference: str = schema.get("$ref", "")
    return reference.removeprefix(_PREFIX) if reference.startswith(_PREFIX) else ""


def _parts(schema: JsonObject) -> Iterator[JsonValue]:
    parts: list[JsonValue] = []
    _each(schema, parts.append)
    yield from parts


def _each(schema: JsonObject, change: Callable[[JsonValue], JsonValue]) -> JsonObject:
    """Return a copy with a function applied to each schema in it."""
    changed = dict(schema)
    for name in _NAMED:
        if name in schema:
            changed[name] = {key: change(each) for key, each in schema[name].items()}
    for name in _LISTED:
        if name in schema:
            changed[name] = [change(each) for each in schema[name]]
    for name in _SINGLE:
        if name in schema:
            changed[name] = change(schema[name])
    return changed
