"""Claude Code's hook protocol, which others have adopted in whole or in part, and the protocol of our own shims."""

from __future__ import annotations

from tildone.integrations.record import EVENT, TEXT, HookPoint
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.integrations.record import Field, Template

TIMEOUT_SECONDS = 10
"""How long a coding agent waits for a hook, and for the MCP server to start, if its settings have such a timeout."""

PROBE = "tildone_probe"
"""The member that makes an event a probe: the hook identifies itself, and changes nothing."""

PROBE_CLIENT = "tildone doctor"
"""The name that a probe gives itself as an MCP client."""

POINTS: Mapping[str, HookPoint] = {
    "Stop": HookPoint.STOP,
    "SessionStart": HookPoint.SESSION_START,
    "UserPromptSubmit": HookPoint.PROMPT,
    "PreCompact": HookPoint.COMPACTION,
    "PreToolUse": HookPoint.BEFORE_TOOL,
    "PostToolUse": HookPoint.AFTER_TOOL,
    "SessionEnd": HookPoint.SESSION_END,
}
"""In the order in which an installation writes them."""

SUBAGENT_POINTS: Mapping[str, HookPoint] = {**POINTS, "SubagentStop": HookPoint.STOP}
"""For agents that also report when a subagent stops. The event names the subagent."""

FIELDS: Mapping[Field, str] = {
    "background_tasks": "background_tasks",
    "call": "tool_use_id",
    "conversation": "session_id",
    "cost": "cost.total_cost_usd",
    "cwd": "cwd workspace.current_dir",
    "event": "hook_event_name",
    "last_message": "last_assistant_message",
    # The status line's event has an object, the others that name the model have its id.
    "model": "model.id model",
    "permission_mode": "permission_mode",
    "prompt": "prompt",
    "reason": "reason",
    "scheduled_tasks": "session_crons",
    "source": "source",
    "stop_hook_active": "stop_hook_active",
    "stop_status": "status",
    "subagent": "agent_id",
    "subagent_kind": "agent_type",
    "task_id": "task_id",
    "task_subject": "task_subject",
    "tool": "tool_name",
    "tool_input": "tool_input",
    "tool_response": "tool_response",
    "trigger": "trigger",
    "usage": "usage",
}

BLOCK: Template = {"decision": "block", "reason": TEXT}
CONTEXT: Template = {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": TEXT}}
END_TURN: Template = {"continue": False, "stopReason": TEXT}
DENY: Template = {
    "hookSpecificOutput": {
        "hookEventName": EVENT,
        "permissionDecision": "deny",
        "permissionDecisionReason": TEXT,
    }
}
MESSAGE: Template = {"systemMessage": TEXT}

SHIM_FIELDS: Mapping[Field, str] = {
    **FIELDS,
    "conversation": "sessionID",
    "cwd": "directory",
    "event": "event",
    "last_message": "text",
    "prompt": "text",
    "tool": "tool",
    "tool_input": "args",
    "tool_response": "output",
    "call": "callID",
    "subagent": "agentID",
    "subagent_kind": "agentType",
}
"""The fields that our shims send: plugins in JavaScript and TypeScript that run inside opencode and pi."""

SHIM_CONTEXT: Template = {"context": TEXT}
SHIM_CONTINUE: Template = {"prompt": TEXT}
SHIM_HALT: Template = {"halt": TEXT}
SHIM_NOTICE: Template = {"notice": TEXT}
