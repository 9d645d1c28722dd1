"""A plugin folder for Claude Code: everything that an installation puts in, in a form that can be passed on."""

from __future__ import annotations

import json
import os

from tildone.integrations.settings.edits import Edit, Whole
from tildone.integrations.settings.hosts import CLAUDE_EVENTS, SECONDS, Site

COMMAND = """---
description: Plan a task with tildone and work through it
argument-hint: TASK
---

Plan this with the todo tool, a few steps at a time, then work through the plan until nothing is open: $ARGUMENTS
"""


def plugin(folder: str, site: Site) -> list[Edit]:
    """The files of the folder."""
    hook = {"type": "command", "command": site.hook("claude"), "timeout": SECONDS}
    parts: dict[str, object] = {
        ".claude-plugin/plugin.json": {
            "name": "tildone",
            "description": "The plan your agents actually finish",
        },
        ".mcp.json": {"mcpServers": {"tildone": {"command": site.program, "args": list(site.arguments)}}},
        "hooks/hooks.json": {"hooks": {event: [{"hooks": [hook]}] for event in CLAUDE_EVENTS}},
    }
    edits: list[Edit] = [
        Whole(os.path.join(folder, *name.split("/")), json.dumps(held, indent=2) + "\n") for name, held in parts.items()
    ]
    # The name of ours in it says that the file may be written anew.
    return [*edits, Whole(os.path.join(folder, "commands", "plan.md"), COMMAND)]
