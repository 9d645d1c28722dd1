"""Parameters declared as Python types: schemas and values made by pydantic from a class or a function's signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter
from operator import getitem
from typing import Annotated, NotRequired, Required, get_args, get_type_hints

from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python
from typing_extensions import TypedDict

from tildone.host.parameters.messages import bounded, path_of
from tildone.host.parameters.plain_json import plain_json
from tildone.host.parameters.tidy_schema import tidy
from tildone.host.wire import JsonObject, JsonValue
from tildone.kit.definition import Execute, OnUpdate, ToolDefinition, ToolResult
from tildone.kit.functions import argument_parameters
from tildone.kit.schema import SchemaProblem
from tildone.kit.signal import AbortSignal
from tildone.value import replace

Adapter = TypeAdapter[JsonValue]


class _Quiet(GenerateJsonSchema):
    """Leaves out a default that JSON cannot represent, without a warning."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  as in the base class


def tool_with_schema(tool: ToolDefinition) -> ToolDefinition:
    """Return the tool with the schema of its class or function, and an `execute` that converts the arguments.

    Raises:
        ValueError: there is no schema for a type.
    """
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
        demands=lambda arguments: _problems(adapter, arguments) or tool.demands(arguments),
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
        problems = _problems(adapter, params)
        if problems:
            raise ValueError("; ".join(map(str, problems)))
        return await execute(tool_call_id, _value(adapter, params), signal, on_update, ctx)

    return converting


def _value(adapter: Adapter, arguments: JsonValue) -> JsonValue:
    """Return the declared type's value for arguments. They may contain such values already."""
    return adapter.validate_json(to_json(arguments))


def _problems(adapter: Adapter, arguments: JsonValue) -> Sequence[SchemaProblem]:
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
