"""Tool definitions and results.

A definition has the tool's description for models, the function that executes it, and the renderers of its calls and
results. A result has two parts: `content` for the model, `details` for the renderer.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from tildone.kit.components import Component
from tildone.kit.schema import SchemaProblem
from tildone.kit.signal import AbortSignal
from tildone.value import value

DEFAULT_ERROR = "Operation failed"
ANY_ARGUMENTS: Mapping[str, Any] = {"type": "object"}


@value
class TextContent:
    text: str


@value
class ImageContent:
    data_base64: str
    mime_type: str


Content = TextContent | ImageContent
Details = Any
"""Data for renderers and for later turns, in a form of the tool's own: usually a dict that JSON can represent."""


@value
class ToolResult:
    """The result of a call: `content` is sent to the model, `details` is used by renderers; a tool may have none.

    A tool reports failure by raising an exception, or returns `is_error` if it also has details.
    """

    content: tuple[Content, ...]
    details: Details = None
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text blocks of the content, joined by line breaks."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def failed(self) -> bool:
        """Whether the call did not do all that it was asked to: an error, or refusals that only the details report."""
        if self.is_error or not isinstance(self.details, Mapping):
            return self.is_error
        return bool(self.details.get("error") or self.details.get("refusals"))


OnUpdate = Callable[[ToolResult], None]

# Parameters and context are typed by each tool: parameters with a TypedDict that matches its schema, the context by the
# host that provides it.
Execute = Callable[[str, Any, AbortSignal | None, OnUpdate | None, Any], Coroutine[Any, Any, ToolResult]]
Parameters = Mapping[str, Any] | Callable[..., Any]
"""A JSON schema; or a class, such as a pydantic model; or a function with annotated parameters."""

# Renderers take as many of these arguments as they need: the arguments of the call, the theme and the `RenderContext`;
# the result, the `RenderOptions`, the theme and the `RenderContext`.
RenderCall = Callable[..., Component | None]
RenderResult = Callable[..., Component | None]


@value
class ToolDefinition:
    """A tool that a model can call.

    `execute` is called with the call id, the arguments, an abort signal, a callback for partial results and the host's
    context, in this order; the signal and the callback may be None. An exception becomes a failed result for the model.
    A renderer that returns None selects the default rendering.

    `parameters` describe the arguments: a JSON schema of draft 2020-12; a class, such as a pydantic model, a dataclass
    or a TypedDict, whose instance `execute` then gets; or an annotated function, see `tildone.kit.functions`. The host
    derives the schema from a class or a function when the tool is registered.

    `prompt_snippet` is the tool's line in the system prompt's list of tools; tools without one are not listed.
    `prompt_guidelines` are part of the system prompt while the tool can be called.

    `exclusive` tools never run concurrently with others. `strict` tools accept only arguments that match the schema
    exactly. `discoverable` tools are offered to a model only when it searches for them. Tools without `inherit` are not
    available to subagents. `any_case_name` allows names that are not in snake_case.

    `demands` returns problems that the schema cannot express, for arguments that match it. `refuse` makes the result of
    a refused call from its problems and arguments. `interpret` replaces the schema check for tools that accept more
    forms than their schema describes: it returns the arguments for `execute`, and the problems with them. The result of
    a `merged` tool is shown in place of its call, not below it.
    """

    name: str
    label: str
    description: str
    parameters: Parameters
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
    interpret: Callable[[Any], tuple[Any, Sequence[SchemaProblem]]] | None = None
    merged: bool = False

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments. For a class or function, it is known once the tool is registered."""
        return self.parameters if isinstance(self.parameters, Mapping) else ANY_ARGUMENTS


def text_result(text: str, details: Details | None = None) -> ToolResult:
    """Return a result with one text block."""
    return ToolResult((TextContent(text),), details or {})


def error_result(message: str) -> ToolResult:
    """Return the result of a call that raised an exception: the message for the model, and empty details."""
    return ToolResult((TextContent(message or DEFAULT_ERROR),), {}, is_error=True)


def send_update(on_update: OnUpdate | None, result: ToolResult) -> None:
    """Send a partial result, if there is a callback for it."""
    if on_update is not None:
        on_update(result)


def content_to_json(content: Content) -> dict[str, str]:
    """Return a content block in the wire format of hosts and models."""
    match content:
        case TextContent(text):
            return {"type": "text", "text": text}
        case ImageContent(data, mime_type):  # exhaustive
            return {"type": "image", "data": data, "mimeType": mime_type}


def result_to_json(result: ToolResult) -> dict[str, Any]:
    """Return a result in the wire format of hosts; `isError` is present only on failures."""
    shape = {"content": [content_to_json(block) for block in result.content], "details": result.details}
    return {**shape, "isError": True} if result.is_error else shape
