"""Arguments against the schema that the model was given."""

import pytest

from tildone.kit.schema import SchemaProblem, coerce_arguments, schema_problems

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


def test_what_fits_has_no_problem() -> None:
    """Unknown fields are fine where the schema does not close the object; 2.0 is an integer in JSON."""
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
def test_every_problem_names_its_path_and_what_was_expected(arguments: object, expected: list[str]) -> None:
    """All of them, in the order of the schema and then of the arguments."""
    assert found(arguments) == expected


def test_a_long_value_is_not_sent_back_whole() -> None:
    """The model has it already."""
    (problem,) = schema_problems(SCHEMA, {"kind": "x" * 1000, "items": [{"name": "a"}]})

    assert len(problem.expected) < 120


def test_a_problem_of_the_whole_has_no_path() -> None:
    """There is nothing to point at."""
    assert str(SchemaProblem("", "expected JSON")) == "expected JSON"


def test_numbers_and_their_text_are_read_for_one_another_where_one_is_wanted() -> None:
    """Only where it can mean nothing else: fractions, truth and nothing are left for the check."""
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
