"""Validation and conversion of arguments by a tool's schema."""

import pytest

from tildone.base.schema import SchemaProblem, coerce_arguments, schema_problems, without_nulls

SCHEMA = {
    "type": "object",
    "required": ["kind", "items"],
    "properties": {
        "kind": {"type": "string", "enum": ["one", "two"]},
        "items": {
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {"name": {"type": "string", "maxLength": 3}, "size": {"type": "integer"}},
            },
        },
        "flag": {"type": "boolean"},
        "rate": {"type": "number"},
    },
}


def found(arguments: object) -> list[str]:
    return [str(problem) for problem in schema_problems(SCHEMA, arguments)]


def test_valid_arguments_have_no_problems() -> None:
    """Unknown fields are valid unless the schema forbids them; 2.0 is an integer in JSON."""
    fits = {"kind": "one", "items": [{"name": "abc", "size": 2.0}], "flag": True, "rate": 1, "other": None}

    assert found(fits) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (None, ["expected an object, got null"]),
        ([], ["expected an object, got an array"]),
        ({}, ["kind: required, one of one, two", "items: required, an array"]),
        (
            {"kind": "three", "items": []},
            ["kind: expected one of one, two, got 'three'", "items: expected at least 1 items, got 0"],
        ),
        (
            {"kind": 5, "items": [{}] * 4},
            ["kind: expected a string, got 5", "items: expected at most 3 items, got 4"],
        ),
        ({"kind": "one", "items": ["x"]}, ["items[0]: expected an object, got 'x'"]),
        ({"kind": "one", "items": [{"size": 1}]}, ["items[0].name: required, a string"]),
        (
            {"kind": "one", "items": [{"name": "abcd"}]},
            ["items[0].name: expected at most 3 characters, got 4"],
        ),
        (
            {"kind": "one", "items": [{"name": "a", "size": 1.5}]},
            ["items[0].size: expected an integer, got 1.5"],
        ),
        (
            {"kind": "one", "items": [{"name": "a", "size": True}]},
            ["items[0].size: expected an integer, got true"],
        ),
        (
            {"kind": "one", "items": [{"name": "a", "colour": 1}]},
            ["items[0].colour: unknown field; known are name, size"],
        ),
        (
            {"kind": {}, "items": [{"name": "a"}], "flag": 0},
            ["kind: expected a string, got an object", "flag: expected a boolean, got 0"],
        ),
        ({"kind": "one", "items": [{"name": False}]}, ["items[0].name: expected a string, got false"]),
    ],
)
def test_every_problem_has_its_path_and_the_expected_value(arguments: object, expected: list[str]) -> None:
    """In the order of the schema, then of the arguments."""
    assert found(arguments) == expected


def test_a_long_value_is_clipped_in_the_message() -> None:
    (problem,) = schema_problems(SCHEMA, {"kind": "x" * 1000, "items": [{"name": "a"}]})

    assert len(problem.expected) < 120


def test_a_problem_with_all_arguments_has_no_path() -> None:
    assert str(SchemaProblem("", "expected JSON")) == "expected JSON"


def test_integers_and_strings_are_converted_as_the_schema_asks() -> None:
    """Only if it is unambiguous: fractions, booleans and null are left to the check."""
    given = {
        "kind": 7,
        "items": [{"name": "1", "size": "-2"}, {"name": 2.0, "size": "2.0"}, {"name": 1.5, "size": "x"}],
        "other": "3",
        "flag": True,
    }

    assert coerce_arguments(SCHEMA, given) == {
        "kind": "7",
        "items": [{"name": "1", "size": -2}, {"name": "2", "size": "2.0"}, {"name": "1.5", "size": "x"}],
        "other": "3",
        "flag": True,
    }
    assert coerce_arguments(SCHEMA, [1]) == [1]
    assert coerce_arguments(SCHEMA, {"kind": False, "items": None}) == {"kind": False, "items": None}


OTHER_SCHEMA = {
    "type": "object",
    "required": ["must"],
    "properties": {
        "must": {"type": "string"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "listed": {"type": ["string", "null"]},
        "referred": {"$ref": "#/$defs/x"},
        "anything": True,
        "nothing": False,
        "null": {"type": "null"},
        "number": {"type": "integer"},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        "old_pair": {"type": "array", "items": [{"type": "integer"}]},
        "open": {"type": "array", "items": True},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
    "$defs": {"x": {"type": ["integer", "null"]}},
}


def test_conversion_leaves_alone_what_it_does_not_understand() -> None:
    """Unions, references, booleans as schemas and items with schemas of their own; what has one type is converted."""
    untouched = {
        "must": "1",
        "either": "5",
        "listed": 5,
        "referred": "5",
        "anything": {"x": "5"},
        "nothing": ["5"],
        "null": None,
        "pair": ["5", 5],
        "old_pair": ["5"],
        "open": ["5", 5],
    }

    assert coerce_arguments(OTHER_SCHEMA, untouched) == untouched
    assert coerce_arguments(OTHER_SCHEMA, {"number": "5", "rows": [{"n": "5"}]}) == {"number": 5, "rows": [{"n": 5}]}
    assert coerce_arguments({"properties": True}, {"x": 1}) == {"x": 1}


def test_a_null_stays_where_the_schema_may_permit_it() -> None:
    kept = dict.fromkeys(["must", "either", "listed", "referred", "anything", "nothing", "null", "unknown"])

    assert without_nulls(OTHER_SCHEMA, {**kept, "number": None, "rows": [{"n": None}, None]}) == {
        **kept,
        "rows": [{}, None],
    }
    assert without_nulls(OTHER_SCHEMA, {"pair": [None], "open": [{"n": None}]}) == {
        "pair": [None],
        "open": [{"n": None}],
    }
    assert without_nulls(SCHEMA, {"flag": None, "kind": None}) == {"kind": None}
