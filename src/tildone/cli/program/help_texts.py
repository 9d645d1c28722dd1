"""The texts of the help and the manual page: what the tables of verbs say, completed.

Descriptions of verbs and options may contain placeholders. They are replaced here and not in the tables, so that only
the help imports the registries.
"""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.dialects import DEFAULT_DIALECT, DIALECTS
from tildone.integrations import INTEGRATIONS, names_with_hooks
from tildone.stores import placeholders
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import Verb

PLACEHOLDERS = {
    "agents": ", ".join(INTEGRATIONS),
    "agents_with_hooks": ", ".join(names_with_hooks()),
    "default_dialect": DEFAULT_DIALECT,
    "dialects": ", ".join(DIALECTS),
    "statuses": ", ".join(status.value for status in Status),
    "stores": placeholders(),
    "tools": ", ".join(f"{', '.join(listing.tools)} ({name})" for name, listing in DIALECTS.entries.items()),
}


def summary_of(verb: Verb) -> str:
    """The summary of a verb, with its other names."""
    return f"{verb.summary} Also: {', '.join(verb.aliases)}." if verb.aliases else verb.summary


def filled(text: str) -> str:
    return text.format_map(PLACEHOLDERS)
