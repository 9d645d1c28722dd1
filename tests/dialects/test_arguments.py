"""Arguments of tool calls are parsed from JSON text and checked against the tool's schema."""

import pytest

from tildone.plan.dialects import DIALECTS, Tool, dialect_named
from tildone.plan.dialects.arguments import MAX_ARGUMENT_CHARACTERS, read_arguments

WRITE_TODOS = dialect_named("indexed").tools[0]
TODO_WRITE = dialect_named("phased").tools[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" " * (MAX_ARGUMENT_CHARACTERS + 1), "expected at most 1000000 characters of JSON, got 1000001"),
        ('{"mode"', "expected JSON: "),
    ],
)
def test_text_that_is_too_long_or_not_json_is_refused(text: str, problem: str) -> None:
    params, problems = read_arguments(WRITE_TODOS, text)

    assert params == {}
    assert [str(found).startswith(problem) for found in problems] == [True]


def test_only_a_tool_that_is_not_strict_accepts_a_number_for_text() -> None:
    lenient = read_arguments(WRITE_TODOS, '{"mode": "append", "todos": [{"text": 5}]}')
    _, problems = read_arguments(TODO_WRITE, {"ops": [{"op": "start", "task": 5}]})

    assert lenient == ({"mode": "append", "todos": [{"text": "5"}]}, [])
    assert len(problems) == 1


def test_demands_are_checked_once_the_schema_is_satisfied() -> None:
    _, problems = read_arguments(TODO_WRITE, {"ops": [{"op": "append", "phase": "A", "items": [" "]}]})

    assert [str(problem) for problem in problems] == ["ops[0].items[0]: expected some text, got none"]


OPTIONAL = [
    (name, tool, field)
    for name in DIALECTS
    for tool in dialect_named(name).tools
    for field in tool.parameters["properties"]
    if field not in tool.parameters.get("required", ())
]


@pytest.mark.parametrize(("dialect", "tool", "field"), OPTIONAL, ids=lambda given: getattr(given, "name", given))
def test_an_optional_field_that_is_null_is_absent(dialect: str, tool: Tool, field: str) -> None:
    assert read_arguments(tool, {field: None}) == read_arguments(tool, {})
    assert dialect in DIALECTS


def test_fields_of_items_may_be_null_too_but_no_required_one() -> None:
    given = {"ops": [{"op": "start", "task": "a", "phase": None, "items": None}]}

    assert read_arguments(TODO_WRITE, given) == ({"ops": [{"op": "start", "task": "a"}]}, [])
    assert [str(problem) for problem in read_arguments(TODO_WRITE, {"ops": [{"op": None}]})[1]] == [
        "ops[0].op: expected a string, got null"
    ]
