"""The `task` tool: lets a subagent do a piece of work."""

from __future__ import annotations

from typing import TypedDict

from tildone.run.kit.components import Component, ToolCallHeader
from tildone.run.kit.definition import AbortSignal, OnUpdate, ToolDefinition, ToolResult
from tildone.run.subagents import TASK, Subagents, SubagentTask
from tildone.run.tools.result_view import argument

DESCRIPTION = """\
Let a subagent do a self-contained piece of work, such as a search through many files or a change that can be made \
separately. It knows nothing of this conversation and of your plan: the prompt has to say everything it needs, and \
what it should report. It has the same tools, except this one, and works in the same folder. You read only its report. \
Several calls in one message run at the same time."""

PARAMETERS = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "What the subagent does, in three to five words"},
        "prompt": {"type": "string", "description": "The whole task, and what is to be reported"},
    },
    "required": ["description", "prompt"],
    "additionalProperties": False,
}


class TaskParams(TypedDict):
    """The arguments, as the schema describes them."""

    description: str
    prompt: str


def task_tool(subagents: Subagents) -> ToolDefinition:
    """Return the tool for the subagents of one host. Subagents do not inherit it."""

    async def execute(
        call_id: str, params: TaskParams, signal: AbortSignal | None, on_update: OnUpdate | None, _ctx: object
    ) -> ToolResult:
        return await subagents.run(SubagentTask(params["description"], params["prompt"]), call_id, signal, on_update)

    return ToolDefinition(
        name=TASK,
        label="Task",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Let a subagent do a self-contained piece of work",
        render_call=_call,
        inherit=False,
    )


def _call(args: object) -> Component:
    return ToolCallHeader("Task", main_arg=argument(args, "description"))
