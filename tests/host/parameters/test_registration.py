"""Schemas are checked when a tool is registered: one that cannot be served never gets into a run."""

import subprocess
import sys
from types import MappingProxyType
from typing import Any

import pytest

from tildone.run.kit.definition import InvalidDefinition, ToolDefinition, ToolResult, text_result
from tildone.run.parameters import MAX_DEPTH, served

Json = dict[str, Any]


async def execute(*_five: object) -> ToolResult:
    return text_result("done")


def tool(parameters: Any) -> ToolDefinition:
    return ToolDefinition("probe", "Probe", "Probe it.", parameters, execute)


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
    assert [served(tool(parameters)).parameters for parameters in VALID] == VALID


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


def test_a_schema_that_cannot_be_served_is_refused() -> None:
    for parameters, complaint in REFUSED:
        with pytest.raises(InvalidDefinition, match=f"tool 'probe': .*{complaint}"):
            served(tool(parameters))


def test_a_schema_that_contains_itself_is_refused() -> None:
    circular = with_property({"type": "string"})
    circular["properties"]["y"] = circular

    with pytest.raises(InvalidDefinition, match="nested too deeply"):
        served(tool(circular))


def test_a_long_chain_of_references_is_refused() -> None:
    """The library would need more stack to follow it than there is."""
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2000)}

    with pytest.raises(InvalidDefinition, match="nested too deeply"):
        served(tool(with_property({"$ref": "#/$defs/d0"}, **{"$defs": {**chain, "d2000": True}})))


def test_all_problems_of_a_schema_are_reported_at_once() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "text"}, "y": {"minItems": -1}}}

    with pytest.raises(InvalidDefinition) as refusal:
        served(tool(schema))

    assert "parameters: properties.x.type: expected" in str(refusal.value)
    assert "; parameters: properties." in str(refusal.value)
    assert "properties.y.minItems: expected at least 0, got -1" in str(refusal.value)


def test_the_schema_of_a_registered_tool_is_a_copy_in_plain_json() -> None:
    """So that it cannot be changed in the middle of a run, and every encoder can write it."""
    names = ["x"]
    given = MappingProxyType({"type": "object", "properties": {"x": {"type": "string"}}, "required": names})

    registered = served(tool(given))
    names.append("y")

    assert registered.parameters == {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    assert served(tool({"type": "object", "properties": {}, "required": ()})).schema["required"] == []


IMPORTS = """
import sys
from tildone.host.parameters import checked, served
from tildone.host.tools.builtin import builtin_tools
from tildone.host.tools.permissions import PermissionPolicy
for tool in builtin_tools(PermissionPolicy()):
    checked(served(tool).schema, {})
print(*{"pydantic", "jsonschema"} & sys.modules.keys())
"""


def test_our_own_tools_load_no_library() -> None:
    answer = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)

    assert answer.stdout.split() == []


WITHOUT_PACKAGES = """
import sys
sys.modules.update(jsonschema=None, pydantic=None)
from tests.host.parameters.test_registration import tool
from tildone.host.parameters import served
from tildone.kit.validation import InvalidDefinition
for parameters in ({"type": "object", "minProperties": 1}, int):
    try:
        served(tool(parameters))
    except InvalidDefinition as error:
        print(error)
"""


def test_without_the_packages_the_refusal_says_how_to_install_them() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_PACKAGES], capture_output=True, text=True, check=True)

    assert done.stdout.count("tool 'probe': its parameters take more packages: ") == 2
