"""Claims as text: which tasks other agents have, and where an agent left off whose task another one takes over."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.claims import next_free
from tildone.plan.model import Status
from tildone.plan.text.amounts import MINUTE
from tildone.plan.text.faults import describe_fault, task_name
from tildone.plan.text.safe import clipped, short_agent, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.plan.claims import Claim
    from tildone.plan.faults import NotYours
    from tildone.plan.model import Plan, Task

MAX_NOTES, MAX_NOTE = 3, 300


def fault_line(fault: NotYours) -> str:
    """Return what an agent is told of a task that stays as it is."""
    text = describe_fault(fault)
    return f"{text[:1].upper()}{text[1:]}."


def free_line(plan: Plan, taken: frozenset[int], after: int, *, numbered: bool) -> list[str]:
    """Say which task an agent can start that cannot have another one; nothing if it has one in progress."""
    task = next_free(plan, taken, after)
    if task is not None:
        return [f"Free: {_name(task, numbered=numbered)}"]
    active = any(each.status is Status.IN_PROGRESS and each.number not in taken for each in plan.tasks)
    return [] if active else ["No other task is ready."]


def successor_lines(plan: Plan, taken: Iterable[Claim], *, numbered: bool) -> list[str]:
    """Return where other agents left off whose tasks an agent takes over: their working trees, branches and notes."""
    tasks = {task.number: task for task in plan.tasks}
    lines = []
    for claim in taken:
        before, task = claim.before, tasks.get(claim.task)
        if before is None or task is None:
            continue
        tree = f" in {shown_text(before.worktree)}" if before.worktree else ""
        branch = f" on branch {shown_text(before.branch)}" if before.branch else ""
        lines.append(
            f"{_name(task, numbered=numbered)} was begun by {shown_text(short_agent(before.agent))}{tree}{branch}."
        )
        lines += [f"  note: {clipped(shown_text(note), MAX_NOTE)}" for note in task.notes[-MAX_NOTES:]]
    return lines


def holder_text(claim: Claim, now: int) -> str:
    """Return who works on a task, for how long from `now` in ms it is reserved, and from whom it was taken over."""
    minutes = -(-(claim.until - now) // MINUTE)
    if minutes > 0:
        held = f"held by {short_agent(claim.agent)} for {minutes} min"
    else:
        held = f"left by {short_agent(claim.agent)}: others can take it over"
    before = f", taken over from {short_agent(claim.before.agent)}" if claim.before else ""
    return held + before


def _name(task: Task, *, numbered: bool) -> str:
    return task_name(task.number if numbered else 0, task.text)
