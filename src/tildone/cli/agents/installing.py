"""What `tildone install` and `tildone uninstall` share: the site, the agents, and the changes to their settings."""

from __future__ import annotations

import os
import sys
from shutil import which

from tildone.cli.opening import settings_for
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import UsageError, nearest
from tildone.integrations import INTEGRATIONS, all_integrations
from tildone.integrations.settings import files
from tildone.integrations.settings.diff import diff_lines
from tildone.integrations.settings.health import is_installed, is_present
from tildone.integrations.settings.installation import Installation
from tildone.integrations.settings.site import PROJECT, USER, Site
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.integrations.record import Integration
    from tildone.integrations.settings.files import FileChange

ALL = "all"
NARROW_COLUMNS = 60


def sites(project: str) -> list[Site]:
    """The sites at which this tildone may be installed: for the person, and for a project.

    Raises:
        UsageError: there is no tildone command for a coding agent to run.
    """
    return [_here(scope, project) for scope in (USER, PROJECT)]


def _here(scope: str, project: str) -> Site:
    return Site(os.path.expanduser("~"), project, scope, os.environ, _program())


def site_for(args: ParsedArgs) -> Site:
    """The site that the command line selects.

    Raises:
        UsageError: the options contradict each other, or there is no tildone command for a coding agent to run.
    """
    scope = args.options.get("scope", USER)
    if scope not in (USER, PROJECT):
        raise UsageError(f"--scope is user or project, not {scope!r}")
    if args.has("no-mcp") and args.has("no-hooks"):
        raise UsageError("--no-mcp and --no-hooks leave nothing to install")
    settings = settings_for(args)
    options = [(f"--{name}", args.options[name]) for name in ("dialect", "session") if name in args.options]
    return replace(
        _here(scope, settings.project),
        arguments=("mcp", *(word for option in options for word in option)),
        mcp=not args.has("no-mcp"),
        hooks=not args.has("no-hooks"),
    )


def _program() -> str:
    """The absolute path of the tildone that is running, for coding agents to run."""
    invoked = os.path.abspath(sys.argv[0])
    stem = os.path.splitext(os.path.basename(invoked))[0]
    if stem == "tildone" and os.access(invoked, os.X_OK):
        return invoked
    beside = os.path.join(os.path.dirname(sys.executable), "tildone")
    found = beside if os.access(beside, os.X_OK) else which("tildone")
    if not found:
        raise UsageError("there is no tildone command that a coding agent could run; install the package first")
    return os.path.abspath(found)


def agents_named(args: ParsedArgs, site: Site) -> list[Integration]:
    """The coding agents that the command line names.

    Raises:
        UsageError: one of them is unknown.
    """
    names = [word.lower() for word in args.positional]
    if names == [ALL]:
        return [agent for agent in all_integrations() if is_present(agent, site)]
    for word, name in zip(args.positional, names, strict=True):
        if name not in INTEGRATIONS:
            raise UsageError(f"there is no coding agent {word!r}; {nearest(name, tuple(INTEGRATIONS))}")
    return [INTEGRATIONS[name] for name in names]


def apply_changes(
    args: ParsedArgs,
    planned: list[tuple[Integration, list[FileChange]]],
    write: Callable[[FileChange], None],
    *,
    done: str,
    nothing: str,
) -> int:
    """Show the changes to the settings of each agent, and write them unless this is a dry run."""
    if not planned:
        put("None of the coding agents that tildone supports was found here. To list them: tildone install")
    for agent, changes in planned:
        _write_all(args, changes, write)
        if not changes:
            put(f"{agent.title} {nothing}.")
        elif args.has("dry-run"):
            put(f"{agent.title}: nothing was written.")
        else:
            put(f"{done} {agent.title}. Restart it to apply the change. {agent.after_install}".rstrip())
    return 0


def _write_all(args: ParsedArgs, changes: list[FileChange], write: Callable[[FileChange], None]) -> None:
    """Show each change, and write it unless this is a dry run."""
    for change in changes:
        put_spans(diff_lines(change))
        if not args.has("dry-run"):
            write(change)


def list_agents(site: Site) -> int:
    """List the supported coding agents, and whether each is installed or present."""
    width = max(map(len, INTEGRATIONS))
    narrow = (columns() or NARROW_COLUMNS) < NARROW_COLUMNS
    for agent in all_integrations():
        state = "installed" if is_installed(agent, site) else "found" if is_present(agent, site) else "not found"
        role = {"installed": Role.SUCCESS, "found": Role.TEXT}.get(state, Role.DIM)
        title = "" if narrow else f"  {agent.title}"
        put_spans([(Span(f"{agent.name:{width}}"), Span(f"  {state:9}", role), Span(title, Role.MUTED))])
    put("To install tildone into one: tildone install AGENT")
    return 0


def install_plugin(args: ParsedArgs, site: Site, agents: list[Integration], folder: str) -> int:
    """Write a plugin folder instead of changing settings files.

    Raises:
        UsageError: the agents do not support plugin folders.
    """
    if len(agents) != 1 or agents[0].plugin is None:
        able = ", ".join(agent.name for agent in all_integrations() if agent.plugin is not None)
        raise UsageError(f"only {able} takes a plugin folder: tildone install {able} --as-plugin DIR")
    installation = Installation(site)
    command = agents[0].plugin(installation, folder)
    _write_all(args, files.install_changes(installation.edits), files.install)
    put(f"To use it: {command}")
    return 0
