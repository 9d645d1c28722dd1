"""`tildone fleet add` and `schedule`: the plans and the work that a command line names, run once or again and again."""

import os
import re
from collections.abc import Sequence
from datetime import UTC
from zoneinfo import ZoneInfo

from tildone.app.importing import read_file, source_of
from tildone.app.settings import Settings, project_root
from tildone.base import MAX_DIGITS, NotFound, Refused, UsageError, nearest, replace, shortened, value
from tildone.base.ids import now, timestamp
from tildone.cli.fleet import opening
from tildone.cli.output import put, put_notice
from tildone.cli.output.prompts import put_data, put_done, tell_reach
from tildone.cli.output.titles import session_meant
from tildone.cli.run.setup import NO_LIMITS, plan_from_file
from tildone.cli.table import ParsedArgs
from tildone.fleet.drivers import AGENTS, RUN, SHELL
from tildone.log.cron import next_time, parse_cron
from tildone.plan.codec import dump, plan_to_json
from tildone.plan.events import Fact, PlanChanged, latest_state
from tildone.plan.formats.detection import PlanFile
from tildone.plan.guard import PLAN, is_unproved, reopened
from tildone.plan.lists import RunSchedule
from tildone.plan.model import Plan, numbered, open_tasks, with_source
from tildone.plan.names import MAX_HANDS, check_name, is_address, provider_family
from tildone.plan.rare_steps import written
from tildone.plan.reduce import reduce
from tildone.plan.runs import Lease, NewRun, Work, check_work
from tildone.plan.text.amounts import format_count
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.safe import printable
from tildone.run.shell_model import commands_of, title_of

MAX_STEM = 40
SUFFIX_BYTES = 3


@value
class NamedPlan:
    """A plan as a command line names it. Without a file, `word` names a session. `run` is the name of the new run."""

    word: str
    run: str
    file: PlanFile | None = None


def plan_file(path: str) -> PlanFile:
    """Read a file with a plan, with its tasks marked as coming from it. What of it is not used is printed."""
    file = read_file(path, None)
    if not isinstance(file, PlanFile):
        raise Refused(f"{printable(path)} is a history; import it first, then name its session: tildone import FILE")
    if not file.plan.tasks:
        raise Refused(f"{printable(path)} contains no tasks")
    for warning in file.warnings:
        put_notice(f"tildone: {printable(path)}: {printable(warning.text())}")
    return replace(file, plan=with_source(file.plan, source_of(path)))


def new_run(
    fleet: opening.Fleet, plan: NamedPlan, work: Work, hands: int, *, restart: bool
) -> tuple[NewRun, Sequence[Fact]]:
    """Return the run of a plan, and what is to be recorded in its session before."""
    if plan.file is not None:
        session = _session_of(plan.word)
        changes = _changes(fleet, session, plan.file, restart=restart)
        after = changes[0].plan if changes else latest_state(fleet.store.history(session)).plan
        check_work_left(after, plan.word, ", or to begin again: --restart")
        check_commands(after, work.agent, plan.word)
        return NewRun(plan.run, session, work, hands, title=plan.file.title), changes
    session = session_meant(plan.word, fleet.store)
    if fleet.store.session_head(session).head is None:
        raise NotFound(f"there is no file and no session {printable(shortened(plan.word))!r}")
    state = latest_state(fleet.store.history(session))
    check_work_left(state.plan, plan.word)
    check_commands(state.plan, work.agent, plan.word)
    return NewRun(plan.run, session, work, hands), ()


def check_work_left(plan: Plan, word: str, other: str = "") -> None:
    """Check that there is something to do. `word` names the plan, and `other` says what else a person can do."""
    if not open_tasks(plan) and not is_unproved(plan):
        raise Refused(f"all tasks of {printable(word)} are closed; add tasks to it{other}")


def check_commands(plan: Plan, agent: str, word: str) -> None:
    """Check that the shell agent, which has no model, can do every task. `word` names the plan."""
    if agent != SHELL:
        return
    tasks = [task for _, task in open_tasks(numbered(plan)) if task.check is None and not commands_of(task)]
    if tasks:
        listed = "".join(f"\n  {printable(title_of(task))}" for task in tasks[: opening.MAX_LISTED])
        more = f"\n  and {len(tasks) - opening.MAX_LISTED:,} more" if len(tasks) > opening.MAX_LISTED else ""
        have = "a task has" if len(tasks) == 1 else f"{len(tasks):,} tasks have"
        raise Refused(
            f"{printable(word)}: {have} no command, and the agent shell has no model:{listed}{more}\n"
            "End each with its command in `backticks`, or choose who does the work: --agent claude"
        )


def _session_of(path: str) -> str:
    """Return the session of a file: its path, so that a file has one plan wherever it is named from."""
    session = os.path.realpath(path)
    if not session.isprintable():
        raise UsageError(f"the path of {printable(shortened(path))!r} has characters that cannot be printed; rename it")
    return session


def _changes(fleet: opening.Fleet, session: str, file: PlanFile, *, restart: bool) -> Sequence[PlanChanged]:
    state = latest_state(fleet.store.history(session))
    wanted = plan_from_file(state.plan, file, restart=restart)
    if wanted == state.plan:
        return ()
    outcome = reduce(state.plan, written(wanted), NO_LIMITS)
    if outcome.faults:
        raise Refused(f"{printable(file.path)}: {'; '.join(map(describe_fault, outcome.faults))}")
    # What is begun again is proved again, also if its files are as they were.
    open_again = {task.number for _, task in open_tasks(outcome.after)} | {PLAN} if restart else set()
    return (PlanChanged(reopened(outcome.after, open_again), directive=state.directive, ledger=state.ledger),)


def run_stem(word: str) -> str:
    """Return the name of a file or session, with the characters that names of runs may have."""
    name, _ = os.path.splitext(os.path.basename(os.path.abspath(word)))
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name[:MAX_STEM])
    return "-".join(filter(None, kept.split("-"))) or "run"


def work_of(args: ParsedArgs, settings: Settings) -> Work:
    model = args.options.get("model", "")
    agent = checked_agent(args.options.get("agent") or (RUN if model else SHELL))
    work = Work(
        repo=_repository(args.options.get("repo"), settings),
        provider=_provider(agent, model),
        labels=listed(args, "labels"),
        priority=_priority(args.options.get("priority", "0")),
        agent=agent,
        model=model,
        allow=args.values("allow"),
        ref=args.options.get("ref", ""),
    )
    check_work(work)
    tell_reach("--allow", work.allow)
    return work


def listed(args: ParsedArgs, option: str) -> tuple[str, ...]:
    """Return the words of an option that takes several, with commas between, and may be repeated; each once."""
    words = (word.strip() for given in args.values(option) for word in given.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def checked_agent(name: str) -> str:
    if name not in AGENTS:
        raise UsageError(f"there is no agent {shortened(name)!r}; {nearest(name, tuple(AGENTS))}")
    return name


def _repository(given: str | None, settings: Settings) -> str:
    """Return the repository: an address as it is, a folder as an absolute path; empty if there is none."""
    if given is None:
        root = os.path.realpath(project_root(os.getcwd()))
        return root if os.path.exists(os.path.join(root, ".git")) else ""
    if is_address(given):
        return given.rstrip("/")
    path = os.path.realpath(os.path.expanduser(given))
    # Workers of a store on this machine run here; others may have folders that this machine lacks.
    if settings.store.path is not None and not os.path.isdir(path):
        raise NotFound(f"there is no folder {path}")
    return path


def _provider(agent: str, model: str) -> str:
    if agent == SHELL:
        return ""
    # Some agents have models of one provider only, whatever the names of these look like.
    name, *rest = re.split("[:/]", model, maxsplit=1)
    return AGENTS.entries[agent] or (provider_family(name) if rest else "")


def _priority(given: str) -> int:
    digits = given.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > MAX_DIGITS:
        raise UsageError(f"--priority requires a whole number, not {shortened(given)!r}")
    return int(given)


def add(args: ParsedArgs) -> int:
    hands = args.positive_int("hands", 1, MAX_HANDS)
    work = work_of(args, opening.fleet_settings(args))
    plans = [
        NamedPlan(
            word,
            f"{run_stem(word)}-{os.urandom(SUFFIX_BYTES).hex()}",
            plan_file(word) if os.path.exists(word) else None,
        )
        for word in args.positional
    ]
    # The names of the runs stay the same, so that a run whose answer was lost is not queued twice.
    added = opening.patiently(lambda: _added(args, plans, work, hands))
    if args.has("json"):
        put_data(runs=[{"run": each[0].run, "session": each[0].session, "hands": len(each)} for each in added])
        return 0
    for plan, leases in zip(plans, added, strict=True):
        more = f", {format_count(len(leases), 'hand')}" if len(leases) > 1 else ""
        put(f"Queued {leases[0].run}: {printable(plan.word)}{more}")
    return 0


def _added(args: ParsedArgs, plans: Sequence[NamedPlan], work: Work, hands: int) -> list[list[Lease]]:
    fleet = opening.open_fleet(args, timeout=opening.ATTEMPT_SECONDS)
    try:
        restart = args.has("restart")
        return fleet.leases.add_all([new_run(fleet, plan, work, hands, restart=restart) for plan in plans])
    finally:
        fleet.store.close()


MAX_NAME = 40
"""Names of runs are longer: they end with the time."""


def list_schedules(args: ParsedArgs) -> int:
    fleet = opening.fleet_if_any(args)
    found = fleet.leases.schedules() if fleet else []
    if args.has("json"):
        put_data(schedules=[_schedule_data(schedule) for schedule in found])
        return 0
    if not found:
        put('There are no schedules. To add one: tildone fleet schedule "0 3 * * *" PLAN')
    for schedule in found:
        zone = f" {schedule.zone}" if schedule.zone else ""
        last = f", last run {schedule.last}" if schedule.last else ""
        put(printable(f"{schedule.name}  {schedule.cron}{zone}, next at {timestamp(schedule.next)}{last}"))
    return 0


def _schedule_data(schedule: RunSchedule) -> dict[str, object]:
    return {
        "name": schedule.name,
        "cron": schedule.cron,
        "zone": schedule.zone or "UTC",
        "next": timestamp(schedule.next),
        "last": schedule.last or None,
        "agent": schedule.work.agent,
        "repo": schedule.work.repo or None,
    }


def add_schedule(args: ParsedArgs) -> int:
    cron, path = args.positional
    zone = args.options.get("zone", "")
    fields = parse_cron(cron)
    try:
        time_zone = ZoneInfo(zone) if zone else UTC
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"there is no time zone {shortened(zone)!r}, such as Europe/Berlin") from error
    following = next_time(fields, now(), time_zone)
    if not os.path.exists(path):
        raise NotFound(f"there is no file {printable(shortened(path))!r}")
    name = args.options.get("name") or run_stem(path)
    check_name("the name of a schedule", name)
    if len(name) > MAX_NAME:
        raise UsageError(f"the name of a schedule has at most {MAX_NAME} characters, not {len(name)}")
    plan = numbered(plan_file(path).plan)
    fleet = opening.open_fleet(args)
    work = work_of(args, fleet.settings)
    check_commands(plan, work.agent, path)
    known = {schedule.name: schedule for schedule in fleet.leases.schedules()}
    last = known[name].last if name in known else ""
    fleet.leases.set_schedule(RunSchedule(name, cron, dump(plan_to_json(plan)), following, work, zone, last))
    text = f"{'Changed' if name in known else 'Added'} {name}: {cron}, next at {timestamp(following)}"
    return put_done(args, text, name=name, next=timestamp(following), replaced=name in known)


def remove_schedules(args: ParsedArgs) -> int:
    leases = opening.open_existing_fleet(args).leases
    known = tuple(schedule.name for schedule in leases.schedules())
    for name in args.positional:
        if name not in known:
            hint = nearest(name, known, "to list them: tildone fleet schedule")
            raise NotFound(f"there is no schedule {printable(shortened(name))!r}; {hint}")
    removed = [name for name in dict.fromkeys(args.positional) if leases.unschedule(name)]
    return put_done(args, f"Removed {', '.join(removed)}. Runs that are queued stay.", removed=removed)
