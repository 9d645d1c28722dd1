"""`tildone install` and `tildone uninstall`: tildone in the settings of coding agents."""

from __future__ import annotations

import os
import sys

from tildone.cli.opening import settings_for
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.args import Typed
from tildone.config import nearest
from tildone.errors import UsageError
from tildone.integrations import INTEGRATIONS, all_integrations
from tildone.integrations.settings import files
from tildone.integrations.settings.diff import diff_lines
from tildone.integrations.settings.health import is_installed, is_present
from tildone.integrations.settings.installation import Installation, edits_for
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


def install(typed: Typed) -> int:
    """Install tildone into the coding agents named; without a name, list them."""
    site = _site(typed)
    if not typed.words:
        return _list_agents(site)
    agents = _agents_named(typed, site)
    folder = typed.options.get("as-plugin")
    if folder:
        return _install_plugin(typed, site, agents, os.path.abspath(folder))
    # All changes are computed before any is written, so that a refusal leaves every file as it was.
    changes = [(agent, files.install_changes(edits_for(agent, site))) for agent in agents]
    return _carry_out(typed, changes, files.install, done="Installed into", nothing="is set up already")


def uninstall(typed: Typed) -> int:
    """Remove tildone from the coding agents named."""
    site = _site(typed)
    agents = _agents_named(typed, site)
    changes = [(agent, files.uninstall_changes(edits_for(agent, site))) for agent in agents]
    return _carry_out(typed, changes, files.uninstall, done="Removed from", nothing="has no tildone in its settings")


def sites(project: str) -> list[Site]:
    """The sites at which this tildone may be installed: for the person, and for a project.

    Raises:
        UsageError: there is no tildone command for a coding agent to run.
    """
    return [_here(scope, project) for scope in (USER, PROJECT)]


def _here(scope: str, project: str) -> Site:
    return Site(os.path.expanduser("~"), project, scope, os.environ, _program())


def _site(typed: Typed) -> Site:
    scope = typed.options.get("scope", USER)
    if scope not in (USER, PROJECT):
        raise UsageError(f"--scope is user or project, not {scope!r}")
    if typed.has("no-mcp") and typed.has("no-hooks"):
        raise UsageError("--no-mcp and --no-hooks leave nothing to install")
    settings = settings_for(typed)
    options = [(f"--{name}", typed.options[name]) for name in ("dialect", "session") if name in typed.options]
    return replace(
        _here(scope, settings.project),
        arguments=("mcp", *(word for option in options for word in option)),
        mcp=not typed.has("no-mcp"),
        hooks=not typed.has("no-hooks"),
    )


def _program() -> str:
    """The absolute path of the tildone that is running, for coding agents to run."""
    # Late, because only this needs it.
    from shutil import which  # noqa: PLC0415  see above

    typed = os.path.abspath(sys.argv[0])
    stem = os.path.splitext(os.path.basename(typed))[0]
    if stem == "tildone" and os.access(typed, os.X_OK):
        return typed
    beside = os.path.join(os.path.dirname(sys.executable), "tildone")
    found = beside if os.access(beside, os.X_OK) else which("tildone")
    if not found:
        raise UsageError("there is no tildone command that a coding agent could run; install the package first")
    return os.path.abspath(found)


def _agents_named(typed: Typed, site: Site) -> list[Integration]:
    names = [word.lower() for word in typed.words]
    if names == [ALL]:
        return [agent for agent in all_integrations() if is_present(agent, site)]
    for word, name in zip(typed.words, names, strict=True):
        if name not in INTEGRATIONS:
            raise UsageError(f"there is no coding agent {word!r}; {nearest(name, tuple(INTEGRATIONS))}")
    return [INTEGRATIONS[name] for name in names]


def _carry_out(
    typed: Typed,
    planned: list[tuple[Integration, list[FileChange]]],
    write: Callable[[FileChange], None],
    *,
    done: str,
    nothing: str,
) -> int:
    if not planned:
        put("None of the coding agents that tildone supports was found here. To list them: tildone install")
    for agent, changes in planned:
        _write_all(typed, changes, write)
        if not changes:
            put(f"{agent.title} {nothing}.")
        elif typed.has("dry-run"):
            put(f"{agent.title}: nothing was written.")
        else:
            put(f"{done} {agent.title}. Restart it to apply the change. {agent.after_install}".rstrip())
    return 0


def _write_all(typed: Typed, changes: list[FileChange], write: Callable[[FileChange], None]) -> None:
    """Show each change, and write it unless this is a dry run."""
    for change in changes:
        put_spans(diff_lines(change))
        if not typed.has("dry-run"):
            write(change)


def _list_agents(site: Site) -> int:
    width = max(map(len, INTEGRATIONS))
    narrow = (columns() or NARROW_COLUMNS) < NARROW_COLUMNS
    for agent in all_integrations():
        state = "installed" if is_installed(agent, site) else "found" if is_present(agent, site) else "not found"
        role = {"installed": Role.SUCCESS, "found": Role.TEXT}.get(state, Role.DIM)
        title = "" if narrow else f"  {agent.title}"
        put_spans([(Span(f"{agent.name:{width}}"), Span(f"  {state:9}", role), Span(title, Role.MUTED))])
    put("To install tildone into one: tildone install AGENT")
    return 0


def _install_plugin(typed: Typed, site: Site, agents: list[Integration], folder: str) -> int:
    if len(agents) != 1 or agents[0].plugin is None:
        able = ", ".join(agent.name for agent in all_integrations() if agent.plugin is not None)
        raise UsageError(f"only {able} takes a plugin folder: tildone install {able} --as-plugin DIR")
    installation = Installation(site)
    command = agents[0].plugin(installation, folder)
    _write_all(typed, files.install_changes(installation.edits), files.install)
    put(f"To use it: {command}")
    return 0
