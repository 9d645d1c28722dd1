"""Parsing and validation of the arguments of a tool call."""

from __future__ import annotations

from tildone.dialects.base import Reply
from tildone.kit.schema import SchemaProblem, coerce_arguments, schema_problems, without_nulls
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.dialects.base import Dialect, Tool

MAX_ARGUMENT_CHARACTERS = 1_000_000


def unknown_tool(dialect: Dialect, name: str) -> Reply:
    """Return the reply to a call of a tool that the dialect does not have."""
    known = ", ".join(tool.name for tool in dialect.tools)
    return Reply(f"Error: unknown tool {shown_text(name)!r}; known are {known}", {}, is_error=True)


def read_arguments(tool: Tool, arguments: str | Mapping[str, Any]) -> tuple[Any, Sequence[SchemaProblem]]:
    """Return the arguments in the form that the tool expects, and the problems with them.

    `arguments` is JSON text or decoded JSON.
    """
    params: Any = arguments
    if isinstance(arguments, str):
        if len(arguments) > MAX_ARGUMENT_CHARACTERS:
            return {}, [
                SchemaProblem(
                    "", f"expected at most {MAX_ARGUMENT_CHARACTERS} characters of JSON, got {len(arguments)}"
                )
            ]
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
