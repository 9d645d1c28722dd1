"""pi, which loads extensions in TypeScript: `shims/pi.ts` calls our hooks. Observed in the running program.

pi has no MCP client, so the shim also asks for our tools, registers them with pi and calls them.
"""

import os

from tildone.agents.install import Inspection, Installation, Site
from tildone.agents.integrations import (
    SHIM_CONTEXT_REPLIES,
    SHIM_CONTINUE,
    SHIM_FIELDS,
    SHIM_HALT,
    SHIM_NOTICE,
    HookPoint,
    Hooks,
    Integration,
)

EXTENSION = "extensions/tildone.ts"


def _configure(installation: Installation) -> None:
    installation.write_shim(os.path.join(_folder(installation.site), EXTENSION), "pi.ts", "pi")


def _folder(site: Site) -> str:
    return _user_folder(site) if site.for_user else os.path.join(site.project, ".pi")


def _user_folder(site: Site) -> str:
    return os.path.expanduser(site.environ.get("PI_CODING_AGENT_DIR", "")) or os.path.join(site.home, ".pi", "agent")


def _silencers(inspection: Inspection) -> None:
    site = inspection.site
    settings = os.path.join(_folder(site), "settings.json")
    for disabled in (f"-{EXTENSION}", f"!{EXTENSION}"):
        if inspection.lists([settings], disabled, "extensions"):
            inspection.silenced(f"the extension is disabled in {settings}", "enable it: pi config")
    if site.for_user:
        return
    trusted = inspection.nearest(inspection.get(os.path.join(_user_folder(site), "trust.json")))
    default = inspection.get(os.path.join(_user_folder(site), "settings.json"), "defaultProjectTrust")
    if trusted is False or (trusted is None and default != "always"):
        inspection.silenced("pi does not trust this project yet", "start pi in this project, and trust it: /trust")


INTEGRATION = Integration(
    name="pi",
    title="pi",
    tried="0.87.1",
    min_versions={"gate": "0.87.0"},
    folder=lambda site: os.path.join(site.home, ".pi"),
    configure=_configure,
    prompts={"project": ("whether you trust this project; its extensions are loaded only then (/trust)",)},
    silencers=_silencers,
    hooks=Hooks(
        points={
            "agent_before_settle": HookPoint.STOP,
            "session_start": HookPoint.SESSION_START,
            "before_agent_start": HookPoint.PROMPT,
            "tool_call": HookPoint.BEFORE_TOOL,
            "tool_result": HookPoint.AFTER_TOOL,
            "session_compact": HookPoint.COMPACTION,
            "session_shutdown": HookPoint.SESSION_END,
            "nudge_undelivered": HookPoint.UNDELIVERED,
            "status": HookPoint.STATUS_LINE,
            "tools": HookPoint.OFFER_TOOLS,
            "call": HookPoint.CALL_TOOL,
        },
        fields=SHIM_FIELDS,
        continue_reply=SHIM_CONTINUE,
        context_replies=SHIM_CONTEXT_REPLIES,
        halt_replies={HookPoint.BEFORE_TOOL: SHIM_HALT},
        notice_reply=SHIM_NOTICE,
        starts_servers=True,
    ),
    notes={
        "first request": "Provided by an extension: pi does not support MCP.",
        "held": "Since pi 0.87.",
        "native list": "pi has no todo list of its own.",
        "checked native list": "pi has no todo list of its own.",
        "subagents": "pi has no subagents.",
        "killed server": "The tool is part of an extension; there is no MCP server.",
    },
)
