"""`tildone uninstall`: remove the plan's tools and hooks from coding agents."""

from __future__ import annotations

from functools import partial

from tildone.app.who import PersonAct, check_person
from tildone.cli.agents.installing import (
    agents_named,
    any_program,
    backups,
    none_found,
    preview,
    show_changes,
    site_for,
)
from tildone.cli.opening import settings_for
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.integrations.settings import files
from tildone.integrations.settings.installation import edits_for
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.integrations.record import Integration
    from tildone.integrations.settings.files import SettingsChange
    from tildone.integrations.settings.site import Site

NOTHING = "has no tildone in its settings"


def run(args: ParsedArgs) -> int:
    """Remove what an installation added to the named coding agents.

    Raises:
        NotThePerson: an agent wants to be rid of what holds it to its plan.
    """
    if not args.has("dry-run"):
        check_person(settings_for(args), PersonAct.UNINSTALL)
    site = site_for(args, any_program)
    planned = [(agent, _changes(agent, site)()) for agent in agents_named(args.positional, site)]
    if not planned:
        return none_found()
    for agent, changes in planned:
        if args.has("dry-run"):
            preview(agent, changes, NOTHING)
            continue
        files.write_all(changes, partial(files.uninstall, backups=backups()), _changes(agent, site))
        files.forget(edits_for(agent.configure, site), backups(), site.within)
        put(f"Removed from {agent.title}:" if changes else f"{agent.title} {NOTHING}.")
        show_changes(changes, verbose=args.has("verbose"))
        if changes:
            put(f"Next: restart {agent.title}. Plans are kept.")
    return 0


def _changes(agent: Integration, site: Site) -> Callable[[], list[SettingsChange]]:
    edits = edits_for(agent.configure, site)
    return lambda: files.uninstall_changes(edits, backups(), site.within)
