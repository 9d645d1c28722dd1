"""What a worker permits: its agents, and the commands of its own list, which a run can only narrow."""

from __future__ import annotations

from tildone.checks.approvals import Approvals
from tildone.core.query import open_tasks
from tildone.fleet.approving import is_denied
from tildone.fleet.drivers import SHELL
from tildone.fleet.shell_agent import checks_of
from tildone.log.fleet.lease import LeaseState
from tildone.typing import TYPE_CHECKING
from tildone.views.proofs import check_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tildone.core.plan import Plan
    from tildone.log.fleet.lease import Claimer, Lease, Work
    from tildone.log.fleet.workers import WorkerInfo

NOT_PERMITTED = "not permitted here"


SEEN_MS = 120_000
"""A worker that was not seen for longer takes nothing."""


def why_not_permitted(work: Work, agents: Collection[str], allow: Sequence[str]) -> str:
    """Return why a worker with these agents and this list does not run what a run asks for; empty if it does."""
    if work.agent not in agents:
        return f"{NOT_PERMITTED}: the agent {work.agent!r}"
    if work.allow and not permitted(allow, work.allow):
        return f"{NOT_PERMITTED}: the commands that the run allows"
    return ""


def refused_commands(work: Work, plan: Plan, allow: Sequence[str], answers: Mapping[str, str]) -> list[str]:
    """Return the commands for which a shell agent would have to ask a person, without those that were denied."""
    if work.agent != SHELL:
        return []
    # Approvals of a person on this machine count where that person works, not on a worker.
    approvals = Approvals("", "", allow)
    checks = [check for _, task in open_tasks(plan) for check in checks_of(task)]
    checks += [plan.check] if plan.check is not None else []
    return [check_text(check) for check in checks if not approvals.is_allowed(check) and not is_denied(check, answers)]


def why_refused(commands: Sequence[str]) -> str:
    """Return why a worker does not run commands."""
    return f"{NOT_PERMITTED}: the command {commands[0]}"


def others_may_permit(lease: Lease, workers: Iterable[WorkerInfo], now: int) -> bool:
    """Return whether another worker could take a run that has not refused it."""
    return any(
        worker.id not in (lease.worker, *lease.refused)
        and worker.slots
        and set(lease.work.labels) <= set(worker.labels)
        and now - worker.seen < SEEN_MS
        for worker in workers
    )


def could_take(lease: Lease, who: Claimer, now: int) -> bool:
    """Return whether a worker could take a run, now or later: one that is queued, or that another worker may lose.

    One that was never begun and may not begin yet is not meant.
    """
    return (
        lease.state is LeaseState.OPEN
        and lease.work.protocol <= who.protocol
        and set(lease.work.labels) <= set(who.labels)
        and who.worker not in lease.refused
        and (lease.epoch > 0 or lease.not_before <= now)
    )


def permitted(own: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of commands that both a worker and a run allow.

    A run without any allows what its worker does. A pattern of the run counts only if every command that it matches is
    sure to be allowed by the worker.
    """
    if not asked:
        return tuple(own)
    return tuple(pattern for pattern in asked if any(_covers(mine, pattern) for mine in own))


def _covers(wide: str, narrow: str) -> bool:
    """Return whether a pattern surely matches all that another one matches."""
    if wide == narrow:
        return True
    if any(mark in wide for mark in "?[") or "[" in narrow:
        return False
    from fnmatch import fnmatchcase  # noqa: PLC0415  few runs bring a list

    # With no other wildcard than `*`, only a `*` can have matched the wildcards of the other pattern.
    return fnmatchcase(narrow, wide)
