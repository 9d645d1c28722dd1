"""`tildone install` and `uninstall`: the plan's tools and hooks in the settings of coding agents."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version

from tildone.agents.doctor import SILENCED, examine, is_present, report, too_old
from tildone.agents.doctor.probe import probe_all
from tildone.agents.install import PROJECT, USER, Installation, Site, diff_lines, edits_for, files
from tildone.agents.install.files import Backups, SettingsChange
from tildone.agents.integrations import INTEGRATIONS, Integration, all_integrations
from tildone.app.settings import data_folder
from tildone.app.who import PersonAct, check_person
from tildone.base import TildoneError, UsageError, distribution, nearest, replace
from tildone.base.distribution import program
from tildone.cli.agents.steering import share
from tildone.cli.opening import settings_for
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.titles import ProgressLine, finding_lines
from tildone.cli.table import ParsedArgs
from tildone.log.kept import Finding, Severity
from tildone.plan.text.styles import Role, Span

ALL = "all"
NARROW_COLUMNS = 60


def sites(project: str) -> list[Site]:
    return [_here(USER, project, any_program()), _here(PROJECT, project, distribution.NAME)]


def backups() -> Backups:
    return Backups(data_folder(os.environ))


def any_program() -> str:
    """The tildone that is running, where none has to be installed: to look at an installation, or to remove it."""
    return distribution.script() or distribution.NAME


def _here(scope: str, project: str, program: str) -> Site:
    return Site(os.path.expanduser("~"), project, scope, os.environ, program)


def site_for(args: ParsedArgs, program: Callable[[], str]) -> Site:
    """The site that the command line selects, at which coding agents run `program`.

    The files of a project are shared, so they name tildone by its name, which is looked up on each machine's PATH.
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
    names = [word.lower() for word in words]
    if names == [ALL]:
        return [agent for agent in all_integrations() if is_present(agent, site)]
    for word, name in zip(words, names, strict=True):
        if name not in INTEGRATIONS:
            raise UsageError(f"there is no coding agent {word!r}; {nearest(name, tuple(INTEGRATIONS))}")
    return [INTEGRATIONS[name] for name in dict.fromkeys(names)]


def show_changes(changes: Sequence[SettingsChange], *, verbose: bool) -> None:
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
    listing = f"{distribution.program()} install"
    put(f"None of the coding agents that tildone supports was found here. To list them: {listing}")
    return 0


def list_agents(site: Site) -> int:
    width = max(map(len, INTEGRATIONS))
    narrow = (columns() or NARROW_COLUMNS) < NARROW_COLUMNS
    for agent in all_integrations():
        installed = examine(agent, site)
        is_installed = installed is not None and not installed.problem
        state = "installed" if is_installed else "found" if is_present(agent, site) else "not found"
        role = {"installed": Role.SUCCESS, "found": Role.TEXT}.get(state, Role.DIM)
        title = "" if narrow else f"  {agent.title}"
        put_spans([(Span(f"{agent.name:{width}}"), Span(f"  {state:9}", role), Span(title, Role.MUTED))])
    put(f"To install tildone into one: {distribution.program()} install AGENT")
    return 0


def install_plugin(args: ParsedArgs, site: Site, agents: list[Integration], folder: str) -> int:
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


NEEDED_BY_OTHERS = "Everyone who uses these files needs tildone on their PATH, for example"
SET_UP_ALREADY = "is set up already"


def run_install(args: ParsedArgs) -> int:
    site = site_for(args, installable_program)
    if not args.positional:
        return list_agents(site)
    agents = agents_named(args.positional, site)
    folder = args.options.get("as-plugin")
    if folder:
        return install_plugin(args, site, agents, os.path.abspath(folder))
    # All changes are computed before any is written, so that a refusal leaves every file as it was.
    planned = [(agent, _changes(agent, site)()) for agent in agents]
    if not planned:
        return none_found()
    if args.has("dry-run"):
        for agent, changes in planned:
            preview(agent, changes, SET_UP_ALREADY)
        return 0
    for agent, changes in planned:
        files.write_all(changes, partial(files.install, backups=backups()), _changes(agent, site))
    if args.has("share"):
        share(settings_for(args))
    found = {} if args.has("no-check") else check_agents(agents, site)
    for agent, changes in planned:
        unchecked = Finding(Severity.WARNING, "not checked", f"{program()} doctor {agent.name}")
        _show(agent, changes, found.get(agent.name, [unchecked]), site, verbose=args.has("verbose"))
    dead = any(finding.severity is Severity.ERROR for findings in found.values() for finding in findings)
    return TildoneError.exit_code if dead else 0


def check_agents(agents: Sequence[Integration], site: Site) -> dict[str, list[Finding]]:
    """Start what the settings files of these agents now contain, and return the findings by agent."""
    installed = [(agent.name, examine(agent, site)) for agent in agents]
    launches = [launch for _, found in installed if found is not None for launch in found.launches]
    with ProgressLine() as progress:
        results = probe_all(
            launches, site.project, lambda done, total: progress("checking the installation", done, total, "commands")
        )
    this = version("tildone")
    found = {name: [*report(each, results, this)] if each is not None else [] for name, each in installed}
    return {agent.name: [*found[agent.name], *too_old(agent)] for agent in agents}


def _changes(agent: Integration, site: Site) -> Callable[[], list[SettingsChange]]:
    """A function that computes the changes from the files as they are when it is called."""
    edits = edits_for(agent.configure, site)
    if not edits:
        raise UsageError(f"{agent.title} has no settings for these options; nothing was installed")
    return lambda: files.install_changes(edits, backups(), site.within)


def _show(
    agent: Integration, changes: Sequence[SettingsChange], found: Sequence[Finding], site: Site, *, verbose: bool
) -> None:
    put(f"Installed into {agent.title}:" if changes else f"{agent.title} {SET_UP_ALREADY}.")
    show_changes(changes, verbose=verbose)
    for finding in found:
        put_spans(finding_lines(finding))
    works = not any(finding.severity is Severity.ERROR for finding in found)
    if changes and works:
        put(f"Next: restart {agent.title}. {agent.after_install}".rstrip())
        # What silences it now is what it asks about, and has been told.
        is_told = any(SILENCED in finding.what for finding in found)
        for prompt in () if is_told else agent.prompts.get(site.scope, ()):
            put(f"{agent.title} will ask {prompt}.")
        if not site.for_user:
            put(f"{NEEDED_BY_OTHERS} {distribution.install_anywhere()}")


NOTHING = "has no tildone in its settings"


def run_uninstall(args: ParsedArgs) -> int:
    if not args.has("dry-run"):
        check_person(settings_for(args), PersonAct.UNINSTALL)
    site = site_for(args, any_program)
    planned = [(agent, _uninstall_changes(agent, site)()) for agent in agents_named(args.positional, site)]
    if not planned:
        return none_found()
    for agent, changes in planned:
        if args.has("dry-run"):
            preview(agent, changes, NOTHING)
            continue
        files.write_all(changes, partial(files.uninstall, backups=backups()), _uninstall_changes(agent, site))
        files.forget(edits_for(agent.configure, site), backups(), site.within)
        put(f"Removed from {agent.title}:" if changes else f"{agent.title} {NOTHING}.")
        show_changes(changes, verbose=args.has("verbose"))
        if changes:
            put(f"Next: restart {agent.title}. Plans are kept.")
    return 0


def _uninstall_changes(agent: Integration, site: Site) -> Callable[[], list[SettingsChange]]:
    edits = edits_for(agent.configure, site)
    return lambda: files.uninstall_changes(edits, backups(), site.within)
