"""Findings about coding agents: whether what is installed in each answers, is complete, and is not silenced.

Examining reads settings files; probing starts what was found in them, for all coding agents at once; reporting puts
both together. Nothing is changed by any of them.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from shutil import which

from tildone.agents.doctor.probe import (
    HOOKS,
    TOOLS,
    Launch,
    ProbeResult,
    configured_launches,
    expected_launches,
    shim_without_constants,
    what_agent_lists,
)
from tildone.agents.install import Inspection, Silencer, Site, edits_for
from tildone.agents.install.files import ArrayItem, Edit, ObjectMember, WholeFile, get, is_our_server, program_in, read
from tildone.agents.integrations import Integration
from tildone.base import Refused, UsageError, value
from tildone.base.distribution import NAME, program, quoted, script
from tildone.log.kept import Finding, Severity
from tildone.plan.text.safe import printable

VERSION_TIMEOUT_SECONDS = 5.0
MAX_LINE = 300
_VERSION = re.compile(r"(?<![\d.])\d+\.\d+\.\d+")
_MANIFEST = "package.json"

CONSEQUENCES = {
    "gate": "an agent that stops early is not continued",
    "tools": "the agent may have to search for the plan's tool before it can use it",
}
"""What is lost below the minimum for a capability."""


def too_old(integration: Integration) -> Iterator[Finding]:
    """Yield what the coding agent on this machine is too old for; nothing if its version is unknown."""
    found = host_version(integration) if integration.min_versions else ""
    for capability, minimum in integration.min_versions.items():
        if found and _number(found) < _number(minimum):
            what = f"{integration.title} {found} is older than {minimum}: {CONSEQUENCES[capability]}"
            package = integration.package
            remedy = f"npm install -g {package}@latest" if package else f"upgrade {integration.title}"
            yield Finding(Severity.WARNING, what, remedy)


UNREACHED = ("disabled", "disconnected", "error", "fail", "not connected", "pending", "rejected")
"""Words by which coding agents say of a server that they do not reach it, in lower case."""


def own_listings(integrations: Sequence[Integration], project: str) -> dict[str, Finding]:
    """Return what each of these coding agents itself says of our MCP server, if it has a command for that."""
    asked = [integration for integration in integrations if integration.listing]
    if not asked:
        return {}
    with ThreadPoolExecutor(len(asked)) as pool:
        findings = pool.map(lambda integration: _own_listing(integration, project), asked)
        return {integration.name: finding for integration, finding in zip(asked, findings, strict=True)}


def _own_listing(integration: Integration, project: str) -> Finding:
    words = (integration.executable, *integration.listing)
    command, found = " ".join(words), which(integration.executable)
    if found is None:
        return Finding(
            Severity.OK, f"{integration.title}: {words[0]} is not on the PATH, so it was not asked: {command}"
        )
    line, failure = what_agent_lists((found, *integration.listing), project)
    what = printable(f"{integration.title}: {command} says: {line or failure or f'no server {NAME}'}")[:MAX_LINE]
    reached = line != "" and not any(word in line.lower() for word in UNREACHED)
    return Finding(Severity.OK, what) if reached else Finding(Severity.WARNING, what, command)


def host_version(integration: Integration) -> str:
    """Return the version of the coding agent that a shell runs; empty if there is none, or it does not tell."""
    program = which(integration.executable) if integration.executable else None
    if program is None:
        return ""
    return _in_manifest(program, integration.package) or _in_path(program) or _answered(program)


def _in_manifest(program: str, package: str) -> str:
    if not package:
        return ""
    folder = os.path.dirname(os.path.realpath(program))
    folders = []
    while folder != os.path.dirname(folder):
        folders.append(folder)
        folder = os.path.dirname(folder)
    # On Windows the program is a script beside the packages.
    folders.append(os.path.join(os.path.dirname(program), "node_modules", *package.split("/")))
    for each in folders:
        try:
            with open(os.path.join(each, _MANIFEST), encoding="utf-8") as file:
                manifest = json.load(file)
        except (OSError, ValueError):
            continue
        if isinstance(manifest, dict) and manifest.get("name") == package:
            return str(manifest.get("version", ""))
    return ""


def _in_path(program: str) -> str:
    """Return the version that the real path of a program names, as those of native installers and Homebrew do."""
    for part in reversed(os.path.realpath(program).split(os.sep)):
        if _VERSION.match(part):
            return _VERSION.match(part).group()  # type: ignore[union-attr]  # it has just matched
    return ""


def _answered(program: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603  the coding agent of the person
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return found.group() if found else ""


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("-")[0]))


_BARE_HOOK = re.compile(r"""^(?:'[^']*'|"[^"]*"|\S+)\s+hook\s+[\w-]+(?:\s+[\w.-]+)?$""")
"""A hook's command line that consists of the program and its arguments."""


def outdated(edits: Sequence[Edit], launches: Sequence[Launch], expected: Sequence[Launch], site: Site) -> list[str]:
    """Return what is out of date in the settings files that these edits are made to."""
    found = [*_old_entries(edits), *_old_hooks(launches, expected)]
    if not site.for_user and any(os.path.isabs(program_in(launch.command)) for launch in launches):
        found.append("they name tildone by a path of this machine")
    return [*dict.fromkeys(found)]


def _old_entries(edits: Sequence[Edit]) -> Iterator[str]:
    for edit in edits:
        text = read(edit.file)
        if text is None or not text.strip("\ufeff \t\r\n"):
            continue
        match edit:
            case ObjectMember(_, _, entry) if is_our_server(entry):
                present = get(edit, text)
                missing = [key for key in entry if key not in present] if is_our_server(present) else []
                if missing:
                    yield f"the server's entry has no {', '.join(missing)}"
            case WholeFile(file, ours) if file.endswith((".js", ".ts")):
                if shim_without_constants(text) != shim_without_constants(ours):
                    yield f"{os.path.basename(file)} is another version's"
            case ObjectMember() | ArrayItem() | WholeFile():
                pass


def _old_hooks(launches: Sequence[Launch], expected: Sequence[Launch]) -> Iterator[str]:
    """Yield a finding if hooks run the program directly where they now run it in a line that guards against errors."""
    lines = {launch.event: launch.command for launch in expected if launch.part == HOOKS}
    for launch in launches:
        wanted = lines.get(launch.event)
        if launch.part != HOOKS or not isinstance(launch.command, str) or not isinstance(wanted, str):
            continue
        if _BARE_HOOK.match(launch.command) and not _BARE_HOOK.match(wanted):
            yield "a tildone that cannot be started would stop the agent"


@value
class Installed:
    """What the settings files of a coding agent contain of ours, or why they cannot be read (`problem`)."""

    integration: Integration
    site: Site
    files: tuple[str, ...]
    launches: tuple[Launch, ...]
    expected: tuple[Launch, ...]
    problem: str = ""
    outdated: tuple[str, ...] = ()
    silencers: tuple[Silencer, ...] = ()

    @property
    def title(self) -> str:
        """The name of the coding agent, and of the scope unless that is the user's."""
        return self.integration.title + ("" if self.site.for_user else " in this project")

    @property
    def has_tools(self) -> bool:
        """Whether an MCP server of ours is among what is installed."""
        return TOOLS in _parts(self.launches)

    @property
    def reinstall(self) -> str:
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
        # A hook at an event that we do not know does not answer.
        points = integration.hooks.points if integration.hooks is not None else {}
        launches = tuple(each for each in configured_launches(edits) if each.part != HOOKS or each.event in points)
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
    return Installed(integration, site, files, launches, expected, "", old, tuple(inspection.found))


def _may_name_us(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return NAME.encode() in opened.read()
    except FileNotFoundError:
        return False
    except OSError:
        return True


def is_present(integration: Integration, site: Site) -> bool:
    return os.path.isdir(integration.folder(site)) or bool(integration.executable and which(integration.executable))


SILENCED = " is silenced: "


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
    for each in installed.silencers:
        if each.is_kept:
            yield Finding(Severity.OK, f"{title} keeps {each.what}", each.remedy)
        else:
            yield Finding(Severity.WARNING, f"{title}{SILENCED}{each.what}", each.remedy)


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
