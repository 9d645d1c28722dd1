"""The prompt that starts a plan, and the instructions that every client gets with the tools."""

from __future__ import annotations

import mcp_types as types

from tildone.dialects.base import Dialect
from tildone.mcp.surrogates import replace_surrogates

NAME, TASK = "plan", "task"

PROMPTS = [
    types.Prompt(
        name=NAME,
        title="Make a plan",
        description="Make a plan for a task, then work through it until nothing is open.",
        arguments=[types.PromptArgument(name=TASK, description="What is to be done", required=True)],
    )
]


def plan_prompt(dialect: Dialect, task: str) -> types.GetPromptResult:
    """Return a user message that asks for a plan, with the dialect's own tools and guidelines."""
    tools = " and ".join(tool.name for tool in dialect.tools if not tool.hints.read_only)
    request = f"Make a plan with {tools} for the task below, then work through it until nothing is open."
    parts = (request, instructions(dialect), f"Task: {replace_surrogates(task)}")
    message = types.PromptMessage(
        role="user", content=types.TextContent(text="\n\n".join(part for part in parts if part))
    )
    return types.GetPromptResult(description=PROMPTS[0].description, messages=[message])


def instructions(dialect: Dialect) -> str | None:
    """Return the guidelines of the dialect's tools, without duplicates; None if there are none."""
    guidelines = dict.fromkeys(line for tool in dialect.tools for line in tool.guidelines)
    return "\n".join(f"- {line}" for line in guidelines) or None
