"""Claims as text: which tasks other agents have, and where an agent left off whose task another one takes over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tildone.base import value
from tildone.plan.claims import Claim
from tildone.plan.model import Plan, Task
from tildone.plan.text.safe import clipped, printable, shown_text

MAX_TEXT = 80
MAX_AGENT = 16
"""How much of the name of an agent a person sees: `claude:5f0c1234…`."""

MAX_NOTES, MAX_NOTE = 3, 300
MS_PER_MINUTE = 60_000


@value
class ClaimNews:
    """What a change of an agent could not do, because of the tasks of others.

    `others` are the claims that were in the way, and `lost` those of tasks that the agent had. `refused` are the tasks
    that it could not change, `conflicts` those that it could not start, each with the task of another agent that may
    change the same files, `closed` those that were closed before it could start them, and `instead` is the task that
    was started in place of them; 0 if none was.
    """

    others: Mapping[int, Claim]
    lost: tuple[Claim, ...] = ()
    refused: tuple[int, ...] = ()
    conflicts: tuple[tuple[int, int], ...] = ()
    instead: int = 0
    closed: tuple[int, ...] = ()


def claim_lines(plan: Plan, news: ClaimNews, *, numbered: bool) -> list[str]:
    """Return what an agent is told of the tasks of others after a change: one line for each that it could not have."""
    tasks = {task.number: task for task in plan.tasks}

    def name(number: int) -> str:
        return _name(tasks[number], numbered=numbered) if number in tasks else f"task {number}"

    others, passed_on = news.others, {claim.task: claim for claim in news.lost}
    lines = [
        f"{name(number)} has passed to {shown_text(claim.agent)}: yours was silent for too long. "
        "Your change of it was not made."
        for number, claim in passed_on.items()
    ]
    for number in news.refused:
        if number not in passed_on:
            minutes = -(-others[number].remaining // MS_PER_MINUTE)
            left = f" (for {minutes} min unless it goes on)" if minutes else ""
            lines.append(f"{name(number)} is with {shown_text(others[number].agent)}{left}. Leave it to that agent.")
    lines += [
        f"{name(number)} was not started: it may change the same files as {name(rival)}, on which another agent works."
        for number, rival in news.conflicts
    ]
    lines += [f"{name(number)} was closed by others meanwhile. It stays so." for number in news.closed]
    if news.instead:
        lines.append(f"Started instead: {name(news.instead)}")
    elif lines and not any(task.status.is_actionable and task.number not in others for task in plan.tasks):
        lines.append("No other task is ready.")
    return lines


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
        lines.append(f"{_name(task, numbered=numbered)} was begun by {shown_text(before.agent)}{tree}{branch}.")
        lines += [f"  note: {clipped(shown_text(note), MAX_NOTE)}" for note in task.notes[-MAX_NOTES:]]
    return lines


def holder_text(claim: Claim, now: int) -> str:
    """Return who works on a task, for how long from `now` in ms it is reserved, and from whom it was taken over."""
    minutes = -(-(claim.until - now) // MS_PER_MINUTE)
    if minutes > 0:
        held = f"held by {_short_name(claim.agent)} for {minutes} min"
    else:
        held = f"left by {_short_name(claim.agent)}: others can take it over"
    before = f", taken over from {_short_name(claim.before.agent)}" if claim.before else ""
    return held + before


def _short_name(agent: str) -> str:
    return printable(clipped(agent, MAX_AGENT))


def _name(task: Task, *, numbered: bool) -> str:
    text = f"“{clipped(shown_text(task.text), MAX_TEXT)}”"
    return f"#{task.number} {text}" if numbered else text
