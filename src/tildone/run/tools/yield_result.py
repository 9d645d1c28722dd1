"""The `yield` tool, with which a subagent returns its result and ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

from tildone.base.schema import SchemaProblem
from tildone.run.kit.definition import ToolDefinition, ToolResult, error_result, text_result

YIELD = "yield"

PARAMETERS = {
    "type": "object",
    "properties": {
        "result": {"type": "string", "description": "Your report: what was asked for, complete and by itself"},
        "error": {"type": "string", "description": "Instead of a result: why the task cannot be done"},
    },
    "additionalProperties": False,
}


class YieldParams(TypedDict, total=False):
    """The arguments, as the schema describes them."""

    result: str
    error: str


def yield_tool(end: Callable[[ToolResult], None]) -> ToolDefinition:
    """Return the tool; `end` is called with the result, and ends the run."""

    async def execute(
        _call_id: str, params: YieldParams, _signal: object, _on_update: object, _ctx: object
    ) -> ToolResult:
        why = params.get("error", "").strip()
        end(error_result(why) if why else text_result(params.get("result", "")))
        return text_result("Done.")

    return ToolDefinition(
        name=YIELD,
        label="Yield",
        description="Report the result of your task, and end. Call it once, when the task is done or cannot be done.",
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Report your result, and end",
        prompt_guidelines=("Call yield when your task is done: only its result is read.",),
        exclusive=True,
        demands=_demands,
    )


def _demands(params: YieldParams) -> Sequence[SchemaProblem]:
    given = params.get("result", "") + params.get("error", "")
    return () if given.strip() else [SchemaProblem("result", "a result or an error is required")]
