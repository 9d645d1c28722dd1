"""What is to be said of the hosts on this machine: whether the plan is in them, and whether what they run is there."""

from __future__ import annotations

import os
import re
from shutil import which

from tildone.errors import Refused, UsageError
from tildone.integrations.settings import files
from tildone.integrations.settings.hosts import HOSTS, USER, Host, Site
from tildone.log.health import Finding, Health
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROGRAM = re.compile(r"""(?:[A-Za-z]:)?[/\\][^"'\n]*?tildone(?:\.exe)?(?=["' ])""")


def findings(sites: Sequence[Site]) -> Iterator[Finding]:
    """One for each host that is here, at each of the sites."""
    for host in HOSTS.values():
        said = [finding for site in sites for finding in _of(host, site)]
        if not said and is_found(host, sites[0]):
            said = [Finding(Health.FINE, f"{host.title} is here, without a plan", f"tildone install {host.name}")]
        yield from said


def is_installed(host: Host, site: Site) -> bool:
    """Whether everything that an installation puts in is there."""
    try:
        return not files.installing(host.edits(site))
    except (Refused, UsageError):
        return False


def is_found(host: Host, site: Site) -> bool:
    """Whether the host seems to be on this machine."""
    return os.path.isdir(host.folder(site)) or bool(host.program and which(host.program))


def _of(host: Host, site: Site) -> Iterator[Finding]:
    where = "" if site.scope == USER else " in this project"
    again = f"tildone install {host.name}" + ("" if site.scope == USER else " --scope project")
    try:
        changes = files.uninstalling(host.edits(site))
    except UsageError:
        return
    except Refused as error:
        yield Finding(Health.ODD, f"{host.title}{where}: {error}", "put that file right")
        return
    if not changes:
        return
    programs = {found for change in changes for found in _PROGRAM.findall(change.before or "")}
    gone = sorted(program for program in programs if not os.access(program, os.X_OK))
    if gone:
        yield Finding(Health.BAD, f"{host.title}{where} runs {gone[0]}, which is not there", again)
    elif not is_installed(host, site):
        yield Finding(Health.ODD, f"{host.title}{where} is set up by halves, or for another tildone", again)
    else:
        yield Finding(Health.FINE, f"{host.title}{where} has the plan; it runs {site.program}", "")
