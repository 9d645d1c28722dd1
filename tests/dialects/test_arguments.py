"""Arguments of tool calls are parsed from JSON text and checked against the tool's schema."""

import pytest

from tildone.dialects import dialect_named
from tildone.dialects.arguments import MAX_ARGUMENT_CHARACTERS, read_arguments

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
    _, problems = read_arguments(TODO_WRITE, {"ops": [{"op": "init"}]})

    assert [str(problem) for problem in problems] == ["ops[0].list: required for init; [] clears the list"]
