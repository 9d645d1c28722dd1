"""The system prompt: a preamble, then the snippets and guidelines of the active tools."""

from __future__ import annotations

from collections.abc import Sequence

from tildone.kit.definition import ToolDefinition

PREAMBLE = (
    "You are a coding agent. Work through the task with the tools you have, keep the plan up to date as you go, "
    "and stop when it is done."
)

SUBAGENT_PREAMBLE = (
    "You are a subagent: another agent has given you one task, and nobody else reads what you write. Work on it with "
    "the tools you have, and on nothing else. When it is done, call yield with a complete report."
)


def system_prompt(tools: Sequence[ToolDefinition], cwd: str, *, preamble: str = PREAMBLE) -> str:
    """Return the system prompt for these tools; a guideline that several of them share appears once."""
    parts = [preamble]
    snippets = [f"- {tool.name}: {tool.prompt_snippet}" for tool in tools if tool.prompt_snippet]
    if snippets:
        parts.append("\n".join(["Available tools:", *snippets]))
    guidelines = dict.fromkeys(line for tool in tools for line in tool.prompt_guidelines)
    if guidelines:
        parts.append("\n".join(["Guidelines:", *(f"- {line}" for line in guidelines)]))
    parts.append(f"Working directory: {cwd}")
    return "\n\n".join(parts)
