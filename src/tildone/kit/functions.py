"""Tools made from annotated functions: the signature describes the arguments, the docstring the tool.

    @tool
    async def search_notes(query: Annotated[str, "Words to look for"], limit: int = 10) -> str:
        "Search the notes of this project."

A function may also have parameters named `tool_call_id`, `signal`, `on_update` and `ctx`. They are not arguments of the
tool: the host provides them, as it does for `execute`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from inspect import Parameter, getdoc, iscoroutinefunction, signature
from typing import Any, overload

from tildone.kit.definition import Execute, OnUpdate, ToolDefinition, ToolResult, text_result
from tildone.kit.signal import AbortSignal

FROM_HOST = ("tool_call_id", "signal", "on_update", "ctx")
"""Parameters that the host provides."""

ToolFunction = Callable[..., Coroutine[Any, Any, ToolResult | str]]

_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@overload
def tool(function: ToolFunction, /) -> ToolDefinition: ...
@overload
def tool(
    *, name: str = "", label: str = "", description: str = "", **fields: Any
) -> Callable[[ToolFunction], ToolDefinition]: ...
def tool(
    function: ToolFunction | None = None, /, *, name: str = "", label: str = "", description: str = "", **fields: Any
) -> ToolDefinition | Callable[[ToolFunction], ToolDefinition]:
    """Return the tool that calls an async function; usable as a decorator, with or without arguments.

    The name is that of the function, the label is made from the name, and the description is the docstring, unless
    given. `fields` are other fields of `ToolDefinition`. A text that the function returns is the content of the result.
    """

    def decorate(function: ToolFunction) -> ToolDefinition:
        called = name or function.__name__
        return ToolDefinition(
            name=called,
            label=label or called.replace("_", " ").title(),
            description=description or getdoc(function) or "",
            parameters=function,
            execute=_executing(function),
            **fields,
        )

    return decorate if function is None else decorate(function)


def argument_parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of a function that are arguments of the tool."""
    return {name: each for name, each in signature(function).parameters.items() if name not in FROM_HOST}


def signature_problems(function: Callable[..., Any]) -> Iterator[str]:
    """Yield why the signature of a function cannot describe the arguments of a tool."""
    if not iscoroutinefunction(function):
        yield "the function must be async"
    for name, parameter in argument_parameters(function).items():
        if parameter.kind not in _BY_NAME:
            yield f"the parameter {name} cannot be passed by name"
        elif parameter.annotation is Parameter.empty:
            yield f"the parameter {name} has no annotation"


def _executing(function: ToolFunction) -> Execute:
    wanted = [name for name in FROM_HOST if name in signature(function).parameters]

    async def execute(
        tool_call_id: str, params: dict[str, Any], signal: AbortSignal | None, on_update: OnUpdate | None, ctx: Any
    ) -> ToolResult:
        provided = dict(zip(FROM_HOST, (tool_call_id, signal, on_update, ctx), strict=True))
        result: object = await function(**params, **{name: provided[name] for name in wanted})
        if isinstance(result, ToolResult):
            return result
        if isinstance(result, str):
            return text_result(result)
        raise TypeError(f"the function must return a ToolResult or a text, not {type(result).__name__}")

    return execute
