"""Errors of `jsonschema` as problems that a model can read: `path: expected …, got …`.

A value that matches none of several alternatives has errors for each of them. If one alternative was meant, because
the value has its type and its fixed fields, its errors are reported; otherwise the alternatives are named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from graphlib import CycleError, TopologicalSorter
from inspect import Parameter
from itertools import chain, groupby
from math import isfinite
from operator import getitem
from typing import Annotated, NotRequired, Required, get_args, get_type_hints

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY
from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python
from referencing import Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with
from typing_extensions import TypedDict

from tildone.base import replace
from tildone.base.distribution import install_extra
from tildone.base.schema import (
    SchemaProblem,
    child_path,
    coerce_arguments,
    is_simple,
    schema_problems,
    type_phrase,
    value_phrase,
    without_nulls,
)
from tildone.run.kit.definition import (
    AbortSignal,
    Execute,
    InvalidDefinition,
    OnUpdate,
    ToolDefinition,
    ToolResult,
    argument_parameters,
    validated,
)
from tildone.run.messages import JsonObject, JsonValue

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


Resolver = JsonValue
"""A resolver of the `referencing` library, which does not export the type."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_BY_FIELD = ("dependentSchemas", "dependencies")
"""Keywords whose schemas apply to the same value, like the target of a reference; the latter if it has a field."""

_TOO_DEEP = SchemaProblem("", "expected less deeply nested arguments")


def document_problems(schema: JsonObject) -> Iterator[str | SchemaProblem]:
    """Yield why arguments cannot be checked against a schema."""
    kind = validator_for(schema, default=Draft202012Validator)
    own = kind(kind.META_SCHEMA, registry=REGISTRY, format_checker=kind.FORMAT_CHECKER)
    problems = problems_of(own.iter_errors(schema))
    yield from problems or _References(schema, own).problems()


def checked_by_library(
    schema: Mapping[str, JsonValue], arguments: JsonValue, *, strict: bool
) -> tuple[JsonValue, Sequence[SchemaProblem]]:
    """Return the arguments as the schema asks for them, and the problems with them; see `checked`."""
    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=REGISTRY)
    try:
        errors = list(validator.iter_errors(arguments))
        if errors:
            arguments = _repaired(arguments, errors, strict=strict)
            errors = list(validator.iter_errors(arguments))
        return arguments, problems_of(errors)
    except RecursionError:
        return arguments, [_TOO_DEEP]


class _References:
    """Follows the references of a schema that is valid otherwise."""

    def __init__(self, schema: JsonObject, metaschema: JsonValue) -> None:
        self._spec: Specification[JsonValue] = specification_with(schema.get("$schema", ""), default=DRAFT202012)
        self._metaschema = metaschema
        self._schema = schema
        self._same_value: dict[int, list[int]] = {}

    def problems(self) -> Iterator[str]:
        """Yield the references that lead nowhere, and say if some never end."""
        resource = self._spec.create_resource(self._schema)
        yield from self._visit(self._schema, REGISTRY.resolver_with_root(resource))
        try:
            TopologicalSorter(self._same_value).prepare()
        except CycleError:
            yield "$ref: refers to itself without end"

    def _visit(self, schema: JsonValue, resolver: Resolver) -> Iterator[str]:
        if not isinstance(schema, dict) or id(schema) in self._same_value:
            return
        self._same_value[id(schema)] = [id(each) for each in _applied_to_same_value(schema)]
        for name in _REFERENCES:
            if name in schema:
                yield from self._follow(schema, schema[name], resolver)
        for each in self._spec.subresources_of(schema):
            yield from self._visit(each, resolver.in_subresource(self._spec.create_resource(each)))

    def _follow(self, schema: JsonObject, reference: str, resolver: Resolver) -> Iterator[str]:
        try:
            found = resolver.lookup(reference)
        except (Unresolvable, TypeError, ValueError):
            yield f"$ref: {reference!r} is not in the schema, and nothing is fetched"
            return
        if not self._metaschema.is_valid(found.contents):
            yield f"$ref: {reference!r} is not a schema"
            return
        self._same_value[id(schema)].append(id(found.contents))
        yield from self._visit(found.contents, found.resolver)


def _applied_to_same_value(schema: JsonObject) -> Iterator[JsonValue]:
    for name in _SAME_VALUE:
        schemas = schema.get(name, [])
        yield from schemas if isinstance(schemas, list) else [schemas]
    for name in _BY_FIELD:
        yield from schema.get(name, {}).values()


def _repaired(arguments: JsonValue, errors: Sequence[LibraryError], *, strict: bool) -> JsonValue:
    """Return the arguments without nulls that the schema refuses and, unless `strict`, with converted values."""
    repaired = deepcopy(arguments)
    for error in chain.from_iterable(map(leaves, errors)):
        *places, last = error.absolute_path or [None]
        parent = repaired
        for place in places:
            parent = parent[place]
        if error.instance is None and isinstance(last, str):
            parent.pop(last, None)
        elif not strict and last is not None:
            parent[last] = _converted(error)
    return repaired


def _converted(error: LibraryError) -> JsonValue:
    """Return the value that was meant, if only its type is wrong."""
    wrong = error.context if error.validator in UNIONS else [error]
    if any(each.validator != "type" or each.instance is not error.instance for each in wrong):
        return error.instance
    for kind in chain.from_iterable(_kinds(each) for each in wrong):
        converted = coerce_arguments({"type": kind}, error.instance)
        if converted is not error.instance:
            return converted
    return error.instance


def _kinds(error: LibraryError) -> list[str]:
    return [error.validator_value] if isinstance(error.validator_value, str) else error.validator_value


MAX_DEPTH = 64
"""How deeply objects and arrays of a schema may be nested."""

TOO_DEEP = f"nested too deeply; {MAX_DEPTH} levels are the limit"


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


def _text(item: JsonValue, path: str) -> str:
    if not isinstance(item, str):
        raise ValueError(f"{path}: must be a text, not a {type(item).__name__}")  # noqa: TRY004  a value from outside
    try:
        item.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path}: UTF-8 cannot represent the text") from None
    return item


# The parameters of tools: JSON schemas, classes and functions, checked when a tool is registered.
#
# Theory of operation. A tool is registered with a schema, a class or a function. `served` derives the schema from a
# class
# or function, and refuses one that is not valid or that no argument could be checked against, so that a call can fail
# only because of its arguments. `checked` checks the arguments of a call. A simple schema, such as those of tildone's
# own
# tools, is checked by `tildone.base.schema`, which needs no other package; any other by `jsonschema`. That library and
# pydantic are slow to import, so the modules that use them are imported only for a tool that needs them.


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
        from tildone.run.parameters import checked_by_library  # noqa: PLC0415  see above

        return checked_by_library(schema, arguments, strict=strict)
    arguments = without_nulls(schema, arguments)
    if not strict:
        arguments = coerce_arguments(schema, arguments)
    return arguments, bounded(schema_problems(schema, arguments))


def _with_schema(tool: ToolDefinition) -> ToolDefinition:
    if isinstance(tool.parameters, Mapping):
        return replace(tool, parameters=plain_json(tool.parameters))
    # Late: pydantic is slow to import, and only tools that need it load it.
    from tildone.run.parameters import tool_with_schema  # noqa: PLC0415  see above

    return tool_with_schema(tool)


def _schema_problems(schema: Mapping[str, JsonValue]) -> Sequence[str | SchemaProblem]:
    if is_simple(schema):
        return ()
    # Late: see `checked`.
    from tildone.run.parameters import document_problems  # noqa: PLC0415  see above

    document: JsonObject = dict(schema)
    return list(document_problems(document))


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
