"""The prompt that starts a plan, and the instructions that every client gets with the tools."""

from __future__ import annotations

from tildone.mcp.json_rpc import INVALID_PARAMS, RequestError
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import MAX_START, clipped
from tildone.views.sanitize import safe_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tildone.dialects.base import Dialect

NAME, TASK = "plan", "task"

PROMPTS = [
    {
        "name": NAME,
        "title": "Make a plan",
        "description": "Make a plan for a task, then work through it until nothing is open.",
        "arguments": [{"name": TASK, "description": "What is to be done", "required": True}],
    }
]


def get_prompt(dialect: Dialect, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the prompt that the parameters name, made from its arguments.

    Raises:
        RequestError: there is no such prompt, or its argument is missing.
    """
    if params["name"] != NAME:
        raise RequestError(INVALID_PARAMS, f"Unknown prompt {params['name']!r:.100}; there is {NAME}")
    task = (params.get("arguments") or {}).get(TASK, "").strip()
    if not task:
        raise RequestError(INVALID_PARAMS, f"Missing argument {TASK}: what is to be done")
    content = {"type": "text", "text": _request_for_plan(dialect, task)}
    return {"description": PROMPTS[0]["description"], "messages": [{"role": "user", "content": content}]}


def instructions(dialect: Dialect) -> str | None:
    """Return the guidelines of the dialect's tools, without duplicates; None if there are none."""
    guidelines = dict.fromkeys(line for tool in dialect.tools for line in tool.guidelines)
    return "\n".join(f"- {line}" for line in guidelines) or None


def _request_for_plan(dialect: Dialect, task: str) -> str:
    """Return a user message that asks for a plan, with the dialect's own tools and guidelines."""
    tools = " and ".join(tool.name for tool in dialect.tools if not tool.hints.read_only)
    request = f"Make a plan with {tools} for the task below, then work through it until nothing is open."
    parts = (request, instructions(dialect), f"Task: {clipped(safe_text(task), MAX_START)}")
    return "\n\n".join(part for part in parts if part)
