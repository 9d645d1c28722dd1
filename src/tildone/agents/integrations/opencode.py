"""opencode, which loads plugins in JavaScript: `shims/opencode.js` calls our hooks. Observed in the running program."""

import os

from tildone.agents.install import Inspection, Installation, Site
from tildone.agents.integrations import (
    SHIM_CONTEXT_REPLIES,
    SHIM_CONTINUE,
    SHIM_FIELDS,
    SHIM_HALT,
    SHIM_NOTICE,
    TIMEOUT_SECONDS,
    HookPoint,
    Hooks,
    Integration,
)


def configure(installation: Installation, name: str = "opencode") -> None:
    """Add the edits for opencode, or for a coding agent of that name that is made from it."""
    site, timeout = installation.site, TIMEOUT_SECONDS * 1000
    folder = user_folder(site, name) if site.for_user else site.project
    if site.mcp:
        server = {"type": "local", "command": [site.program, *site.arguments], "enabled": True, "timeout": timeout}
        installation.set_member(_settings_file(folder, name), ("mcp", "tildone"), server)
    if site.hooks:
        plugins = folder if site.for_user else os.path.join(site.project, f".{name}")
        installation.write_shim(os.path.join(plugins, "plugins", "tildone.js"), "opencode.js", name)


def _settings_file(folder: str, name: str = "opencode") -> str:
    commented = os.path.join(folder, f"{name}.jsonc")
    return commented if os.path.exists(commented) else os.path.join(folder, f"{name}.json")


def user_folder(site: Site, name: str = "opencode") -> str:
    # Not `config_home`: opencode follows the XDG convention on every platform.
    home = site.environ.get("XDG_CONFIG_HOME") or os.path.join(site.home, ".config")
    return os.path.join(home, name)


def _silencers(inspection: Inspection) -> None:
    site = inspection.site
    files = [_settings_file(user_folder(site)), _settings_file(site.project)]
    enabled, file = inspection.last(files, "mcp", "tildone", "enabled")
    if enabled is False:
        inspection.silenced(f"the server is disabled in {file}", "set mcp.tildone.enabled to true there")
    if site.environ.get("OPENCODE_PURE") in ("1", "true"):
        inspection.silenced("$OPENCODE_PURE disables plugins", "unset OPENCODE_PURE")


INTEGRATION = Integration(
    name="opencode",
    title="opencode",
    tried="1.18.18",
    listing=("mcp", "list"),
    min_versions={"gate": "1.0.0"},
    folder=user_folder,
    configure=configure,
    silencers=_silencers,
    after_install="An agent in `opencode run` has the plan but is not held to it: that ends at the first stop.",
    hooks=Hooks(
        points={
            "session.idle": HookPoint.STOP,
            "session.created": HookPoint.SESSION_START,
            "chat.message": HookPoint.PROMPT,
            "tool.execute.before": HookPoint.BEFORE_TOOL,
            "tool.execute.after": HookPoint.AFTER_TOOL,
            "session.compacted": HookPoint.COMPACTION,
            "session.deleted": HookPoint.SESSION_END,
            "nudge.undelivered": HookPoint.UNDELIVERED,
        },
        fields=SHIM_FIELDS,
        continue_reply=SHIM_CONTINUE,
        context_replies=SHIM_CONTEXT_REPLIES,
        halt_replies={HookPoint.BEFORE_TOOL: SHIM_HALT, HookPoint.AFTER_TOOL: SHIM_HALT},
        notice_reply=SHIM_NOTICE,
        starts_servers=True,
        shares_process=True,
    ),
    list_tools={"todowrite": ("todos", "content")},
    notes={
        "held": (
            "In the terminal, desktop and web interfaces and with `opencode serve`. `opencode run` always ends at the "
            "first stop."
        ),
        "failed check": "`opencode run` ends at the first stop; the task stays in progress.",
        "native list": "`todowrite`.",
        "status line": "opencode lets no program write to its status line.",
    },
)
