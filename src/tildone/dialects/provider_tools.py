"""A dialect's tools in the formats in which model providers accept them.

The results are typed as `Any`, so that they can be passed to the providers' packages, which declare types of their own.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tildone.dialects.base import Dialect


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
