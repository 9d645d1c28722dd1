"""The `{names}` that descriptions of verbs and options may contain.

They are replaced here and not in the tables, so that only the help imports the registries.
"""

from __future__ import annotations

from tildone.dialects import DEFAULT_DIALECT, DIALECTS
from tildone.integrations import INTEGRATIONS, names_with_hooks
from tildone.stores import placeholders

PLACEHOLDERS = {
    "agents": ", ".join(INTEGRATIONS),
    "agents_with_hooks": ", ".join(names_with_hooks()),
    "default_dialect": DEFAULT_DIALECT,
    "dialects": ", ".join(DIALECTS),
    "stores": placeholders(),
    "tools": ", ".join(f"{', '.join(listing.tools)} ({name})" for name, listing in DIALECTS.entries.items()),
}


def filled(text: str) -> str:
    """The text with its placeholders replaced."""
    return text.format_map(PLACEHOLDERS)
