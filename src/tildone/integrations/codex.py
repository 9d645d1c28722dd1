"""Codex. Its hooks and settings were observed in the running program."""

from __future__ import annotations

import os

from tildone.integrations.hook_protocol import BLOCK, CONTEXT, DENY, END_TURN, FIELDS, MESSAGE, POINTS, TIMEOUT_SECONDS
from tildone.integrations.record import HookPoint, Hooks, Integration, McpClient
from tildone.log.json_scanner import quoted
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.integrations.settings.installation import Installation
    from tildone.integrations.settings.site import Site


def _configure(installation: Installation) -> None:
    site = installation.site
    home = site.environ.get("CODEX_HOME") or os.path.join(site.home, ".codex")
    folder = home if site.for_user else os.path.join(site.project, ".codex")
    lines = [*_server_lines(site)] if site.mcp else []
    lines += [*_hook_lines(site)] if site.hooks else []
    if lines:
        installation.add_toml(os.path.join(folder, "config.toml"), lines)


def _server_lines(site: Site) -> Iterator[str]:
    # TOML's basic strings have the same escapes as JSON's strings.
    yield "[mcp_servers.tildone]"
    yield f"command = {quoted(site.program)}"
    yield f"args = [{', '.join(map(quoted, site.arguments))}]"
    yield ""


def _hook_lines(site: Site) -> Iterator[str]:
    for event in POINTS:
        yield f"[[hooks.{event}]]"
        yield f"[[hooks.{event}.hooks]]"
        yield 'type = "command"'
        yield f"command = {quoted(site.hook_command('codex'))}"
        yield f"timeout = {TIMEOUT_SECONDS}"
        yield ""


INTEGRATION = Integration(
    name="codex",
    title="Codex",
    executable="codex",
    folder=lambda site: os.path.join(site.home, ".codex"),
    configure=_configure,
    after_install="Codex runs hooks only once you trust them: start it and open /hooks.",
    hooks=Hooks(
        points=POINTS,
        fields=FIELDS,
        continue_reply=BLOCK,
        context_replies={HookPoint.SESSION_START: CONTEXT, HookPoint.PROMPT: CONTEXT},
        # Before a tool call Codex reports `continue: false` as an error of the hook.
        halt_replies={HookPoint.BEFORE_TOOL: DENY, HookPoint.AFTER_TOOL: END_TURN},
        notice_reply=MESSAGE,
    ),
    mcp=McpClient(names=("codex",), conversation_meta=("sessionId", "threadId"), text_only=True),
    list_tools={"update_plan": ("plan", "step")},
    notes={
        "tools": (
            "`codex exec` may send its first request before the MCP servers have started; later requests have the tool."
        ),
        "gate": "After you trust the hooks: `/hooks`, or `--dangerously-bypass-hook-trust` for one run.",
        "follows its own list": "`update_plan`, which is available with `tools.update_plan = {enabled = true}`.",
    },
)
