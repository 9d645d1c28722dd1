"""`tildone install` and `uninstall`: the plan inside the agents that people already use."""

from __future__ import annotations

import os
import sys

from tildone.cli.opening import settings_for
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.args import Typed
from tildone.config import nearest
from tildone.errors import UsageError
from tildone.integrations.settings import diff, files
from tildone.integrations.settings.health import is_found, is_installed
from tildone.integrations.settings.hosts import HOSTS, PROJECT, USER, Host, Site
from tildone.integrations.settings.plugin import plugin
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tildone.integrations.settings.edits import Edit
    from tildone.integrations.settings.files import Change

ALL = "all"
WIDE = 60


def install(typed: Typed) -> int:
    """Put the plan into hosts; without one, say which there are."""
    site = _site(typed)
    if not typed.words:
        return _listed(site)
    folder = typed.options.get("as-plugin")
    if folder:
        return _as_plugin(typed, site, folder)
    return _each(typed, site, files.installing, files.install, "Installed into", "is set up already")


def uninstall(typed: Typed) -> int:
    """Take the plan out of hosts."""
    site = _site(typed)
    return _each(typed, site, files.uninstalling, files.uninstall, "Taken out of", "has nothing of ours")


def here(scope: str = USER, arguments: tuple[str, ...] = ("mcp",), project: str = "") -> Site:
    """An installation on this machine, with this tildone.

    Raises:
        UsageError: it can't be told how a host would start this tildone.
    """
    return Site(os.path.expanduser("~"), project or os.getcwd(), scope, os.environ, _program(), arguments)


def sites(project: str) -> list[Site]:
    """The places where this tildone may be installed: for the person, and for a project.

    Raises:
        UsageError: it can't be told how a host would start this tildone.
    """
    return [here(scope, project=project) for scope in (USER, PROJECT)]


def _site(typed: Typed) -> Site:
    scope = typed.options.get("scope", USER)
    if scope not in (USER, PROJECT):
        raise UsageError(f"--scope is user or project, not {scope!r}")
    if typed.has("no-mcp") and typed.has("no-hooks"):
        raise UsageError("--no-mcp and --no-hooks leave nothing to install")
    settings = settings_for(typed)
    said = [(f"--{name}", typed.options[name]) for name in ("dialect", "session") if name in typed.options]
    found = here(scope, ("mcp", *(word for pair in said for word in pair)), settings.project)
    return Site(
        found.home,
        found.project,
        scope,
        found.environ,
        found.program,
        found.arguments,
        mcp=not typed.has("no-mcp"),
        hooks=not typed.has("no-hooks"),
    )


def _program() -> str:
    """Where the command is that hosts are to run: the very one that runs now."""
    # Late, because most verbs do without it.
    from shutil import which  # noqa: PLC0415  see above

    typed = os.path.abspath(sys.argv[0])
    stem = os.path.splitext(os.path.basename(typed))[0]
    if stem == "tildone" and os.access(typed, os.X_OK):
        return typed
    beside = os.path.join(os.path.dirname(sys.executable), "tildone")
    found = beside if os.access(beside, os.X_OK) else which("tildone")
    if not found:
        raise UsageError("there is no tildone command that a host could run; install the package first")
    return os.path.abspath(found)


def _wanted(typed: Typed, site: Site) -> list[Host]:
    if [word.lower() for word in typed.words] == [ALL]:
        return [host for host in HOSTS.values() if is_found(host, site)]
    unknown = [word for word in typed.words if word.lower() not in HOSTS]
    if unknown:
        raise UsageError(f"there is no host {unknown[0]!r}; {nearest(unknown[0].lower(), tuple(HOSTS))}")
    return [HOSTS[word.lower()] for word in typed.words]


def _each(
    typed: Typed,
    site: Site,
    planned: Callable[[Iterable[Edit]], list[Change]],
    carried_out: Callable[[Change], None],
    done: str,
    nothing: str,
) -> int:
    hosts = _wanted(typed, site)
    if not hosts:
        put("None of the hosts that tildone knows was found here. To see them all: tildone install")
        return 0
    # All of it is worked out before any of it is written.
    plans = [(host, planned(host.edits(site))) for host in hosts]
    for host, changes in plans:
        for change in changes:
            put_spans(diff.lines(change))
            if not typed.has("dry-run"):
                carried_out(change)
        if not changes:
            put(f"{host.title} {nothing}.")
        elif typed.has("dry-run"):
            put(f"{host.title}: nothing was written.")
        else:
            put(" ".join(filter(None, (f"{done} {host.title}. It takes effect when you start it anew.", host.after))))
    return 0


def _listed(site: Site) -> int:
    width = max(map(len, HOSTS))
    narrow = (columns() or WIDE) < WIDE
    for host in HOSTS.values():
        state = "installed" if is_installed(host, site) else "found" if is_found(host, site) else "not found"
        role = {"installed": Role.SUCCESS, "found": Role.TEXT}.get(state, Role.DIM)
        title = "" if narrow else f"  {host.title}"
        put_spans([(Span(f"{host.name:{width}}"), Span(f"  {state:9}", role), Span(title, Role.MUTED))])
    put("To put the plan into one: tildone install HOST")
    return 0


def _as_plugin(typed: Typed, site: Site, folder: str) -> int:
    if [word.lower() for word in typed.words] != ["claude"]:
        raise UsageError("only claude takes a plugin folder: tildone install claude --as-plugin DIR")
    changes = files.installing(plugin(os.path.abspath(folder), site))
    for change in changes:
        put_spans(diff.lines(change))
        if not typed.has("dry-run"):
            files.install(change)
    put(f"To use it: claude --plugin-dir {os.path.abspath(folder)}")
    return 0
