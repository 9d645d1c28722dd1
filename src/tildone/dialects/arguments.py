"""Reads the arguments of a tool call: JSON text or data, checked against the tool's schema."""

from __future__ import annotations

from tildone.kit.schema import SchemaProblem, coerce_arguments, schema_problems
from tildone.log import codec
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.dialects.base import Tool

MAX_ARGUMENTS = 1_000_000


def read_arguments(tool: Tool, arguments: str | Mapping[str, Any]) -> tuple[Any, Sequence[SchemaProblem]]:
    """The arguments as the tool takes them, and the problems with them."""
    params: Any = arguments
    if isinstance(arguments, str):
        if len(arguments) > MAX_ARGUMENTS:
            return {}, [SchemaProblem("", f"expected at most {MAX_ARGUMENTS} characters of JSON, got {len(arguments)}")]
        try:
            params = codec.parse(arguments)
        except ValueError as error:
            return {}, [SchemaProblem("", f"expected JSON: {error}")]
    if tool.interpret is not None:
        return tool.interpret(params)
    wrong = schema_problems(tool.parameters, params)
    if wrong and not tool.strict:
        params = coerce_arguments(tool.parameters, params)
        wrong = schema_problems(tool.parameters, params)
    return params, wrong or tool.demands(params)
