"""Arguments checked against schemas of any kind: the verdict, the conversion and the messages."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tildone.run.parameters import MAX_PROBLEM_CHARS, MAX_PROBLEMS, checked

Json = dict[str, Any]

NAMES = st.sampled_from(["a", "b", "kind"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | NAMES
COUNTS = st.integers(0, 3)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    schemas = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(SCALARS, max_size=3),
            "const": SCALARS,
            "minimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": COUNTS,
            "maxLength": COUNTS,
            "pattern": st.sampled_from(["^a", "d$", "."]),
            "minItems": COUNTS,
            "uniqueItems": st.booleans(),
            "items": inner,
            "prefixItems": schemas,
            "contains": inner,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["^k", "a"]), inner, max_size=2),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner,
            "minProperties": COUNTS,
            "anyOf": schemas,
            "oneOf": schemas,
            "allOf": schemas,
            "not": inner,
            "if": inner,
            "then": inner,
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
            "unevaluatedProperties": st.booleans(),
            "$ref": st.just("#/$defs/shared"),
        },
    )


SHARED = st.fixed_dictionaries({}, optional={"type": TYPES, "const": SCALARS, "minimum": st.integers(-3, 3)})
ROOTS = st.builds(
    lambda schema, shared: {**schema, "$defs": {"shared": shared}},
    keywords(st.recursive(st.booleans() | SHARED, keywords, max_leaves=4)),
    SHARED,
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


@given(ROOTS, VALUES)
def test_the_verdict_is_that_of_the_library(schema: Json, arguments: Any) -> None:
    """On the arguments that `execute` would get; arguments that are valid are passed on unchanged."""
    library = Draft202012Validator(schema)

    passed, problems = checked(schema, arguments)

    assert (problems == []) == library.is_valid(passed)
    if library.is_valid(arguments):
        assert passed == arguments
    assert len(problems) <= MAX_PROBLEMS + 1
    assert all(len(problem.expected) <= MAX_PROBLEM_CHARS + 1 for problem in problems)


def arguments_schema(**properties: Any) -> Json:
    return {"type": "object", "properties": properties, "$defs": {"t": {"type": "string"}, "n": {"type": "number"}}}


def found(schema: Json, arguments: Any) -> list[str]:
    _, problems = checked(schema, arguments)
    return [str(problem) for problem in problems]


SHAPES = {
    "oneOf": [
        {"type": "object", "required": ["kind", "r"], "properties": {"kind": {"const": "circle"}, "r": {"minimum": 1}}},
        {"type": "object", "required": ["kind", "w"], "properties": {"kind": {"const": "square"}}},
    ]
}


PROBLEMS: list[tuple[Any, Any, str]] = [
    ({"type": "integer", "minimum": 1}, 0, "x: expected at least 1, got 0"),
    ({"type": "integer", "maximum": 1}, 2, "x: expected at most 1, got 2"),
    ({"exclusiveMinimum": 0}, 0, "x: expected more than 0, got 0"),
    ({"exclusiveMaximum": 0}, 0, "x: expected less than 0, got 0"),
    ({"multipleOf": 5}, 7, "x: expected a multiple of 5, got 7"),
    ({"type": "string", "minLength": 3}, "ab", "x: expected at least 3 characters, got 2"),
    ({"type": "string", "minLength": 0, "maxLength": 1}, "ab", "x: expected at most 1 characters, got 2"),
    ({"type": "string", "pattern": "^[a-z]+$"}, "A", "x: expected text that matches ^[a-z]+$, got 'A'"),
    ({"minItems": 2}, [1], "x: expected at least 2 items, got 1"),
    ({"maxItems": 0}, [1], "x: expected at most 0 items, got 1"),
    ({"uniqueItems": True}, [1, 1], "x: expected items that are all different"),
    ({"minProperties": 1}, {}, "x: expected at least 1 fields, got 0"),
    ({"const": "yes"}, "no", "x: expected 'yes', got 'no'"),
    ({"enum": ["a", 1, None]}, "b", "x: expected one of a, 1, null, got 'b'"),
    ({"type": ["string", "null"]}, True, "x: expected a string or null, got true"),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, [], "x: expected a string or an integer, got an array"),
    ({"anyOf": [{"const": 1}, {"enum": ["a", "b"]}]}, "c", "x: expected 1 or one of a, b, got 'c'"),
    (
        {"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]},
        [],
        "x: expected a string or null or an integer, got an array",
    ),
    (
        {"oneOf": [{"minimum": 5}, {"maximum": 0}]},
        3,
        "x: expected a value that matches one of 2 alternatives, got 3",
    ),
    (
        {"oneOf": [{"type": "integer"}, {"minimum": 0}]},
        3,
        "x: expected a value that matches only one of the alternatives",
    ),
    (SHAPES, {"kind": "circle", "r": 0}, "x.r: expected at least 1, got 0"),
    (SHAPES, {"kind": "square"}, "x.w: required"),
    (SHAPES, {"kind": "line"}, "x.kind: expected 'circle' or 'square', got 'line'"),
    (SHAPES, 5, "x: expected an object, got 5"),
    ({"anyOf": [SHAPES, {"type": "null"}]}, {"kind": "line"}, "x.kind: expected 'circle' or 'square', got 'line'"),
    (
        {"anyOf": [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/n"}]},
        [],
        "x: expected a string or a number, got an array",
    ),
    ({"anyOf": [False, {"type": "integer"}]}, [], "x: expected an integer, got an array"),
    ({"anyOf": [False, False]}, [], "x: expected a value that matches one of 2 alternatives, got an array"),
    (
        {"type": "array", "items": {"required": ["n"], "properties": {"n": {"const": 1}}}},
        [{}],
        "x[0].n: required, 1",
    ),
    ({"properties": {"a": True}, "additionalProperties": False}, {"b": 1}, "x.b: unknown field; known are a"),
    ({"patternProperties": {"^a": True}, "additionalProperties": False}, {"ab": 1, "b": 1}, "x.b: unknown field"),
    (False, 1, "not allowed: 1"),
    ({"not": {"type": "string"}}, "a", "x: 'a' should not be valid under {'type': 'string'}"),
]


def test_every_keyword_is_checked_and_phrased_for_a_model() -> None:
    told = [(schema, given, found(arguments_schema(x=schema), {"x": given})) for schema, given, _ in PROBLEMS]

    assert told == [(schema, given, [problem]) for schema, given, problem in PROBLEMS]


def test_problems_are_bounded_in_number_and_length() -> None:
    """For simple schemas, too."""
    simple = {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}}}}

    for schema in (simple, {**simple, "minProperties": 0}):
        problems = found(schema, {"x": [True] * 100})

        assert len(problems) == MAX_PROBLEMS + 1
        assert problems[-1] == "and more problems"
    assert len(found(arguments_schema(x={"const": "a", "enum": ["y" * 1000]}), {"x": "b"})[1]) < MAX_PROBLEM_CHARS + 10


def test_the_same_problem_is_reported_once() -> None:
    assert found({"allOf": [{"required": ["a"]}, {"required": ["a"]}]}, {}) == ["a: required"]


NESTED = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "size": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "note": {"type": ["string", "null"]},
        "child": {"$ref": "#"},
        "shape": {"anyOf": [{"$ref": "#/$defs/shape"}, {"type": "string"}]},
        "level": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 10}]},
    },
    "$defs": {"shape": {"type": "object", "properties": {"r": {"type": "integer"}, "label": {"type": "string"}}}},
}


def test_nulls_are_left_out_only_where_the_schema_refuses_them() -> None:
    """Through references and unions, and also for strict tools."""
    given = {"name": "a", "size": None, "note": None, "child": {"name": "b", "size": None}, "shape": {"label": None}}

    for strict in (True, False):
        passed, problems = checked(NESTED, given, strict=strict)

        assert problems == []
        assert passed == {"name": "a", "note": None, "child": {"name": "b"}, "shape": {}}
    assert given["size"] is None


def test_a_required_null_is_a_problem() -> None:
    assert found(NESTED, {"name": None}) == ["name: required, a string"]
    assert found(NESTED, None) == ["expected an object, got null"]


def test_values_are_converted_where_only_their_type_is_wrong() -> None:
    given = {"name": 5, "size": "7", "child": {"name": 2.0}, "shape": {"r": "3"}}

    assert checked(NESTED, given) == (
        {"name": "5", "size": 7, "child": {"name": "2"}, "shape": {"r": 3}},
        [],
    )
    assert found(NESTED, {"name": "a", "level": 5}) == ["level: expected at least 10, got 5"]
    _, problems = checked(NESTED, {"name": 5}, strict=True)
    assert [str(problem) for problem in problems] == ["name: expected a string, got 5"]


def test_arguments_that_are_too_deep_for_a_recursive_schema_are_a_problem() -> None:
    """Not an exception in the middle of a run."""
    given: Json = {"name": "leaf"}
    for _ in range(900):
        given = {"name": "n", "child": given}

    assert found(NESTED, given) == ["expected less deeply nested arguments"]


def test_a_schema_of_an_older_draft_is_read_as_such() -> None:
    """In draft 4, `exclusiveMinimum` is a boolean."""
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        **arguments_schema(x={"minimum": 1, "exclusiveMinimum": True}),
    }

    assert len(found(schema, {"x": 1})) == 1
    assert found(schema, {"x": 2}) == []
