"""The guide to tools, section by section: imports, registration, definition fields, typed parameters, naming."""

import importlib
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tests.host.test_host import Script, extend, host_with, talk
from tildone.base import replace
from tildone.plan.text.styles import plain
from tildone.run.host import ExtensionAPI
from tildone.run.kit.components import RenderOptions
from tildone.run.kit.defaults import call_component, result_component
from tildone.run.kit.definition import InvalidDefinition, ToolDefinition, ToolResult, draw, text_result, tool, validated
from tildone.run.parameters import served

NAMES = {
    "ToolCallHeader": "tildone.run.kit.components.ToolCallHeader",
    "ToolBody": "tildone.run.kit.components.ToolBody",
    "ToolFooter": "tildone.run.kit.components.ToolFooter",
    "AgentToolResult": "tildone.run.kit.definition.ToolResult",
    "AgentToolUpdateCallback": "tildone.run.kit.definition.OnUpdate",
    "ExtensionAPI": "tildone.run.host.ExtensionAPI",
    "ExtensionContext": "tildone.run.host.ExtensionContext",
    "ToolRenderResultOptions": "tildone.run.kit.components.RenderOptions",
    "keyHint": "tildone.run.kit.components.KeyHint",
    "truncateHead": "tildone.run.kit.definition.keep_tail",
    "formatSize": "tildone.plan.text.amounts.format_size",
    "Container": "tildone.run.kit.components.Container",
    "Markdown": "tildone.run.kit.components.Markdown",
    "Text": "tildone.run.kit.components.Text",
    "Type": "tildone.run.kit.definition.tool",
    "TruncationResult": "tildone.run.kit.definition.TruncationResult",
    "AbortSignal": "tildone.run.kit.definition.AbortSignal",
    "TextContent": "tildone.run.kit.definition.TextContent",
    "ImageContent": "tildone.run.kit.definition.ImageContent",
    "createErrorToolResult": "tildone.run.kit.definition.error_result",
}


@pytest.mark.parametrize("name", NAMES)
def test_imports_every_name_of_the_guide_has_a_counterpart(name: str) -> None:
    module, _, attribute = NAMES[name].rpartition(".")

    assert hasattr(importlib.import_module(module), attribute)


class MyToolParams(BaseModel):
    query: str = Field(description="Search query")
    limit: int = Field(10, description="Max results")


async def search(tool_call_id: str, params: MyToolParams, signal: object, on_update: object, ctx: object) -> ToolResult:
    del tool_call_id, signal, on_update, ctx
    results = [f"{params.query} {number}" for number in range(params.limit)]
    return text_result("\n".join(results), {"results": results})


MY_TOOL = ToolDefinition(
    name="my_tool",
    label="My Tool",
    description="What this tool does. The LLM reads this to decide when to call it.",
    prompt_snippet="Search for items by query",
    prompt_guidelines=("Use this tool when the user asks about search", "Prefer specific queries over broad ones"),
    parameters=MyToolParams,
    execute=search,
)


async def test_registration_of_a_tool_by_an_extension() -> None:
    """A function that is given the API registers it; the model is offered it and can call it."""
    model = Script([("my_tool", {"query": "yak", "limit": 2})], "done")
    host, told = host_with(model)

    def extension(api: ExtensionAPI) -> None:
        api.register_tool(MY_TOOL)

    assert host.load([("mine", extension)]) == []
    await talk(host)

    [spec] = model.requests[0].tools
    assert (spec.name, spec.description) == ("my_tool", MY_TOOL.description)
    [ended] = [event for event in told if event["type"] == "tool_execution_end"]
    assert ended["result"]["details"] == {"results": ["yak 0", "yak 1"]}


async def test_tool_definition_fields_snippet_and_guidelines_are_in_the_system_prompt_of_an_active_tool() -> None:
    """A tool without a snippet is not listed; the guidelines of a tool that is not active are left out."""
    silent = replace(MY_TOOL, name="silent", prompt_snippet="", prompt_guidelines=("Be silent",))
    idle = replace(MY_TOOL, name="idle", prompt_snippet="Idle", prompt_guidelines=("Be idle",))
    model = Script("done")
    host, _ = host_with(model, MY_TOOL, silent, idle)
    extend(host, lambda api: api.set_active_tools(["my_tool", "silent"]))

    await talk(host)

    available, guidelines = model.requests[0].system.split("\n\n")[1:3]
    assert available == "Available tools:\n- my_tool: Search for items by query"
    assert guidelines.splitlines()[1:] == [f"- {line}" for line in (*MY_TOOL.prompt_guidelines, "Be silent")]


def test_tool_definition_fields_that_are_required_are_checked() -> None:
    with pytest.raises(TypeError):
        ToolDefinition(name="my_tool", label="My Tool", description="Search.")  # type: ignore[call-arg]  # the case
    with pytest.raises(InvalidDefinition, match=r"the label is empty; the description is empty"):
        validated(replace(MY_TOOL, label="", description=""))


def test_tool_definition_fields_renderers_are_optional() -> None:
    call = draw(call_component(served(MY_TOOL), {"query": "yak", "limit": 5}), 80)
    result = draw(result_component(MY_TOOL, text_result("found"), RenderOptions()), 80)

    assert [plain(line) for line in (*call, *result)] == ['My Tool: "yak" limit=5', "found"]


async def test_typed_param_alias_one_declaration_is_the_schema_and_the_type() -> None:
    """A class, or the signature; nothing is repeated."""
    schema = served(MY_TOOL).schema
    result = await served(MY_TOOL).execute("call_1", {"query": "yak"}, None, None, None)

    assert schema["properties"]["limit"] == {"type": "integer", "description": "Max results", "default": 10}
    assert schema["required"] == ["query"]
    assert len(result.details["results"]) == 10


class NameAndValue(TypedDict):
    name: str
    value: str


async def test_parameters_schema_every_kind_of_the_guide() -> None:
    """Required, optional with a default, one of a few words, yes or no, an object and a list, with descriptions."""

    @tool
    async def kinds(
        path: Annotated[str, "File path to read"],
        pair: Annotated[NameAndValue, "Name and value"],
        limit: Annotated[float, "Max results"] = 10,
        sort: Annotated[Literal["created", "updated", "relevance"], "Sort order"] = "created",
        hidden: Annotated[bool, "Include hidden files"] = False,  # noqa: FBT002  the case under test
        tags: Annotated[list[str] | None, "List of tags"] = None,
    ) -> str:
        """Take all kinds."""
        return repr((path, pair, limit, sort, hidden, tags))

    registered = served(kinds)

    assert registered.schema["properties"] == {
        "path": {"type": "string", "description": "File path to read"},
        "pair": {
            "type": "object",
            "description": "Name and value",
            "additionalProperties": False,
            "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
            "required": ["name", "value"],
        },
        "limit": {"type": "number", "description": "Max results", "default": 10},
        "sort": {
            "type": "string",
            "description": "Sort order",
            "enum": ["created", "updated", "relevance"],
            "default": "created",
        },
        "hidden": {"type": "boolean", "description": "Include hidden files", "default": False},
        "tags": {"type": "array", "description": "List of tags", "items": {"type": "string"}},
    }
    params: dict[str, Any] = {"path": "a", "pair": {"name": "n", "value": "v"}, "tags": ["x"]}
    result = await registered.execute("call_1", params, None, None, None)
    assert result.text == "('a', {'name': 'n', 'value': 'v'}, 10, 'created', False, ['x'])"
