"""Checks of schemas and of arguments by `jsonschema`, with problems that a model can read: `path: expected …, got …`.

A value that matches none of several alternatives has errors for each of them. If one alternative was meant, because
the value has its type and its fixed fields, its errors are reported; otherwise the alternatives are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from graphlib import CycleError, TopologicalSorter
from itertools import chain, groupby

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY
from referencing import Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with

from tildone.base.schema import SchemaProblem, child_path, coerce_arguments, type_phrase, value_phrase
from tildone.run.messages import JsonObject, JsonValue
from tildone.run.parameter_values import bounded, path_of

LibraryError = JsonValue
"""A `jsonschema.ValidationError`; the library has no type annotations for it."""

UNIONS = ("anyOf", "oneOf")

_IDENTIFYING = ("type", "const", "enum", None)
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


def problems_of(errors: Iterable[LibraryError]) -> list[SchemaProblem]:
    """Return the problems that the errors describe, without repetition."""
    return bounded(problem for error in errors for leaf in leaves(error) for problem in _problems(leaf))


def leaves(error: LibraryError) -> Iterator[LibraryError]:
    """Yield the errors that explain an error: those of the alternative that was meant, or the error itself."""
    meant = [group for group in _alternatives(error) if not any(_tells_apart(error, each) for each in group)]
    if error.validator not in UNIONS or len(meant) != 1:
        yield error
        return
    for each in meant[0]:
        yield from leaves(each)


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
            return f"one of {', '.join([limit if isinstance(limit, str) else value_phrase(limit) for limit in limits])}"
        case {"type": str(kind)}:
            return type_phrase(kind)
        case {"type": list(kinds)}:
            return _either(map(type_phrase, kinds))
        case _:
            return ""


def _unknown(schema: JsonValue, given: JsonValue) -> list[str]:
    patterns = schema.get("patternProperties", {})
    named = [name for name in given if name not in schema.get("properties", {})]
    return [name for name in named if not any(re.search(pattern, name) for pattern in patterns)]


def _either(phrases: Iterable[str]) -> str:
    *front, last = phrases
    return f"{', '.join(front)} or {last}" if front else last


Resolver = JsonValue
"""A resolver of the `referencing` library, which does not export the type."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_BY_FIELD = ("dependentSchemas", "dependencies")
"""Keywords whose schemas apply to the same value, like the target of a reference; the latter if it has a field."""

_TOO_DEEP = SchemaProblem("", "expected less deeply nested arguments")


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
