"""`tildone doctor`: check the program, its settings, the project's plan, the store and the coding agents."""

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from shlex import quote
from shutil import disk_usage

from tildone.agents.doctor import examine_all, is_present, own_listings, report, too_old
from tildone.agents.doctor.probe import probe_all
from tildone.agents.integrations import INTEGRATIONS
from tildone.app.opening import open_store
from tildone.app.settings import Settings, data_folder, load_valid, origins
from tildone.app.values import CHECK_ALLOW, KEYS
from tildone.base import (
    NotFound,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    TildoneError,
    UsageError,
    distribution,
    nearest,
    value,
)
from tildone.base.distribution import program, upgrade
from tildone.base.private import PRIVATE_FILE, PRIVATE_FOLDER
from tildone.base.processes import processes_with_open
from tildone.cli.agents.install import agents_named, sites
from tildone.cli.opening import working_folder
from tildone.cli.output import put, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.output.titles import ProgressLine, finding_lines
from tildone.cli.table import ParsedArgs
from tildone.log.kept import Finding, Severity
from tildone.plan.dialects import DIALECTS
from tildone.plan.events import Directive, State, latest_state
from tildone.plan.model import progress
from tildone.plan.shell.danger import told
from tildone.plan.text.amounts import describe_bound, format_count, size
from tildone.plan.text.styles import Span, clip_text
from tildone.stores import StoreAddress, store_kind

Check = tuple[str, Callable[["CheckContext"], Iterator[Finding]]]


@value
class CheckContext:
    """The settings and the flags they may come from; `progress` is called as a check advances.

    `problems` are what is wrong with settings that are left out of `settings`. `agents` are the names of the coding
    agents to check; empty means all of them. With `fix`, a check mends what it can, instead of suggesting it.
    """

    settings: Settings
    flags: Mapping[str, str]
    folder: str
    progress: ProgressLine
    problems: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    fix: bool = False


def run(args: ParsedArgs) -> int:
    findings: list[tuple[str, Finding]] = []
    with ProgressLine() as progress:
        for title, finding in _run_checks(args, progress):
            if not args.has("json"):
                progress.clear()
                before = findings[-1] if findings else ("", None)
                if before[0] != title:
                    put_spans([[Span(title, bold=True)]])
                put_spans(finding_lines(finding, before[1]))
            findings.append((title, finding))
    if args.has("json"):
        put_data(checks=[_as_data(*each) for each in findings])
    else:
        put(_summary([finding.severity for _, finding in findings]))
    return StoreError.exit_code if any(finding.severity is Severity.ERROR for _, finding in findings) else 0


def _run_checks(args: ParsedArgs, progress: ProgressLine) -> Iterator[tuple[str, Finding]]:
    """Run the checks one after the other. Invalid settings are a finding, and the other checks use the defaults."""
    if args.positional and args.has("fix"):
        raise UsageError("--fix changes the modes of tildone's own files; it takes no AGENT")
    folder = working_folder()
    settings, problems = load_valid(args.options, os.environ, folder)
    agents = tuple(agent.name for agent in agents_named(args.positional, sites(settings.project)[0]))
    context = CheckContext(settings, args.options, folder, progress, tuple(problems), agents, args.has("fix"))
    for title, check in CHECKS:
        if not args.positional or title == AGENTS:
            for finding in check(context):
                yield title, finding


def _summary(severities: list[Severity]) -> str:
    counts = (severities.count(Severity.ERROR), "problem"), (severities.count(Severity.WARNING), "warning")
    parts = [format_count(count, noun) for count, noun in counts if count]
    return f"{' and '.join(parts)} in {format_count(len(severities), 'finding')}." if parts else "No problems found."


def _as_data(title: str, finding: Finding) -> dict[str, str]:
    return {
        "name": title.lower(),
        "status": finding.severity.value,
        "message": finding.what,
        "remedy": finding.remedy,
    }


PURPOSES = {
    "mcp": "tildone mcp --http",
    "run": "models in tildone run",
    "postgres": "plans in PostgreSQL",
    "tui": "tildone watch",
    "web": "tildone board",
}


def versions(_context: CheckContext) -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(Severity.OK, f"tildone {version('tildone')}, Python {python}, {sys.platform}")
    own = distribution.script() or f"{sys.executable} -m {distribution.NAME}"
    yield Finding(Severity.OK, f"installed by {distribution.method()}: {own}")
    found = distribution.on_path(distribution.NAME)
    if found is not None and distribution.program() != distribution.NAME:
        what = f"tildone on your PATH is another copy: {found}"
        yield Finding(Severity.WARNING, what, f"remove it, or call this copy: {distribution.program()}")


def extras(_context: CheckContext) -> Iterator[Finding]:
    for extra, purpose in PURPOSES.items():
        if distribution.has_extra(extra):
            yield Finding(Severity.OK, f"{extra}: installed, for {purpose}")
        else:
            what = f"{extra}: not installed; it is needed for {purpose}"
            yield Finding(Severity.OK, what, distribution.install_extra(extra))


BUDGETS = ("max_cost", "max_tokens", "max_task_cost", "max_task_tokens", "max_task_minutes")
ZERO_DISABLES = ("max_nudges", "max_same", "max_minutes", "max_total", "max_hours", *BUDGETS)
"""The bounds that, at 0, are reached before an agent is continued for the first time."""


def settings_in_force(context: CheckContext) -> Iterator[Finding]:
    for problem in context.problems:
        yield Finding(Severity.ERROR, f"{problem}; until then, hooks do nothing", "correct it")
    if context.settings.untrusted:
        yield Finding(Severity.WARNING, context.settings.trust_notice.partition(";")[0], "tildone trust")
    dialect = context.settings.dialect
    if dialect and dialect not in DIALECTS:
        hint = nearest(dialect, tuple(DIALECTS))
        yield Finding(Severity.ERROR, f"there is no dialect {dialect!r}; {hint}", "correct the setting")
    for pattern in context.settings.check_allow:
        if warning := told(CHECK_ALLOW, pattern):
            yield Finding(Severity.WARNING, warning, "name the arguments, or approve checks one by one")
    origin = origins(context.flags, os.environ, context.folder)
    for key in KEYS:
        setting = getattr(context.settings, key)
        if setting not in (None, ""):
            where = f"from {origin[key]}" if key in origin else "default"
            yield _finding(key, setting, where)


def _finding(key: str, setting: object, where: str) -> Finding:
    text = f"{key}: {_setting_text(setting)} ({where})"
    if (key == "gate" and not setting) or (key in ZERO_DISABLES and setting == 0):
        origin = where.removeprefix("from ")
        remedy = f"unset {origin.removeprefix('$')}" if origin.startswith("$") else f"remove {key} from {origin}"
        return Finding(Severity.WARNING, f"{text}; agents that stop are never continued", remedy)
    return Finding(Severity.OK, text)


def _setting_text(setting: object) -> str:
    if isinstance(setting, StoreAddress):
        return setting.redacted
    return ("on" if setting else "off") if isinstance(setting, bool) else str(setting)


LOW_SPACE_BYTES = 200_000_000
CRITICAL_SPACE_BYTES = 10_000_000
"""Below these amounts of free space, the finding is a warning or an error."""

STORE_TIMEOUT_SECONDS = 3.0
"""Short, because a store that does not answer is a finding too."""

MAX_PROCESSES_LISTED = 5
MAX_COMMAND_COLUMNS = 100


def store(context: CheckContext) -> Iterator[Finding]:
    path = context.settings.store.path
    if path is not None and not os.path.exists(path):
        yield Finding(Severity.OK, f"there is no store at {path} yet; the first plan creates it")
        return
    try:
        opened = open_store(context.settings, timeout=STORE_TIMEOUT_SECONDS, read_only=True)
        try:
            yield from opened.check(lambda done, total: context.progress("checking the store", done, total))
        finally:
            opened.close()
    except NotFound as error:
        yield Finding(Severity.OK, str(error))
    except TildoneError as error:
        yield Finding(Severity.ERROR, str(error), _remedy(context.settings.store, error))


def permissions(context: CheckContext) -> Iterator[Finding]:
    path = context.settings.store.path
    found: list[str] = []
    if path is not None and os.path.exists(path):
        files = store_kind(context.settings.store).files(context.settings.store)
        found = [name for name in files if os.path.exists(name)]
    data = data_folder(os.environ)
    wrong = [*loose_modes([*loose_paths(data)], f"in {data}", fix=context.fix)]
    if path is not None and found:
        wrong += [finding for name in (os.path.dirname(path), *found) for finding in _access(name)]
        wrong += [finding for name in found for finding in _ownership(name, path)]
        if os.name == "posix" and _is_open_to_all(path):
            wrong += loose_modes([name for name in found if is_loose(name)], "of the store", fix=context.fix)
    if wrong or found:
        yield from wrong or [Finding(Severity.OK, "you can read and write the store, and other users cannot read it")]


def space(context: CheckContext) -> Iterator[Finding]:
    path = context.settings.store.path
    if path is None:
        return
    while not os.path.exists(path):
        path = os.path.dirname(path)
    free = disk_usage(path).free
    severity = (
        Severity.ERROR if free < CRITICAL_SPACE_BYTES else Severity.WARNING if free < LOW_SPACE_BYTES else Severity.OK
    )
    remedy = "" if severity is Severity.OK else f"free some space, or move the store: {program()} migrate FILE"
    yield Finding(severity, f"{size(free)} are free on the disk", remedy)


def other_processes(context: CheckContext) -> Iterator[Finding]:
    path = context.settings.store.path
    if path is None or not os.path.isfile(path):
        return
    found = processes_with_open(path)
    if found is None:
        yield Finding(Severity.OK, "this system does not tell which processes have the store open")
        return
    for holder in [holder for holder in found if holder.deleted][:MAX_PROCESSES_LISTED]:
        what = f"process {holder.pid} has a deleted store open: {clip_text(holder.command, MAX_COMMAND_COLUMNS)}"
        yield Finding(Severity.WARNING, what, "restart it if it does not switch to the new store by itself")
    active = [holder for holder in found if not holder.deleted]
    for holder in active[:MAX_PROCESSES_LISTED]:
        yield Finding(
            Severity.OK, f"process {holder.pid} has it open: {clip_text(holder.command, MAX_COMMAND_COLUMNS)}"
        )
    if len(active) > MAX_PROCESSES_LISTED:
        yield Finding(Severity.OK, f"{len(active) - MAX_PROCESSES_LISTED:,} more have it open")
    if not active:
        yield Finding(Severity.OK, "no other process has the store open")


def _remedy(store: StoreAddress, error: TildoneError) -> str:
    match error:
        case StoreTooNew():
            return upgrade()
        case StoreDamaged() if store_kind(store).replaceable(store):
            return f"restore a backup: {program()} restore FILE"
        case StoreBusy():
            return "wait, or see below which processes have it open"
        case _:
            return ""


def _access(name: str) -> Iterator[Finding]:
    is_folder = os.path.isdir(name)
    if not os.access(name, os.R_OK | (os.X_OK if is_folder else 0)):
        yield Finding(Severity.ERROR, f"you cannot read {name}", f"chmod u+r{'x' if is_folder else ''} {quote(name)}")
    if not os.access(name, os.W_OK):
        why = ", where SQLite writes its WAL" if is_folder else ""
        yield Finding(Severity.ERROR, f"you cannot write to {name}{why}", f"chmod u+w {quote(name)}")


def _ownership(name: str, path: str) -> Iterator[Finding]:
    if os.name != "posix":
        return
    owner, expected = os.stat(name).st_uid, os.stat(path).st_uid
    if owner != expected:
        yield Finding(
            Severity.WARNING, f"{name} belongs to another user than the store", f"chown {expected} {quote(name)}"
        )
    elif name == path and owner != os.geteuid():
        yield Finding(Severity.WARNING, f"{path} belongs to user {owner}, and you are user {os.geteuid()}")


def _is_open_to_all(path: str) -> bool:
    """Whether other users can read the file and traverse every folder above it."""
    if not os.stat(path).st_mode & stat.S_IROTH:
        return False
    above = os.path.dirname(os.path.realpath(path))
    while os.stat(above).st_mode & stat.S_IXOTH:
        if above == os.path.dirname(above):
            return True
        above = os.path.dirname(above)
    return False


HELD = {
    Directive.PAUSE: "agents are paused: they are not continued when they stop",
    Directive.STOP: "agents are stopped: their next tool call ends their turn",
}


def plan_of_project(context: CheckContext) -> Iterator[Finding]:
    settings = context.settings
    session = "" if settings.session == settings.project else f", session {settings.session!r}"
    state = _state(context)
    if state is None:
        yield Finding(Severity.OK, f"{settings.project}{session}: no plan yet")
        return
    counts = progress(state.plan)
    plan = f"{format_count(counts.total, 'task')}, {counts.total - counts.closed} open" if counts.total else "no tasks"
    yield Finding(Severity.OK, f"{settings.project}{session}: {plan}")
    if state.directive in HELD:
        yield Finding(Severity.WARNING, HELD[state.directive], f"{program()} resume")
    if state.tripped:
        bound = describe_bound(state.tripped.bound, state.tripped.limit)
        what = f"a bound was reached ({bound}), so that agents are not continued until you send them a prompt"
        yield Finding(Severity.WARNING, what, f"{program()} resume")


def _state(context: CheckContext) -> State | None:
    """The state of the session; None if there is none, or if the store is broken, which its own check reports."""
    path = context.settings.store.path
    if path is not None and not os.path.exists(path):
        return None
    try:
        store = open_store(context.settings, timeout=STORE_TIMEOUT_SECONDS, read_only=True)
    except TildoneError:
        return None
    try:
        state = latest_state(store.history(context.settings.session))
    except TildoneError:
        return None
    finally:
        store.close()
    return state if state.head is not None else None


OTHERS = stat.S_IRWXG | stat.S_IRWXO


def loose_modes(loose: Sequence[str], where: str, *, fix: bool) -> Iterator[Finding]:
    """What is to be said about the files and folders that other users may have access to; with `fix`, it is ended."""
    if not loose:
        return
    what = f"{len(loose):,} files and folders {where}" if len(loose) > 1 else loose[0]
    if not fix:
        has = "have modes that give" if len(loose) > 1 else "has a mode that gives"
        yield Finding(Severity.WARNING, f"{what} {has} other users access", f"{program()} doctor --fix")
        return
    failed = False
    for path in loose:
        try:
            _make_private(path)
        except OSError as error:
            failed = True
            yield Finding(Severity.ERROR, f"cannot change the mode of {path}: {error.strerror}")
    if not failed:
        yield Finding(Severity.OK, f"took access to {what} away from other users")


def is_loose(path: str) -> bool:
    """Return whether the mode of a file or folder gives other users access. A symbolic link has no mode of its own."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        # Files of the store come and go.
        return False
    return bool(mode & OTHERS) and not stat.S_ISLNK(mode)


def loose_paths(folder: str) -> Iterator[str]:
    """Yield the folder, and all files and folders below it, to which other users have access; no symbolic link."""
    if os.name != "posix" or not os.path.isdir(folder):
        return
    if is_loose(folder):
        yield folder
    for parent, folders, files in os.walk(folder):
        yield from filter(is_loose, (os.path.join(parent, name) for name in (*folders, *files)))


def _make_private(path: str) -> None:
    """Take the access to a file or folder away from other users. Raises OSError if it belongs to somebody else."""
    # Opened first, so that a link that takes the place of the file is not followed; a reader of a pipe would block.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.fchmod(file, PRIVATE_FOLDER if stat.S_ISDIR(os.fstat(file).st_mode) else PRIVATE_FILE)
    finally:
        os.close(file)


def coding_agents(context: CheckContext) -> Iterator[Finding]:
    project = context.settings.project
    here = sites(project)
    agents = agents_named(context.agents or tuple(INTEGRATIONS), here[0])
    installed = {agent.name: examine_all(agent, here) for agent in agents}
    launches = [launch for found in installed.values() for each in found for launch in each.launches]
    results = probe_all(
        launches, project, lambda done, total: context.progress("checking the agents", done, total, "commands")
    )
    with_tools = [agent for agent in agents if any(each.has_tools for each in installed[agent.name])]
    listings = own_listings(with_tools, project)
    this = version("tildone")
    for agent in agents:
        for each in installed[agent.name]:
            yield from report(each, results, this)
        if installed[agent.name]:
            yield from too_old(agent)
        if agent.name in listings:
            yield listings[agent.name]
        if not installed[agent.name] and (context.agents or is_present(agent, here[0])):
            where = "is here" if is_present(agent, here[0]) else "is not here"
            remedy = f"{program()} install {agent.name}"
            yield Finding(Severity.OK, f"{agent.title} {where}; tildone is not installed in it", remedy)


AGENTS = "Agents"
"""The only check that is run if coding agents are named."""

CHECKS: tuple[Check, ...] = (
    ("Program", versions),
    ("Extras", extras),
    ("Settings", settings_in_force),
    ("Project", plan_of_project),
    ("Store", store),
    ("Permissions", permissions),
    ("Space", space),
    ("In use", other_processes),
    (AGENTS, coding_agents),
)
"""The checks and their titles, in the order of the output."""
