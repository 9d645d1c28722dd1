"""pi, which loads extensions in TypeScript: `shims/pi.ts` calls our hooks. Observed in the running program.

pi has no MCP client, so the shim also asks for our tools, registers them with pi and calls them.
"""

from __future__ import annotations

import os

from tildone.integrations.hook_protocol import SHIM_CONTEXT, SHIM_CONTINUE, SHIM_FIELDS, SHIM_HALT, SHIM_NOTICE
from tildone.integrations.record import HookPoint, Hooks, Integration
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.integrations.settings.installation import Installation


def _configure(installation: Installation) -> None:
    file = installation.site.at(".pi/agent/extensions/tildone.ts", ".pi/extensions/tildone.ts")
    installation.write_shim(file, "pi.ts")


INTEGRATION = Integration(
    name="pi",
    title="pi",
    executable="pi",
    folder=lambda site: os.path.join(site.home, ".pi"),
    configure=_configure,
    hooks=Hooks(
        points={
            "agent_before_settle": HookPoint.STOP,
            "session_start": HookPoint.SESSION_START,
            "before_agent_start": HookPoint.PROMPT,
            "tool_call": HookPoint.BEFORE_TOOL,
            "session_compact": HookPoint.COMPACTION,
            "session_shutdown": HookPoint.SESSION_END,
            "status": HookPoint.STATUS_LINE,
            "tools": HookPoint.OFFER_TOOLS,
            "call": HookPoint.CALL_TOOL,
        },
        fields=SHIM_FIELDS,
        continue_reply=SHIM_CONTINUE,
        context_replies={HookPoint.SESSION_START: SHIM_CONTEXT, HookPoint.PROMPT: SHIM_CONTEXT},
        halt_replies={HookPoint.BEFORE_TOOL: SHIM_HALT},
        notice_reply=SHIM_NOTICE,
    ),
    notes={"tools": "Provided by an extension: pi does not support MCP.", "gate": "Since pi 0.87."},
)
