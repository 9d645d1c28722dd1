"""Schemas of any draft, checked by `jsonschema`: the schemas themselves, and arguments against them.

References are resolved within the schema and the drafts' own schemas. Nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from graphlib import CycleError, TopologicalSorter
from itertools import chain

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from jsonschema_specifications import REGISTRY
from referencing import Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, specification_with

from tildone.host.parameters.messages import UNIONS, LibraryError, leaves, problems_of
from tildone.host.wire import JsonObject, JsonValue
from tildone.kit.schema import SchemaProblem, coerce_arguments

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
