"""What `tildone install` and `tildone uninstall` share: the site, the agents, and the changes to their settings."""

from __future__ import annotations

import os
from functools import partial

from tildone import distribution
from tildone.cli.opening import settings_for
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.config import data_folder
from tildone.errors import UsageError, nearest
from tildone.integrations import INTEGRATIONS, all_integrations
from tildone.integrations.checks.report import examine, is_present
from tildone.integrations.settings import files
from tildone.integrations.settings.backups import Backups
from tildone.integrations.settings.diff import diff_lines
from tildone.integrations.settings.installation import Installation
from tildone.integrations.settings.site import PROJECT, USER, Site
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.integrations.record import Integration
    from tildone.integrations.settings.files import SettingsChange

ALL = "all"
NARROW_COLUMNS = 60


def sites(project: str) -> list[Site]:
    """The sites at which tildone may be installed: for the person, and for a project."""
    return [_here(USER, project, any_program()), _here(PROJECT, project, distribution.NAME)]


def backups() -> Backups:
    """The backups of the settings files that an installation has changed."""
    return Backups(data_folder(os.environ))


def any_program() -> str:
    """The tildone that is running, where none has to be installed: to look at an installation, or to remove it."""
    return distribution.script() or distribution.NAME


def _here(scope: str, project: str, program: str) -> Site:
    return Site(os.path.expanduser("~"), project, scope, os.environ, program)


def site_for(args: ParsedArgs, program: Callable[[], str]) -> Site:
    """The site that the command line selects, at which coding agents run `program`.

    The files of a project are shared, so they name tildone by its name, which is looked up on each machine's PATH.

    Raises:
        UsageError: the options contradict each other.
    """
    scope = args.options.get("scope", USER)
    if scope not in (USER, PROJECT):
        raise UsageError(f"--scope is user or project, not {scope!r}")
    if args.has("no-mcp") and args.has("no-hooks"):
        raise UsageError("--no-mcp and --no-hooks leave nothing to install")
    settings = settings_for(args)
    options = [(f"--{name}", args.options[name]) for name in ("dialect", "session") if name in args.options]
    return replace(
        _here(scope, settings.project, program() if scope == USER else distribution.NAME),
        arguments=("mcp", *(word for option in options for word in option)),
        mcp=not args.has("no-mcp"),
        hooks=not args.has("no-hooks"),
    )


def installable_program() -> str:
    """The absolute path of the tildone that is running, for coding agents to run.

    Raises:
        UsageError: there is none, or it may be deleted at any time.
    """
    method = distribution.method()
    if method in distribution.Method.TEMPORARY:
        raise UsageError(
            f"{method} runs tildone from a cache that may be deleted, so a coding agent cannot rely on it; "
            f"install it first: {distribution.install_permanently()}"
        )
    program = distribution.script()
    if program is None:
        raise UsageError("there is no tildone command that a coding agent could run; install the package first")
    return program


def agents_named(words: Sequence[str], site: Site) -> list[Integration]:
    """The coding agents that the command line names.

    Raises:
        UsageError: one of them is unknown.
    """
    names = [word.lower() for word in words]
    if names == [ALL]:
        return [agent for agent in all_integrations() if is_present(agent, site)]
    for word, name in zip(words, names, strict=True):
        if name not in INTEGRATIONS:
            raise UsageError(f"there is no coding agent {word!r}; {nearest(name, tuple(INTEGRATIONS))}")
    return [INTEGRATIONS[name] for name in dict.fromkeys(names)]


def show_changes(changes: Sequence[SettingsChange], *, verbose: bool) -> None:
    """Print the files that are changed; if `verbose`, with the lines that are added and removed."""
    for change in changes:
        if verbose:
            put_spans(diff_lines(change))
        else:
            state = "new" if change.before is None else "removed" if change.after is None else ""
            put_spans([(Span(f"  {change.file}"), Span(f"  ({state})" if state else "", Role.MUTED))])


def preview(agent: Integration, changes: Sequence[SettingsChange], nothing: str) -> None:
    show_changes(changes, verbose=True)
    put(f"{agent.title}: nothing was written." if changes else f"{agent.title} {nothing}.")


def none_found() -> int:
    """Say that no supported coding agent is here."""
    listing = f"{distribution.program()} install"
    put(f"None of the coding agents that tildone supports was found here. To list them: {listing}")
    return 0


def list_agents(site: Site) -> int:
    """List the supported coding agents, and whether each is installed or present."""
    width = max(map(len, INTEGRATIONS))
    narrow = (columns() or NARROW_COLUMNS) < NARROW_COLUMNS
    for agent in all_integrations():
        state = "installed" if _is_installed(agent, site) else "found" if is_present(agent, site) else "not found"
        role = {"installed": Role.SUCCESS, "found": Role.TEXT}.get(state, Role.DIM)
        title = "" if narrow else f"  {agent.title}"
        put_spans([(Span(f"{agent.name:{width}}"), Span(f"  {state:9}", role), Span(title, Role.MUTED))])
    put(f"To install tildone into one: {distribution.program()} install AGENT")
    return 0


def _is_installed(agent: Integration, site: Site) -> bool:
    found = examine(agent, site)
    return found is not None and not found.problem


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
    compute = partial(files.install_changes, installation.edits, backups(), folder)
    changes = compute()
    if args.has("dry-run"):
        preview(agents[0], changes, "has this plugin folder already")
        return 0
    files.write_all(changes, partial(files.install, backups=backups()), compute)
    show_changes(changes, verbose=args.has("verbose"))
    put(f"To use it: {command}")
    return 0
