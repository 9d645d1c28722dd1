"""Which schemas the checker supports completely, compared with a library that knows all of JSON Schema."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tildone.base.schema import is_simple, schema_problems
from tildone.plan.dialects import dialect_named

NAMES = st.sampled_from(["a", "b", "kind", "ü"])
COUNTS = st.integers(0, 4)
LEAVES = st.one_of(
    st.fixed_dictionaries({"type": st.sampled_from(["integer", "number", "boolean"])}),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "enum": st.lists(NAMES, unique=True),
            "maxLength": COUNTS,
            "description": st.text(max_size=3),
            "default": st.text(max_size=3),
        },
    ),
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda properties, wanted, more: {
            "type": "object",
            "properties": properties,
            "required": sorted(wanted & properties.keys()),
            **more,
        },
        st.dictionaries(NAMES, inner, max_size=3),
        st.sets(NAMES),
        st.fixed_dictionaries({}, optional={"additionalProperties": st.booleans()}),
    )


def arrays(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner}, optional={"minItems": COUNTS, "maxItems": COUNTS}
    )


SIMPLE = st.recursive(LEAVES, lambda inner: objects(inner) | arrays(inner), max_leaves=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | NAMES | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(SIMPLE, VALUES)
def test_the_verdict_on_simple_schemas_is_that_of_a_complete_checker(schema: dict[str, Any], arguments: Any) -> None:
    assert is_simple(schema)
    Draft202012Validator.check_schema(schema)
    assert (schema_problems(schema, arguments) == []) == Draft202012Validator(schema).is_valid(arguments)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "null"},
        {"type": ["string"]},
        {"type": "string", "minLength": 1},
        {"type": "string", "maxLength": 1.0},
        {"type": "string", "maxLength": True},
        {"type": "string", "maxLength": -1},
        {"type": "string", "description": 5},
        {"type": "string", "enum": "ab"},
        {"type": "string", "enum": ["a", 1]},
        {"type": "string", "enum": ["a", "a"]},
        {"type": "array"},
        {"type": "array", "items": True},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": {"const": 1}}},
        {"type": "object", "required": ["a"]},
        {"type": "object", "required": "a", "properties": {"a": {"type": "string"}}},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "$schema": "http://json-schema.org/draft-04/schema#"},
    ],
)
def test_everything_else_is_not_simple(schema: object) -> None:
    assert not is_simple(schema)


@pytest.mark.parametrize("name", ["indexed", "phased", "declared", "brief"])
def test_the_schemas_of_our_own_tools_are_simple(name: str) -> None:
    assert all(is_simple(tool.parameters) for tool in dialect_named(name).tools)
