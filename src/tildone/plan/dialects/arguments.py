"""Parsing and validation of the arguments of a tool call."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.base.schema import SchemaProblem, coerce_arguments, schema_problems, without_nulls
from tildone.plan import codec
from tildone.plan.dialects import Reply
from tildone.plan.text.safe import shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.plan.dialects import Dialect, Tool


MAX_ARGUMENT_CHARACTERS = 1_000_000


def unknown_tool(dialect: Dialect, name: str) -> Reply:
    known = ", ".join(tool.name for tool in dialect.tools)
    return Reply(f"Error: unknown tool {shown_text(name)!r}; known are {known}", {}, is_error=True)


def read_arguments(tool: Tool, arguments: str | Mapping[str, Any]) -> tuple[Any, Sequence[SchemaProblem]]:
    """Return the arguments, JSON text or decoded JSON, as the tool expects them, and the problems with them."""
    params: Any = arguments
    if isinstance(arguments, str):
        if len(arguments) > MAX_ARGUMENT_CHARACTERS:
            most = f"expected at most {MAX_ARGUMENT_CHARACTERS} characters of JSON, got {len(arguments)}"
            return {}, [SchemaProblem("", most)]
        try:
            params = codec.parse_strictly(arguments)
        except ValueError as error:
            return {}, [SchemaProblem("", f"expected JSON: {error}")]
    params = without_nulls(tool.parameters, params)
    if tool.interpret is not None:
        return tool.interpret(params)
    problems = schema_problems(tool.parameters, params)
    if problems and not tool.strict:
        params = coerce_arguments(tool.parameters, params)
        problems = schema_problems(tool.parameters, params)
    return params, problems or tool.demands(params)


def anthropic_tools(dialect: Dialect) -> list[Any]:
    """Return the tools as the `tools` of a request to Anthropic's Messages API."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
        for tool in dialect.tools
    ]


def openai_tools(dialect: Dialect) -> list[Any]:
    """Return the tools as the `tools` of a request to OpenAI's Chat Completions API, which other providers accept too.

    OpenAI's Responses API takes the value of each `function`, with the same `type` beside its fields.
    """
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in dialect.tools
    ]


def tool_instructions(dialect: Dialect) -> str:
    """Return the lines about the tools for a system prompt, one per line; empty if the descriptions say it all."""
    return "\n".join(line for tool in dialect.tools for line in tool.guidelines)
