"""The plans that a command line names: files, or sessions of the store. Each becomes a run that can be queued."""

from __future__ import annotations

import os

from tildone.cli.fleet.opening import MAX_LISTED, Fleet
from tildone.cli.output.screen import put_notice
from tildone.cli.output.titles import session_meant
from tildone.cli.run.project_plan import NO_LIMITS, plan_from_file
from tildone.cli.transfer.reading import read_file, source_of
from tildone.core.arrange import written
from tildone.core.guard import PLAN, is_unproved, reopened
from tildone.core.numbers import numbered
from tildone.core.origins import with_source
from tildone.core.query import open_tasks
from tildone.core.reduce import reduce
from tildone.errors import NotFound, Refused, UsageError, shortened
from tildone.fleet.drivers import SHELL
from tildone.formats.detection import PlanFile
from tildone.log.events import PlanChanged
from tildone.log.fleet.lease import NewRun, Work
from tildone.log.state import latest_state
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value
from tildone.views.faults import describe_fault
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan
    from tildone.log.events import Fact

MAX_STEM = 40
SUFFIX_BYTES = 3


@value
class NamedPlan:
    """A plan as a command line names it. Without a file, `word` names a session. `run` is the name of the new run."""

    word: str
    run: str
    file: PlanFile | None = None


def named_plan(word: str) -> NamedPlan:
    """Return the plan that a word names. A file is read; whether there is a session is seen later.

    Raises:
        Refused: the file has no tasks, or is a history.
        TildoneError: it cannot be read.
    """
    file = plan_file(word) if os.path.exists(word) else None
    return NamedPlan(word, f"{run_stem(word)}-{os.urandom(SUFFIX_BYTES).hex()}", file)


def plan_file(path: str) -> PlanFile:
    """Read a file with a plan, with its tasks marked as coming from it. What of it is not used is printed.

    Raises:
        Refused: the file has no tasks, or is a history.
        TildoneError: it cannot be read.
    """
    file = read_file(path, None)
    if not isinstance(file, PlanFile):
        raise Refused(f"{printable(path)} is a history; import it first, then name its session: tildone import FILE")
    if not file.plan.tasks:
        raise Refused(f"{printable(path)} contains no tasks")
    for warning in file.warnings:
        put_notice(f"tildone: {printable(path)}: {printable(warning.text())}")
    return replace(file, plan=with_source(file.plan, source_of(path)))


def new_run(fleet: Fleet, plan: NamedPlan, work: Work, hands: int, *, restart: bool) -> tuple[NewRun, Sequence[Fact]]:
    """Return the run of a plan, and what is to be recorded in its session before.

    Raises:
        NotFound: there is neither a file nor a session of that name.
        Refused: there is nothing to do, or the agent cannot do a task of the plan.
    """
    if plan.file is not None:
        session = _session_of(plan.word)
        changes = _changes(fleet, session, plan.file, restart=restart)
        after = changes[0].plan if changes else latest_state(fleet.store.history(session)).plan
        check_work_left(after, plan.word, ", or to begin again: --restart")
        check_commands(after, work.agent, plan.word)
        return NewRun(plan.run, session, work, hands), changes
    session = session_meant(plan.word, fleet.store)
    if fleet.store.session_head(session).head is None:
        raise NotFound(f"there is no file and no session {printable(shortened(plan.word))!r}")
    state = latest_state(fleet.store.history(session))
    check_work_left(state.plan, plan.word)
    check_commands(state.plan, work.agent, plan.word)
    return NewRun(plan.run, session, work, hands), ()


def check_work_left(plan: Plan, word: str, other: str = "") -> None:
    """Check that there is something to do. `word` names the plan, and `other` says what else a person can do.

    Raises:
        Refused: all tasks are closed, and the check of the plan has passed if it has one.
    """
    if not open_tasks(plan) and not is_unproved(plan):
        raise Refused(f"all tasks of {printable(word)} are closed; add tasks to it{other}")


def check_commands(plan: Plan, agent: str, word: str) -> None:
    """Check that the shell agent, which has no model, can do every task. `word` names the plan.

    Raises:
        Refused: an open task has neither a command nor a check.
    """
    if agent != SHELL:
        return
    # Late, because its package imports asyncio, and few plans are for the shell agent.
    from tildone.host.shell_model.script import commands_of, title_of  # noqa: PLC0415  see above

    tasks = [task for _, task in open_tasks(numbered(plan)) if task.check is None and not commands_of(task)]
    if tasks:
        listed = "".join(f"\n  {printable(title_of(task))}" for task in tasks[:MAX_LISTED])
        more = f"\n  and {len(tasks) - MAX_LISTED:,} more" if len(tasks) > MAX_LISTED else ""
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


def _changes(fleet: Fleet, session: str, file: PlanFile, *, restart: bool) -> Sequence[PlanChanged]:
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
