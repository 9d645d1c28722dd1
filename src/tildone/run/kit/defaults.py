"""Default rendering for tools without renderers, and the messages for partial and failed results."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

from tildone.base.keys import EXPAND
from tildone.plan.text.amounts import format_count, format_size
from tildone.plan.text.styles import Role, Span, display_width
from tildone.run.kit.components import (
    Component,
    Item,
    KeyHint,
    RenderContext,
    RenderOptions,
    Text,
    ToolCallHeader,
    ToolFooter,
    stacked,
)
from tildone.run.kit.definition import (
    DEFAULT_ERROR,
    Content,
    ImageContent,
    TextContent,
    ToolDefinition,
    ToolResult,
    keep_head,
)

PREVIEW_LINES = 8
"""Lines shown of a collapsed result and of a long argument."""

NO_OUTPUT = "No output"
COLLAPSED = RenderOptions()

_MAX_MAIN_COLUMNS = 60
_MAX_OPTION_COLUMNS = 30
_MAX_EXCERPT_BYTES = 1000
_OPTIONAL = ("theme", "context")


def call_component(definition: ToolDefinition, args: Any, context: RenderContext | None = None) -> Component:
    """Return a call rendered by its tool or by default. Arguments may be incomplete while they stream in."""
    context = context or RenderContext(args, {})
    shown = rendered(definition.render_call, args, context.theme, context) if definition.render_call else None
    return default_call(definition, args) if shown is None else shown


def result_component(
    definition: ToolDefinition, result: ToolResult, options: RenderOptions, context: RenderContext | None = None
) -> Component:
    """Return a result rendered by its tool or by default."""
    render = definition.render_result
    context = context or RenderContext(
        {}, {}, expanded=options.expanded, is_partial=options.is_partial, is_error=options.is_error
    )
    shown = rendered(render, result, options, context.theme, context) if render else None
    return default_result(result, options, definition.label) if shown is None else shown


def rendered(render: Callable[..., Any], *given: object) -> Component | None:
    """Call a renderer with as many of these arguments as it takes. Raises TypeError if it returned no component."""
    shown = render(*given[: _positional_count(render)])
    if not isinstance(shown, Component | None):
        raise TypeError(f"a renderer returns a component or None, not {type(shown).__name__}")
    return shown


_SIGNS = {"✓": Role.SUCCESS, "▸": Role.ACCENT, "+": Role.ACCENT, "!": Role.WARNING}


def told_spans(line: str) -> tuple[Span, ...]:
    """Return a line about what a call has changed, with its sign in the colour that it has in lists of tasks."""
    sign, space, words = line.partition(" ")
    return Span(sign, _SIGNS.get(sign, Role.DIM)), Span(f"{space}{words}", Role.TEXT)


def partial_message(label: str, doing: str = "working") -> Text:
    """Return the placeholder for a partial result: constant text, whatever has arrived."""
    return Text(f"{label}: {doing}...", Role.MUTED)


def error_message(result: ToolResult, otherwise: str = DEFAULT_ERROR) -> Text:
    """Return the error text of a failed call, or `otherwise` if it has none."""
    return Text(result.text or otherwise, Role.ERROR)


def default_call(definition: ToolDefinition, args: Any, *, name_all: bool = False) -> ToolCallHeader:
    """Return a call under the tool's label: the action, one main argument, short options, and the rest below.

    Arguments are in the order of the schema, whatever order the model wrote them in. With `name_all`, there is no main
    argument, which would be shown without its name.
    """
    schema = definition.schema.get("properties", {})
    given = _in_order(schema, args if isinstance(args, Mapping) else {})
    action = _words(given.pop("action", ""))
    main = next((name for name, arg in given.items() if not name_all and _is_main(schema.get(name), arg)), None)
    main_arg = "" if main is None else f'"{given.pop(main)}"'
    words = {name: _words(arg) for name, arg in given.items()}
    short = {name for name, arg in words.items() if _fits(arg, _MAX_OPTION_COLUMNS)}
    return ToolCallHeader(
        definition.label,
        action,
        main_arg,
        tuple(f"{name}={arg}" for name, arg in words.items() if name in short),
        tuple(Item(name, _excerpt(arg)) for name, arg in words.items() if name not in short),
    )


def default_result(result: ToolResult, options: RenderOptions = COLLAPSED, label: str = "Tool") -> Component:
    """Return the text of a result or, collapsed, its first lines and the number of hidden ones."""
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
    return stacked(text, ToolFooter((more, Item("", KeyHint(EXPAND, "to expand")))))


def _positional_count(render: Callable[..., Any]) -> int | None:
    """The number of arguments to pass; None for all of them.

    A parameter with a default is passed one only if it is called `theme` or `context`: others are bound by the tool.
    """
    count = 0
    for parameter in signature(render).parameters.values():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return None
        is_bound = parameter.default is not Parameter.empty and parameter.name.lstrip("_") not in _OPTIONAL
        if is_bound or parameter.kind is Parameter.KEYWORD_ONLY:
            break
        count += 1
    return count


def _in_order(schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the order of the schema, then unknown ones sorted by name."""
    names = [*(name for name in schema if name in args), *sorted(name for name in args if name not in schema)]
    return {name: args[name] for name in names}


def _is_main(schema: Any, arg: Any) -> bool:
    """Whether this can be the main argument: a short string that is not one of a few known values."""
    chosen = isinstance(schema, Mapping) and ("enum" in schema or "const" in schema)
    return isinstance(arg, str) and arg != "" and not chosen and _fits(arg, _MAX_MAIN_COLUMNS)


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
    """The beginning of a long argument."""
    kept = keep_head(text, PREVIEW_LINES, _MAX_EXCERPT_BYTES)
    left = format_size(kept.total_bytes - kept.output_bytes)
    return f"{kept.content.rstrip()} … ({left} more)" if kept.truncated else text


def _shown(content: Content) -> str:
    match content:
        case TextContent(text):
            return text
        case ImageContent(data, mime_type):  # exhaustive
            return f"[{mime_type}, {format_size(len(data) * 3 // 4)}]"
