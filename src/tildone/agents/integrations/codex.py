"""Codex. Its hooks and settings were observed in the running program."""

import os

from tildone.agents.install import Inspection, Installation, Site
from tildone.agents.integrations import (
    BLOCK,
    CONTEXT,
    DENY,
    END_TURN,
    FIELDS,
    MESSAGE,
    SUBAGENT_POINTS,
    TIMEOUT_SECONDS,
    HookPoint,
    Hooks,
    Integration,
)

SESSION_END_SECONDS = 3


def _configure(installation: Installation) -> None:
    site = installation.site
    file = _settings_file(site)
    if site.mcp:
        installation.set_member(file, ("mcp_servers", "tildone"), site.mcp_server)
    if site.hooks:
        for event in SUBAGENT_POINTS:
            hook = {"type": "command", "command": site.hook_command("codex"), "timeout": _timeout(event)}
            installation.add_item(file, ("hooks", event), {"hooks": [hook]})


def _settings_file(site: Site) -> str:
    return _user_file(site) if site.for_user else os.path.join(site.project, ".codex", "config.toml")


def _user_file(site: Site) -> str:
    return os.path.join(site.environ.get("CODEX_HOME") or os.path.join(site.home, ".codex"), "config.toml")


def _timeout(event: str) -> int:
    """Return the timeout of a hook. Codex allows less at the end of a session, and warns about more."""
    return SESSION_END_SECONDS if event == "SessionEnd" else TIMEOUT_SECONDS


def _silencers(inspection: Inspection) -> None:
    site, file = inspection.site, _settings_file(inspection.site)
    trust = inspection.get(_user_file(site), "projects", os.path.realpath(site.project), "trust_level")
    if not site.for_user and trust != "trusted":
        inspection.silenced("Codex does not trust this project yet", "start codex in this project and trust it")
    for settings in dict.fromkeys((_user_file(site), file)):
        if inspection.get(settings, "features", "hooks") is False:
            inspection.silenced(f"hooks are disabled in {settings}", "remove hooks = false from [features] there")
    if inspection.get(file, "mcp_servers", "tildone", "enabled") is False:
        inspection.silenced(f"the server is disabled in {file}", "remove enabled = false from [mcp_servers.tildone]")
    untrusted = [event for event in SUBAGENT_POINTS if _is_unreviewed(inspection, file, event)]
    if untrusted:
        inspection.silenced("Codex does not run hooks that you have not trusted", "start codex and open /hooks")


def _is_unreviewed(inspection: Inspection, file: str, event: str) -> bool:
    """Return whether one of our hooks for an event is disabled, or not the one whose hash Codex keeps as trusted."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).removeprefix("_")
    for number, group in enumerate(inspection.items(inspection.get(file, "hooks", event))):
        for index, hook in enumerate(inspection.items(group.get("hooks"))):
            if "tildone" not in str(hook.get("command")):
                continue
            longest = SESSION_END_SECONDS if event == "SessionEnd" else hook.get("timeout")
            digest = inspection.digest({"event_name": snake, "hooks": [{"async": False, **hook, "timeout": longest}]})
            key = f"{os.path.realpath(file)}:{snake}:{number}:{index}"
            state = inspection.get(_user_file(inspection.site), "hooks", "state", key) or {}
            if state.get("trusted_hash") != f"sha256:{digest}" or state.get("enabled") is False:
                return True
    return False


INTEGRATION = Integration(
    name="codex",
    title="Codex",
    tried="0.166.0",
    listing=("mcp", "list"),
    min_versions={"gate": "0.125.0"},
    folder=lambda site: os.path.join(site.home, ".codex"),
    configure=_configure,
    prompts={
        "user": ("whether you trust the new hooks; until then it does not run them (/hooks)",),
        "project": (
            "whether you trust this folder; the settings of a project count only then",
            "whether you trust the new hooks; until then it does not run them (/hooks)",
        ),
    },
    silencers=_silencers,
    hooks=Hooks(
        points=SUBAGENT_POINTS,
        fields=FIELDS,
        continue_reply=BLOCK,
        context_replies={HookPoint.SESSION_START: CONTEXT, HookPoint.PROMPT: CONTEXT, HookPoint.AFTER_TOOL: CONTEXT},
        # Before a tool call Codex reports `continue: false` as an error of the hook.
        halt_replies={HookPoint.BEFORE_TOOL: DENY, HookPoint.AFTER_TOOL: END_TURN},
        notice_reply=MESSAGE,
        continues_subagents=True,
        starts_servers=True,
        time_limits={"SessionEnd": SESSION_END_SECONDS},
        fork_entry="payload.forked_from_id",
    ),
    list_tools={"update_plan": ("plan", "step")},
    notes={
        "held": "After you trust the hooks: `/hooks`, or `--dangerously-bypass-hook-trust` for one run.",
        "status line": "Codex lets no program write to its status line.",
        "compaction by the person": "`codex exec` has no command for it.",
        "native list": "`update_plan`, which is available with `tools.update_plan = {enabled = true}`.",
    },
)
