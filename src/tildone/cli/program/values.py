"""Where the values come from that complete arguments and options: registries, the plan, the store."""

from __future__ import annotations

from itertools import islice

from tildone.cli.opening import open_to_read, settings_for, with_session
from tildone.config.values import THEMES
from tildone.core.plan import Status
from tildone.dialects import DIALECTS
from tildone.ids import local_time
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tildone.cli.parsing.table import ParsedArgs
    from tildone.core.plan import Plan
    from tildone.log.fleet.port import RunLeases
    from tildone.log.store import Store

    Provider = Callable[[ParsedArgs, str], Iterable["Candidate"]]

STORE_TIMEOUT_SECONDS = 0.5
MAX_EVENTS = 50
MAX_SESSIONS = 200
NUMBER_MARKS = "#[]"
SHELLS = ("bash", "zsh", "fish")


@value
class Candidate:
    """A text that can complete a word, and what it means."""

    text: str
    meaning: str = ""


def tasks(args: ParsedArgs, current: str) -> Iterable[Candidate]:
    """Numbers of tasks, or texts once letters are typed; after a text, no further task can follow."""
    if not all(_is_number(word) for word in args.positional):
        return
    plan = _plan(args)
    wants_open = args.verb.name in ("done", "start", "drop", "block")
    for task in plan.tasks:
        if wants_open and not task.status.is_open:
            continue
        if current and not _is_number(current):
            yield Candidate(task.text, f"#{task.number} {_word(task.status)}")
        else:
            mark = "#" if current.startswith("#") else ""
            yield Candidate(f"{mark}{task.number}", f"{task.text} ({_word(task.status)})")


def phases(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    """The names of the plan's phases."""
    for phase in _plan(args).phases:
        if phase.name:
            open_ones = sum(task.status.is_open for task in phase.tasks)
            yield Candidate(phase.name, f"{open_ones} of {len(phase.tasks)} tasks open")


def sessions(args: ParsedArgs, current: str) -> Iterable[Candidate]:
    """The titles of sessions, or their names where titles are not unique or names are being typed."""
    # Late, because few command lines name a session.
    from tildone.cli.output.titles import titled_sessions  # noqa: PLC0415  see above

    options = {name: given for name, given in args.options.items() if name != "session"}
    settings = settings_for(replace(args, options=options))
    found = titled_sessions(open_to_read(settings, STORE_TIMEOUT_SECONDS))[:MAX_SESSIONS]
    titles = [each.title for each in found]
    for each in found:
        if titles.count(each.title) == 1:
            yield Candidate(each.title, each.info.name)
        if current or titles.count(each.title) > 1:
            yield Candidate(each.info.name, each.title)


def events(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    """Labels and recent changes of the plan."""
    # Late, because few command lines name an event.
    from tildone.log.refs import SHORT_ID_LENGTH, events_by_label  # noqa: PLC0415  see above

    store, session = _opened(args)
    yield from (Candidate("head", "the current state"), Candidate("root", "before the first change"))
    recent = list(islice(store.history(session), MAX_EVENTS))
    yield from (Candidate(label, "a label") for label in events_by_label(reversed(recent)))
    yield from (Candidate(event.id[:SHORT_ID_LENGTH], local_time(event.at)) for event in recent)


def agents(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    """The coding agents that are not named yet."""
    # Late, because few command lines name an agent.
    from tildone.integrations import INTEGRATIONS  # noqa: PLC0415  see above

    return (Candidate(name) for name in (*INTEGRATIONS, "all") if name not in args.positional)


def agents_with_hooks(_args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    from tildone.integrations import names_with_hooks  # noqa: PLC0415  as above

    return (Candidate(name) for name in names_with_hooks())


def formats(_args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    # Late, because few command lines name a format.
    from tildone.formats.detection import FORMATS  # noqa: PLC0415  see above

    return map(Candidate, FORMATS)


def export_formats(_args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    from tildone.cli.transfer.export import EXPORT_FORMATS  # noqa: PLC0415  as above

    return map(Candidate, EXPORT_FORMATS)


def modes(_args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    """The modes of `tildone run`."""
    from tildone.cli.run.arguments import MODES  # noqa: PLC0415  as above

    return map(Candidate, MODES)


def questions(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    """The ids of the open questions of agents."""
    store, _ = _opened(args)
    return (Candidate(need.id, need.text) for need in store.records.needs())


def answers(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    store, _ = _opened(args)
    return (
        Candidate(option) for need in store.records.needs() if need.id in args.positional for option in need.options
    )


def runs(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    """The runs of a fleet that are not named yet."""
    leases = _leases(args)
    states = {view.lease.run: view.lease.state.value for view in leases.look()}
    return (Candidate(run, state) for run, state in states.items() if run not in args.positional)


def workers(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    return (Candidate(worker.id, worker.version) for worker in _leases(args).workers())


def schedules(args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    return (Candidate(schedule.name, schedule.cron) for schedule in _leases(args).schedules())


def fleet_agents(_args: ParsedArgs, _current: str) -> Iterable[Candidate]:
    from tildone.fleet.drivers import AGENTS  # noqa: PLC0415  as above

    return map(Candidate, AGENTS)


_STORES = (Candidate("jsonl:", "a folder of session files"), Candidate("postgresql://", "a PostgreSQL database"))

PROVIDERS: dict[str, Provider] = {
    "AGENT": agents,
    "AGENT_WITH_HOOKS": agents_with_hooks,
    "ANSWER": answers,
    "DIALECT": lambda *_: (Candidate(name, ", ".join(entry.tools)) for name, entry in DIALECTS.entries.items()),
    "EVENT": events,
    "EXPORT_FORMAT": export_formats,
    "FLEET_AGENT": fleet_agents,
    "FORMAT": formats,
    "MODE": modes,
    "PHASE": phases,
    "QUESTION": questions,
    "RUN": runs,
    "SCHEDULE": schedules,
    "SCOPE": lambda *_: (
        Candidate("user", "all your projects"),
        Candidate("project", "this project, in files to share"),
    ),
    "SESSION": sessions,
    "SHELL": lambda *_: map(Candidate, SHELLS),
    "STATE": lambda *_: (
        Candidate("on", "all agents work on one plan"),
        Candidate("off", "each agent has a plan of its own"),
    ),
    "STATUS": lambda *_: (Candidate(status.value) for status in Status),
    "STORE": lambda *_: _STORES,
    "TASK": tasks,
    "THEME": lambda *_: map(Candidate, THEMES),
    "TO": lambda *_: _STORES,
    "TOOL": lambda *_: (Candidate(tool, name) for name, entry in DIALECTS.entries.items() for tool in entry.tools),
    "WORKER": workers,
}
"""Where the values come from, by the words in capitals that help texts use."""


def _plan(args: ParsedArgs) -> Plan:
    # Late, because most completions need no plan.
    from tildone.log.state import latest_state  # noqa: PLC0415  see above

    store, session = _opened(args)
    return latest_state(store.history(session)).plan


def _leases(args: ParsedArgs) -> RunLeases:
    # Late, because few command lines name runs.
    from tildone.app.opening import run_leases  # noqa: PLC0415  see above
    from tildone.cli.fleet.opening import fleet_settings  # noqa: PLC0415  see above

    return run_leases(open_to_read(fleet_settings(args), STORE_TIMEOUT_SECONDS))


def _opened(args: ParsedArgs) -> tuple[Store, str]:
    settings = settings_for(args)
    store = open_to_read(settings, STORE_TIMEOUT_SECONDS)
    return store, with_session(args, settings, store).session


def _is_number(word: str) -> bool:
    return word.strip(NUMBER_MARKS).isdecimal() or word in NUMBER_MARKS


def _word(status: Status) -> str:
    return str(status.value).replace("_", " ")
