"""Integrations: everything tildone knows about the coding agents it works inside, one module for each.

A module's global `INTEGRATION` is a record (`record.py`) of the agent's facts: its hook events and the replies it
expects, its settings files, its environment variables, its own todo tools, its behaviour as an MCP client. Hooks, MCP,
install, doctor, help texts and `docs/reference/integrations.md` read these records, so adding a coding agent takes one
module here and one line below. A hook imports the one integration that it serves.
"""

from __future__ import annotations

from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.integrations.record import Integration

HOOKS, NO_HOOKS = True, False
"""Whether the coding agent calls hooks. Help texts and error messages list those that do without importing them."""

INTEGRATIONS: Registry[Integration, bool] = Registry(
    __name__,
    "INTEGRATION",
    {
        "claude": HOOKS,
        "codex": HOOKS,
        "gemini": HOOKS,
        "cursor": HOOKS,
        "copilot": HOOKS,
        "qwen": HOOKS,
        "opencode": HOOKS,
        "pi": HOOKS,
        "zed": NO_HOOKS,
        "vscode": NO_HOOKS,
        "claude-desktop": NO_HOOKS,
    },
)


def all_integrations() -> list[Integration]:
    """Return every integration, imported, in the order of the registry."""
    return [INTEGRATIONS[name] for name in INTEGRATIONS]


def names_with_hooks() -> tuple[str, ...]:
    """Return the names of the coding agents that call hooks."""
    return tuple(name for name, calls_hooks in INTEGRATIONS.entries.items() if calls_hooks)
