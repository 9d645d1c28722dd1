"""The plan of a run: the project's, which `tildone todo` shows and other agents share.

A plan file becomes the project's plan in one change, which `tildone undo` takes back. A file with the tasks that the
plan already consists of changes nothing, so that a run of the same file continues where the last one stopped. Of a
file with other tasks, those that are in the plan as well keep their statuses: what is done is not done again.
"""

from __future__ import annotations

import os

from tildone.app.edits import replace_plan
from tildone.app.importing import source_of
from tildone.app.opening import open_session, open_store
from tildone.config import Settings
from tildone.core.origins import with_source
from tildone.core.plan import Phase, Plan, Task
from tildone.core.query import open_tasks
from tildone.core.rules import Rules
from tildone.dialects.by_hand import BY_HAND
from tildone.distribution import program
from tildone.formats.detection import PlanFile
from tildone.kit.formatting import format_count
from tildone.log.store import Store
from tildone.session import Session
from tildone.stores.memory import MemoryStore
from tildone.value import replace
from tildone.views.sanitize import printable

NO_LIMITS = Rules()
"""A plan from a file has no limits."""


def plan_from_file(current: Plan, file: PlanFile, *, restart: bool) -> Plan:
    """Return the plan after a file was taken over. With `restart` the statuses are those of the file."""
    if restart:
        return file.plan
    if _texts(current) == _texts(file.plan):
        return current
    statuses = {(phase.name, task.text): task.status for phase in current.phases for task in phase.tasks}

    def kept(phase: Phase, task: Task) -> Task:
        return replace(task, status=statuses.get((phase.name, task.text), task.status)) if task.status.is_open else task

    phases = (replace(phase, tasks=tuple(kept(phase, task) for task in phase.tasks)) for phase in file.plan.phases)
    return replace(file.plan, phases=tuple(phases))


def take_over(session: Session, file: PlanFile, options: str, *, restart: bool) -> list[str]:
    """Make the file the plan of the session, which `options` name. Return what the person should know of it."""
    before = session.state.head
    given = replace(file, plan=with_source(file.plan, source_of(file.path)))
    outcome = replace_plan(session, lambda plan: plan_from_file(plan, given, restart=restart), NO_LIMITS)
    notices = [f"{printable(file.path)}: {warning.text()}" for warning in file.warnings]
    here = {task.text for task in outcome.after.tasks}
    replaced = [task for _, task in open_tasks(outcome.before) if task.text not in here]
    if replaced:
        count = format_count(len(replaced), "open task")
        undo = f"{program()} undo{options}, or later {program()} checkout{options} {before}"
        notices.append(f"{count} of the plan so far replaced by {printable(file.path)}; to bring them back: {undo}")
    return notices


def memory_store(settings: Settings, *, copied: bool) -> Store:
    """Return a store in memory; `copied` means that it holds a copy of the project's plan."""
    store = MemoryStore()
    path = settings.store.path
    if copied and (path is None or os.path.exists(path)):
        plan = open_session(settings, BY_HAND, open_store(settings, read_only=True)).plan
        replace_plan(open_session(settings, BY_HAND, store), plan, NO_LIMITS)
    return store


def _texts(plan: Plan) -> list[tuple[str, tuple[str, ...]]]:
    return [(phase.name, tuple(task.text for task in phase.tasks)) for phase in plan.phases]
