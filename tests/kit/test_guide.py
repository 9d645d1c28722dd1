"""The guide to tools, section by section: definition, execution in a host, and rendering."""

import asyncio
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from docs.examples.repo_tree import repo_tree
from tests.host import records as messages
from tests.host.records import Json
from tests.host.test_host import Script, extend, host_with, of_kind, ran, talk
from tests.host.tools.tool_bench import marked_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.base import replace
from tildone.plan.text.styles import THEME, Role, Span, Theme, ansi, plain
from tildone.run.host import ExtensionAPI, ExtensionContext
from tildone.run.kit.components import (
    Component,
    Container,
    Item,
    RenderContext,
    RenderOptions,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
)
from tildone.run.kit.components import Field as LabelledField
from tildone.run.kit.defaults import call_component, result_component
from tildone.run.kit.definition import (
    AbortSignal,
    Delegate,
    ImageContent,
    InvalidDefinition,
    Invocation,
    OnUpdate,
    TextContent,
    ToolDefinition,
    ToolResult,
    draw,
    error_result,
    markup,
    send_update,
    text_result,
    tool,
    validated,
    wrap_tool,
)
from tildone.run.parameters import served
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionGuard, PermissionPolicy

NAMES = {
    "tildone.run.kit.components": "ToolCallHeader ToolBody ToolFooter RenderOptions KeyHint Container Markdown Text",
    "tildone.run.kit.definition": "ToolResult OnUpdate keep_tail tool TruncationResult AbortSignal TextContent "
    "ImageContent error_result",
    "tildone.run.host": "ExtensionAPI ExtensionContext",
    "tildone.plan.text.amounts": "format_size",
}
"""Our names of AgentToolResult, AgentToolUpdateCallback, ToolRenderResultOptions, truncateHead, Type and so on."""


def test_imports_every_name_of_the_guide_has_a_counterpart() -> None:
    wanted = {module: names.split() for module, names in NAMES.items()}

    assert {
        module: [name for name in names if hasattr(importlib.import_module(module), name)]
        for module, names in wanted.items()
    } == wanted


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

    assert host.load([("mine", lambda api: api.register_tool(MY_TOOL))]) == []
    await talk(host)

    [spec] = model.requests[0].tools
    assert (spec.name, spec.description) == ("my_tool", MY_TOOL.description)
    assert ended(told)["result"]["details"] == {"results": ["yak 0", "yak 1"]}


async def test_tool_definition_fields_snippet_and_guidelines_are_in_the_system_prompt_of_an_active_tool() -> None:
    """A tool without a snippet is not listed; the guidelines of a tool that is not active are left out.

    A guideline that two tools share appears once.
    """
    silent = replace(MY_TOOL, name="silent", prompt_snippet="", prompt_guidelines=(*MY_TOOL.prompt_guidelines, "Hush"))
    idle = replace(MY_TOOL, name="idle", prompt_snippet="Idle", prompt_guidelines=("Be idle",))
    model = Script("done")
    await ran(model, MY_TOOL, silent, idle, plug=lambda api: api.set_active_tools(["my_tool", "silent"]))

    available, guidelines = model.requests[0].system.split("\n\n")[1:3]
    assert available == "Available tools:\n- my_tool: Search for items by query"
    assert guidelines.splitlines()[1:] == [f"- {line}" for line in (*MY_TOOL.prompt_guidelines, "Hush")]
    assert [spec.name for spec in model.requests[0].tools] == ["my_tool", "silent"]


def test_tool_definition_fields_that_are_required_are_checked() -> None:
    with pytest.raises(TypeError):
        ToolDefinition(name="my_tool", label="My Tool", description="Search.")  # type: ignore[call-arg]  # the case
    with pytest.raises(InvalidDefinition, match=r"the label is empty; the description is empty"):
        validated(replace(MY_TOOL, label="", description=""))


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


ANYTHING = {"type": "object", "properties": {"query": {"type": "string"}}}


def my_tool(execute: Any, **fields: Any) -> ToolDefinition:
    return ToolDefinition("my_tool", "My Tool", "Does it.", ANYTHING, execute, **fields)


async def called(tool: ToolDefinition, **arguments: Any) -> tuple[Json, list[Json]]:
    """Call the tool in a host; return the event of its end and all events."""
    _, told = await ran(Script([(tool.name, arguments)], "done"), tool)
    return ended(told), told


def ended(told: list[Json]) -> Json:
    [event] = of_kind(told, "tool_execution_end")
    return event


def returning(content: Sequence[TextContent | ImageContent], *details: Any) -> ToolDefinition:
    async def execute(*_five: Any) -> ToolResult:
        return ToolResult(tuple(content), *details)

    return my_tool(execute)


async def test_tool_overrides_and_delegation_a_built_in_tool_is_wrapped(tmp_path: Path) -> None:
    """All five arguments reach the original, in their order, and the model is offered the tool once."""
    await asyncio.to_thread((tmp_path / "a.txt").write_text, "hello\n", "utf-8")
    seen = list[Invocation]()
    model = Script([("read", {"path": "a.txt"})], "done")
    host, told = host_with(model, *builtin_tools(PermissionGuard(PermissionPolicy())))
    host.cwd = str(tmp_path)

    async def around(call: Invocation, delegate: Delegate) -> ToolResult:
        seen.append(call)
        inner = await delegate(call)
        return text_result(f"{inner.text} (seen)")

    def override(api: ExtensionAPI) -> None:
        original = api.tool("read")
        assert original is not None
        api.register_tool(wrap_tool(original, around))

    extend(host, override)
    await talk(host)

    assert [spec.name for spec in model.requests[0].tools].count("read") == 1
    assert "hello" in ended(told)["result"]["content"][0]["text"]
    assert ended(told)["result"]["content"][0]["text"].endswith("(seen)")
    assert [(call.tool_call_id, call.params) for call in seen] == [("c0", {"path": "a.txt"})]
    assert isinstance(seen[0].signal, AbortSignal)
    assert callable(seen[0].on_update)
    assert isinstance(seen[0].ctx, ExtensionContext)


async def test_return_value_content_is_for_the_model_and_details_for_the_renderer() -> None:
    """Details are optional."""
    model = Script([("my_tool", {})], "done")
    content: list[TextContent | ImageContent] = [TextContent("[1]"), ImageContent("aGk=", "image/png")]
    _, told = await ran(model, returning(content, {"results": [1]}))
    end, _ = await called(returning([TextContent("ok")]))

    assert messages.shown(model.requests[1].messages)[-1]["content"] == [
        {"type": "text", "text": "[1]"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]
    assert ended(told)["result"]["details"] == {"results": [1]}
    assert (end["result"]["content"], end["isError"]) == ([{"type": "text", "text": "ok"}], False)


async def streaming(_id: str, _params: Any, _signal: Any, on_update: OnUpdate | None, _ctx: Any) -> ToolResult:
    for step in (1, 2):
        send_update(on_update, text_result(f"part {step}", {"progress": step / 2}))
    return text_result("all", {"complete": True})


async def test_error_handling_an_exception_is_a_failed_call_with_empty_details() -> None:
    """Its partial results are published all the same."""

    async def execute(*five: Any) -> ToolResult:
        await streaming(*five)
        raise LookupError("No results found. Try a different query.")

    end, told = await called(my_tool(execute))

    content = [{"type": "text", "text": "No results found. Try a different query."}]
    assert (end["isError"], end["result"]) == (True, {"content": content, "details": {}})
    assert len(of_kind(told, "tool_execution_update")) == 2


async def test_streaming_updates_are_published_before_the_result() -> None:
    _, told = await called(my_tool(streaming))

    streamed = [event for event in told if event["type"].startswith("tool_execution")]
    assert [event["type"].removeprefix("tool_execution_") for event in streamed] == ["start", "update", "update", "end"]
    assert [event["partialResult"]["details"]["progress"] for event in streamed[1:3]] == [0.5, 1.0]
    assert streamed[3]["result"]["details"] == {"complete": True}


async def test_abort_signal_reaches_the_program_that_a_tool_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the client that awaits it to `api.exec`: the process is gone, and the call is aborted."""
    duration = unique_duration()
    monkeypatch.setenv("MARK", duration)
    host, told = host_with(Script([("my_tool", {})]))
    host.cwd = "/"

    def extension(api: ExtensionAPI) -> None:
        async def search(seconds: str, signal: AbortSignal | None) -> str:
            result = await api.exec("sleep", [seconds], signal=signal)
            if signal is not None:
                signal.raise_if_aborted()
            return result.stdout

        async def execute(_id: str, _params: Any, signal: AbortSignal | None, *_others: Any) -> ToolResult:
            return text_result(await search("7777", signal))

        api.register_tool(my_tool(execute))

    extend(host, extension)
    await host.prompt("go")
    await until_async(lambda: marked_processes(duration))
    host.request_abort("Escape")
    async with asyncio.timeout(30):
        await host.settled()

    assert marked_processes(duration) == []
    assert ended(told)["isError"]
    assert ended(told)["result"]["content"][0]["text"] == "Error: aborted"


async def test_full_example_runs_in_a_host(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("hello\n", encoding="utf-8")
    end, told = await called(repo_tree(tmp_path), path="", depth="1")

    assert end["result"]["content"][0]["text"] == "src/\nREADME.md (6 B)"
    assert [entry["path"] for entry in end["result"]["details"]["entries"]] == ["src", "README.md"]
    assert len(of_kind(told, "tool_execution_update")) == 1


COLLAPSED, EXPANDED, PARTIAL = RenderOptions(), RenderOptions(expanded=True), RenderOptions(is_partial=True)


async def nothing(*_five: object) -> ToolResult:
    return text_result("")


TOOL = ToolDefinition("my_tool", "My Tool", "Searches.", {"type": "object", "properties": {}}, nothing)


def lines(component: Component) -> list[str]:
    return [plain(line) for line in draw(component, 100)]


def render_call(args: dict[str, Any], theme: Theme) -> Component:
    return ToolCallHeader(
        tool_name="My Tool",
        action="search",
        main_arg=theme.fg("accent", f'"{args["query"]}"'),
        option_args=[f"limit={args.get('limit', 10)}"],
        long_args=[],
        show_colon=True,
    )


def render_result(result: ToolResult, options: RenderOptions, theme: Theme) -> Component:
    if options.is_partial:
        return Text(theme.fg("muted", "MyTool: fetching..."))
    if "results" not in result.details:
        return Text(theme.fg("error", result.text or "Operation failed"))
    items = result.details["results"]
    fields: list[LabelledField | Component] = [
        LabelledField("Results", f"{len(items)} items", show_collapsed=True),
        *(Text(item) for item in items),
    ]
    footer_items = [Item("count", f"{len(items)}")] if items else []
    return ToolBody(
        fields=fields,
        expanded=options.expanded,
        footer=ToolFooter(items=footer_items, separator=" | ") if footer_items else None,
        include_spacer_before_footer=len(fields) > 0,
    )


def test_render_call_signature_takes_the_arguments_and_the_theme() -> None:
    """It may take a context, too."""
    tool = replace(TOOL, render_call=render_call)

    assert lines(call_component(tool, {"query": "yaks"})) == ['My Tool: search "yaks" limit=10']

    context = RenderContext({"n": 1}, {"seen": 2}, "call_1", "/p")

    def of_context(args: Any, theme: Theme, context: RenderContext) -> Component:
        assert (args, theme) == (context.args, context.theme)
        return Text(f"{context.tool_call_id} in {context.cwd}, seen {context.state['seen']}")

    tool = replace(TOOL, render_call=of_context)
    assert lines(call_component(tool, {"n": 1}, context)) == ["call_1 in /p, seen 2"]


SHORTER: dict[str, Callable[..., Component]] = {
    "arguments": lambda args: Text(args["n"]),
    "theme": lambda args, _theme: Text(args["n"]),
    "context": lambda args, _theme, _context: Text(args["n"]),
    "all of them": lambda *given: Text(f"{given[0]['n']}{'' if len(given) == 3 else len(given)}"),
    "a bound value": lambda _args, prefix="1": Text(prefix),
    "an optional theme": lambda _args, theme=None: Text("1" if theme is THEME else ""),
    "an optional context": lambda _args, _theme=None, _context=None: Text("1" if _theme and _context else ""),
    "a keyword": lambda _args, *, prefix="1": Text(prefix),
}


def test_render_call_signature_may_be_shorter() -> None:
    """A renderer is given as much as it takes. What the tool has bound to a parameter stays."""
    shown = {case: lines(call_component(replace(TOOL, render_call=SHORTER[case]), {"n": "1"})) for case in SHORTER}

    assert shown == {case: ["1"] for case in SHORTER}


def test_render_result_signature_takes_the_result_the_options_and_the_theme() -> None:
    tool = replace(TOOL, render_result=render_result)
    result = text_result("[]", {"results": ["a", "b"]})

    assert lines(result_component(tool, result, COLLAPSED)) == ["Results: 2 items", "", "count: 2"]
    assert lines(result_component(tool, result, EXPANDED)) == ["Results: 2 items", "a", "b", "", "count: 2"]

    shorter: list[Callable[..., Component]] = [
        lambda result, _options: Text(result.text),
        lambda result, _options, _theme, _context: Text(result.text),
    ]
    for render in shorter:
        assert lines(result_component(replace(TOOL, render_result=render), text_result("one"), COLLAPSED)) == ["one"]


def test_render_result_signature_may_take_a_context_too() -> None:
    seen: list[tuple[RenderOptions, RenderContext]] = []

    def of_context(_result: ToolResult, given: RenderOptions, theme: Theme, context: RenderContext) -> Component:
        assert theme == context.theme
        seen.append((given, context))
        return Text("")

    states = [COLLAPSED, EXPANDED, PARTIAL, RenderOptions(is_error=True)]
    for options in states:
        result_component(replace(TOOL, render_result=of_context), text_result(""), options)
        with pytest.raises(TypeError, match=r"^a renderer returns a component or None, not str$"):
            result_component(replace(TOOL, render_result=lambda *_: "text"), text_result(""), options)

    assert [options for options, _ in seen] == states
    for options, context in seen:
        context.invalidate()
        assert context.state == {}
        assert RenderOptions(context.expanded, context.is_partial, context.is_error) == options


def test_error_rendering_in_render_result_checks_for_a_missing_field() -> None:
    failed = error_result("No results found. Try a different query.")
    shown = result_component(replace(TOOL, render_result=render_result), failed, COLLAPSED)

    assert markup(shown) == "<error>No results found. Try a different query.</error>"
    assert markup(render_result(ToolResult((), {}), COLLAPSED, THEME)) == "<error>Operation failed</error>"


def test_render_result_guidelines_a_container_grows() -> None:
    container = Container()
    container.add_child(Text("a"))
    container.add_child(ToolFooter([Item("total", "1")], include_spacer_before_footer=True))

    assert lines(container) == ["a", "", "total: 1"]
    assert container == Container([Text("a"), ToolFooter([Item("total", "1")], include_spacer_before_footer=True)])
    assert container != Container()
    assert repr(Container([Text("a")])).startswith("Container([Text(content='a'")


def test_custom_rendering_components_take_styled_text() -> None:
    """Styles nest, line breaks are kept, control characters are not, and an error names the known colours."""
    theme, gone = THEME, THEME.fg("error", "gone")

    assert markup(Text(theme.fg("accent", theme.bold("a")))) == "<accent><bold>a</bold></accent>"
    assert markup(Text((theme.italic("a"), " ", theme.strikethrough("b")))) == (
        "<italic>a</italic> <strikethrough>b</strikethrough>"
    )
    assert theme.fg(Role.ERROR, "x") == theme.fg("error", "x")

    body = ToolBody([LabelledField("State", gone, show_collapsed=True)])
    assert markup(body) == "<muted>State: </muted><error>gone</error>"
    assert markup(ToolFooter([Item("", gone)])) == "<muted><error>gone</error></muted>"
    assert markup(ToolCallHeader("T", option_args=[gone])).endswith(" <muted><error>gone</error></muted>")

    with pytest.raises(ValueError, match=r"^Unknown theme color 'pink'; known are toolTitle, .*, error$"):
        THEME.fg("pink", "x")

    styled = THEME.fg("error", THEME.bold("a\x1b[2J\nb"))

    drawn = draw(Text(styled), 80)

    assert [plain(line) for line in drawn] == ["a\ufffd[2J", "b"]
    assert drawn[1] == [Span("b", Role.ERROR, bold=True)]
    assert ansi(drawn[1], color=True, safe=str) == "\x1b[31;1mb\x1b[0m"
