"""Qwen Code. Its hooks and settings were observed in the running program."""

import os

from tildone.agents.install import Installation
from tildone.agents.integrations import (
    BLOCK,
    CONTEXT,
    DENY,
    END_TURN,
    FIELDS,
    MESSAGE,
    SUBAGENT_POINTS,
    TIMEOUT_SECONDS,
    ContinuationLimit,
    HookPoint,
    Hooks,
    Integration,
)

POINTS = {**SUBAGENT_POINTS, "PostToolUseFailure": HookPoint.TOOL_FAILED}
"""The events that an installation registers hooks for."""

CAP_VARIABLE = "QWEN_CODE_STOP_HOOK_BLOCK_CAP"
DEFAULT_CAP, RAISED_CAP = 8, "100"
"""It accepts no higher one."""


def _configure(installation: Installation) -> None:
    site, timeout = installation.site, TIMEOUT_SECONDS * 1000
    file = site.at(".qwen/settings.json", ".qwen/settings.json")
    if site.mcp:
        # The default timeout for a server that does not answer is ten minutes. Other tools are offered only after the
        # model has searched for them.
        server = {**site.mcp_server, "trust": True, "timeout": timeout, "alwaysLoadTools": True}
        installation.set_member(file, ("mcpServers", "tildone"), server)
    if site.hooks:
        command = {"type": "command", "command": site.hook_command("qwen"), "name": "tildone", "timeout": timeout}
        for event in POINTS:
            installation.add_item(file, ("hooks", event), {"hooks": [command]})
        line = {"type": "command", "command": site.hook_command("qwen", "StatusLine")}
        installation.set_member(file, ("ui", "statusLine"), line, yields=True)
        installation.set_member(file, ("env", CAP_VARIABLE), RAISED_CAP, yields=True)


def _continuations(cap: str) -> int:
    """Return how often the agent goes on before it drops what a stop hook asks: it drops the last one of the cap."""
    try:
        count = int(cap)
    except ValueError:
        count = DEFAULT_CAP
    return min(count if count > 0 else DEFAULT_CAP, int(RAISED_CAP)) - 1


INTEGRATION = Integration(
    name="qwen",
    title="Qwen Code",
    tried="0.24.4",
    listing=("mcp", "list"),
    folder=lambda site: os.path.join(site.home, ".qwen"),
    configure=_configure,
    hooks=Hooks(
        points={**POINTS, "StatusLine": HookPoint.STATUS_LINE},
        # It reports results of tools and its stop hooks' own texts as prompts, too: those were not submitted.
        fields={
            **FIELDS,
            "model": "model.display_name model",
            "prompt": "submitted_prompt",
            "scheduled_tasks": "crons",
        },
        continue_reply=BLOCK,
        context_replies=dict.fromkeys(
            (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.AFTER_TOOL, HookPoint.TOOL_FAILED), CONTEXT
        ),
        halt_replies={
            HookPoint.BEFORE_TOOL: {**END_TURN, **DENY},
            HookPoint.AFTER_TOOL: END_TURN,
            HookPoint.TOOL_FAILED: END_TURN,
        },
        notice_reply=MESSAGE,
        notices_at=(HookPoint.STOP,),
        starts_servers=True,
        conversation_variable="QWEN_CODE_SESSION_ID",
        project_variable="QWEN_PROJECT_DIR",
        continues_subagents=True,
        continuation_limit=ContinuationLimit(_continuations, CAP_VARIABLE, RAISED_CAP, per_prompt=True),
    ),
    list_tools={"todo_write": ("todos", "content")},
    notes={
        "automatic compaction": "Not tried: the tests compact its conversations with the person's command only.",
        "fork": "Hooks are told of a conversation from `--fork-session` as a resumed one: it has the project's plan.",
        "native list": "`todo_write`, if `tools.todoWrite.enabled` is set.",
        "status line": "Qwen Code shows it only at a terminal; without one, the test runs the installed command.",
    },
)
