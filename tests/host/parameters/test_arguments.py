"""Arguments checked against schemas of any kind: the verdict, the conversion and the words; such tools in a host."""

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, field_validator

from tests.host import records as messages
from tests.host.models.scripted_model import both_formats, chat_request, open_scripted, stream_records
from tests.host.test_host import Script, host_with, ran
from tildone.plan.text.styles import plain
from tildone.run.extension import ChangeArguments, ToolCallRequest
from tildone.run.kit.defaults import default_call
from tildone.run.kit.definition import InvalidDefinition, ToolDefinition, ToolResult, draw, text_result, tool
from tildone.run.model import ToolSpec
from tildone.run.parameter_values import MAX_PROBLEM_CHARS, MAX_PROBLEMS
from tildone.run.parameters import checked

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


PROBLEMS = [json.loads(line) for line in Path(__file__).with_name("problems.jsonl").read_text("utf-8").splitlines()]
"""A schema, a value, and the problem with it, for each keyword."""


def test_every_keyword_is_checked_and_phrased_for_a_model() -> None:
    told = [[schema, given, *found(arguments_schema(x=schema), {"x": given})] for schema, given, _ in PROBLEMS]

    assert told == PROBLEMS


def test_problems_are_bounded_in_number_and_length() -> None:
    """For simple schemas, too. The same problem is reported once."""
    simple = {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "string"}}}}

    for schema in (simple, {**simple, "minProperties": 0}):
        problems = found(schema, {"x": [True] * 100})

        assert (len(problems), problems[-1]) == (MAX_PROBLEMS + 1, "and more problems")
    assert len(found(arguments_schema(x={"const": "a", "enum": ["y" * 1000]}), {"x": "b"})[1]) < MAX_PROBLEM_CHARS + 10
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
    """Through references and unions, and also for strict tools. A required null is a problem."""
    given = {"name": "a", "size": None, "note": None, "child": {"name": "b", "size": None}, "shape": {"label": None}}
    passed = {"name": "a", "note": None, "child": {"name": "b"}, "shape": {}}

    for strict in (True, False):
        assert checked(NESTED, given, strict=strict) == (passed, [])
    assert given["size"] is None
    assert found(NESTED, {"name": None}) == ["name: required, a string"]
    assert found(NESTED, None) == ["expected an object, got null"]


def test_values_are_converted_where_only_their_type_is_wrong() -> None:
    """Not for strict tools."""
    given = {"name": 5, "size": "7", "child": {"name": 2.0}, "shape": {"r": "3"}}
    _, problems = checked(NESTED, {"name": 5}, strict=True)

    assert checked(NESTED, given) == ({"name": "5", "size": 7, "child": {"name": "2"}, "shape": {"r": 3}}, [])
    assert found(NESTED, {"name": "a", "level": 5}) == ["level: expected at least 10, got 5"]
    assert [str(problem) for problem in problems] == ["name: expected a string, got 5"]


def test_arguments_that_are_too_deep_for_a_recursive_schema_are_a_problem() -> None:
    """Not an exception in the middle of a run."""
    given: Json = {"name": "leaf"}
    for _ in range(900):
        given = {"name": "n", "child": given}

    assert found(NESTED, given) == ["expected less deeply nested arguments"]


def test_a_schema_of_an_older_draft_is_read_as_such() -> None:
    """In draft 4, `exclusiveMinimum` is a boolean."""
    older = {"$schema": "http://json-schema.org/draft-04/schema#"}
    schema = {**older, **arguments_schema(x={"minimum": 1, "exclusiveMinimum": True})}

    assert [len(found(schema, {"x": x})) for x in (1, 2)] == [1, 0]


ANYTHING_GOES = {
    "type": "object",
    "required": ["to"],
    "properties": {
        "to": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}]},
        "mode": {"const": "fast"},
        "size": {"type": ["integer", "null"], "minimum": 1},
        "extra": True,
        "tree": {"$ref": "#/$defs/tree"},
    },
    "$defs": {"tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}}},
}


async def show(_call_id: str, params: Any, *_others: object) -> ToolResult:
    return text_result(repr(params))


SEND = ToolDefinition("send", "Send", "Send it.", ANYTHING_GOES, show)


async def results(definition: ToolDefinition, *calls: dict[str, Any], plug: Any = None) -> list[tuple[str, bool]]:
    host, _ = await ran(Script([(definition.name, call) for call in calls], "done"), definition, plug=plug)
    said = [message for message in messages.said_in(host.transcript) if message["role"] == "toolResult"]
    return [(message["content"][0]["text"], message["isError"]) for message in said]


async def test_a_schema_with_unions_constants_and_references_is_checked_in_a_run() -> None:
    good: dict[str, Any] = {"to": ["a"], "mode": "fast", "size": None, "extra": [1], "tree": {"child": {}}}

    assert await results(SEND, good, {"to": "", "mode": "slow"}, {"to": True}, {"to": 5, "size": "3"}) == [
        (repr(good), False),
        ("Error: to: expected at least 1 characters, got 0; mode: expected 'fast', got 'slow'", True),
        ("Error: to: expected a string or an array, got true", True),
        ("{'to': '5', 'size': 3}", False),
    ]


class Pair(BaseModel):
    low: int
    high: int = 9

    @field_validator("high")
    @classmethod
    def _bounded(cls, high: int) -> int:
        if high > 9:
            raise ValueError("high must be at most nine")
        return high


PAIR = ToolDefinition("pair", "Pair", "Show a pair.", Pair, show)


async def test_a_model_and_a_function_are_called_with_their_types() -> None:
    @tool
    async def add(pair: Annotated[Pair, "Both"], times: int = 1) -> str:
        """Add."""
        return str((pair.low + pair.high) * times)

    assert await results(PAIR, {"low": "1"}, {"low": 1, "high": 10}) == [
        ("Pair(low=1, high=9)", False),
        ("Error: high: high must be at most nine", True),
    ]
    assert await results(add, {"pair": {"low": 1}, "times": 2}, {"pear": {}}) == [
        ("20", False),
        ("Error: pair: required, an object; pear: unknown field; known are pair, times", True),
    ]


async def test_extensions_see_and_change_the_arguments_of_a_typed_tool_as_json() -> None:
    seen = list[object]()

    def change(request: ToolCallRequest, _ctx: object) -> ChangeArguments:
        seen.append(request.arguments)
        return ChangeArguments({"low": 2})

    made = await results(PAIR, {"low": 1}, plug=lambda api: api.on(ToolCallRequest, change))

    assert (seen, made) == ([{"low": 1}], [("Pair(low=2, high=9)", False)])


def test_a_schema_that_cannot_be_served_never_gets_into_a_run() -> None:
    host, _ = host_with(Script())
    broken = ToolDefinition("broken", "Broken", "Fail.", {"type": "object", "$ref": "#/nowhere"}, show)

    [failure] = host.load([("mine", lambda api: api.register_tool(broken))])

    assert "tool 'broken': parameters: $ref" in failure.error
    assert host.tools == {}
    with pytest.raises(InvalidDefinition, match="tool 'broken'"):
        host_with(Script(), broken)


@both_formats
async def test_every_kind_of_schema_is_sent_to_a_provider_unchanged(spec: str) -> None:
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request(tools=(ToolSpec("send", "Send it.", ANYTHING_GOES),)))

    [sent] = [each.get("function", each) for each in server.requests[0].body["tools"]]
    assert sent.get("parameters", sent.get("input_schema")) == ANYTHING_GOES


def test_the_default_rendering_takes_every_kind_of_schema() -> None:
    args = {"mode": "fast", "extra": {"x": 1}, "tree": {}, "size": None, "to": "me"}
    drawn = [[plain(line) for line in draw(default_call(SEND, each), 100)] for each in (args, {"mode": "fast"})]

    assert drawn == [['Send: "me" mode=fast size=null extra=1 field tree=0 fields'], ["Send: mode=fast"]]
