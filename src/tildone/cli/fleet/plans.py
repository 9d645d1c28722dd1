"""The plans that a command line names: files, or sessions of the store. Each becomes a run that can be queued."""

from __future__ import annotations

import os

from tildone.cli.fleet.opening import Fleet
from tildone.cli.output.titles import session_meant
from tildone.cli.run.project_plan import NO_LIMITS, plan_from_file
from tildone.cli.transfer.reading import read_file, source_of
from tildone.core.arrange import written
from tildone.core.origins import with_source
from tildone.core.reduce import reduce
from tildone.errors import NotFound, Refused, UsageError, shortened
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
    """Read a file with a plan, with its tasks marked as coming from it.

    Raises:
        Refused: the file has no tasks, or is a history.
        TildoneError: it cannot be read.
    """
    file = read_file(path, None)
    if not isinstance(file, PlanFile):
        raise Refused(f"{printable(path)} is a history; import it first, then name its session: tildone import FILE")
    if not file.plan.tasks:
        raise Refused(f"{printable(path)} contains no tasks")
    return replace(file, plan=with_source(file.plan, source_of(path)))


def new_run(fleet: Fleet, plan: NamedPlan, work: Work, hands: int, *, restart: bool) -> tuple[NewRun, Sequence[Fact]]:
    """Return the run of a plan, and what is to be recorded in its session before.

    Raises:
        NotFound: there is neither a file nor a session of that name.
    """
    if plan.file is not None:
        session = _session_of(plan.word)
        return NewRun(plan.run, session, work, hands), _changes(fleet, session, plan.file, restart=restart)
    session = session_meant(plan.word, fleet.store)
    if fleet.store.session_head(session).head is None:
        raise NotFound(f"there is no file and no session {printable(shortened(plan.word))!r}")
    return NewRun(plan.run, session, work, hands), ()


def _session_of(path: str) -> str:
    """Return the session of a file: its path, so that a file has one plan wherever it is named from."""
    session = os.path.realpath(path)
    if not session.isprintable():
        raise UsageError(f"the path of {printable(shortened(path))!r} has characters that cannot be printed; rename it")
    return session


def _changes(fleet: Fleet, session: str, file: PlanFile, *, restart: bool) -> Sequence[Fact]:
    state = latest_state(fleet.store.history(session))
    wanted = plan_from_file(state.plan, file, restart=restart)
    if wanted == state.plan:
        return ()
    outcome = reduce(state.plan, written(wanted), NO_LIMITS)
    if outcome.faults:
        raise Refused(f"{printable(file.path)}: {'; '.join(map(describe_fault, outcome.faults))}")
    return (PlanChanged(outcome.after, directive=state.directive, ledger=state.ledger),)


def run_stem(word: str) -> str:
    """Return the name of a file or session, with the characters that names of runs may have."""
    name, _ = os.path.splitext(os.path.basename(os.path.abspath(word)))
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name[:MAX_STEM])
    return "-".join(filter(None, kept.split("-"))) or "run"
