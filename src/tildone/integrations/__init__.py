"""Integrations: everything tildone knows about the coding agents it works inside, one module for each.

A module's global `INTEGRATION` is a record (`record.py`) of the agent's facts: its hook events and the replies it
expects, its settings files, its environment variables, its own todo tools. Hooks, install, doctor, help texts and
`docs/reference/integrations.md` read these records, so adding a coding agent takes one module here and one entry in
`agents.identity.KNOWN`, which has what is asked of all agents at once. A hook imports the one integration that it
serves; an MCP server imports none.
"""

from __future__ import annotations

from tildone.agents.identity import KNOWN, Known
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.integrations.record import Integration


INTEGRATIONS: Registry[Integration, Known] = Registry(__name__, "INTEGRATION", KNOWN)


def all_integrations() -> list[Integration]:
    """Return every integration, imported, in the order of the registry."""
    return [INTEGRATIONS[name] for name in INTEGRATIONS]


def names_with_hooks() -> tuple[str, ...]:
    """Return the names of the coding agents that call hooks."""
    return tuple(name for name, known in KNOWN.items() if known.calls_hooks)
