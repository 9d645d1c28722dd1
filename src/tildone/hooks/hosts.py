"""Every host that has hooks, as a table: how it spells its events and their fields, and how it wants to be answered.

Hosts differ in these tables and in nothing else. An event that is not in a host's table is met with silence: the end
of a subagent, or of a turn that failed, is nothing to be held up.

Where the tables come from: Claude Code, Codex and Gemini CLI were run and watched; the others are as they document it.
Of Qwen Code it is assumed that it takes a tool's end as Claude Code does.
opencode and pi run plugins in JavaScript: what is here for them is what ours hand on, and what they expect back.
"""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Template = Mapping[str, Any]

# What happens to an agent, in our words.
STOP = "it stops"
START = "its session starts"
PROMPT = "it is given a prompt"
BEFORE = "it is about to use a tool"
AFTER = "it has used a tool"
FORGET = "it is about to forget"
END = "its session ends"
SAID = "it has said something"
TASK = "its own list has changed"
LINE = "its status line is drawn"
TOOLS = "it is to be given tools"
CALL = "it uses a tool of ours"

TEXT, EVENT = "<text>", "<event>"
"""What stands in a template for the words, and for the host's own name of the event."""


@value
class Host:
    """One host.

    `moments` are its events, and what they mean. `fields` says where to find what we ask for (`a.b` is `b` in `a`; of
    several names the first that is there counts), and `environ` what of it is in the environment. Then come templates:
    what keeps an agent going that `stops`, what `adds` words to what the model reads, what `halts` it, what `tells`
    the person something. Its model `forgets` only at this trigger, where it tells of others. `lists` are its own tools
    that write a whole list: where in their arguments that is, and the text of an item.
    """

    name: str
    moments: Mapping[str, str]
    fields: Mapping[str, str]
    stops: Template
    adds: Mapping[str, Template]
    halts: Mapping[str, Template]
    tells: Template | None = None
    forgets: str = ""
    lists: Mapping[str, tuple[str, str]] = {}
    environ: Mapping[str, str] = {}
    many: bool = False
    adds_up: bool = False


_FIELDS = {
    "session": "session_id",
    "cwd": "cwd workspace.current_dir",
    "event": "hook_event_name",
    "words": "last_assistant_message",
    "prompt": "prompt",
    "tool": "tool_name",
    "input": "tool_input",
    "response": "tool_response",
    "source": "source",
    "reason": "reason",
    "agent": "agent_id",
    "mode": "permission_mode",
    "status": "status",
    "tasks": "background_tasks",
    "crons": "session_crons",
    "cost": "cost.total_cost_usd",
    "trigger": "trigger",
    "task": "task_id",
    "subject": "task_subject",
    "held": "stop_hook_active",
}
_BLOCKS = {"decision": "block", "reason": TEXT}
_CONTEXT = {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": TEXT}}
_ENDS = {"continue": False, "stopReason": TEXT}
_DENIES = {
    "hookSpecificOutput": {
        "hookEventName": EVENT,
        "permissionDecision": "deny",
        "permissionDecisionReason": TEXT,
    }
}
_MESSAGE = {"systemMessage": TEXT}

_CLAUDE_LIKE = {
    "Stop": STOP,
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "PreToolUse": BEFORE,
    "PostToolUse": AFTER,
    "PreCompact": FORGET,
    "SessionEnd": END,
}

# There is a softer way to keep it going (additional context), but only since 2.1.163: older ones would not heed it.
CLAUDE = Host(
    name="claude",
    moments={**_CLAUDE_LIKE, "TaskCreated": TASK, "TaskCompleted": TASK, "StatusLine": LINE},
    fields=_FIELDS,
    stops=_BLOCKS,
    adds={START: _CONTEXT, PROMPT: _CONTEXT},
    # Told only to end, it still carries out the call that it is about to make.
    halts={BEFORE: {**_ENDS, **_DENIES}, AFTER: _ENDS},
    tells=_MESSAGE,
    lists={"TodoWrite": ("todos", "content")},
    environ={"session": "CLAUDE_CODE_SESSION_ID", "project": "CLAUDE_PROJECT_DIR"},
)
CODEX = Host(
    name="codex",
    moments=_CLAUDE_LIKE,
    fields=_FIELDS,
    stops=_BLOCKS,
    adds={START: _CONTEXT, PROMPT: _CONTEXT},
    # Before a tool Codex takes `continue: false` for a mistake of the hook's.
    halts={BEFORE: _DENIES, AFTER: _ENDS},
    tells=_MESSAGE,
    lists={"update_plan": ("plan", "step")},
)
GEMINI = Host(
    name="gemini",
    moments={
        "AfterAgent": STOP,
        "SessionStart": START,
        "BeforeAgent": PROMPT,
        "BeforeTool": BEFORE,
        "AfterTool": AFTER,
        "PreCompress": FORGET,
        "SessionEnd": END,
    },
    fields={**_FIELDS, "words": "prompt_response"},
    stops={"decision": "deny", "reason": TEXT},
    # What is added when its session starts it puts before the prompt, and when the session is resumed both are gone.
    adds={PROMPT: _CONTEXT},
    halts={BEFORE: _ENDS, AFTER: _ENDS},
    tells=_MESSAGE,
    # It tells of a compression before every request, and then compresses nothing most of the time.
    forgets="manual",
    lists={"write_todos": ("todos", "description")},
    adds_up=True,
    environ={"session": "GEMINI_SESSION_ID", "project": "GEMINI_PROJECT_DIR"},
)
CURSOR = Host(
    name="cursor",
    moments={
        "stop": STOP,
        "sessionStart": START,
        "beforeSubmitPrompt": PROMPT,
        "preToolUse": BEFORE,
        "beforeShellExecution": BEFORE,
        "beforeMCPExecution": BEFORE,
        "postToolUse": AFTER,
        "afterAgentResponse": SAID,
        "preCompact": FORGET,
        "sessionEnd": END,
    },
    fields={
        **_FIELDS,
        "session": "conversation_id session_id",
        "cwd": "workspace_roots.0 cwd",
        "words": "text",
        "response": "tool_output",
    },
    stops={"followup_message": TEXT},
    adds={START: {"additional_context": TEXT}},
    halts={BEFORE: {"permission": "deny", "user_message": TEXT, "agent_message": TEXT}},
    lists={"TodoWrite": ("todos", "content"), "todo_write": ("todos", "content")},
    environ={"project": "CURSOR_PROJECT_DIR"},
)
COPILOT = Host(
    name="copilot",
    moments={
        "agentStop": STOP,
        "sessionStart": START,
        "userPromptSubmitted": PROMPT,
        "preToolUse": BEFORE,
        "postToolUse": AFTER,
        "preCompact": FORGET,
        "sessionEnd": END,
    },
    fields={
        **_FIELDS,
        "session": "sessionId",
        "tool": "toolName",
        "input": "toolArgs",
        "response": "toolResult",
        "status": "stopReason",
    },
    stops=_BLOCKS,
    adds={},
    halts={BEFORE: {"permissionDecision": "deny", "permissionDecisionReason": TEXT}},
)
QWEN = Host(
    name="qwen",
    moments=_CLAUDE_LIKE,
    fields=_FIELDS,
    stops=_BLOCKS,
    adds={START: _CONTEXT, PROMPT: _CONTEXT},
    halts={BEFORE: {**_ENDS, **_DENIES}, AFTER: _ENDS},
    tells=_MESSAGE,
    lists={"todo_write": ("todos", "content")},
    environ={"project": "QWEN_PROJECT_DIR"},
)
_OURS = {
    **_FIELDS,
    "session": "sessionID",
    "cwd": "directory",
    "event": "event",
    "words": "text",
    "prompt": "text",
    "tool": "tool",
    "input": "args",
    "response": "output",
    "agent": "parentID",
}
OPENCODE = Host(
    name="opencode",
    moments={
        "session.idle": STOP,
        "session.created": START,
        "chat.message": PROMPT,
        "tool.execute.before": BEFORE,
        "tool.execute.after": AFTER,
        "session.compacted": FORGET,
        "session.deleted": END,
    },
    fields=_OURS,
    stops={"prompt": TEXT},
    adds={START: {"context": TEXT}, PROMPT: {"context": TEXT}},
    halts={BEFORE: {"halt": TEXT}, AFTER: {"halt": TEXT}},
    tells={"notice": TEXT},
    lists={"todowrite": ("todos", "content")},
    many=True,
)
PI = Host(
    name="pi",
    moments={
        "agent_before_settle": STOP,
        "session_start": START,
        "before_agent_start": PROMPT,
        "tool_call": BEFORE,
        "session_compact": FORGET,
        "session_shutdown": END,
        "status": LINE,
        # It has no tool servers, so its extension asks for the tools and calls them.
        "tools": TOOLS,
        "call": CALL,
    },
    fields=_OURS,
    stops={"prompt": TEXT},
    adds={START: {"context": TEXT}, PROMPT: {"context": TEXT}},
    halts={BEFORE: {"halt": TEXT}},
    tells={"notice": TEXT},
)

HOSTS = {host.name: host for host in (CLAUDE, CODEX, GEMINI, CURSOR, COPILOT, QWEN, OPENCODE, PI)}
