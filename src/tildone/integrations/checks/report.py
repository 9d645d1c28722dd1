"""Findings about coding agents: whether what is installed in each answers, is complete, and is not silenced.

Examining reads settings files; probing starts what was found in them, for all coding agents at once; reporting puts
both together. Nothing is changed by any of them.
"""

from __future__ import annotations

import os
from shutil import which

from tildone.distribution import NAME, program, quoted, script
from tildone.errors import Refused, UsageError
from tildone.integrations.checks.launches import HOOKS, TOOLS, configured_launches, expected_launches
from tildone.integrations.checks.outdated import outdated
from tildone.integrations.checks.silencers import Inspection
from tildone.integrations.settings.installation import edits_for
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tildone.integrations.checks.launches import Launch
    from tildone.integrations.checks.probe import ProbeResult
    from tildone.integrations.record import Integration
    from tildone.integrations.settings.site import Site


@value
class Installed:
    """What the settings files of a coding agent contain of ours, and what an installation puts there.

    `problem` is why the files cannot be read. `outdated` is what an earlier version wrote differently. `silencers` are
    settings of the coding agent that disable us.
    """

    integration: Integration
    site: Site
    files: tuple[str, ...]
    launches: tuple[Launch, ...]
    expected: tuple[Launch, ...]
    problem: str = ""
    outdated: tuple[str, ...] = ()
    silencers: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """The name of the coding agent, and of the scope unless that is the user's."""
        return self.integration.title + ("" if self.site.for_user else " in this project")

    @property
    def reinstall(self) -> str:
        """The command that installs the same again."""
        words = [program(), "install", self.integration.name]
        words += [] if self.site.for_user else ["--scope", "project"]
        words += map(quoted, _options(self.launches))
        parts = {launch.part for launch in self.launches}
        words += ["--no-hooks"] if self.integration.hooks and HOOKS not in parts else []
        words += ["--no-mcp"] if TOOLS not in parts else []
        return " ".join(words)


def examine_all(integration: Integration, sites: Sequence[Site]) -> list[Installed]:
    """Return what is installed at several sites. In the home folder, the files of the project are those of the user."""
    by_files: dict[frozenset[str], Installed] = {}
    for site in sites:
        found = examine(integration, site)
        if found is not None:
            by_files.setdefault(frozenset(found.files), found)
    return list(by_files.values())


def examine(integration: Integration, site: Site) -> Installed | None:
    """Return what is installed in a coding agent at a site; None if nothing is."""
    try:
        edits = edits_for(integration.configure, site)
    except UsageError:
        return None
    expected = tuple(expected_launches(edits))
    files = tuple(os.path.realpath(edit.file) for edit in edits)
    try:
        launches = tuple(launch for launch in configured_launches(edits) if _is_known(launch, integration))
        old = tuple(outdated(edits, launches, expected, site)) if launches else ()
    except Refused as error:
        if not any(_may_name_us(file) for file in files):
            return None
        return Installed(integration, site, files, (), expected, str(error))
    if not launches:
        return None
    inspection = Inspection(site)
    if integration.silencers is not None:
        integration.silencers(inspection)
    silencers = tuple((each.what, each.remedy) for each in inspection.found)
    return Installed(integration, site, files, launches, expected, "", old, silencers)


def _may_name_us(file: str) -> bool:
    """Return whether a file contains the name of tildone, or cannot be read."""
    try:
        with open(file, "rb") as opened:
            return NAME.encode() in opened.read()
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _is_known(launch: Launch, integration: Integration) -> bool:
    """Return whether a command answers: a hook at an event that we do not know does not."""
    return launch.part != HOOKS or (integration.hooks is not None and launch.event in integration.hooks.points)


def is_present(integration: Integration, site: Site) -> bool:
    """Return whether the coding agent appears to be on this machine."""
    return os.path.isdir(integration.folder(site)) or bool(integration.executable and which(integration.executable))


def report(installed: Installed, results: Mapping[Launch, ProbeResult], version: str) -> Iterator[Finding]:
    """Yield the findings about one coding agent, from the answers of its commands. `version` is that of this copy."""
    title = installed.title
    if installed.problem:
        yield Finding(Severity.ERROR, f"{title}: {installed.problem}", "correct that file, or restore its backup")
        return
    dead = {launch: result.reason for launch, result in _answers(installed, results) if not result.alive}
    alive = [part for part in _parts(installed.launches) if part not in _parts(list(dead))]
    for reason in dict.fromkeys(dead.values()):
        parts = _listed(_parts([launch for launch, why in dead.items() if why == reason]))
        yield Finding(Severity.ERROR, f"{title}: {parts} do not answer: {reason}", _mended(installed))
    if dead and alive:
        yield Finding(Severity.OK, f"{title}: {_listed(alive)} answer")
    missing = _missing_events(installed)
    if missing and not dead:
        what = f"{title} is set up in part: no hook is set for {_listed(missing)}"
        yield Finding(Severity.WARNING, what, installed.reinstall)
    elif not dead:
        yield _working(installed, [result for _, result in _answers(installed, results)], alive, version)
    for what in installed.outdated:
        message = f"the settings of {title} were written by an earlier version: {what}"
        yield Finding(Severity.WARNING, message, installed.reinstall)
    for what, remedy in installed.silencers:
        yield Finding(Severity.WARNING, f"{title} is silenced: {what}", remedy)


def _mended(installed: Installed) -> str:
    """Return what mends commands that do not answer; in a project they run the tildone that is on the PATH."""
    if not installed.site.for_user and which(NAME) is None:
        own = script()
        return f"add {os.path.dirname(own)} to your PATH" if own else "put tildone on your PATH"
    return installed.reinstall


def _working(installed: Installed, answers: Sequence[ProbeResult], alive: list[str], version: str) -> Finding:
    found = sorted({answer.version for answer in answers})
    without = "" if HOOKS in alive or not installed.integration.hooks else "; hooks are not installed"
    without = without if TOOLS in alive else "; tools are not installed"
    what = f"{installed.title}: {_listed(alive)} answer (tildone {', '.join(found)}){without}"
    if found == [version]:
        return Finding(Severity.OK, what)
    return Finding(Severity.WARNING, f"{what}; this is tildone {version}", installed.reinstall)


def _answers(installed: Installed, results: Mapping[Launch, ProbeResult]) -> list[tuple[Launch, ProbeResult]]:
    return [(launch, results[launch]) for launch in installed.launches]


def _missing_events(installed: Installed) -> list[str]:
    """Return the events without a hook, unless none has one, as after an installation without hooks."""
    found = {launch.event for launch in installed.launches if launch.part == HOOKS}
    expected = [launch.event for launch in installed.expected if launch.part == HOOKS]
    return [event for event in expected if event not in found] if found else []


def _parts(launches: Sequence[Launch]) -> list[str]:
    return list(dict.fromkeys(launch.part for launch in launches))


def _options(launches: Sequence[Launch]) -> list[str]:
    """Return the options that the tools were installed with: they follow the name of the verb."""
    for launch in launches:
        if launch.part == TOOLS and not isinstance(launch.command, str):
            return [*launch.command[launch.command.index("mcp") + 1 :]] if "mcp" in launch.command else []
    return []


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
