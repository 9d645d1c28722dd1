"""Workers and runs as JSON data. `docs/reference/board-api.md` documents the fields."""

from __future__ import annotations

from collections.abc import Callable

from tildone.app.run_requests import offered_requests
from tildone.log.fleet.lease import Ask, Lease, LeaseState
from tildone.log.fleet.workers import RunView, group_of
from tildone.overview.fleet_index import RunAsked, WorkerRow
from tildone.overview.rows import SessionRow
from tildone.value import value
from tildone.views.fleet import hand_name, state_of
from tildone.web.data import Data

NEEDS_YOU = "needs you"


@value
class RunRows:
    """Where rows of runs get the titles, progress and addresses of their plans from."""

    row: Callable[[str], SessionRow | None]
    key: Callable[[str], str]

    def data(self, view: RunView, now: int) -> Data:
        """Return a hand of a run as a row."""
        lease, work = view.lease, view.lease.work
        row = self.row(lease.session)
        return {
            "run": lease.run,
            "hand": lease.hand,
            "name": hand_name(lease),
            "group": group_of(lease).value,
            "state": NEEDS_YOU if _asks(lease, row) else state_of(view, now),
            "key": self.key(lease.session) if row else None,
            "title": row.title if row else lease.run,
            "closed": row.closed if row else 0,
            "total": row.total if row else 0,
            "strip": row.strip if row else "",
            "doing": (row.doing or None) if row and lease.state.is_active else None,
            "cost": row.spent if row else 0.0,
            "worker": lease.worker or None,
            "host": host_of(lease.owner) or None,
            "since": lease.since,
            "made": lease.made,
            "not_before": lease.not_before or None,
            "epoch": lease.epoch,
            "attempt": lease.attempt,
            "fails": lease.fails,
            "losses": lease.losses,
            "agent": work.agent,
            "model": work.model,
            "labels": list(work.labels),
            "repo": work.repo,
            "can": [request.value for request in offered_requests(lease)],
        }


def worker_data(row: WorkerRow) -> Data:
    """Return a worker as a row."""
    worker = row.worker
    return {
        "id": worker.id,
        "host": worker.host or host_of(worker.id),
        "pid": worker.pid,
        "version": worker.version,
        "labels": list(worker.labels),
        "slots": worker.slots,
        "held": row.held,
        "waiting": row.waiting,
        "state": row.state.value,
        "draining": worker.ask is not Ask.NOTHING,
        "seen": row.seen,
    }


def asked_data(asked: RunAsked) -> Data:
    """Return what a question in the log of a plan has beside a question of the store."""
    lease = asked.lease
    agent = {"agent": lease.work.agent, "host": lease.work.agent, "on": host_of(lease.owner)}
    return {"run": lease.run, "question": asked.question.id, "agent": agent}


def host_of(owner: str) -> str:
    """Return the machine of a worker or an owner."""
    return owner.partition("/")[0]


def _asks(lease: Lease, row: SessionRow | None) -> bool:
    """Whether a hand waits for a person: its own questions, or those that an agent at work has put into the store."""
    if not lease.state.is_active or lease.state is LeaseState.PAUSED:
        return False
    return bool(lease.questions or (lease.is_held and row and row.needs))
