"""Parameters declared as Python types or schemas: what the model reads, what comes in, what is refused."""

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Annotated, Any, Literal, NotRequired, cast

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator
from typing_extensions import TypedDict

from tildone.run.kit.definition import (
    AbortSignal,
    Delegate,
    InvalidDefinition,
    Invocation,
    ToolDefinition,
    ToolResult,
    text_result,
    tool,
    wrap_tool,
)
from tildone.run.parameter_values import MAX_DEPTH
from tildone.run.parameters import served

Json = dict[str, Any]


class Order(Enum):
    NEWEST = "newest"
    OLDEST = "oldest"


class Range(BaseModel):
    """Lines of a file, from the first to the last of them."""

    first: int = Field(ge=1, description="The first line, counted from 1")
    last: int | None = None


class Search(BaseModel):
    """What a reader of the code needs to know."""

    query: str = Field(description="Words to look for", min_length=1)
    limit: int = 10
    lines: Range | None = None

    @field_validator("query")
    @classmethod
    def _not_all_blank(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("query must not be blank")
        return query


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


class Link(BaseModel):
    next: "Link | None" = None


class Entry(TypedDict):
    path: str
    size: NotRequired[int | None]


@dataclass
class Point:
    x: int
    y: int = 0


async def show(_call_id: str, params: Any, *_others: object) -> ToolResult:
    return text_result(repr(params), {"params": params})


def tool_of(parameters: Any) -> ToolDefinition:
    return ToolDefinition("probe", "Probe", "Probe it.", parameters, show)


def tool_for(parameters: Any) -> ToolDefinition:
    return served(tool_of(parameters))


async def run(definition: ToolDefinition, params: Any) -> Any:
    return (await definition.execute("call_1", params, None, None, None)).details["params"]


def test_the_schema_of_a_model_has_what_a_model_needs_and_nothing_else() -> None:
    """No titles, no null for a field that may be left out, and a definition where it is used."""
    assert tool_for(Search).parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for", "minLength": 1},
            "limit": {"type": "integer", "default": 10},
            "lines": {
                "type": "object",
                "description": "Lines of a file, from the first to the last of them.",
                "properties": {
                    "first": {"type": "integer", "description": "The first line, counted from 1", "minimum": 1},
                    "last": {"type": "integer"},
                },
                "required": ["first"],
            },
        },
        "required": ["query"],
    }


async def test_execute_gets_an_instance_of_the_model() -> None:
    """Whoever delegates may pass one, too; arguments that an extension changed are checked again."""
    search, given = tool_for(Search), Search(query="keys", lines=Range(first=2))

    assert await run(search, {"query": "keys", "lines": {"first": 2}}) == given
    assert await run(search, given) == given
    with pytest.raises(ValueError, match="query: query must not be blank"):
        await run(search, {"query": " "})


def test_what_only_the_model_can_check_is_a_problem_of_the_call() -> None:
    said = [[str(each) for each in tool_for(Search).demands({"query": query})] for query in ("  ", "a", 5)]

    assert said == [["query: query must not be blank"], [], ["query: expected a valid string"]]
    assert len(tool_for(Search).demands({"query": "\ud800"})) == 1


async def test_dataclasses_and_typed_dicts_are_possible_too() -> None:
    """A null that is not the default stays in the schema."""
    assert tool_for(Point).parameters == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
    }
    assert await run(tool_for(Point), {"x": 1}) == Point(1)
    assert await run(tool_for(Entry), {"path": "a", "size": None}) == {"path": "a", "size": None}
    assert tool_for(Entry).schema["properties"]["size"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}


def test_a_model_that_contains_itself_keeps_its_definition() -> None:
    """A short one, too."""

    class Chain(BaseModel):
        first: Link

    children = {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []}
    node = {"type": "object", "properties": {"name": {"type": "string"}, "children": children}, "required": ["name"]}
    link = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Link"}}}

    assert tool_for(Tree).parameters == {**node, "$defs": {"Tree": node}}
    assert tool_for(Chain).parameters == {
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/Link"}},
        "required": ["first"],
        "$defs": {"Link": link},
    }


def test_a_long_definition_that_is_used_twice_stands_once_and_a_short_one_wherever_it_is_used() -> None:
    class Both(BaseModel):
        old: Range
        new: Range = Field(description="The new one")
        first: Order = Order.NEWEST
        then: Order | Literal[5] | None = None
        more: dict[str, Order] = {}
        open: dict[str, Any] = {}

    schema, order = tool_for(Both).schema, {"type": "string", "enum": ["newest", "oldest"]}

    assert list(schema["$defs"]) == ["Range"]
    assert schema["properties"] == {
        "old": {"$ref": "#/$defs/Range"},
        "new": {"$ref": "#/$defs/Range", "description": "The new one"},
        "first": {**order, "default": "newest"},
        "then": {"anyOf": [order, {"type": "integer", "const": 5}]},
        "more": {"type": "object", "additionalProperties": order, "default": {}},
        "open": {"type": "object", "default": {}},
    }


def test_discriminated_unions_are_plain_alternatives() -> None:
    class Start(BaseModel):
        action: Literal["start"]
        command: str

    class Stop(BaseModel):
        action: Literal["stop"]

    class Job(BaseModel):
        what: Start | Stop = Field(discriminator="action")

    what = tool_for(Job).schema["properties"]["what"]

    assert list(what) == ["oneOf"]
    assert [each["properties"]["action"] for each in what["oneOf"]] == [
        {"type": "string", "const": "start"},
        {"type": "string", "const": "stop"},
    ]


def test_a_default_that_json_cannot_represent_is_left_out() -> None:
    class Odd(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        count: int = Field(default=cast("int", object()))

    async def odd(count: int = cast("int", object())) -> str:
        """Count."""
        return str(count)

    for definition in (tool_for(Odd), served(tool(odd))):
        assert definition.schema["properties"] == {"count": {"type": "integer"}}


@tool
async def search_notes(  # noqa: PLR0917  the parameters are the case under test
    query: Annotated[str, "Words to look for"],
    ctx: object,
    signal: AbortSignal | None,
    json: Annotated[Literal["short", "long"], Field(description="How much of it")] = "short",
    order: Order = Order.NEWEST,
    lines: Annotated[Range | None, "Only these"] = None,
    tags: list[str] | None = None,
    model_name: int | str = 1,
) -> ToolResult:
    """Search the notes."""
    return text_result("", {"params": (query, ctx, signal, json, order, lines, tags, model_name)})


def test_the_schema_of_a_function_is_its_signature() -> None:
    """Without what the host provides; a parameter may have any name, also one that models of pydantic use."""
    lines = tool_for(Search).schema["properties"]["lines"]

    assert served(search_notes).parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "query": {"type": "string", "description": "Words to look for"},
            "json": {"type": "string", "description": "How much of it", "enum": ["short", "long"], "default": "short"},
            "order": {"type": "string", "enum": ["newest", "oldest"], "default": "newest"},
            "lines": {**lines, "description": "Only these"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "model_name": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": 1},
        },
        "required": ["query"],
    }


async def test_a_function_gets_values_of_its_types_and_its_own_defaults() -> None:
    definition, signal = served(search_notes), AbortSignal()
    params = {"query": "keys", "order": "oldest", "lines": {"first": 1}}

    result = await definition.execute("call_1", params, signal, None, "ctx")

    assert result.details["params"] == ("keys", "ctx", signal, "short", Order.OLDEST, Range(first=1), None, 1)


async def test_a_wrapper_of_a_function_gets_values_and_one_of_a_registered_tool_gets_json() -> None:
    seen = list[object]()

    async def around(call: Invocation, delegate: Delegate) -> ToolResult:
        seen.append(call.params["order"])
        return await delegate(call)

    before, after = served(wrap_tool(search_notes, around)), served(wrap_tool(served(search_notes), around))
    results = [await run(each, {"query": "keys", "order": "oldest"}) for each in (before, after)]

    assert seen == [Order.OLDEST, "oldest"]
    assert results[0] == results[1]


class Opaque:
    """A class that has no schema."""


def test_types_without_a_schema_are_refused() -> None:
    async def opaque(thing: Opaque) -> str:
        """Take it."""
        return str(thing)

    async def unresolved(thing: "Missing") -> str:  # type: ignore[name-defined]  # noqa: F821  the case under test
        """Take it."""
        return str(thing)

    for definition, complaint in (
        (tool(opaque), "there is no schema for the types: .*Opaque"),
        (tool(unresolved), "there is no schema for the types: name 'Missing' is not defined"),
        (tool_of(Opaque), "there is no schema for the types"),
        (tool_of(int), "must be the schema of an object"),
    ):
        with pytest.raises(InvalidDefinition, match=complaint):
            served(definition)


def with_property(schema: Any, **more: Any) -> Json:
    return {"type": "object", "properties": {"x": schema}, **more}


def nested(levels: int) -> Json:
    schema: Json = {"type": "string", "minLength": 1}
    for _ in range(levels):
        schema = with_property(schema)
    return schema


VALID: list[Json] = [
    with_property({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    {"type": "object", "properties": {"x": True, "y": False}},
    with_property({"type": ["string", "integer"], "minimum": 1, "minLength": 1, "pattern": "^a"}),
    with_property({"$ref": "#/$defs/node"}, **{"$defs": {"node": with_property({"$ref": "#/$defs/node"})}}),
    with_property({"$ref": "#leaf"}, **{"$defs": {"leaf": {"$anchor": "leaf", "const": 1}}}),
    with_property({"$ref": "#/properties/y"}) | {"properties": {"x": {"$ref": "#/properties/y"}, "y": True}},
    with_property({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
    with_property({"$ref": "item"}, **{"$id": "https://example.org/root", "$defs": {"i": {"$id": "item"}}}),
    {"$schema": "http://json-schema.org/draft-07/schema#", **with_property({"const": 1}), "definitions": {}},
    {"type": "object", "required": ["a"], "patternProperties": {"^a": {"type": "string"}}},
    {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}, "if": {"required": ["c"]}, "then": True},
    nested(15),
]


def test_any_valid_schema_can_be_registered() -> None:
    assert [tool_for(parameters).parameters for parameters in VALID] == VALID


REFUSED: list[tuple[Any, str]] = [
    (with_property({"type": "text"}), r"parameters: properties\.x\.type: expected one of .* or an array"),
    (with_property({"minLength": "3"}), r"properties\.x\.minLength: expected an integer, got '3'"),
    (with_property({"pattern": "("}), r"properties\.x\.pattern: expected a valid regex, got '\('"),
    (with_property({"patternProperties": {"[": True}}), r"expected a valid regex, got '\['"),
    ({"type": "object", "required": 5, "minProperties": 1}, "required: expected an array, got 5"),
    (with_property({"$ref": "#/$defs/missing"}), r"\$ref: '#/\$defs/missing' is not in the schema"),
    (with_property({"$ref": "#nowhere"}), "is not in the schema"),
    (with_property({"$ref": "#/type/x"}), "is not in the schema"),
    (with_property({"$ref": "https://example.org/schema.json"}), "nothing is fetched"),
    (with_property({"$ref": "#/required"}, required=["x"]), r"'#/required' is not a schema"),
    (with_property({"$ref": "#/extra"}, extra={"type": "text"}), "is not a schema"),
    (with_property({"$ref": "#/extra"}, extra={"$ref": "#/nope"}), "'#/nope' is not in the schema"),
    ({"type": "object", "$ref": "#"}, r"\$ref: refers to itself without end"),
    (with_property({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}), "without end"),
    ({"type": "object", "dependentSchemas": {"a": {"$ref": "#"}}}, "without end"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, "must be the schema of an object"),
    ({"type": ["object", "null"]}, "must be the schema of an object"),
    (with_property({"default": float("nan")}), r"properties\.x\.default: JSON cannot represent nan"),
    (with_property({"enum": {"a", "b"}}), r"properties\.x\.enum: JSON cannot represent a set"),
    (with_property({"type": "string", 5: 1}), r"a name in properties\.x: must be a text, not a int"),
    (with_property({"type": "string", "description": "\ud800"}), "UTF-8 cannot represent the text"),
    (nested(MAX_DEPTH), "nested too deeply"),
]


def circular() -> Json:
    schema = with_property({"type": "string"})
    schema["properties"]["y"] = schema
    return schema


def test_a_schema_that_cannot_be_served_is_refused() -> None:
    """So is a long chain of references: the library would need more stack to follow it than there is."""
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2000)}
    long = with_property({"$ref": "#/$defs/d0"}, **{"$defs": {**chain, "d2000": True}})

    for parameters, complaint in (*REFUSED, (circular(), "nested too deeply"), (long, "nested too deeply")):
        with pytest.raises(InvalidDefinition, match=f"tool 'probe': .*{complaint}"):
            tool_for(parameters)


def test_all_problems_of_a_schema_are_reported_at_once() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "text"}, "y": {"minItems": -1}}}

    with pytest.raises(InvalidDefinition) as refusal:
        tool_for(schema)

    said = sorted(str(refusal.value).removeprefix("tool 'probe': ").split("; "))
    assert said[0].startswith("parameters: properties.x.type: expected")
    assert said[1] == "parameters: properties.y.minItems: expected at least 0, got -1"


def test_the_schema_of_a_registered_tool_is_a_copy_in_plain_json() -> None:
    """So that it cannot be changed in the middle of a run, and every encoder can write it."""
    names = ["x"]
    given = MappingProxyType({"type": "object", "properties": {"x": {"type": "string"}}, "required": names})

    registered = tool_for(given)
    names.append("y")

    assert registered.parameters == {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    assert tool_for({"type": "object", "properties": {}, "required": ()}).schema["required"] == []


IMPORTS = """
import sys
from tildone.run.parameters import checked, served
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionGuard, PermissionPolicy
for tool in builtin_tools(PermissionGuard(PermissionPolicy())):
    checked(served(tool).schema, {})
print(*{"pydantic", "jsonschema"} & sys.modules.keys())
"""


def printed(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout


def test_our_own_tools_load_no_library() -> None:
    assert printed(IMPORTS).split() == []


WITHOUT_PACKAGES = """
import sys
sys.modules.update(jsonschema=None, pydantic=None)
from tildone.run.kit.definition import InvalidDefinition, ToolDefinition
from tildone.run.parameters import served
for parameters in ({"type": "object", "minProperties": 1}, int):
    try:
        served(ToolDefinition("probe", "Probe", "Probe it.", parameters, print))
    except InvalidDefinition as error:
        print(error)
"""


def test_without_the_packages_the_refusal_says_how_to_install_them() -> None:
    assert printed(WITHOUT_PACKAGES).count("tool 'probe': its parameters take more packages: ") == 2
