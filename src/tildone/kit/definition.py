"""What a tool is: what a model is told of it, what it does, what it gives back, and how that is shown."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

from tildone.kit.components import Component, RenderOptions
from tildone.kit.schema import SchemaProblem
from tildone.kit.signal import AbortSignal
from tildone.value import replace, value

MAX_NAME_LENGTH = 64
DEFAULT_ERROR = "Operation failed"

_SNAKE_CASE = re.compile("[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_ANY_CASE = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_ARGUMENTS = ("tool_call_id", "params", "signal", "on_update", "ctx")


@value
class TextContent:
    text: str


@value
class ImageContent:
    data_base64: str
    mime_type: str


Content = TextContent | ImageContent
Details = dict[str, Any]


@value
class ToolResult:
    """What a call gives: `content` is for the model, `details` for whoever shows the result.

    A tool fails by raising; one that has details to give all the same says `is_error`.
    """

    content: tuple[Content, ...]
    details: Details
    is_error: bool = False

    @property
    def text(self) -> str:
        """The texts among the content, one below the other."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))


OnUpdate = Callable[[ToolResult], None]

# Parameters and context are typed where a tool is written: parameters by a TypedDict that says what its schema says,
# the context by the host that gives it.
Execute = Callable[[str, Any, AbortSignal | None, OnUpdate | None, Any], Awaitable[ToolResult]]
RenderCall = Callable[[Any], Component | None]
RenderResult = Callable[[ToolResult, RenderOptions], Component | None]


@value
class ToolDefinition:
    """A tool that a model can call.

    `execute` gets the id of the call, the arguments, a signal to stop, a callback for partial results and the
    host's context, in this order; the signal and the callback may be None. What it raises is told to the model as
    a failed call. A renderer that gives None leaves the showing to the default.

    `prompt_snippet` is the tool's line in the list of tools of a system prompt, which leaves out tools without one;
    `prompt_guidelines` stand in it while the tool can be called. `exclusive` tools never run beside others, `strict`
    ones want arguments that fit the schema to the letter, `discoverable` ones are shown to a model only when it looks
    for them, and those that do not `inherit` are kept from subagents. `any_case_name` allows a name that is not in
    snake_case, where models know the tool by such a name. `demands` names what a call lacks although its arguments
    fit the schema; where there is a `refuse`, it answers a call that is turned away, given its problems and its
    arguments. A tool with `meant` accepts more forms than its schema describes: that
    returns the arguments for `execute`, or the problems with them, and is used in place of the schema. The result of a
    tool that is `merged` is shown in place of its call, not below it.
    """

    name: str
    label: str
    description: str
    parameters: Mapping[str, Any]
    execute: Execute
    prompt_snippet: str = ""
    prompt_guidelines: tuple[str, ...] = ()
    render_call: RenderCall | None = None
    render_result: RenderResult | None = None
    exclusive: bool = False
    strict: bool = False
    discoverable: bool = False
    inherit: bool = True
    any_case_name: bool = False
    demands: Callable[[Any], Sequence[SchemaProblem]] = lambda _: ()
    refuse: Callable[[Sequence[SchemaProblem], Any], ToolResult] | None = None
    meant: Callable[[Any], tuple[Any, Sequence[SchemaProblem]]] | None = None
    merged: bool = False


class InvalidDefinition(ValueError):
    """A tool cannot be registered as it is defined."""


@value
class Invocation:
    """The five arguments of `execute`, by name."""

    tool_call_id: str
    params: Any
    signal: AbortSignal | None
    on_update: OnUpdate | None
    ctx: Any


Delegate = Callable[[Invocation], Awaitable[ToolResult]]
Around = Callable[[Invocation, Delegate], Awaitable[ToolResult]]


def text_result(text: str, details: Details | None = None) -> ToolResult:
    """A result of one text."""
    return ToolResult((TextContent(text),), details or {})


def error_result(message: str) -> ToolResult:
    """What a call that raised gives: the model reads why, and details lack everything a renderer looks for."""
    return ToolResult((TextContent(message or DEFAULT_ERROR),), {}, is_error=True)


def send_update(on_update: OnUpdate | None, result: ToolResult) -> None:
    """Show a partial result to whoever wants to see one."""
    if on_update is not None:
        on_update(result)


def validated(definition: ToolDefinition) -> ToolDefinition:
    """The definition, fit to be registered.

    Raises:
        InvalidDefinition: it is not; the message names everything that is wrong with it.
    """
    wrong = list(_problems(definition))
    if wrong:
        raise InvalidDefinition(f"tool {definition.name!r}: {'; '.join(wrong)}")
    return definition


def wrap_tool(inner: ToolDefinition, around: Around | None = None, **changes: Any) -> ToolDefinition:
    """The tool with some fields changed; `around` decides what becomes of each call, and may hand it on.

    Raises:
        InvalidDefinition: the tool cannot be registered like this.
    """
    changed = replace(inner, **changes)
    return validated(changed if around is None else replace(changed, execute=_through(changed.execute, around)))


def dispatch_by_action(actions: Mapping[str, Execute]) -> Execute:
    """An `execute` that leaves each call to the function for its `action`.

    Raises:
        ValueError: when called with an action that is not among them.
    """

    async def execute(
        tool_call_id: str, params: Any, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        action = params.get("action")
        if not isinstance(action, str) or action not in actions:
            raise ValueError(f"Unknown action: {action}; known are {', '.join(actions)}")
        return await actions[action](tool_call_id, params, signal, on_update, ctx)

    return execute


def content_to_json(content: Content) -> dict[str, str]:
    """A block of content as hosts and models exchange it."""
    match content:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(data, mime_type):  # exhaustive
            return {"type": "image", "data": data, "mimeType": mime_type}


def content_from_json(block: object) -> Content:
    """A block of content from another host.

    Raises:
        ValueError: it is neither text nor an image.
    """
    match block:
        case {"type": "text", "text": str(text)}:
            return TextContent(text)
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return ImageContent(data, mime_type)
        case _:
            raise ValueError(f"expected a block of text or an image, got {block!r:.80}")


def result_to_json(result: ToolResult) -> dict[str, Any]:
    """A result as hosts exchange it; only one that failed says whether it did."""
    shape = {"content": [content_to_json(block) for block in result.content], "details": result.details}
    return {**shape, "isError": True} if result.is_error else shape


def result_from_json(result: object) -> ToolResult:
    """A result from another host; one without details has empty ones.

    Raises:
        ValueError: it is no result.
    """
    match result:
        case {"content": list(blocks), **rest}:
            details = rest.get("details")
            return ToolResult(
                tuple(map(content_from_json, blocks)),
                details if isinstance(details, dict) else {},
                is_error=rest.get("isError") is True,
            )
        case _:
            raise ValueError(f"expected a result with content, got {result!r:.80}")


def _through(execute: Execute, around: Around) -> Execute:
    async def delegate(call: Invocation) -> ToolResult:
        return await execute(call.tool_call_id, call.params, call.signal, call.on_update, call.ctx)

    async def wrapping(
        tool_call_id: str, params: Any, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        return await around(Invocation(tool_call_id, params, signal, on_update, ctx), delegate)

    return wrapping


def _problems(definition: ToolDefinition) -> Iterator[str]:
    yield from _name_problems(definition)
    if not definition.label.strip():
        yield "the label is empty"
    if not definition.description.strip():
        yield "the description is empty"
    yield from _schema_problems(definition.parameters)
    if _is_text(definition.prompt_guidelines):
        yield "prompt_guidelines is one text; it must be a tuple of texts"
    if not _takes_five(definition.execute):
        yield f"execute must be called with {', '.join(_ARGUMENTS)}"


def _name_problems(definition: ToolDefinition) -> Iterator[str]:
    if len(definition.name) > MAX_NAME_LENGTH:
        yield f"the name is longer than {MAX_NAME_LENGTH} characters"
    if definition.any_case_name and not _ANY_CASE.fullmatch(definition.name):
        yield "the name must be letters, digits, _ and -, a letter first"
    if not definition.any_case_name and not _SNAKE_CASE.fullmatch(definition.name):
        yield "the name must be in snake_case, like web_search (any_case_name=True allows others)"


def _schema_problems(schema: object) -> Iterator[str]:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        yield 'parameters must be the schema of an object: {"type": "object", "properties": {…}}'
        return
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        yield "the properties of parameters must be an object"
        return
    unknown = [name for name in schema.get("required", ()) if name not in properties]
    if unknown:
        yield f"parameters requires what it does not describe: {', '.join(unknown)}"


def _is_text(given: object) -> bool:
    """A text is a sequence of texts, one for each letter, and is easily given for one."""
    return isinstance(given, str)


def _takes_five(execute: Execute) -> bool:
    try:
        signature(execute).bind(*_ARGUMENTS)
    except (TypeError, ValueError):
        return False
    return True
