"""The prompt that has an agent begin a plan, and what it is told of the tools from the start."""

from __future__ import annotations

import mcp_types as types

from tildone.dialects.base import Dialect
from tildone.mcp.tools import replace_surrogates

NAME, TASK = "plan", "task"

PROMPTS = [
    types.Prompt(
        name=NAME,
        title="Make a plan",
        description="Make a plan for a task, then work through it until nothing is open.",
        arguments=[types.PromptArgument(name=TASK, description="What is to be done", required=True)],
    )
]


def begin(dialect: Dialect, task: str) -> types.GetPromptResult:
    """What a person says to have a plan made: with the dialect's own tools, by its own guidelines."""
    tools = " and ".join(tool.name for tool in dialect.tools if not tool.hints.read_only)
    order = f"Make a plan with {tools} for the task below, then work through it until nothing is open."
    said = "\n\n".join(part for part in (order, guidelines(dialect), f"Task: {replace_surrogates(task)}") if part)
    message = types.PromptMessage(role="user", content=types.TextContent(text=said))
    return types.GetPromptResult(description=PROMPTS[0].description, messages=[message])


def guidelines(dialect: Dialect) -> str | None:
    """How a model is to use the tools, in the dialect's words; each guideline once."""
    said = dict.fromkeys(line for tool in dialect.tools for line in tool.guidelines)
    return "\n".join(f"- {line}" for line in said) or None
