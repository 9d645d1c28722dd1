"""Checks for `tildone doctor`: which coding agents are on this machine, and whether tildone is installed in them."""

from __future__ import annotations

import os
import re
from shutil import which

from tildone.errors import Refused, UsageError
from tildone.integrations import all_integrations
from tildone.integrations.settings import files
from tildone.integrations.settings.installation import edits_for
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.integrations.record import Integration
    from tildone.integrations.settings.site import Site

_TILDONE_PATH = re.compile(r"""(?:[A-Za-z]:)?[/\\][^"'\n]*?tildone(?:\.exe)?(?=["' ])""")


def findings(sites: Sequence[Site]) -> Iterator[Finding]:
    """Yield a finding for every site at which tildone is installed in a coding agent, and one for every other agent."""
    for integration in all_integrations():
        installed = [finding for site in sites for finding in _at_site(integration, site)]
        yield from installed
        if not installed and is_present(integration, sites[0]):
            what = f"{integration.title} is here, without a plan"
            yield Finding(Severity.OK, what, f"tildone install {integration.name}")


def is_installed(integration: Integration, site: Site) -> bool:
    """Return whether the settings files contain everything that an installation adds."""
    try:
        return not files.install_changes(edits_for(integration.configure, site))
    except (Refused, UsageError):
        return False


def is_present(integration: Integration, site: Site) -> bool:
    """Return whether the coding agent appears to be on this machine."""
    return os.path.isdir(integration.folder(site)) or bool(integration.executable and which(integration.executable))


def _at_site(integration: Integration, site: Site) -> Iterator[Finding]:
    title = integration.title + ("" if site.for_user else " in this project")
    reinstall = f"tildone install {integration.name}" + ("" if site.for_user else " --scope project")
    try:
        changes = files.uninstall_changes(edits_for(integration.configure, site))
    except UsageError:
        return
    except Refused as error:
        yield Finding(Severity.WARNING, f"{title}: {error}", "correct that file")
        return
    if not changes:
        return
    programs = {path for change in changes for path in _TILDONE_PATH.findall(change.before or "")}
    missing = sorted(program for program in programs if not os.access(program, os.X_OK))
    if missing:
        yield Finding(Severity.ERROR, f"{title} runs {missing[0]}, which does not exist", reinstall)
    elif not is_installed(integration, site):
        yield Finding(Severity.WARNING, f"{title} is set up in part, or for another tildone", reinstall)
    else:
        yield Finding(Severity.OK, f"{title} has the plan; it runs {site.program}", "")
