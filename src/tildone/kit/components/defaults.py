"""How a tool is shown that has no renderers of its own, and the states that every result goes through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tildone.kit.components import Component, Item, KeyHint, RenderOptions, Text, ToolCallHeader, ToolFooter, stacked
from tildone.kit.definition import DEFAULT_ERROR, Content, ImageContent, TextContent, ToolDefinition, ToolResult
from tildone.kit.formatting import format_count, format_size
from tildone.kit.text import display_width
from tildone.kit.theme import Role
from tildone.kit.truncate import keep_head

PREVIEW_LINES = 8
"""How many lines are shown of a result that is collapsed, and of an argument that is long."""

NO_OUTPUT = "No output"
COLLAPSED = RenderOptions()

_LONGEST_MAIN = 60
_LONGEST_OPTION = 30
_LONGEST_EXCERPT = 1000


def call_component(definition: ToolDefinition, args: Any) -> Component:
    """A call as its tool shows it, or as any tool is shown. Arguments may be partial while they arrive."""
    shown = definition.render_call(args) if definition.render_call else None
    return default_call(definition, args) if shown is None else shown


def result_component(definition: ToolDefinition, result: ToolResult, options: RenderOptions) -> Component:
    """A result as its tool shows it, or as any result is shown."""
    shown = definition.render_result(result, options) if definition.render_result else None
    return default_result(result, options, definition.label) if shown is None else shown


def partial_message(label: str, doing: str = "working") -> Text:
    """What stands where a result will be: the same words all the time, whatever arrives."""
    return Text(f"{label}: {doing}...", Role.MUTED)


def error_message(result: ToolResult, otherwise: str = DEFAULT_ERROR) -> Text:
    """Why a call failed, or `otherwise` if the result does not say."""
    return Text(result.text or otherwise, Role.ERROR)


def default_call(definition: ToolDefinition, args: Any) -> ToolCallHeader:
    """A call under the tool's label: the action, one main argument, short options, and the rest below.

    The order is that of the schema, not that in which a model happened to write.
    """
    schema = definition.parameters.get("properties", {})
    given = _in_order(schema, args if isinstance(args, Mapping) else {})
    action = _words(given.pop("action", ""))
    main = next((name for name, arg in given.items() if _is_main(schema.get(name), arg)), None)
    main_arg = "" if main is None else f'"{given.pop(main)}"'
    words = {name: _words(arg) for name, arg in given.items()}
    short = {name for name, arg in words.items() if _fits(arg, _LONGEST_OPTION)}
    return ToolCallHeader(
        definition.label,
        action,
        main_arg,
        tuple(f"{name}={arg}" for name, arg in words.items() if name in short),
        tuple(Item(name, _excerpt(arg)) for name, arg in words.items() if name not in short),
    )


def default_result(result: ToolResult, options: RenderOptions = COLLAPSED, label: str = "Tool") -> Component:
    """A result as its content says it: collapsed, the first lines and how many there are more."""
    if options.is_partial:
        return partial_message(label)
    if options.is_error or result.is_error:
        return error_message(result)
    lines = "\n".join(map(_shown, result.content)).rstrip("\n").split("\n")
    if lines == [""]:
        return Text(NO_OUTPUT, Role.DIM)
    hidden = 0 if options.expanded else len(lines[PREVIEW_LINES:])
    text = Text("\n".join(lines[: len(lines) - hidden]), Role.TOOL_OUTPUT)
    if not hidden:
        return text
    more = Item("", format_count(hidden, "more line"))
    return stacked(text, ToolFooter((more, Item("", KeyHint("app.tools.expand", "to expand")))))


def _in_order(schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the schema orders them, then those it does not know, by name."""
    names = [*(name for name in schema if name in args), *sorted(name for name in args if name not in schema)]
    return {name: args[name] for name in names}


def _is_main(schema: Any, arg: Any) -> bool:
    """Whether people look for this argument first: short words that were not chosen from a list."""
    chosen = isinstance(schema, Mapping) and "enum" in schema
    return isinstance(arg, str) and arg != "" and not chosen and _fits(arg, _LONGEST_MAIN)


def _words(arg: Any) -> str:
    match arg:
        case str():
            return arg
        case None:
            return "null"
        case bool():
            return "true" if arg else "false"
        case float() if arg.is_integer():
            return str(int(arg))
        case list() if any(isinstance(item, list | Mapping) for item in arg):
            return format_count(len(arg), "item")
        case list():
            return f"[{', '.join(map(_words, arg))}]"
        case Mapping():
            return format_count(len(arg), "field")
        case _:
            return str(arg)


def _fits(text: str, columns: int) -> bool:
    return display_width(text) <= columns and "\n" not in text


def _excerpt(text: str) -> str:
    """As much of a long argument as a header should show."""
    kept = keep_head(text, PREVIEW_LINES, _LONGEST_EXCERPT)
    left = format_size(kept.total_bytes - kept.output_bytes)
    return f"{kept.content.rstrip()} … ({left} more)" if kept.truncated else text


def _shown(content: Content) -> str:
    match content:
        case TextContent(text):
            return text
        case ImageContent(data, mime_type):  # exhaustive
            return f"[{mime_type}, {format_size(len(data) * 3 // 4)}]"
